/* raft_timers.h - when the replicas' rafts want to be called: a heap, the earliest first.
 *
 * A node with thousands of idle replicas calls only those that are due. Equal deadlines go by
 * partition id, so that a simulated run replays. */
#ifndef WEIR_ENGINE_NODE_DEADLINES_H
#define WEIR_ENGINE_NODE_DEADLINES_H

#include "engine/node/partition.h"

/* Zeroed = empty. */
struct raft_timers {
    struct partition **heap; /* owns; borrows the partitions */
    uint32_t count;
    uint32_t capacity;
};

void raft_timers_deinit(struct raft_timers *timers);
/* INSTANT_NEVER takes the partition out. */
void raft_timers_set(struct raft_timers *timers, struct partition *p, struct instant at);
/* INSTANT_NEVER: there is none. */
struct instant raft_timers_first_at(const struct raft_timers *timers);
/* Takes out the first partition if it is due; NULL: none is. */
struct partition *raft_timers_take_due(struct raft_timers *timers, struct instant now);

#endif
