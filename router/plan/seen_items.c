/* seen_items.c - an open hash table that doubles when it is half full. */
#include "router/plan/seen_items.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    FIRST_CAPACITY = 64
};

/* The slot of the key, or the free one where it belongs. */
static struct slice *seen_slot(const struct seen_items *seen, struct slice key)
{
    uint32_t at =
        (uint32_t)XXH3_64bits_withSeed(key.data, key.size, seen->seed) & (seen->capacity - 1);
    while (seen->slots[at].data != NULL && !slice_equal(seen->slots[at], key))
        at = (at + 1) & (seen->capacity - 1);
    return &seen->slots[at];
}

static void seen_grow(struct seen_items *seen, struct arena *arena)
{
    const struct seen_items old = *seen;
    seen->capacity = old.capacity == 0 ? FIRST_CAPACITY : 2 * old.capacity;
    seen->slots = arena_zalloc(arena, seen->capacity * sizeof *seen->slots);
    for (uint32_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].data != NULL)
            *seen_slot(seen, old.slots[i]) = old.slots[i];
    }
}

bool seen_items_add(struct seen_items *seen, struct arena *arena, struct slice key)
{
    if (2 * (seen->count + 1) > seen->capacity)
        seen_grow(seen, arena);
    struct slice *slot = seen_slot(seen, key);
    if (slot->data != NULL)
        return false;
    *slot = key;
    seen->count++;
    return true;
}
