/* bucket_maintenance.c - growth, merging and maintenance rounds, as calls without a client. */
#include "router/limiter/bucket_maintenance.h"

#include <stdio.h>

#include "base/settings/limiter.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "router/limiter/bucket_sweeper.h"
#include "router/limiter/limiter_call.h"

enum {
    SHARD_REQUESTS_S = 1000, /* what the hidden limit lets a shard take */
    EVENT_INTERVAL_MS = 100, /* between events: the catalog keeps only the last ones */
    /* After a failure, doubling: rounds of several routers must not take the units that they
     * need. */
    MAINTENANCE_BACKOFF_MS_MIN = 20,
    MAINTENANCE_BACKOFF_MS_MAX = 5000,
    CHECKS_MIN = 8, /* of a bucket, before it is merged */
    TRIES_MAX =
        8 /* of a throttled step, one soon after the other: nodes give units to those who asked */
};

enum maintenance_phase {
    MAINTENANCE_READ,     /* all shards are read */
    MAINTENANCE_SEND_MAP, /* those that lag get the shard map and the limits */
    MAINTENANCE_MERGE_BEGIN,
    MAINTENANCE_READ_SEALED, /* the shards that go are read: which are sealed already? */
    MAINTENANCE_SEAL,
    MAINTENANCE_MERGE_IN,
    MAINTENANCE_MERGE_COMMIT,
    MAINTENANCE_DONE,
};

struct bucket_maintenance {
    struct limiter_call limiter_call; /* must be first */
    LIST_ENTRY(bucket_maintenance) entry;
    struct call *call;
    struct cached_bucket *bucket;
    bool grows;
    enum maintenance_phase phase;
    bool changes; /* something was to be done */
    bool failed;
    bool throttled; /* a step failed for want of units */
    uint32_t tries;
    uint32_t count; /* shards that stay */
    /* The map of the merging that is being done: another router may begin the next one
     * meanwhile. */
    struct limiter_shard_map shard_map;
    /* of each shard that goes: what it had */
    bool sealed[LIMITER_SHARDS_MAX / 2];
    bool created[LIMITER_SHARDS_MAX / 2];
    struct limiter_reserved_share reserved[LIMITER_SHARDS_MAX / 2];
    /* of each reserved share; in the arena. Shards that were sealed at different times may have
     * different ones */
    struct limiter_limits *limits[LIMITER_SHARDS_MAX / 2];
};

_Static_assert(offsetof(struct bucket_maintenance, limiter_call) == 0,
               "call->state is a limiter_call");

static bool maintenance_all_sealed(const struct bucket_maintenance *t)
{
    bool all = true;
    for (uint32_t i = 0; i < t->count; i++)
        all = all && t->sealed[i];
    return all;
}

/* ---- life ---- */

static bool maintenance_plan(struct call *c);
static bool maintenance_merge_in(struct call *c);
static bool maintenance_shards_read(struct call *c);
static bool maintenance_reply(struct call *c, struct subrequest *s, const struct reply *r);
static bool maintenance_finish(struct call *c);

static bool maintenance_failed(UNUSED struct call *c)
{
    return true;
}

static const struct limiter_call_handlers maintenance_handlers = {
    .plan = maintenance_plan,
    .charge_ended = maintenance_failed,
    .shards_read = maintenance_shards_read,
    .reply = maintenance_reply,
    .finish = maintenance_finish,
    .no_deadline = true,
    .no_parents = true};

static bool maintenance_begin(struct call *c, UNUSED const struct json_value m[])
{
    struct bucket_maintenance *t = c->state;
    limiter_call_begin(c, &t->limiter_call, &maintenance_handlers, &t->bucket->name);
    return true;
}

static int maintenance_fail(struct call *c, const struct fault *f)
{
    struct bucket_maintenance *t = c->state;
    t->failed = true;
    return limiter_error_status(f);
}

/* A check reads all shards, and others need the table's units: while nothing changes, checks get
 * rarer. */
