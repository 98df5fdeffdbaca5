/* timer.h - timers in queues of one delay each: the earliest is always first, so that starting,
 * stopping and expiring take constant time however many there are. */
#ifndef WEIR_ROUTER_TIMER_H
#define WEIR_ROUTER_TIMER_H

#include <stddef.h>

#include "base/instant.h"

struct timer_queue;

/* Zeroed = stopped. */
struct timer {
    struct timer_queue *queue; /* NULL: stopped */
    struct timer *previous;
    struct timer *next;
    struct instant at;
};

struct timer_queue {
    struct duration delay;
    struct timer *first;
    struct timer *last;
};

/* Starts anew if it runs. `now` must not move back. */
void timer_start(struct timer *t, struct timer_queue *q, struct instant now);
void timer_stop(struct timer *t);

/* Stops and returns a timer that is due, or NULL. */
struct timer *timer_queue_expire(struct timer_queue *q, struct instant now);

static inline struct instant timer_queue_next(const struct timer_queue *q)
{
    return q->first == NULL ? INSTANT_NEVER : q->first->at;
}

#define TIMER_OWNER(timer, type, member) ((type *)((char *)(timer)-offsetof(type, member)))

#endif
