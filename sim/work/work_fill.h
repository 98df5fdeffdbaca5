/* work_fill.h - clients that fill the stores of a cluster, and make room as users do.
 *
 * Each client has a table, and puts items of one size. When a put is refused because a node's
 * storage is full, all clients delete half of their items, or now and then a table. Then each
 * client whose put was refused must put an item of the same size. So what a deletion frees can be
 * used again, without a restart:
 *   FILLS-1  While no fault is injected, a deletion is refused for want of space for
 *            WORK_FILL_BOUND_S at most.
 *   FILLS-2  While no fault is injected, so is a put after half of the items were deleted, if they
 *            were a sixth of the store: what other clients leave behind may take some of it.
 * At last the tables are deleted, so that the other clients find space.
 * Not here: long keys. Those with a common beginning share a record (engine/store/long_key.h). A
 * small change writes the record anew: in a store of a few MiB there may be no space for that. */
#pragma once

#include "sim/work/work_clients.h"

enum {
    WORK_FILL_BOUND_S = 20, /* a few checkpoints, and the pauses of a client */
    WORK_FILL_ENDS_S = 300  /* the last round */
};

/* What does not hold is a violation. They end when the faults are over: after one
 * more round the tables go. */
struct work_clients *work_fill_create(const struct work_clients_options *options);
