/* limit.c - takes tokens before a request is sent, and keeps the queues of waiting requests. */
#include "router/core/limit.h"

#include <stdlib.h>

#include "engine/message/request_traits.h"
#include "engine/message/transaction_messages.h"
#include "gac/grant_policy.h"
#include "router/core/shedding.h"

/* Subrequests that wait for tokens of one key. An empty queue stays until the next retry. */
struct limit_waiters {
    struct subrequest_queue queue;
    uint64_t id;
    LIST_ENTRY(limit_waiters) place;
};

static struct gac_key limit_key(const struct table *t, enum admit_kind kind)
{
    return (struct gac_key){.table = t->id, .kind = kind == ADMIT_READ ? GAC_READ : GAC_WRITE};
}

struct gac_key limit_key_of(const struct subrequest *s)
{
    return limit_key(&s->route->table, request_admit_kind(&s->request));
}

bool limit_find(const struct router *r, const struct table *t, enum admit_kind kind,
                struct gac_limit *out)
{
    int64_t units = kind == ADMIT_READ ? t->rcu : t->wcu;
    if (t->billing == BILLING_ON_DEMAND)
        units = t->maximum[kind];
    enum gac_policy policy =
        gac_policy_of(r->config, table_gac_setting(t->gac, t->index_of != 0, (int)kind));
    *out = (struct gac_limit){.key = limit_key(t, kind),
                              .policy = policy,
                              .rate = units * MCU_PER_UNIT,
                              .version = t->version};
    return table_policy_limits(r->config, policy) && units > 0;
}

/* Of a request that is not free. */
static int64_t limit_least_cost(const struct request *q)
{
    if (q->op == REQUEST_GET)
        return read_cost_mcu(0, q->get.consistent) * (q->get.transacts ? TRANSACTION_FACTOR : 1);
    if (!traits_of(q)->write)
        return read_cost_mcu(0, request_is_consistent(q));
    if (q->op == REQUEST_TRANSACT)
        return request_transact(q)->mcu_min;
    if (q->op == REQUEST_TRANSACT_ADMIT)
        return request_admit(q)->mcu;
    const int64_t cost = write_cost_mcu(q->write.item.size > 0 ? item_size(q->write.item) : 0);
    return q->write.transaction.size > 0 ? cost * TRANSACTION_FACTOR : cost;
}

int64_t limit_cost_before(const struct request *q)
{
    return traits_of(q)->free ? 0 : limit_least_cost(q);
}

/* Whether the tokens for the request were taken with an earlier one. */
static bool limit_was_taken(const struct request *q)
{
    if (q->op == REQUEST_TRANSACT_ADMIT)
        return request_admit(q)->back != WRITE_NOT_ADMITTED;
    return traits_of(q)->write && traits_of(q)->answer == ANSWER_ITEM &&
           q->write.admitted != WRITE_NOT_ADMITTED;
}

/* The limits that apply to the request. Returns how many. */
static uint32_t limit_needs(const struct router *r, const struct subrequest *s,
                            struct limit_need needs[LIMITS_MAX])
{
    const struct request *q = &s->request;
    if (traits_of(q)->free || limit_was_taken(q))
        return 0;
    needs[0].mcu = limit_least_cost(&s->request);
    return limit_find(r, &s->route->table, request_admit_kind(&s->request), &needs[0].limit);
}

/* ---- taking ---- */

/* `used_mcu` below 0: what was taken. */
static void limits_settle(struct gac_client *gac, struct limits_taken *taken, int64_t used_mcu)
{
    while (taken->count > 0) {
        const struct limit_share *share = &taken->list[--taken->count];
        gac_client_settle(gac, share->key, share->mcu, used_mcu < 0 ? share->mcu : used_mcu);
    }
}

enum gac_verdict limits_take(struct gac_client *gac, struct instant now, struct limit_need needs[],
                             uint32_t count, struct limits_taken *taken)
{
    must(count <= LIMITS_MAX);
    must(taken->count == 0);
    for (uint32_t i = 0; i < count; i++) {
        struct limit_need *need = &needs[i];
        enum gac_verdict verdict = gac_client_take(gac, now, &need->limit, need->mcu, &taken->wait);
        taken->level_mcu = need->limit.level;
        if (verdict != GAC_TAKEN) {
            limits_settle(gac, taken, 0);
            taken->short_of = need->limit.key;
            return verdict;
        }
        taken->list[taken->count++] = (struct limit_share){need->limit.key, need->mcu};
    }
    return GAC_TAKEN;
}

