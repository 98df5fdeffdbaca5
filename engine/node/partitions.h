/* partitions.h - the replicas of a node, by partition id.
 *
 * Ids are never used again, so a node may have a few replicas with ids of millions: finding one
 * takes a hash map, and a loop over all of them is over the replicas there are, by ascending id. */
#ifndef WEIR_ENGINE_NODE_PARTITIONS_H
#define WEIR_ENGINE_NODE_PARTITIONS_H

#include "engine/node/partition.h"

struct partitions {
    struct partition **all; /* owns; by ascending id */
    uint32_t count;
    uint32_t capacity;
    struct partition **slots; /* open addressing by id; NULL: free */
    uint32_t slot_mask;
};

void partitions_deinit(struct partitions *partitions);
/* NULL: it is not here. */
struct partition *partitions_find(const struct partitions *partitions, uint32_t id);
/* Owns it from now on; there is none with its id. */
void partitions_add(struct partitions *partitions, struct partition *p);
/* The caller owns it again. */
void partitions_remove(struct partitions *partitions, struct partition *p);
/* The first one with an id above `id`, or the first of all; NULL: there is none. */
struct partition *partitions_after(const struct partitions *partitions, uint32_t id);

/* Whether a replica holds a key of the range; hi empty: no end. */
bool partitions_hold_range(const struct partitions *partitions, struct slice lo, struct slice hi);
/* The catalog is asked about each of those that do: its group may have let go of it while it was
 * away, and go on without a word to it. */
void partitions_doubt_range(struct partitions *partitions, struct slice lo, struct slice hi);

#endif
