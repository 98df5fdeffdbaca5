/* quiet_phase.h - nothing is written for a while, and then things change that need no write to end.
 *
 * Where clients write all the time, a wait for an entry that never comes ends by itself. In a
 * quiet cluster the following must end too: a new index gets its rows, every sharded key goes back
 * to one shard, and partitions of the first table are merged, or the catalog gives that up. */
#pragma once

#include "sim/plan/work_tables.h"
#include "sim/work/work_key_sharding.h"
#include "sim/work/work_splits.h"

enum {
    QUIET_PHASE_S = 30,      /* nothing is written */
    QUIET_PHASE_ENDS_S = 120 /* then all changes must have ended, in virtual time */
};

struct quiet_phase {
    struct run *run; /* borrows, as the next ones */
    struct work_tables *work_tables;
    struct work_key_sharding *work_key_sharding;
    struct work_splits *work_splits;
    uint32_t merges; /* asked for */
    bool merged;     /* none is asked for any more, and none is under way */
};

/* Begins the changes. */
void quiet_phase_begin_changes(struct quiet_phase *s);
bool quiet_phase_is_over(const struct quiet_phase *s);
