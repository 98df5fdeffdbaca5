/* deadlines.c - a binary heap of partitions; each knows its place, counted from 1. */
#include "engine/node/deadlines.h"

#include <stdlib.h>

#include "base/must.h"

void deadlines_deinit(struct deadlines *deadlines)
{
    free(deadlines->heap);
}

static bool deadline_before(const struct partition *a, const struct partition *b)
{
    return a->deadline.ns != b->deadline.ns ? a->deadline.ns < b->deadline.ns
                                            : a->info.id < b->info.id;
}

static void deadlines_place(struct deadlines *deadlines, struct partition *p, uint32_t place)
{
    deadlines->heap[place - 1] = p;
    p->deadline_place = place;
}

static void deadlines_up(struct deadlines *deadlines, struct partition *p)
{
    uint32_t place = p->deadline_place;
    while (place > 1 && deadline_before(p, deadlines->heap[place / 2 - 1])) {
        deadlines_place(deadlines, deadlines->heap[place / 2 - 1], place);
        place /= 2;
    }
    deadlines_place(deadlines, p, place);
}

static void deadlines_down(struct deadlines *deadlines, struct partition *p)
{
    uint32_t place = p->deadline_place;
    for (uint32_t below; (below = 2 * place) <= deadlines->count; place = below) {
        if (below < deadlines->count &&
            deadline_before(deadlines->heap[below], deadlines->heap[below - 1]))
            below++;
        if (!deadline_before(deadlines->heap[below - 1], p))
            break;
        deadlines_place(deadlines, deadlines->heap[below - 1], place);
    }
    deadlines_place(deadlines, p, place);
}

static void deadlines_remove(struct deadlines *deadlines, struct partition *p)
{
    uint32_t place = p->deadline_place;
    struct partition *last = deadlines->heap[--deadlines->count];
    p->deadline_place = 0;
    if (last == p)
        return;
    deadlines_place(deadlines, last, place);
    deadlines_up(deadlines, last);
    deadlines_down(deadlines, last);
}

static void deadlines_insert(struct deadlines *deadlines, struct partition *p)
{
    if (deadlines->count == deadlines->capacity) {
        deadlines->capacity = deadlines->capacity == 0 ? 8 : 2 * deadlines->capacity;
        deadlines->heap = realloc(deadlines->heap, deadlines->capacity * sizeof deadlines->heap[0]);
        must(deadlines->heap != NULL);
    }
    deadlines_place(deadlines, p, ++deadlines->count);
    deadlines_up(deadlines, p);
}

void deadlines_set(struct deadlines *deadlines, struct partition *p, struct instant at)
{
    bool never = at.ns == INSTANT_NEVER.ns;
    if (p->deadline_place != 0 && never) {
        deadlines_remove(deadlines, p);
    } else if (!never && (p->deadline_place == 0 || p->deadline.ns != at.ns)) {
        p->deadline = at;
        if (p->deadline_place == 0)
            deadlines_insert(deadlines, p);
        deadlines_up(deadlines, p);
        deadlines_down(deadlines, p);
    }
}

struct instant deadlines_first_at(const struct deadlines *deadlines)
{
    return deadlines->count > 0 ? deadlines->heap[0]->deadline : INSTANT_NEVER;
}

struct partition *deadlines_take_due(struct deadlines *deadlines, struct instant now)
{
    if (instant_before(now, deadlines_first_at(deadlines)))
        return NULL;
    struct partition *p = deadlines->heap[0];
    deadlines_remove(deadlines, p);
    return p;
}
