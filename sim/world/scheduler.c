/* scheduler.c - virtual time: runs events in the order of their times. */
#include "sim/world/scheduler.h"

#include <stdlib.h>

#include "base/must.h"

enum {
    CHILDREN = 4,
    PLACE_BITS = 24 /* at most 2^24 events wait; sequence numbers have the other 40 bits */
};

void scheduler_deinit(struct scheduler *s)
{
    free(s->heap);
    free(s->events);
    *s = (struct scheduler){0};
}

static void scheduler_grow(struct scheduler *s)
{
    size_t capacity = s->capacity == 0 ? 256 : s->capacity * 2;
    must(capacity <= (size_t)1 << PLACE_BITS);
    s->heap = realloc(s->heap, capacity * sizeof s->heap[0]);
    s->events = realloc(s->events, capacity * sizeof s->events[0]);
    must(s->heap != NULL && s->events != NULL);
    for (size_t i = capacity; i-- > s->capacity;) {
        s->events[i].run = NULL;
        s->events[i].next = s->free;
        s->free = (uint32_t)i + 1;
    }
    s->capacity = capacity;
}

static scheduler_key scheduler_key_of(int64_t at_ns, uint64_t sequence, uint32_t place)
{
    must(at_ns >= 0 && sequence >> (64 - PLACE_BITS) == 0);
    return (scheduler_key)(uint64_t)at_ns << 64 | sequence << PLACE_BITS | place;
}

static int64_t time_of(scheduler_key key)
{
    return (int64_t)(key >> 64);
}

static uint32_t place_of(scheduler_key key)
{
    return (uint32_t)key & ((UINT32_C(1) << PLACE_BITS) - 1);
}

static int64_t slot_of(int64_t at_ns)
{
    return at_ns >> SCHEDULER_SLOT_BITS;
}

/* ---- the near future ---- */

static void slot_add(struct scheduler *s, uint32_t place)
{
    struct scheduler_event *e = &s->events[place];
    size_t slot = (size_t)slot_of(time_of(e->key)) % SCHEDULER_SLOTS;
    uint32_t *link = &s->slots[slot];
    if (*link != 0 && s->events[s->last[slot] - 1].key < e->key)
        link = &s->events[s->last[slot] - 1].next;
    while (*link != 0 && s->events[*link - 1].key < e->key)
        link = &s->events[*link - 1].next;
    e->next = *link;
    *link = place + 1;
    if (e->next == 0)
        s->last[slot] = place + 1;
    s->used[slot / 64] |= UINT64_C(1) << slot % 64;
}

/* The first slot in use from now on, in the order of time. SCHEDULER_SLOTS: none is in use. */
static size_t slot_first(const struct scheduler *s)
{
    enum {
        WORDS = SCHEDULER_SLOTS / 64
    };
    size_t from = (size_t)slot_of(s->now.ns) % SCHEDULER_SLOTS, word = from / 64;
    uint64_t bits = s->used[word] & UINT64_MAX << from % 64;
    for (size_t i = 0; i < WORDS && bits == 0; i++) {
        word = (word + 1) % WORDS;
        bits = s->used[word];
    }
    return bits == 0 ? SCHEDULER_SLOTS : word * 64 + (size_t)__builtin_ctzll(bits);
}

static void slot_take_first(struct scheduler *s, size_t slot)
{
    s->slots[slot] = s->events[s->slots[slot] - 1].next;
    if (s->slots[slot] == 0)
        s->used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

/* ---- the far future ---- */

static void heap_add(struct scheduler *s, scheduler_key key)
{
    size_t hole = s->count++;
    while (hole > 0) {
        size_t parent = (hole - 1) / CHILDREN;
        if (key >= s->heap[parent])
            break;
        s->heap[hole] = s->heap[parent];
        hole = parent;
    }
    s->heap[hole] = key;
}

/* The earliest of the children from `first` on. */
static size_t child_earliest(const struct scheduler *s, size_t first)
{
    const scheduler_key *h = s->heap + first;
    size_t best = 0;
    if (s->count - first < CHILDREN) {
        for (size_t i = 1; i < s->count - first; i++)
            best = h[i] < h[best] ? i : best;
        return first + best;
    }
    size_t left = h[1] < h[0], right = 2 + (h[3] < h[2]); /* without branches */
    return first + (h[right] < h[left] ? right : left);
}

static void heap_take_first(struct scheduler *s)
{
    scheduler_key last = s->heap[--s->count];
    size_t hole = 0;
    for (;;) {
        size_t child = hole * CHILDREN + 1;
        if (child >= s->count)
            break;
        size_t best = child_earliest(s, child);
        if (s->heap[best] >= last)
            break;
        s->heap[hole] = s->heap[best];
        hole = best;
    }
    s->heap[hole] = last;
}

/* ---- scheduling ---- */

void scheduler_at(struct scheduler *s, struct instant at, scheduler_run *run, void *context,
                  uint64_t argument)
{
    if (s->free == 0)
        scheduler_grow(s);
    uint32_t place = s->free - 1;
    struct scheduler_event *e = &s->events[place];
    s->free = e->next;
    int64_t at_ns = instant_before(at, s->now) ? s->now.ns : at.ns;
    if (s->tick_ns > 0)
        at_ns = (at_ns + s->tick_ns - 1) / s->tick_ns * s->tick_ns;
    *e = (struct scheduler_event){scheduler_key_of(at_ns, s->sequence++, place), run, context,
                                  argument, 0};
    if (slot_of(at_ns) - slot_of(s->now.ns) < SCHEDULER_SLOTS)
        slot_add(s, place);
    else
        heap_add(s, e->key);
}

bool scheduler_step(struct scheduler *s, struct instant until)
{
    const scheduler_key none = ~(scheduler_key)0;
    size_t slot = slot_first(s);
    scheduler_key near = slot < SCHEDULER_SLOTS ? s->events[s->slots[slot] - 1].key : none;
    scheduler_key far = s->count > 0 ? s->heap[0] : none;
    scheduler_key key = near < far ? near : far;
    if (key == none || time_of(key) > until.ns) {
        s->now = instant_before(s->now, until) ? until : s->now;
        return false;
    }
    if (near < far)
        slot_take_first(s, slot);
    else
        heap_take_first(s);
    struct scheduler_event *e = &s->events[place_of(key)];
    scheduler_run *run = e->run;
    void *context = e->context;
    uint64_t argument = e->argument;
    e->run = NULL;
    e->next = s->free;
    s->free = place_of(key) + 1;
    must(time_of(key) >= s->now.ns);
    s->now = (struct instant){time_of(key)};
    run(context, argument);
    return true;
}
