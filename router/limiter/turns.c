/* turns.c - who has a turn at a shard, and who waits for one. */
#include "router/limiter/turns.h"

static bool turn_is_taken(const struct charge *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (bucket_shard(g->parts[i].bucket, g->parts[i].shard)->has_turn)
            return true;
    }
    return false;
}

static bool turn_overlaps(const struct charge *a, const struct charge *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        for (uint32_t k = 0; k < b->count; k++) {
            if (a->parts[i].bucket == b->parts[k].bucket && a->parts[i].shard == b->parts[k].shard)
                return true;
        }
    }
    return false;
}

/* Whether somebody waits who came before. */
static bool turn_is_wanted(const struct limiter *l, const struct charge *g)
{
    const struct session *other;
    TAILQ_FOREACH (other, &l->waiting, waiting) {
        if (turn_overlaps(&other->charge, g))
            return true;
    }
    return false;
}

static void turn_mark(const struct charge *g, bool has_turn)
{
    for (uint32_t i = 0; i < g->count; i++)
        bucket_shard(g->parts[i].bucket, g->parts[i].shard)->has_turn = has_turn;
}

bool turn_take(struct call *c)
{
    struct session *s = c->state;
    struct limiter *l = c->router->limiter;
    const bool is_next = s->is_next;
    must(!s->has_turn && !s->waits_turn);
    s->is_next = false;
    if (turn_is_taken(&s->charge) || (!is_next && turn_is_wanted(l, &s->charge))) {
        s->step = SESSION_PAUSE;
        s->waits_turn = true;
        c->outstanding++;
        TAILQ_INSERT_TAIL(&l->waiting, s, waiting);
        return false;
    }
    s->has_turn = s->charge.count > 1; /* one command needs no lock */
    if (s->has_turn)
        turn_mark(&s->charge, true);
    return true;
}

void turn_end(struct router *r, struct session *s)
{
    struct limiter *l = r->limiter;
    if (!s->has_turn)
        return;
    s->has_turn = false;
    turn_mark(&s->charge, false);
    if (!TAILQ_EMPTY(&l->waiting))
        timer_start(&l->turn, &l->turns, r->now);
}

void turn_leave(struct router *r, struct session *s)
{
    if (s->waits_turn)
        TAILQ_REMOVE(&r->limiter->waiting, s, waiting);
    s->waits_turn = false;
    turn_end(r, s);
}

static struct session *turn_next(const struct limiter *l)
{
    struct session *s;
    TAILQ_FOREACH (s, &l->waiting, waiting) {
        if (!turn_is_taken(&s->charge))
            return s;
    }
    return NULL;
}

void turns_go_on(struct router *r)
{
    struct session *s;
    while ((s = turn_next(r->limiter)) != NULL) {
        turn_leave(r, s);
        s->is_next = true;
        s->call->outstanding--;
        call_advance(s->call);
    }
}