static void maintenance_set_interval(struct router *r, const struct bucket_maintenance *t)
{
    struct cached_bucket *b = t->bucket;
    const int64_t check_ms = config_limiter(r->config)->limiter_refresh_ms;
    const int64_t max_ms = config_limiter(r->config)->limiter_merge_ms / CHECKS_MIN;
    const int64_t interval_ms = b->check_interval_ms == 0 ? check_ms : 2 * b->check_interval_ms;
    if (t->limiter_call.throttled)
        r->limiter->checks_from = instant_add_ms(r->now, MAINTENANCE_BACKOFF_MS_MAX);
    b->check_interval_ms = t->changes || t->failed ? 0 : MIN(interval_ms, max_ms);
    must(b->check_interval_ms >= 0);
    b->check_from = instant_add_ms(r->now, b->check_interval_ms);
}

static void maintenance_end(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    struct cached_bucket *b = t->bucket;
    const int64_t backoff_ms = 2 * b->maintenance_backoff_ms;
    must(b->in_maintenance);
    b->in_maintenance = false;
    b->maintenance_backoff_ms = !t->failed ? 0
                                : backoff_ms < MAINTENANCE_BACKOFF_MS_MIN
                                    ? MAINTENANCE_BACKOFF_MS_MIN
                                    : MIN(backoff_ms, MAINTENANCE_BACKOFF_MS_MAX);
    b->maintenance_from = instant_add_ms(c->router->now, b->maintenance_backoff_ms);
    if (!t->grows)
        maintenance_set_interval(c->router, t);
    LIST_REMOVE(t, entry);
    limiter_call_end(c);
}

static const struct operation maintenance_operation = {.name = "LimiterMaintenance",
                                                       .begin = maintenance_begin,
                                                       .ready = limiter_call_ready,
                                                       .reply = limiter_call_reply,
                                                       .finish = limiter_call_finish,
                                                       .fail = maintenance_fail,
                                                       .end = maintenance_end};

static void maintenance_start(struct router *r, struct cached_bucket *b, bool grows)
{
    if (b->in_maintenance || instant_before(r->now, b->maintenance_from))
        return;
    struct call *c = call_create_own(r, &maintenance_operation);
    struct bucket_maintenance *t = arena_zalloc(&c->arena, sizeof *t);
    t->call = c;
    t->bucket = b;
    t->grows = grows;
    b->in_maintenance = true;
    c->state = t;
    LIST_INSERT_HEAD(&r->limiter->maintenance_calls, t, entry);
    call_begin(c, NULL);
}

void maintenance_grow(struct router *r, struct cached_bucket *b)
{
    if (b->merging || bucket_shard_count(b) < limiter_shards_max(&b->limits))
        maintenance_start(r, b, !b->merging);
}

void maintenance_run(struct router *r)
{
    struct limiter *l = r->limiter;
    timer_start(&l->check_timer, &l->check_timers, r->now);
    if (config_limiter(r->config)->limiter_refresh == 0)
        return;
    if (!instant_before(r->now, l->checks_from))
        sweeper_run(r);
    struct cached_bucket *b = TAILQ_FIRST(&l->lru), *next;
    for (uint32_t left = l->count; left > 0;
         left--, b = next) { /* a call moves its bucket to the end */
        next = TAILQ_NEXT(b, lru_entry);
        const bool due = !instant_before(r->now, b->check_from) &&
                         !instant_before(r->now, l->checks_from) && bucket_shard_count(b) > 1;
        if (due || b->merging)
            maintenance_start(r, b, false);
    }
}

/* ---- events ---- */

/* A call that reports an event to the catalog. */
struct event_call {
    LIST_ENTRY(event_call) entry;
    struct call *call;
};

static bool event_begin(struct call *c, UNUSED const struct json_value m[])
{
    subrequest_start(c->router, c->subrequests);
    return true;
}

static bool event_reply(UNUSED struct call *c, UNUSED struct subrequest *s, const struct reply *r)
{
    (void)r; /* an event that is lost is counted all the same */
    return true;
}

