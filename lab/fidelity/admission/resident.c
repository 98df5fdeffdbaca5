/* resident.c - a list in the order of use, and its members by hash. */
#include "lab/fidelity/admission/resident.h"

#include <stdlib.h>

#include "base/must.h"

void resident_init(struct resident *r, size_t max)
{
    must(max <= RESIDENT_ITEMS_MAX);
    *r = (struct resident){.max = max};
    TAILQ_INIT(&r->order);
}

void resident_clear(struct resident *r)
{
    for (struct resident_item *i; (i = TAILQ_FIRST(&r->order)) != NULL;) {
        TAILQ_REMOVE(&r->order, i, entry);
        free(i);
    }
    id_map_deinit(&r->items);
    r->items = (struct id_map){0};
}

void resident_deinit(struct resident *r)
{
    resident_clear(r);
}

static uint64_t resident_id(uint32_t table, uint64_t key)
{
    uint64_t id = (key ^ (uint64_t)table << 40) * UINT64_C(0x9E3779B97F4A7C15);
    id = (id ^ id >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    id ^= id >> 32;
    return id == 0 ? 1 : id;
}

/* Memory for one more item: that of the item that was not used for the longest time, if all is
 * full. */
static struct resident_item *resident_room(struct resident *r)
{
    if (r->items.count < r->max)
        return must_calloc(1, sizeof(struct resident_item));
    struct resident_item *last = TAILQ_LAST(&r->order, resident_items);
    TAILQ_REMOVE(&r->order, last, entry);
    id_map_remove(&r->items, last->id);
    return last;
}

bool resident_has(const struct resident *r, uint32_t table, uint64_t key)
{
    return r->max == 0 || id_map_find(&r->items, resident_id(table, key)) != NULL;
}

bool resident_use(struct resident *r, uint32_t table, uint64_t key)
{
    if (r->max == 0)
        return true;
    const uint64_t id = resident_id(table, key);
    struct resident_item *i = id_map_find(&r->items, id);
    const bool was_there = i != NULL;
    if (was_there) {
        TAILQ_REMOVE(&r->order, i, entry);
    } else {
        i = resident_room(r);
        i->id = id;
        id_map_add(&r->items, id, i);
    }
    TAILQ_INSERT_HEAD(&r->order, i, entry);
    return was_there;
}