/* ---- waiting ---- */

static struct limit_waiters *limit_waiters_of(const struct router *r, struct gac_key key)
{
    return LIST_EMPTY(&r->limit_queues) ? NULL
                                        : id_map_find(&r->limit_waiters, gac_key_number(key));
}

/* Appends the subrequest to the queue of the key that is short. */
static void limit_park(struct router *r, struct subrequest *s)
{
    struct limit_waiters *w = limit_waiters_of(r, s->limits.short_of);
    must(s->limits.count == 0); /* LIMIT-3 */
    if (LIST_EMPTY(&r->limit_queues))
        r->limit_changes = gac_client_changes(r->gac);
    if (w == NULL) {
        w = must_calloc(1, sizeof *w);
        TAILQ_INIT(&w->queue);
        w->id = gac_key_number(s->limits.short_of);
        LIST_INSERT_HEAD(&r->limit_queues, w, place);
        id_map_add(&r->limit_waiters, w->id, w);
    }
    r->counters.limit_delayed++;
    subrequest_queue_add(&w->queue, s);
    timer_start(&s->backoff, &r->limit_waits, r->now);
}

static void limit_refuse(struct router *r, struct subrequest *s, struct duration wait)
{
    must(s->limits.count == 0); /* LIMIT-3 */
    r->counters.limit_refused++;
    timer_stop(&s->backoff);
    s->limits.wait = wait;
    subrequest_refuse_later(r, s);
}

bool limit_is_waiting(const struct router *r, const struct subrequest *s)
{
    return s->queue != NULL && s->queue != &r->sending;
}

void limit_wait_over(struct router *r, struct subrequest *s)
{
    if (s->queue != &r->refused)
        limit_refuse(r, s, (struct duration){0});
}

/* Whether other requests wait for one of the limits. A queue in which `s` is first does not
 * count. */
static bool limit_is_queued(const struct router *r, struct subrequest *s,
                            const struct limit_need needs[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct limit_waiters *w = limit_waiters_of(r, needs[i].limit.key);
        if (w != NULL && !TAILQ_EMPTY(&w->queue) && TAILQ_FIRST(&w->queue) != s) {
            s->limits.short_of = needs[i].limit.key;
            return true;
        }
    }
    return false;
}

/* The same for the same request of the same client: its items and keys, and its place in a
 * batch. */
static uint64_t limit_request_number(const struct subrequest *s)
{
    return call_bytes_number(s->call) + s->index;
}

/* When to come again: behind those who were refused before. */
static struct duration limit_place(struct router *r, const struct subrequest *s,
                                   const struct limit_need needs[], uint32_t count)
{
    int64_t mcu = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (gac_key_equal(needs[i].limit.key, s->limits.short_of))
            mcu = needs[i].mcu;
    }
    return gac_client_place(r->gac, r->now, s->limits.short_of, mcu, limit_request_number(s),
                            s->limits.wait);
}

static enum gac_verdict limit_try(struct router *r, struct subrequest *s, struct limit_need needs[],
                                  uint32_t count)
{
    if (!LIST_EMPTY(&r->limit_queues) && limit_is_queued(r, s, needs, count))
        return GAC_WAIT;
    enum gac_verdict verdict = limits_take(r->gac, r->now, needs, count, &s->limits);
    for (uint32_t i = 0; i < count; i++) {
        if (needs[i].limit.outdated)
            route_drop(r, s->route);
    }
    if (verdict == GAC_REFUSED)
        limit_refuse(r, s, limit_place(r, s, needs, count));
    return verdict;
}

/* Whether the request is within a limit, as far as the router knows before it takes tokens. */
static bool limit_is_within(const struct router *r, const struct subrequest *s,
                            const struct limit_need needs[], uint32_t count)
{
    if (traits_of(&s->request)->free || limit_was_taken(&s->request))
        return true;
    if (count > 0 && gac_client_limits(r->gac, &needs[0].limit))
        return true;
    return !gac_client_exempts(r->gac, &needs[0].limit) && !shedding_is_excess(r, limit_key_of(s));
}

