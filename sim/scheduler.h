/* scheduler.h - virtual time: what happens next, and when.
 *
 * Time stands still while an event runs and jumps to the next event's time between two. Events of
 * the same time run in the order in which they were scheduled: the same calls give the same run.
 * Not here: what the events do, and the clocks that processes see (sim/clock.h). */
#ifndef WEIR_SIM_SCHEDULER_H
#define WEIR_SIM_SCHEDULER_H

#include <stddef.h>

#include "base/instant.h"

typedef void scheduler_run(void *context, uint64_t argument);

struct scheduler_event {
    scheduler_run *run; /* NULL: a free place */
    void *context;      /* borrows */
    uint64_t argument;
};

struct scheduler {
    struct instant now;
    unsigned __int128 *heap; /* owns; times, in order; four children each, the earliest first */
    struct scheduler_event *events; /* owns; by their places */
    uint32_t *free;                 /* owns; places, from `count` on those that are free */
    size_t count;
    size_t capacity; /* of each of the three */
    uint64_t sequence;
};

void scheduler_deinit(struct scheduler *s);

/* A time that has passed means now. What was scheduled cannot be taken back: `argument` is where
 * an event carries the life or the version it is meant for. */
void scheduler_at(struct scheduler *s, struct instant at, scheduler_run *run, void *context,
                  uint64_t argument);
static inline void scheduler_in(struct scheduler *s, struct duration delay, scheduler_run *run,
                                void *context, uint64_t argument)
{
    scheduler_at(s, instant_add(s->now, delay), run, context, argument);
}

/* Runs the next event if it is not later than `until`; otherwise false, and it is `until`. */
bool scheduler_step(struct scheduler *s, struct instant until);

#endif