static int event_fail(UNUSED struct call *c, const struct fault *f)
{
    return limiter_error_status(f);
}

static void event_end(struct call *c)
{
    struct event_call *t = c->state;
    LIST_REMOVE(t, entry);
}

static const struct operation event_operation = {.name = "LimiterEvent",
                                                 .begin = event_begin,
                                                 .reply = event_reply,
                                                 .fail = event_fail,
                                                 .end = event_end};

void maintenance_report(struct router *r, const struct cached_bucket *b, bool grown)
{
    struct metrics_limiter *counts = limiter_counts(r, b->name.name_space);
    struct limiter *l = r->limiter;
    *(grown ? &counts->splits : &counts->merges) += 1;
    if (l->last_event_at.ns != 0 &&
        instant_since(r->now, l->last_event_at).ns < duration_ms(EVENT_INTERVAL_MS).ns)
        return;
    l->last_event_at = r->now;
    char reason[EVENT_TEXT_SIZE_MAX];
    const uint32_t now = bucket_shard_count(b), before = grown ? now / 2 : 2 * now;
    snprintf(reason, sizeof reason, "%.*s/%.*s/%.*s: %s", SHOWN(b->name.name_space),
             SHOWN(b->name.entity), SHOWN(b->name.resource),
             grown ? "a shard of the bucket got too many writes"
                   : "the bucket has needed only half its shards for long");
    const struct decision d = {.has_event = true,
                               .event = {.kind = grown ? EVENT_BUCKET_GROWN : EVENT_BUCKET_MERGED,
                                         .table = slice_of(LIMITER_TABLE),
                                         .reason = slice_of(reason),
                                         .figure = slice_of("shards"),
                                         .before = before,
                                         .after = now}};
    struct buffer body = {0};
    decision_encode(&body, &d);
    struct call *c = call_create_own(r, &event_operation);
    struct event_call *t = arena_zalloc(&c->arena, sizeof *t);
    t->call = c;
    c->state = t;
    LIST_INSERT_HEAD(&l->event_calls, t, entry);
    struct subrequest *s = call_request(c, NULL, REQUEST_DECIDE);
    s->request.decide.op = CATALOG_EVENT;
    s->request.decide.decision = arena_take(&c->arena, &body);
    call_begin(c, NULL);
}

void maintenance_end_all(struct router *r)
{
    struct bucket_maintenance *t;
    struct event_call *e;
    while ((t = LIST_FIRST(&r->limiter->maintenance_calls)) != NULL)
        call_end(t->call);
    while ((e = LIST_FIRST(&r->limiter->event_calls)) != NULL)
        call_end(e->call);
}

/* ---- steps ---- */

/* Sends a command of the phase to a shard. */
static void maintenance_send(struct call *c, enum limiter_verb verb, uint32_t shard, uint32_t index)
{
    struct bucket_maintenance *t = c->state;
    struct limiter_command command;
    shard_command_begin(c->router, t->bucket, verb, shard, &command);
    if (t->shard_map.epoch > 0)
        command.sender_map = t->shard_map;
    if (verb == LIMITER_MERGE_IN) {
        must(index < t->count);
        must(t->sealed[index]);
        command.reserved_share = t->reserved[index];
        command.created = t->created[index];
        must(!command.created || t->limits[index] != NULL);
        if (command.created)
            command.limits = *t->limits[index];
    }
    t->limiter_call.step = LIMITER_CALL_OWN_STEP;
    shard_command_send(c, t->bucket, &command, index, slice_make(NULL, 0), 0);
}

static bool maintenance_plan(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    if (t->phase == MAINTENANCE_DONE)
        return true;
    if (t->grows) {
        t->phase = MAINTENANCE_DONE;
        limiter_call_grow(c, t->bucket);
    } else {
        limiter_call_read_shards(c, t->bucket);
    }
    return true;
}

