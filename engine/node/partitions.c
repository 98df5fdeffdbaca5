/* partitions.c - the replicas of a node, by partition id. */
#include "engine/node/partitions.h"

#include <stdlib.h>

enum {
    SLOTS_MIN = 16
};

static uint32_t partitions_slot_of(const struct partitions *partitions, uint32_t id)
{
    return id * UINT32_C(2654435769) >> 7 & partitions->slot_mask;
}

static void slots_put(struct partitions *partitions, struct partition *p)
{
    uint32_t at = partitions_slot_of(partitions, p->info.id);
    while (partitions->slots[at] != NULL)
        at = (at + 1) & partitions->slot_mask;
    partitions->slots[at] = p;
}

/* At most half of the slots are taken. */
static void slots_rebuild(struct partitions *partitions)
{
    uint32_t size = SLOTS_MIN;
    while (size < 2 * partitions->count)
        size *= 2;
    free(partitions->slots);
    partitions->slots = must_have(calloc(size, sizeof partitions->slots[0]));
    partitions->slot_mask = size - 1;
    for (uint32_t i = 0; i < partitions->count; i++)
        slots_put(partitions, partitions->all[i]);
}

void partitions_deinit(struct partitions *partitions)
{
    for (uint32_t i = 0; i < partitions->count; i++)
        partition_destroy(partitions->all[i]);
    free(partitions->all);
    free(partitions->slots);
}

struct partition *partitions_find(const struct partitions *partitions, uint32_t id)
{
    if (partitions->slots == NULL)
        return NULL;
    uint32_t at = partitions_slot_of(partitions, id);
    while (partitions->slots[at] != NULL && partitions->slots[at]->info.id != id)
        at = (at + 1) & partitions->slot_mask;
    return partitions->slots[at];
}

/* Index of the first partition whose id is at least `id`. */
static uint32_t partitions_lower_bound(const struct partitions *partitions, uint32_t id)
{
    uint32_t low = 0, high = partitions->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (partitions->all[middle]->info.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void partitions_add(struct partitions *partitions, struct partition *p)
{
    uint32_t at = partitions_lower_bound(partitions, p->info.id);
    must(at == partitions->count || partitions->all[at]->info.id != p->info.id);
    if (partitions->count == partitions->capacity) {
        partitions->capacity = partitions->capacity == 0 ? 8 : 2 * partitions->capacity;
        partitions->all =
            realloc(partitions->all, partitions->capacity * sizeof partitions->all[0]);
        must(partitions->all != NULL);
    }
    memmove(partitions->all + at + 1, partitions->all + at,
            (partitions->count - at) * sizeof partitions->all[0]);
    partitions->all[at] = p;
    partitions->count++;
    if (partitions->slots == NULL || 2 * partitions->count > partitions->slot_mask + 1)
        slots_rebuild(partitions);
    else
        slots_put(partitions, p);
}

/* Moves up the partitions after the gap that wanted the slot of the gap, or one before it. */
static void slots_close_gap(struct partitions *partitions, uint32_t gap)
{
    for (uint32_t at = (gap + 1) & partitions->slot_mask; partitions->slots[at] != NULL;
         at = (at + 1) & partitions->slot_mask) {
        uint32_t wanted = partitions_slot_of(partitions, partitions->slots[at]->info.id);
        bool stays = ((at - wanted) & partitions->slot_mask) < ((at - gap) & partitions->slot_mask);
        if (stays)
            continue;
        partitions->slots[gap] = partitions->slots[at];
        gap = at;
    }
    partitions->slots[gap] = NULL;
}

void partitions_remove(struct partitions *partitions, struct partition *p)
{
    uint32_t at = partitions_lower_bound(partitions, p->info.id);
    must(at < partitions->count && partitions->all[at] == p);
    partitions->count--;
    memmove(partitions->all + at, partitions->all + at + 1,
            (partitions->count - at) * sizeof partitions->all[0]);
    uint32_t gap = partitions_slot_of(partitions, p->info.id);
    while (partitions->slots[gap] != p)
        gap = (gap + 1) & partitions->slot_mask;
    slots_close_gap(partitions, gap);
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

void partitions_doubt_range(struct partitions *partitions, struct slice lo, struct slice hi)
{
    for (uint32_t i = 0; i < partitions->count; i++) {
        if (partition_overlaps(partitions->all[i], lo, hi))
            partitions->all[i]->doubted = true;
    }
}
