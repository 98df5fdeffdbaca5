#include "router/limiter/limit.h"

#include <stdlib.h>

#include "base/must.h"
#include "router/route.h"

/* Those who wait for tokens of one key. They stay when it empties, until tokens come next. */
struct limit_waiters {
    struct subrequest_queue queue;
    uint64_t id;
    struct limit_waiters *next;
};

static enum admit_kind kind_of(const struct subrequest *s)
{
    bool write = s->request.op == REQUEST_PUT || s->request.op == REQUEST_DELETE;
    return write ? ADMIT_WRITE : ADMIT_READ;
}

static struct gac_key key_of(const struct table *t, enum admit_kind kind)
{
    return (struct gac_key){.table = t->id, .kind = kind == ADMIT_READ ? GAC_READ : GAC_WRITE};
}

/* Never 0: tables are numbered from 1. */
static uint64_t limit_id(struct gac_key key)
{
    return (uint64_t)key.table << 32 | (uint64_t)key.index << 1 | (uint64_t)key.kind;
}

bool limit_find(const struct router *r, const struct table *t, enum admit_kind kind,
                struct gac_limit *out)
{
    int64_t units = kind == ADMIT_READ ? t->rcu : t->wcu;
    if (t->billing == BILLING_ON_DEMAND)
        units = t->maximum[kind];
    enum gac_policy policy = gac_policy_of(r->config, t->gac);
    *out = (struct gac_limit){.key = key_of(t, kind),
                              .policy = policy,
                              .rate = units * MCU_PER_UNIT,
                              .version = t->version};
    return policy != GAC_OFF && units > 0;
}

/* What admission at the node charges before the work. */
static int64_t least_cost(const struct request *q)
{
    switch (q->op) {
    case REQUEST_PUT:
        return write_cost_mcu(item_size(q->body));
    case REQUEST_DELETE:
        return write_cost_mcu(0);
    default:
        return read_cost_mcu(0, q->consistent);
    }
}

/* ---- waiting ---- */

static void park(struct router *r, struct limit_waiters *w, uint64_t id, struct subrequest *s)
{
    if (r->limit_first == NULL)
        r->limit_changes = gac_client_changes(r->gac);
    if (w == NULL) {
        w = calloc(1, sizeof *w);
        must(w != NULL);
        w->id = id;
        w->next = r->limit_first;
        r->limit_first = w;
        id_map_add(&r->limit_waiters, id, w);
    }
    r->counters.limit_waits++;
    subrequest_queue_add(&w->queue, s);
    timer_start(&s->backoff, &r->limit_waits, r->now);
}

static void refuse_later(struct router *r, struct subrequest *s, struct duration wait)
{
    r->counters.limit_refused++;
    subrequest_queue_remove(s);
    timer_stop(&s->backoff);
    s->limit_wait = wait;
    subrequest_queue_add(&r->limit_refused, s);
}

bool limit_is_waiting(const struct router *r, const struct subrequest *s)
{
    return s->queue != NULL && s->queue != &r->sending;
}

void limit_wait_over(struct router *r, struct subrequest *s)
{
    if (s->queue != &r->limit_refused)
        refuse_later(r, s, (struct duration){0});
}

/* ---- taking ---- */

static enum gac_verdict take(struct router *r, struct subrequest *s, struct gac_limit *limit)
{
    int64_t cost = least_cost(&s->request);
    struct duration wait;
    enum gac_verdict verdict = gac_client_take(r->gac, r->now, limit, cost, &wait);
    if (limit->outdated)
        route_drop(r, s->route);
    if (verdict == GAC_TAKEN)
        s->taken_mcu = cost;
    if (verdict == GAC_REFUSED)
        refuse_later(r, s, wait);
    return verdict;
}

bool limit_take(struct router *r, struct subrequest *s)
{
    struct gac_limit limit;
    if (!limit_find(r, &s->route->table, kind_of(s), &limit))
        return true;
    uint64_t id = limit_id(limit.key);
    struct limit_waiters *w = NULL;
    if (r->limit_first != NULL)
        w = id_map_find(&r->limit_waiters, id);
    bool queued = w != NULL && w->queue.first != NULL;
    enum gac_verdict verdict = queued ? GAC_WAIT : take(r, s, &limit);
    if (verdict == GAC_WAIT)
        park(r, w, id, s);
    return verdict == GAC_TAKEN;
}

void limit_settle(struct router *r, struct subrequest *s, int64_t used_mcu)
{
    if (s->taken_mcu != 0)
        gac_client_settle(r->gac, key_of(&s->route->table, kind_of(s)), s->taken_mcu, used_mcu);
    s->taken_mcu = 0;
}

void limit_tell(struct router *r, const struct table *t, bool created)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct gac_limit limit;
        bool limited = limit_find(r, t, kind, &limit);
        if (limited || !created)
            gac_client_tell(r->gac, r->now, &limit, created);
    }
}

/* ---- at the end of an event ---- */

/* In their order, until one has to wait on. */
static void try_again(struct router *r, struct limit_waiters *w)
{
    struct subrequest *s;
    while ((s = w->queue.first) != NULL) {
        struct gac_limit limit;
        bool limited = limit_find(r, &s->route->table, kind_of(s), &limit);
        enum gac_verdict verdict = limited ? take(r, s, &limit) : GAC_TAKEN;
        if (verdict == GAC_WAIT)
            return;
        if (verdict == GAC_REFUSED)
            continue;
        subrequest_queue_remove(s);
        timer_stop(&s->backoff);
        subrequest_admitted(r, s);
    }
}

static void try_all_again(struct router *r)
{
    struct limit_waiters **at = &r->limit_first, *w;
    r->limit_changes = gac_client_changes(r->gac);
    while ((w = *at) != NULL) {
        try_again(r, w);
        if (w->queue.first != NULL) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        id_map_remove(&r->limit_waiters, w->id);
        free(w);
    }
}

bool limit_run(struct router *r)
{
    struct subrequest *s;
    if (r->limit_first != NULL && r->limit_changes != gac_client_changes(r->gac))
        try_all_again(r);
    bool any = r->limit_refused.first != NULL;
    while ((s = r->limit_refused.first) != NULL) {
        struct gac_holding holding = {0};
        gac_client_holding(r->gac, r->now, key_of(&s->route->table, kind_of(s)), &holding);
        const struct admit_verdict verdict = {.reason = ADMIT_REFUSED_TABLE,
                                              .wait = s->limit_wait,
                                              .levels.allocation_mcu = holding.tokens};
        subrequest_refused(r, s, &verdict);
    }
    return any;
}

int64_t limit_waiting(const struct router *r, struct gac_key key)
{
    const struct limit_waiters *w = id_map_find(&r->limit_waiters, limit_id(key));
    int64_t count = 0;
    for (const struct subrequest *s = w == NULL ? NULL : w->queue.first; s != NULL; s = s->next)
        count++;
    return count;
}

void limit_deinit(struct router *r)
{
    while (r->limit_first != NULL) {
        struct limit_waiters *w = r->limit_first;
        must(w->queue.first == NULL);
        r->limit_first = w->next;
        free(w);
    }
    id_map_deinit(&r->limit_waiters);
}
