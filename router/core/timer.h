/* timer.h - timers in queues. All timers of a queue have the same delay.
 *
 * Promise: starting, stopping and expiring a timer take constant time, because the first timer of
 * a queue is always the earliest. */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "base/instant.h"

struct timer_queue;

/* A zeroed timer is stopped. */
struct timer {
    TAILQ_ENTRY(timer) entry;
    struct timer_queue *queue; /* NULL: stopped */
    struct instant at;
};

struct timer_queue {
    struct duration delay;
    TAILQ_HEAD(, timer) timers;
};

void timer_queue_init(struct timer_queue *q, struct duration delay);

/* A running timer starts anew. `now` must not move back. */
void timer_start(struct timer *t, struct timer_queue *q, struct instant now);
void timer_stop(struct timer *t);

/* Stops and returns a timer that is due. NULL: none. */
struct timer *timer_queue_expire(struct timer_queue *q, struct instant now);

static inline struct instant timer_queue_next(const struct timer_queue *q)
{
    return TAILQ_EMPTY(&q->timers) ? INSTANT_NEVER : TAILQ_FIRST(&q->timers)->at;
}

#define TIMER_OWNER(timer, type, member) ((type *)((char *)(timer)-offsetof(type, member)))
