/* scheduler.h - virtual time: runs events in the order of their times.
 *
 * Time stands still while an event runs. Then time jumps to the next event. Events of the same time
 * run in the order in which they were scheduled: the same calls give the same run. With `tick_ns`
 * events come in batches, like the events of one turn of a real loop.
 * Not here: what the events do, and the clocks that processes see (sim/world/clock.h). */
#pragma once

#include <stddef.h>

#include "base/instant.h"

typedef void scheduler_run(void *context, uint64_t argument);

enum {
    SCHEDULER_SLOTS = 1024,  /* slots of the near future; a power of two */
    SCHEDULER_SLOT_BITS = 10 /* a slot covers 2^10 ns */
};

/* Time, then sequence number, then the event's place. The order of keys is the order of events. */
typedef unsigned __int128 scheduler_key;

struct scheduler_event {
    scheduler_key key;
    scheduler_run *run; /* NULL: a free place */
    void *context;      /* borrows */
    uint64_t argument;
    uint32_t next; /* place + 1 of the slot's next event, or of the next free place; 0: none */
};

/* Events of the next millisecond are in slots by their time; each slot is in order. Events that
 * were scheduled for a later time are in a heap. */
struct scheduler {
    struct instant now;
    int64_t tick_ns;                 /* times are rounded up to multiples of it; 0: any time */
    uint32_t slots[SCHEDULER_SLOTS]; /* place + 1 of a slot's first event; 0: none */
    uint32_t last[SCHEDULER_SLOTS];  /* place + 1 of a used slot's last event */
    uint64_t used[SCHEDULER_SLOTS / 64];
    scheduler_key *heap;            /* owns; each parent has four children; the earliest first */
    struct scheduler_event *events; /* owns; by place */
    uint32_t free;                  /* place + 1 of the first free place; 0: none */
    size_t count;                   /* of the heap */
    size_t capacity;                /* of heap and events */
    uint64_t sequence;
};

void scheduler_deinit(struct scheduler *s);

/* A past time means now. An event cannot be taken back: its `argument` should tell the life or the
 * version for which it is meant. */
void scheduler_at(struct scheduler *s, struct instant at, scheduler_run *run, void *context,
                  uint64_t argument);
static inline void scheduler_in(struct scheduler *s, struct duration delay, scheduler_run *run,
                                void *context, uint64_t argument)
{
    scheduler_at(s, instant_add(s->now, delay), run, context, argument);
}

/* Runs the next event. False: there is none up to `until`, and the time is now `until`. */
bool scheduler_step(struct scheduler *s, struct instant until);
