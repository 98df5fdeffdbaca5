/* partitions.h - the replicas of a node, by partition id.
 *
 * Ids are never used again, so a few replicas may have ids in the millions. A hash map finds a
 * replica by id. A loop goes over the existing replicas, by ascending id. */
#pragma once

#include "base/id_map.h"
#include "engine/node/core/partition.h"

struct partitions {
    struct partition **all; /* owns; by ascending id */
    uint32_t count;
    size_t capacity;
    struct id_map by_id;
};

void partitions_deinit(struct partitions *partitions);
/* NULL: no replica of it here. */
struct partition *partitions_find(const struct partitions *partitions, uint32_t id);
/* Takes ownership of `p`. No replica with its id may exist. */
void partitions_add(struct partitions *partitions, struct partition *p);
/* Gives ownership back to the caller. */
void partitions_remove(struct partitions *partitions, struct partition *p);
/* The replica with the lowest id above `id`; after the last, the first. NULL: no replicas. */
struct partition *partitions_after(const struct partitions *partitions, uint32_t id);

/* Whether a replica holds a key of the range; hi empty: no end. */
bool partitions_hold_range(const struct partitions *partitions, struct slice lo, struct slice hi);
/* Makes the replicas that hold keys of the range ask the catalog whether they are still members.
 * Their groups may have removed them while this node was away. */
void partitions_range_is_uncertain(struct partitions *partitions, struct slice lo, struct slice hi);
