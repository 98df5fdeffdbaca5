/* scheduler.h - virtual time: what happens next, and when.
 *
 * Time stands still while an event runs and jumps to the next event's time between two. Events of
 * the same time run in the order in which they were scheduled: the same calls give the same run.
 * With ticks they come in batches, as a loop takes in one turn what has come since the last.
 * Not here: what the events do, and the clocks that processes see (sim/clock.h). */
#ifndef WEIR_SIM_SCHEDULER_H
#define WEIR_SIM_SCHEDULER_H

#include <stddef.h>

#include "base/instant.h"

typedef void scheduler_run(void *context, uint64_t argument);

enum {
    SCHEDULER_SLOTS = 1024,  /* of the near future: a power of two */
    SCHEDULER_SLOT_BITS = 10 /* 2^10 ns each */
};

/* When, after whom of the same time, and where the rest of the event is. */
typedef unsigned __int128 scheduler_key;

struct scheduler_event {
    scheduler_key key;
    scheduler_run *run; /* NULL: a free place */
    void *context;      /* borrows */
    uint64_t argument;
    uint32_t next; /* place + 1: of the same slot, later; or free; 0: none */
};

/* Events of the next millisecond are in slots by their time, each slot in order; those that were
 * further off when they were scheduled are in a heap. */
struct scheduler {
    struct instant now;
    int64_t tick_ns;                 /* times are rounded up to multiples of it; 0: any time */
    uint32_t slots[SCHEDULER_SLOTS]; /* place + 1 of the first; 0: none */
    uint32_t last[SCHEDULER_SLOTS];  /* place + 1; of a slot in use */
    uint64_t used[SCHEDULER_SLOTS / 64];
    scheduler_key *heap;            /* owns; four children each, the earliest first */
    struct scheduler_event *events; /* owns; by their places */
    uint32_t free;                  /* place + 1 */
    size_t count;                   /* of the heap */
    size_t capacity;                /* of heap and events */
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
