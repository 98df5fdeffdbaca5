/* partitions.c - the replicas of a node, by partition id. */
#include "engine/node/core/partitions.h"

#include <stdlib.h>

/* No key of the map may be 0, and group 0 exists. */
static uint64_t partitions_key_of(uint32_t id)
{
    return id + UINT64_C(1);
}

void partitions_deinit(struct partitions *partitions)
{
    for (uint32_t i = 0; i < partitions->count; i++)
        partition_destroy(partitions->all[i]);
    free(partitions->all);
    id_map_deinit(&partitions->by_id);
}

struct partition *partitions_find(const struct partitions *partitions, uint32_t id)
{
    return id_map_find(&partitions->by_id, partitions_key_of(id));
}

/* Index of the first partition whose id is at least `id`. */
static uint32_t partitions_lower_bound(const struct partitions *partitions, uint32_t id)
{
    uint32_t low = 0, high = partitions->count;
    LOWER_BOUND(low, high, middle, partitions->all[middle]->info.id < id);
    return low;
}

void partitions_add(struct partitions *partitions, struct partition *p)
{
    uint32_t at = partitions_lower_bound(partitions, p->info.id);
    must(at == partitions->count || partitions->all[at]->info.id != p->info.id);
    partitions->all = must_grow(partitions->all, partitions->count, &partitions->capacity,
                                sizeof partitions->all[0]);
    memmove(partitions->all + at + 1, partitions->all + at,
            (partitions->count - at) * sizeof partitions->all[0]);
    partitions->all[at] = p;
    partitions->count++;
    id_map_add(&partitions->by_id, partitions_key_of(p->info.id), p);
}

void partitions_remove(struct partitions *partitions, struct partition *p)
{
    uint32_t at = partitions_lower_bound(partitions, p->info.id);
    must(at < partitions->count && partitions->all[at] == p);
    partitions->count--;
    memmove(partitions->all + at, partitions->all + at + 1,
            (partitions->count - at) * sizeof partitions->all[0]);
    id_map_remove(&partitions->by_id, partitions_key_of(p->info.id));
}

struct partition *partitions_after(const struct partitions *partitions, uint32_t id)
{
    uint32_t at = partitions_lower_bound(partitions, id + 1);
    if (partitions->count == 0)
        return NULL;
    return partitions->all[at < partitions->count ? at : 0];
}

bool partitions_hold_range(const struct partitions *partitions, struct slice lo, struct slice hi)
{
    for (uint32_t i = 0; i < partitions->count; i++) {
        if (partition_overlaps(partitions->all[i], lo, hi))
            return true;
    }
    return false;
}

void partitions_range_is_uncertain(struct partitions *partitions, struct slice lo, struct slice hi)
{
    for (uint32_t i = 0; i < partitions->count; i++) {
        if (partition_overlaps(partitions->all[i], lo, hi))
            partitions->all[i]->doubted = true;
    }
}
