#include "router/timer.h"

void timer_start(struct timer *t, struct timer_queue *q, struct instant now)
{
    timer_stop(t);
    *t = (struct timer){.queue = q, .previous = q->last, .at = instant_add(now, q->delay)};
    if (q->last != NULL)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

void timer_stop(struct timer *t)
{
    struct timer_queue *q = t->queue;
    if (q == NULL)
        return;
    if (t->previous != NULL)
        t->previous->next = t->next;
    else
        q->first = t->next;
    if (t->next != NULL)
        t->next->previous = t->previous;
    else
        q->last = t->previous;
    t->queue = NULL;
}

struct timer *timer_queue_expire(struct timer_queue *q, struct instant now)
{
    struct timer *t = q->first;
    if (t == NULL || instant_before(now, t->at))
        return NULL;
    timer_stop(t);
    return t;
}
