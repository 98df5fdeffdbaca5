/* transaction_queue.c - which call holds a shard, and which calls wait for one. */
#include "router/limiter/transaction_queue.h"

static bool charge_is_blocked(const struct charge *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (bucket_shard(g->parts[i].bucket, g->parts[i].shard)->in_transaction)
            return true;
    }
    return false;
}

static bool charge_overlaps(const struct charge *a, const struct charge *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        for (uint32_t k = 0; k < b->count; k++) {
            if (a->parts[i].bucket == b->parts[k].bucket && a->parts[i].shard == b->parts[k].shard)
                return true;
        }
    }
    return false;
}

/* Whether a call waits that came before. */
static bool queue_has_conflict(const struct limiter *l, const struct charge *g)
{
    const struct limiter_call *other;
    TAILQ_FOREACH (other, &l->queue, queue_entry) {
        if (charge_overlaps(&other->charge, g))
            return true;
    }
    return false;
}

static void charge_mark_shards(const struct charge *g, bool has_turn)
{
    for (uint32_t i = 0; i < g->count; i++) {
        struct cached_shard *k = bucket_shard(g->parts[i].bucket, g->parts[i].shard);
        must(k->in_transaction != has_turn); /* TXQUEUE-1 */
        k->in_transaction = has_turn;
    }
}

bool transaction_queue_enter(struct call *c)
{
    struct limiter_call *s = c->state;
    struct limiter *l = c->router->limiter;
    const bool is_next = s->is_next;
    must(!s->holds_shards);
    must(!s->is_queued);
    must(s->charge.count > 0);
    s->is_next = false;
    if (charge_is_blocked(&s->charge) || (!is_next && queue_has_conflict(l, &s->charge))) {
        s->step = LIMITER_CALL_WAIT;
        s->is_queued = true;
        c->outstanding++;
        TAILQ_INSERT_TAIL(&l->queue, s, queue_entry);
        return false;
    }
    s->holds_shards = s->charge.count > 1; /* one command needs no lock */
    if (s->holds_shards)
        charge_mark_shards(&s->charge, true);
    return true;
}

void transaction_queue_release(struct router *r, struct limiter_call *s)
{
    struct limiter *l = r->limiter;
    if (!s->holds_shards)
        return;
    s->holds_shards = false;
    charge_mark_shards(&s->charge, false);
    if (!TAILQ_EMPTY(&l->queue))
        timer_start(&l->queue_timer, &l->queue_timers, r->now);
}

void transaction_queue_leave(struct router *r, struct limiter_call *s)
{
    if (s->is_queued)
        TAILQ_REMOVE(&r->limiter->queue, s, queue_entry);
    s->is_queued = false;
    transaction_queue_release(r, s);
}

static struct limiter_call *queue_next(const struct limiter *l)
{
    struct limiter_call *s;
    TAILQ_FOREACH (s, &l->queue, queue_entry) {
        if (!charge_is_blocked(&s->charge))
            return s;
    }
    return NULL;
}

void transaction_queue_run(struct router *r)
{
    struct limiter_call *s;
    while ((s = queue_next(r->limiter)) != NULL) {
        transaction_queue_leave(r, s);
        s->is_next = true;
        must(s->step == LIMITER_CALL_WAIT);
        must(s->call->outstanding > 0);
        s->call->outstanding--;
        call_advance(s->call);
    }
}
