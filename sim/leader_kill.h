/* leader_kill.h - kills the leader of a partition in the middle of a split, once in a run, at a
 * stage of the test's choice.
 *
 * Watches the traces of nodes: from the moment when a leader has put a split into its log until
 * LOG_SPLIT_DONE is durable at every replica. */
#pragma once

#include "base/prng.h"
#include "sim/plan/faults.h"

/* How far one node is with the watched split. */
struct leader_kill_replica {
    bool applied;
    bool durable;
    int64_t end_lsn; /* where its latest record of the split ends */
};

struct leader_kill {
    struct run *run;       /* borrows */
    struct faults *faults; /* borrows */
    struct prng prng;
    uint32_t partition; /* 0: none is being split */
    uint32_t leader;
    uint32_t watch; /* counts watched splits; a kill that is due is for one of them */
    bool due;
    struct leader_kill_replica replicas[SIM_NODES_MAX + 1];
    enum split_stage killed_at; /* SPLIT_STAGE_NONE: not yet */
};

/* The plan has the stage; SPLIT_STAGE_NONE: no leader is killed. */
void leader_kill_init(struct leader_kill *k, struct run *run, struct faults *faults);
/* An event of a node's trace. */
void leader_kill_saw(struct leader_kill *k, uint32_t node, const struct trace_event *e);
