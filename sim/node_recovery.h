/* node_recovery.h - from what a simulated disk holds to a node that can start.
 *
 * The same steps as those of a real host (embed/node_host.c): the segments from where the backing
 * ends, read record by record; the tail of a torn batch cut off. */
#ifndef WEIR_SIM_NODE_RECOVERY_H
#define WEIR_SIM_NODE_RECOVERY_H

#include "engine/node/node.h"
#include "sim/disk.h"

struct node_recovery {
    uint64_t next_lsn; /* the log goes on here */
    uint64_t records;  /* replayed */
    bool torn;         /* something stood behind the end */
};

/* STATUS_CORRUPT, STATUS_MALFORMED: `error` tells. */
enum status node_recover(struct node *n, struct disk *d, struct buffer *error,
                         struct node_recovery *out);

#endif
