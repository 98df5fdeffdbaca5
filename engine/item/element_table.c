/* element_table.c - slots with a part of the hash lead to the elements, which lie in their order.
 * */
#include "engine/item/element_table.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t attr_count(const struct attr *container, struct steps *steps)
{
    struct slice name;
    struct attr value;
    uint32_t count = 0;
    for (struct attr_cursor c = attr_elements(container); attr_next(&c, &name, &value);)
        count++;
    steps_take(steps, count);
    return count;
}

bool element_next(struct attr_cursor *c, struct element *out)
{
    if (!attr_next(c, &out->key, &out->value))
        return false;
    if (!c->named)
        out->key = out->value.body;
    return true;
}

static uint32_t element_hash(const struct element_table *t, struct slice key)
{
    return (uint32_t)XXH3_64bits_withSeed(key.data, key.size, t->seed);
}

/* The key's slot, or the free slot where it belongs. */
static struct element_slot *element_slot_of(const struct element_table *t, struct slice key,
                                            uint32_t hash, struct steps *steps)
{
    uint32_t at = hash & t->mask;
    for (; t->slots[at].number != 0; at = (at + 1) & t->mask) {
        if (t->slots[at].hash == hash && slice_equal(t->elements[t->slots[at].number - 1].key, key))
            break;
        steps_take(steps, 1);
    }
    steps_take(steps, STEPS_HASHED);
    return &t->slots[at];
}

void element_table_init(struct element_table *t, const struct attr *container, struct steps *steps)
{
    const uint32_t count = attr_count(container, steps);
    *t = (struct element_table){.seed = steps->seed, .mask = 2 * ELEMENTS_FEW - 1};
    t->elements = t->few_elements;
    t->slots = t->few_slots;
    if (count > ELEMENTS_FEW) {
        while (t->mask < 2 * count)
            t->mask = 2 * t->mask + 1;
        t->elements = must_calloc(count, sizeof *t->elements);
        t->slots = must_calloc((size_t)t->mask + 1, sizeof *t->slots);
    }
    struct attr_cursor c = attr_elements(container);
    while (element_next(&c, &t->elements[t->count])) {
        const struct slice key = t->elements[t->count].key;
        const uint32_t hash = element_hash(t, key);
        *element_slot_of(t, key, hash, steps) = (struct element_slot){hash, ++t->count};
        if (t->count == count)
            break;
    }
}

void element_table_deinit(struct element_table *t)
{
    if (t->elements == t->few_elements)
        return;
    free(t->elements);
    free(t->slots);
}

struct element *element_table_find(const struct element_table *t, struct slice key,
                                   struct steps *steps)
{
    const struct element_slot *slot = element_slot_of(t, key, element_hash(t, key), steps);
    return slot->number == 0 ? NULL : &t->elements[slot->number - 1];
}
