/* deadlines.h - when the replicas' rafts want to be called: a heap, the earliest first.
 *
 * A node with thousands of idle replicas calls only those that are due. Equal deadlines go by
 * partition id, so that a simulated run replays. */
#ifndef WEIR_ENGINE_NODE_DEADLINES_H
#define WEIR_ENGINE_NODE_DEADLINES_H

#include "engine/node/partition.h"

/* Zeroed = empty. */
struct deadlines {
    struct partition **heap; /* owns; borrows the partitions */
    uint32_t count;
    uint32_t capacity;
};

void deadlines_deinit(struct deadlines *deadlines);
/* INSTANT_NEVER takes the partition out. */
void deadlines_set(struct deadlines *deadlines, struct partition *p, struct instant at);
/* INSTANT_NEVER: there is none. */
struct instant deadlines_first_at(const struct deadlines *deadlines);
/* Takes out the first partition if it is due; NULL: none is. */
struct partition *deadlines_take_due(struct deadlines *deadlines, struct instant now);

#endif
