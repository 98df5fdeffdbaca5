#include "sim/scheduler.h"

#include <stdlib.h>

#include "base/must.h"

enum {
    CHILDREN = 4,
    PLACE_BITS = 24 /* at most so many wait at once; sequences have the other 40 */
};

void scheduler_deinit(struct scheduler *s)
{
    free(s->heap);
    free(s->events);
    free(s->free);
    *s = (struct scheduler){0};
}

static void grow(struct scheduler *s)
{
    size_t capacity = s->capacity == 0 ? 256 : s->capacity * 2;
    must(capacity <= (size_t)1 << PLACE_BITS);
    s->heap = realloc(s->heap, capacity * sizeof s->heap[0]);
    s->events = realloc(s->events, capacity * sizeof s->events[0]);
    s->free = realloc(s->free, capacity * sizeof s->free[0]);
    must(s->heap != NULL && s->events != NULL && s->free != NULL);
    for (size_t i = s->capacity; i < capacity; i++) {
        s->events[i].run = NULL;
        s->free[i] = (uint32_t)i;
    }
    s->capacity = capacity;
}

/* One number says when, after whom of the same time, and where the rest is. */
static unsigned __int128 key_of(int64_t at_ns, uint64_t sequence, uint32_t place)
{
    must(at_ns >= 0 && sequence >> (64 - PLACE_BITS) == 0);
    return (unsigned __int128)(uint64_t)at_ns << 64 | sequence << PLACE_BITS | place;
}

static int64_t time_of(unsigned __int128 key)
{
    return (int64_t)(key >> 64);
}

void scheduler_at(struct scheduler *s, struct instant at, scheduler_run *run, void *context,
                  uint64_t argument)
{
    if (s->count == s->capacity)
        grow(s);
    uint32_t place = s->free[s->count];
    s->events[place] = (struct scheduler_event){run, context, argument};
    unsigned __int128 key =
        key_of(instant_before(at, s->now) ? s->now.ns : at.ns, s->sequence++, place);
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

/* Of the children from `first` on. */
static size_t earliest(const struct scheduler *s, size_t first)
{
    const unsigned __int128 *h = s->heap + first;
    size_t best = 0;
    if (s->count - first < CHILDREN) {
        for (size_t i = 1; i < s->count - first; i++)
            best = h[i] < h[best] ? i : best;
        return first + best;
    }
    size_t left = h[1] < h[0], right = 2 + (h[3] < h[2]); /* without branches */
    return first + (h[right] < h[left] ? right : left);
}

static void take_first(struct scheduler *s)
{
    unsigned __int128 last = s->heap[--s->count];
    size_t hole = 0;
    for (;;) {
        size_t child = hole * CHILDREN + 1;
        if (child >= s->count)
            break;
        size_t best = earliest(s, child);
        if (s->heap[best] >= last)
            break;
        s->heap[hole] = s->heap[best];
        hole = best;
    }
    s->heap[hole] = last;
}

bool scheduler_step(struct scheduler *s, struct instant until)
{
    if (s->count == 0 || time_of(s->heap[0]) > until.ns) {
        s->now = instant_before(s->now, until) ? until : s->now;
        return false;
    }
    unsigned __int128 key = s->heap[0];
    uint32_t place = (uint32_t)key & ((UINT32_C(1) << PLACE_BITS) - 1);
    take_first(s);
    s->free[s->count] = place;
    struct scheduler_event e = s->events[place];
    s->events[place].run = NULL;
    must(time_of(key) >= s->now.ns);
    s->now = (struct instant){time_of(key)};
    e.run(e.context, e.argument);
    return true;
}
