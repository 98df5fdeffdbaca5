/* leader_kill.h - kills the leader of a partition in the middle of a split, once in a run, at a
 * stage of the test's choice.
 *
 * Watches the traces of nodes: from the moment when a leader has put a split into its log until
 * LOG_SPLIT_DONE is durable at every replica. */
#pragma once

#include "base/prng.h"
#include "sim/plan.h"
#include "sim/world.h"

struct leader_kill_options {
    enum split_stage stage; /* SPLIT_STAGE_NONE: no leader is killed */
    uint32_t replicas;      /* of a partition */
    struct world *world;    /* borrows */
    uint64_t seed;
    /* Kills the node at once. False: this is not possible, because the faults are over. */
    bool (*kill)(void *context, uint32_t node, bool power);
    void *context;
};

/* How far one node is with the watched split. */
struct leader_kill_replica {
    bool applied;
    bool durable;
    int64_t end_lsn; /* where its latest record of the split ends */
};

struct leader_kill {
    struct leader_kill_options options;
    struct prng prng;
    uint32_t partition; /* 0: none is being split */
    uint32_t leader;
    uint32_t watch; /* counts watched splits; a kill that is due is for one of them */
    bool due;
    struct leader_kill_replica replicas[SIM_NODES_MAX + 1];
    enum split_stage killed_at; /* SPLIT_STAGE_NONE: not yet */
};

void leader_kill_init(struct leader_kill *k, const struct leader_kill_options *options);
/* An event of a node's trace. */
void leader_kill_saw(struct leader_kill *k, uint32_t node, const struct trace_event *e);
