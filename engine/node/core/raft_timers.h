/* raft_timers.h - the deadlines of the replicas' rafts: a heap, the earliest first.
 *
 * A node with thousands of idle replicas calls only the replicas that are due. Equal deadlines are
 * ordered by partition id, so that a simulated run replays. */
#pragma once

#include "engine/node/core/partition.h"

/* Zeroed = empty. */
struct raft_timers {
    struct partition **heap; /* owns; borrows the partitions */
    uint32_t count;
    size_t capacity;
};

void raft_timers_deinit(struct raft_timers *timers);
/* Sets the partition's deadline. INSTANT_NEVER takes the partition out. */
void raft_timers_set(struct raft_timers *timers, struct partition *p, struct instant at);
/* The earliest deadline. INSTANT_NEVER: no deadline. */
struct instant raft_timers_first_at(const struct raft_timers *timers);
/* Takes out the first partition if it is due. NULL: no partition is due. */
struct partition *raft_timers_take_due(struct raft_timers *timers, struct instant now);