/* Whether the bucket has needed half its shards at most since long ago. */
static bool maintenance_is_idle(const struct router *r, struct cached_bucket *b, int64_t requests)
{
    const int64_t since_ms = instant_since(r->now, b->checked_at).ns / NS_PER_MS;
    const int64_t max = bucket_shard_count(b) * SHARD_REQUESTS_S / 4;
    const int64_t more = requests - b->checked_requests;
    const bool busy = !b->is_checked || since_ms <= 0 || more < 0 || more * 1000 > max * since_ms;
    if (busy)
        b->idle_since = r->now;
    b->is_checked = true;
    b->checked_at = r->now;
    b->checked_requests = requests;
    const int64_t wait = duration_ms(config_limiter(r->config)->limiter_merge_ms).ns;
    return !busy && instant_since(r->now, b->idle_since).ns >= wait;
}

/* Sends the shard map and the limits to shards that have older ones. False: none lags. */
static bool maintenance_send_map(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    struct cached_bucket *b = t->bucket;
    bool any = false;
    t->phase = MAINTENANCE_SEND_MAP;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        const struct cached_shard *k = bucket_shard(b, i);
        const bool there = k->version > 0;
        if (!there || (k->shards >= bucket_shard_count(b) && k->version >= b->limits.version))
            continue;
        maintenance_send(c, LIMITER_CONFIGURE, i, i);
        any = true;
    }
    return any;
}

/* What was done in an earlier round is not done again: each command costs units, and there may be
 * few. */
static bool maintenance_read_sealed(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    t->phase = MAINTENANCE_READ_SEALED;
    t->count = bucket_shard_count(t->bucket);
    t->shard_map = t->bucket->shard_map;
    must(t->shard_map.epoch > 0);
    if (t->count > LIMITER_SHARDS_MAX / 2)
        return true;
    t->limiter_call.step = LIMITER_CALL_OWN_STEP;
    for (uint32_t i = 0; i < t->count; i++)
        shard_read_send(c, t->bucket, t->count + i);
    return true;
}

static bool maintenance_seal(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    bool any = false;
    must(t->phase == MAINTENANCE_READ_SEALED);
    must(t->count <= LIMITER_SHARDS_MAX / 2);
    t->phase = MAINTENANCE_SEAL;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->sealed[i])
            continue;
        maintenance_send(c, LIMITER_SEAL, t->count + i, i);
        any = true;
    }
    return any || maintenance_merge_in(c);
}

static bool maintenance_shards_read(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    struct cached_bucket *b = t->bucket;
    int64_t requests = 0;
    if (t->grows && b->shard_map.epoch != 0) { /* now the shard map is known */
        limiter_call_grow(c, b);
        return true;
    }
    for (uint32_t i = 0; i < bucket_shard_count(b); i++)
        requests += bucket_shard(b, i)->requests;
    t->changes = b->merging;
    if (b->merging)
        return maintenance_read_sealed(c);
    if (bucket_shard_count(b) > 1 && maintenance_is_idle(c->router, b, requests)) {
        t->phase = MAINTENANCE_MERGE_BEGIN;
        t->changes = true;
        maintenance_send(c, LIMITER_MERGE_BEGIN, 0, 0);
        return true;
    }
    t->changes = maintenance_send_map(c);
    return true;
}

/* ---- replies ---- */

/* Keeps what the sealed shard had. */
static void maintenance_keep_sealed(struct call *c, uint32_t index,
                                    const struct limiter_bucket *item)
{
    struct bucket_maintenance *t = c->state;
    must(index < t->count);
    if (!item->sealed || item->epoch < t->shard_map.epoch)
        return;
    t->sealed[index] = true;
    t->created[index] = item->created;
    t->reserved[index] =
        (struct limiter_reserved_share){.child = t->count + index, .epoch = item->epoch};
    memcpy(t->reserved[index].balances, item->balances, sizeof t->reserved[index].balances);
    if (!item->created)
        return;
    struct limiter_limits *limits = arena_alloc(&c->arena, sizeof *limits);
    *limits = item->limits;
    for (uint32_t i = 0; i < limits->count; i++)
        limits->at[i].name = arena_copy(&c->arena, limits->at[i].name);
    t->limits[index] = limits;
}