bool limit_take(struct router *r, struct subrequest *s)
{
    struct limit_need needs[LIMITS_MAX];
    const uint32_t count = limit_needs(r, s, needs);
    if (!shedding_arrive(r, s, limit_is_within(r, s, needs, count)))
        return false;
    enum gac_verdict verdict = limit_try(r, s, needs, count);
    if (verdict == GAC_WAIT)
        limit_park(r, s);
    return verdict == GAC_TAKEN;
}

void limit_settle(struct router *r, struct subrequest *s, int64_t used_mcu)
{
    limits_settle(r->gac, &s->limits, used_mcu);
}

void limit_correct(struct router *r, const struct table *t, enum admit_kind kind, int64_t more_mcu)
{
    struct gac_limit limit;
    if (limit_find(r, t, kind, &limit))
        gac_client_settle(r->gac, limit.key, 0, more_mcu);
}

void limit_keep(struct router *r, struct subrequest *s)
{
    limits_settle(r->gac, &s->limits, -1);
}

void limit_notify(struct router *r, const struct table *t, bool created)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct gac_limit limit;
        bool limited = limit_find(r, t, kind, &limit);
        if (limited || !created)
            gac_client_notify(r->gac, r->now, &limit, created);
    }
}

/* ---- at the end of an event ---- */

/* Tries the subrequests in the order of the queue, until one must wait on. */
static void limit_retry(struct router *r, struct limit_waiters *w)
{
    struct subrequest *s;
    while ((s = TAILQ_FIRST(&w->queue)) != NULL) {
        struct limit_need needs[LIMITS_MAX];
        enum gac_verdict verdict = limit_try(r, s, needs, limit_needs(r, s, needs));
        if (verdict == GAC_REFUSED)
            continue;
        if (verdict == GAC_WAIT && gac_key_number(s->limits.short_of) == w->id)
            return;
        subrequest_queue_remove(s);
        timer_stop(&s->backoff);
        if (verdict == GAC_WAIT)
            limit_park(r, s); /* waits for another of its limits now */
        else
            subrequest_admitted(r, s);
    }
}

static void limit_retry_all(struct router *r)
{
    r->limit_changes = gac_client_changes(r->gac);
    for (struct limit_waiters *w = LIST_FIRST(&r->limit_queues), *next; w != NULL; w = next) {
        limit_retry(r, w); /* queues may be added in front */
        next = LIST_NEXT(w, place);
        if (!TAILQ_EMPTY(&w->queue))
            continue;
        LIST_REMOVE(w, place);
        id_map_remove(&r->limit_waiters, w->id);
        free(w);
    }
}

bool limit_run(struct router *r)
{
    struct subrequest *s;
    if (!LIST_EMPTY(&r->limit_queues) && r->limit_changes != gac_client_changes(r->gac))
        limit_retry_all(r);
    bool any = !TAILQ_EMPTY(&r->refused);
    while ((s = TAILQ_FIRST(&r->refused)) != NULL) {
        struct gac_holding holding = {0};
        if (s->invalid != NULL || s->busy != NULL) {
            subrequest_refuse_item(r, s);
            continue;
        }
        if (s->shed != NULL) {
            subrequest_shed(r, s);
            continue;
        }
        gac_client_holding(r->gac, r->now, s->limits.short_of, &holding);
        const struct admit_verdict verdict = {.reason = ADMIT_REFUSED_TABLE,
                                              .wait = s->limits.wait,
                                              .balances.allocation_mcu = holding.tokens};
        subrequest_refused(r, s, &verdict);
    }
    return any;
}

int64_t limit_waiting(const struct router *r, struct gac_key key)
{
    const struct limit_waiters *w = limit_waiters_of(r, key);
    const struct subrequest *s;
    int64_t count = 0;
    if (w != NULL)
        TAILQ_FOREACH (s, &w->queue, entry)
            count++;
    return count;
}

void limit_deinit(struct router *r)
{
    for (struct limit_waiters *w; (w = LIST_FIRST(&r->limit_queues)) != NULL;) {
        must(TAILQ_EMPTY(&w->queue));
        LIST_REMOVE(w, place);
        free(w);
    }
    id_map_deinit(&r->limit_waiters);
}
