/* id_map.c - linear probing. Removing closes the gap, so there are no tombstones. */
#include "base/id_map.h"

#include <stdlib.h>

#include "base/must.h"

/* Fibonacci hashing: hosts number their connections one after another. */
static size_t id_map_home_of(const struct id_map *m, uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (m->size - 1);
}

static struct id_map_slot *id_map_slot_of(const struct id_map *m, uint64_t id)
{
    size_t at = id_map_home_of(m, id);
    while (m->slots[at].id != 0 && m->slots[at].id != id)
        at = (at + 1) & (m->size - 1);
    return &m->slots[at];
}

void id_map_deinit(struct id_map *m)
{
    free(m->slots);
    *m = (struct id_map){0};
}

void *id_map_find(const struct id_map *m, uint64_t id)
{
    if (m->size == 0 || id == 0)
        return NULL;
    return id_map_slot_of(m, id)->value;
}

static void id_map_grow(struct id_map *m)
{
    struct id_map old = *m;
    m->size = old.size == 0 ? 64 : old.size * 2;
    m->slots = must_calloc(m->size, sizeof *m->slots);
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].id != 0)
            *id_map_slot_of(m, old.slots[i].id) = old.slots[i];
    }
    free(old.slots);
}

void id_map_add(struct id_map *m, uint64_t id, void *value)
{
    must(id != 0);
    if ((m->count + 1) * 4 > m->size * 3)
        id_map_grow(m);
    struct id_map_slot *s = id_map_slot_of(m, id);
    must(s->id == 0);
    *s = (struct id_map_slot){id, value};
    m->count++;
}

/* Closes the gap: later entries that belong before it move back. */
static void id_map_remove_slot(struct id_map *m, size_t gap)
{
    m->count--;
    for (size_t at = (gap + 1) & (m->size - 1); m->slots[at].id != 0;
         at = (at + 1) & (m->size - 1)) {
        size_t home = id_map_home_of(m, m->slots[at].id);
        if (((at - home) & (m->size - 1)) >= ((at - gap) & (m->size - 1))) {
            m->slots[gap] = m->slots[at];
            gap = at;
        }
    }
    m->slots[gap] = (struct id_map_slot){0, NULL};
}

void id_map_remove(struct id_map *m, uint64_t id)
{
    if (m->size == 0 || id == 0)
        return;
    struct id_map_slot *s = id_map_slot_of(m, id);
    if (s->id != 0)
        id_map_remove_slot(m, (size_t)(s - m->slots));
}

/* The same slot is checked again after a removal. An entry that moves there from the first slots is
 * checked twice. */
void id_map_remove_if(struct id_map *m, bool (*gone)(void *context, void *value), void *context)
{
    for (size_t at = 0; at < m->size;) {
        if (m->slots[at].id != 0 && gone(context, m->slots[at].value))
            id_map_remove_slot(m, at);
        else
            at++;
    }
}

void *id_map_next(const struct id_map *m, size_t *at)
{
    while (*at < m->size) {
        const struct id_map_slot *s = &m->slots[(*at)++];
        if (s->id != 0)
            return s->value;
    }
    return NULL;
}

void *id_map_any(const struct id_map *m)
{
    size_t at = 0;
    return id_map_next(m, &at);
}