static void maintenance_sealed_reply(struct call *c, const struct subrequest *s,
                                     const struct reply *r)
{
    struct bucket_maintenance *t = c->state;
    struct limiter_bucket item;
    if (r->code == REPLY_OK && r->kind == ANSWER_ITEM && r->item.found &&
        bucket_update_from_shard(c->router, t->bucket, s->index, r->item.bytes,
                                 t->limiter_call.requested_at, r->item.wall_ms, &item))
        maintenance_keep_sealed(c, s->index - t->count, &item);
}

static bool maintenance_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct bucket_maintenance *t = c->state;
    struct shard_command_result e;
    const uint32_t shard = t->phase == MAINTENANCE_SEAL ? t->count + s->index : s->index;
    if (t->phase == MAINTENANCE_READ_SEALED) {
        maintenance_sealed_reply(c, s, r);
        return true;
    }
    shard_command_reply(c, t->bucket, shard, 1000, s, r, &e);
    /* A throttled step is not done: the merging must not end without it. */
    t->throttled |= e.throttled;
    t->failed |=
        e.end == CHARGE_UNAVAILABLE || (e.end == CHARGE_REFUSED && e.refusal != LIMITER_NO_CHANGE);
    if (t->phase == MAINTENANCE_SEAL && e.has_item)
        maintenance_keep_sealed(c, s->index, &e.item);
    if (t->phase == MAINTENANCE_MERGE_BEGIN)
        t->failed |= e.end != CHARGE_DONE;
    if (t->phase == MAINTENANCE_MERGE_BEGIN && e.end == CHARGE_DONE)
        maintenance_report(c->router, t->bucket, false);
    return true;
}

/* Something failed: the next round goes on. At once, if there were too few units. */
static bool maintenance_try_again(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    if (!t->throttled || t->tries++ == TRIES_MAX)
        return true;
    t->failed = t->throttled = false;
    memset(t->sealed, 0, sizeof t->sealed);
    t->phase = MAINTENANCE_READ;
    limiter_call_retry(c);
    return true;
}

static bool maintenance_merge_commit(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    if (t->failed)
        return maintenance_try_again(c);
    must(maintenance_all_sealed(t)); /* the tokens of a shard that still takes would be lost */
    t->phase = MAINTENANCE_MERGE_COMMIT;
    maintenance_send(c, LIMITER_MERGE_COMMIT, 0, 0);
    return true;
}

static bool maintenance_merge_in(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    t->phase = MAINTENANCE_MERGE_IN;
    bool any = false;
    for (uint32_t i = 0; i < t->count; i++)
        t->failed |= !t->sealed[i];
    for (uint32_t i = 0; i < t->count; i++) {
        const struct cached_shard *k = bucket_shard(t->bucket, i);
        const bool has = k->version > 0 && k->shards <= t->count && k->epoch >= t->shard_map.epoch;
        if (!t->sealed[i] || has)
            continue;
        maintenance_send(c, LIMITER_MERGE_IN, i, i);
        any = true;
    }
    return any || maintenance_merge_commit(c);
}

static bool maintenance_finish(struct call *c)
{
    struct bucket_maintenance *t = c->state;
    switch (t->phase) {
    case MAINTENANCE_MERGE_BEGIN:
        return t->failed ? maintenance_try_again(c) : maintenance_read_sealed(c);
    case MAINTENANCE_READ_SEALED:
        return maintenance_seal(c);
    case MAINTENANCE_SEAL:
        return maintenance_merge_in(c);
    case MAINTENANCE_MERGE_IN:
        return maintenance_merge_commit(c);
    case MAINTENANCE_MERGE_COMMIT:
        return !t->failed || maintenance_try_again(c);
    default:
        return true;
    }
}
