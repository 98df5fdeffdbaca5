#include "sim/scheduler.h"

#include <stdlib.h>

#include "base/must.h"

enum {
    CHILDREN = 4
};

void scheduler_deinit(struct scheduler *s)
{
    free(s->heap);
    *s = (struct scheduler){0};
}

static inline bool earlier(const struct scheduler_event *a, const struct scheduler_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

void scheduler_at(struct scheduler *s, struct instant at, scheduler_run *run, void *context,
                  uint64_t argument)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 256 : s->capacity * 2;
        s->heap = realloc(s->heap, s->capacity * sizeof s->heap[0]);
        must(s->heap != NULL);
    }
    struct scheduler_event e = {.at_ns = instant_before(at, s->now) ? s->now.ns : at.ns,
                                .sequence = s->sequence++,
                                .run = run,
                                .context = context,
                                .argument = argument};
    size_t hole = s->count++;
    while (hole > 0) {
        size_t parent = (hole - 1) / CHILDREN;
        if (!earlier(&e, &s->heap[parent]))
            break;
        s->heap[hole] = s->heap[parent];
        hole = parent;
    }
    s->heap[hole] = e;
}

static void take_first(struct scheduler *s)
{
    struct scheduler_event last = s->heap[--s->count];
    size_t hole = 0;
    for (;;) {
        size_t child = hole * CHILDREN + 1, best = child;
        if (child >= s->count)
            break;
        size_t end = child + CHILDREN < s->count ? child + CHILDREN : s->count;
        for (size_t i = child + 1; i < end; i++) {
            if (earlier(&s->heap[i], &s->heap[best]))
                best = i;
        }
        if (!earlier(&s->heap[best], &last))
            break;
        s->heap[hole] = s->heap[best];
        hole = best;
    }
    if (s->count > 0)
        s->heap[hole] = last;
}

bool scheduler_step(struct scheduler *s, struct instant until)
{
    if (s->count == 0 || s->heap[0].at_ns > until.ns) {
        s->now = instant_before(s->now, until) ? until : s->now;
        return false;
    }
    struct scheduler_event e = s->heap[0];
    take_first(s);
    must(e.at_ns >= s->now.ns);
    s->now = (struct instant){e.at_ns};
    e.run(e.context, e.argument);
    return true;
}
