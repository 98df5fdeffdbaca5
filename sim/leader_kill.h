/* leader_kill.h - the node that leads a partition dies in the middle of its split, at a stage of
 * the test's choice. Once in a run.
 *
 * Watches what nodes tell of themselves: from the moment a leader has put a split into its log
 * until every replica has LOG_SPLIT_DONE on its disk. */
#ifndef WEIR_SIM_LEADER_KILL_H
#define WEIR_SIM_LEADER_KILL_H

#include "base/prng.h"
#include "sim/plan.h"
#include "sim/world.h"

struct leader_kill_options {
    enum split_stage stage; /* SPLIT_STAGE_NONE: nobody dies */
    uint32_t replicas;      /* of a partition */
    struct world *world;    /* borrows */
    uint64_t seed;
    /* Now. False: it cannot be, faults have ended. */
    bool (*kill)(void *context, uint32_t node, bool power);
    void *context;
};

/* How far one node is with the split that is watched. */
struct leader_kill_replica {
    bool applied;
    bool durable;
    int64_t end_lsn; /* of what it wrote of it */
};

struct leader_kill {
    struct leader_kill_options options;
    struct prng prng;
    uint32_t partition; /* 0: none is being split */
    uint32_t leader;
    uint32_t watch; /* a kill that is due is for this one */
    bool due;
    struct leader_kill_replica replicas[SIM_NODES_MAX + 1];
    enum split_stage killed_at; /* SPLIT_STAGE_NONE: not yet */
};

void leader_kill_init(struct leader_kill *k, const struct leader_kill_options *options);
/* An event of a node's trace. */
void leader_kill_saw(struct leader_kill *k, uint32_t node, const struct trace_event *e);

#endif
