/* timer.h - timers in queues of one delay each: the earliest is always first, so that starting,
 * stopping and expiring take constant time however many there are. */
#ifndef WEIR_ROUTER_TIMER_H
#define WEIR_ROUTER_TIMER_H

#include <stddef.h>
#include <sys/queue.h>

#include "base/instant.h"

struct timer_queue;

/* Zeroed = stopped. */
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

/* Starts anew if it runs. `now` must not move back. */
void timer_start(struct timer *t, struct timer_queue *q, struct instant now);
void timer_stop(struct timer *t);

/* Stops and returns a timer that is due, or NULL. */
struct timer *timer_queue_expire(struct timer_queue *q, struct instant now);

static inline struct instant timer_queue_next(const struct timer_queue *q)
{
    return TAILQ_EMPTY(&q->timers) ? INSTANT_NEVER : TAILQ_FIRST(&q->timers)->at;
}

#define TIMER_OWNER(timer, type, member) ((type *)((char *)(timer)-offsetof(type, member)))

#endif
