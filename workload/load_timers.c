/* load_timers.c - see load_timers.h. */
#include "workload/load_timers.h"

#include <stdlib.h>

void load_timers_init(struct load_timers *t, int64_t capacity)
{
    *t = (struct load_timers){.capacity = capacity};
    t->heap = must_calloc((size_t)capacity, sizeof t->heap[0]);
}

void load_timers_deinit(struct load_timers *t)
{
    free(t->heap);
}

static bool timer_before(const struct load_timer *a, const struct load_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void load_timers_add(struct load_timers *t, int64_t at_ns, enum load_timer_kind kind,
                     const struct load_request *request)
{
    must(t->count < t->capacity);
    struct load_timer timer = {.at_ns = at_ns, .order = t->order++, .kind = kind};
    if (request != NULL)
        timer.request = *request;
    int64_t at = t->count++;
    for (int64_t above; at > 0 && timer_before(&timer, &t->heap[above = (at - 1) / 2]); at = above)
        t->heap[at] = t->heap[above];
    t->heap[at] = timer;
}

bool load_timers_take(struct load_timers *t, int64_t now_ns, struct load_timer *out)
{
    if (t->count == 0 || t->heap[0].at_ns > now_ns)
        return false;
    *out = t->heap[0];
    struct load_timer last = t->heap[--t->count];
    int64_t at = 0, below;
    while ((below = 2 * at + 1) < t->count) {
        if (below + 1 < t->count && timer_before(&t->heap[below + 1], &t->heap[below]))
            below++;
        if (!timer_before(&t->heap[below], &last))
            break;
        t->heap[at] = t->heap[below];
        at = below;
    }
    t->heap[at] = last;
    return true;
}

int64_t load_timers_deadline(const struct load_timers *t)
{
    return t->count > 0 ? t->heap[0].at_ns : INT64_MAX;
}
