/* reply_slots.c - slots grow as many requests are on their way at once, and are used again. */
#include "router/core/reply_slots.h"

#include <stdlib.h>

enum {
    REPLY_SLOTS_FIRST = 64
};

static void reply_slots_grow(struct router *r)
{
    uint32_t count = r->slot_count == 0 ? REPLY_SLOTS_FIRST : r->slot_count * 2;
    r->slots = must_have(realloc(r->slots, count * sizeof *r->slots));
    for (uint32_t i = r->slot_count; i < count; i++) {
        r->slots[i] = (struct reply_slot){.generation = 1, .next_free = r->slot_free};
        r->slot_free = i + 1;
    }
    r->slot_count = count;
}

void reply_slot_take(struct router *r, struct subrequest *s)
{
    if (r->slot_free == 0)
        reply_slots_grow(r);
    s->slot = r->slot_free - 1;
    struct reply_slot *slot = &r->slots[s->slot];
    r->slot_free = slot->next_free;
    slot->subrequest = s;
    s->request.id = (uint64_t)slot->generation << 32 | s->slot;
}

void reply_slot_give(struct router *r, struct subrequest *s)
{
    struct reply_slot *slot = &r->slots[s->slot];
    must(slot->subrequest == s);
    slot->subrequest = NULL;
    slot->generation++;
    slot->next_free = r->slot_free;
    r->slot_free = s->slot + 1;
}

struct subrequest *reply_slot_find(const struct router *r, uint64_t id)
{
    const uint32_t at = (uint32_t)id;
    return at < r->slot_count && r->slots[at].generation == id >> 32 ? r->slots[at].subrequest
                                                                     : NULL;
}
