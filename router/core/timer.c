/* timer.c - a timer joins the end of its queue: with one delay for all, the newest is due last. */
#include "router/core/timer.h"

void timer_queue_init(struct timer_queue *q, struct duration delay)
{
    q->delay = delay;
    TAILQ_INIT(&q->timers);
}

void timer_start(struct timer *t, struct timer_queue *q, struct instant now)
{
    timer_stop(t);
    t->queue = q;
    t->at = instant_add(now, q->delay);
    TAILQ_INSERT_TAIL(&q->timers, t, entry);
}

void timer_stop(struct timer *t)
{
    if (t->queue == NULL)
        return;
    TAILQ_REMOVE(&t->queue->timers, t, entry);
    t->queue = NULL;
}

struct timer *timer_queue_expire(struct timer_queue *q, struct instant now)
{
    struct timer *t = TAILQ_FIRST(&q->timers);
    if (t == NULL || instant_before(now, t->at))
        return NULL;
    timer_stop(t);
    return t;
}
