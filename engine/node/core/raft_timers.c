/* raft_timers.c - a binary heap of partitions. Each partition knows its place, counted from 1. */
#include "engine/node/core/raft_timers.h"

#include <stdlib.h>

void raft_timers_deinit(struct raft_timers *timers)
{
    free(timers->heap);
}

static bool deadline_before(const struct partition *a, const struct partition *b)
{
    return a->deadline.ns != b->deadline.ns ? a->deadline.ns < b->deadline.ns
                                            : a->info.id < b->info.id;
}

static void raft_timers_place(struct raft_timers *timers, struct partition *p, uint32_t place)
{
    timers->heap[place - 1] = p;
    p->deadline_place = place;
}

static void raft_timers_up(struct raft_timers *timers, struct partition *p)
{
    uint32_t place = p->deadline_place;
    while (place > 1 && deadline_before(p, timers->heap[place / 2 - 1])) {
        raft_timers_place(timers, timers->heap[place / 2 - 1], place);
        place /= 2;
    }
    raft_timers_place(timers, p, place);
}

static void raft_timers_down(struct raft_timers *timers, struct partition *p)
{
    uint32_t place = p->deadline_place;
    for (uint32_t below; (below = 2 * place) <= timers->count; place = below) {
        if (below < timers->count && deadline_before(timers->heap[below], timers->heap[below - 1]))
            below++;
        if (!deadline_before(timers->heap[below - 1], p))
            break;
        raft_timers_place(timers, timers->heap[below - 1], place);
    }
    raft_timers_place(timers, p, place);
}

static void raft_timers_remove(struct raft_timers *timers, struct partition *p)
{
    uint32_t place = p->deadline_place;
    struct partition *last = timers->heap[--timers->count];
    p->deadline_place = 0;
    if (last == p)
        return;
    raft_timers_place(timers, last, place);
    raft_timers_up(timers, last);
    raft_timers_down(timers, last);
}

static void raft_timers_insert(struct raft_timers *timers, struct partition *p)
{
    timers->heap =
        must_grow(timers->heap, timers->count, &timers->capacity, sizeof timers->heap[0]);
    raft_timers_place(timers, p, ++timers->count);
    raft_timers_up(timers, p);
}

void raft_timers_set(struct raft_timers *timers, struct partition *p, struct instant at)
{
    bool never = at.ns == INSTANT_NEVER.ns;
    if (p->deadline_place != 0 && never) {
        raft_timers_remove(timers, p);
    } else if (!never && (p->deadline_place == 0 || p->deadline.ns != at.ns)) {
        p->deadline = at;
        if (p->deadline_place == 0)
            raft_timers_insert(timers, p);
        raft_timers_up(timers, p);
        raft_timers_down(timers, p);
    }
}

struct instant raft_timers_first_at(const struct raft_timers *timers)
{
    return timers->count > 0 ? timers->heap[0]->deadline : INSTANT_NEVER;
}

struct partition *raft_timers_take_due(struct raft_timers *timers, struct instant now)
{
    if (instant_before(now, raft_timers_first_at(timers)))
        return NULL;
    struct partition *p = timers->heap[0];
    raft_timers_remove(timers, p);
    return p;
}
