/* tend.c - growth, merging, and the aggregator's rounds, as calls without a client. */
#include "router/limiter/tend.h"

#include <stdio.h>

#include "base/settings/limiter.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "router/limiter/patrol.h"
#include "router/limiter/session.h"

enum {
    SHARD_REQUESTS_S = 1000, /* what the hidden limit lets a shard take */
    EVENT_PAUSE_MS = 100,    /* between events: the catalog keeps only the last ones */
    /* After a failure, doubling: rounds of several routers must not take the units that they need. */
    PAUSE_MS_LEAST = 20,
    PAUSE_MS_MOST = 5000,
    LOOKS_LEAST = 8, /* at a bucket, before it is merged */
    TRIES_MOST =
        8 /* of a throttled step, one soon after the other: nodes give units to those who asked */
};

enum tend_phase {
    TEND_LOOK, /* all shards are read */
    TEND_TELL, /* those that lag are told */
    TEND_HALVE,
    TEND_PEEK, /* the shards that go are read: which are closed already? */
    TEND_CLOSE,
    TEND_ABSORB,
    TEND_HALVED,
    TEND_OVER,
};

struct tend {
    struct session session; /* must be first */
    LIST_ENTRY(tend) entry;
    struct call *call;
    struct known_bucket *bucket;
    bool grows;
    enum tend_phase phase;
    bool changes; /* something was to be done */
    bool failed;
    bool throttled; /* .. for want of units */
    uint32_t tries;
    uint32_t count; /* of shards that stay */
    /* Of the merging that is being done: another router may begin the next one meanwhile. */
    struct limiter_shard_map truth;
    /* of each shard that goes: what it had */
    bool closed[LIMITER_SHARDS_MAX / 2];
    bool opened[LIMITER_SHARDS_MAX / 2];
    struct limiter_reserved_share gifts[LIMITER_SHARDS_MAX / 2];
    /* of each gift; in the arena. Shards that were closed at different times may have different ones */
    struct limiter_limits *limits[LIMITER_SHARDS_MAX / 2];
};

/* ---- life ---- */

static bool tend_known(struct call *c);
static bool tend_absorb(struct call *c);
static bool tend_read(struct call *c);
static bool tend_reply(struct call *c, struct subrequest *s, const struct reply *r);
static bool tend_finish(struct call *c);

static bool tend_is_over(struct call *c)
{
    (void)c;
    return true;
}

static const struct session_work WORK = {.known = tend_known,
                                         .charged = tend_is_over,
                                         .read = tend_read,
                                         .reply = tend_reply,
                                         .finish = tend_finish,
                                         .patient = true,
                                         .no_parents = true};

static bool tend_begin(struct call *c, const struct json_value m[])
{
    struct tend *t = c->state;
    (void)m;
    session_begin(c, &t->session, &WORK, &t->bucket->name);
    return true;
}

static int tend_fail(struct call *c, const struct fault *f)
{
    struct tend *t = c->state;
    t->failed = true;
    return words_fail_status(f);
}

/* A look reads all shards, and others need the table's units: while nothing changes, looks get rarer. */
static void look_ended(struct router *r, const struct tend *t)
{
    struct known_bucket *b = t->bucket;
    const int64_t look_ms = config_limiter(r->config)->limiter_look_ms;
    const int64_t most_ms = config_limiter(r->config)->limiter_merge_ms / LOOKS_LEAST;
    const int64_t pause_ms = b->look_pause_ms == 0 ? look_ms : 2 * b->look_pause_ms;
    if (t->session.throttled)
        r->limiter->look_from = instant_add_ms(r->now, PAUSE_MS_MOST);
    b->look_pause_ms = t->changes || t->failed ? 0 : pause_ms < most_ms ? pause_ms : most_ms;
    b->look_from = instant_add_ms(r->now, b->look_pause_ms);
}

static void tend_end(struct call *c)
{
    struct tend *t = c->state;
    struct known_bucket *b = t->bucket;
    const int64_t pause_ms = 2 * b->tend_pause_ms;
    b->tended = false;
    b->tend_pause_ms = !t->failed                  ? 0
                       : pause_ms < PAUSE_MS_LEAST ? PAUSE_MS_LEAST
                       : pause_ms < PAUSE_MS_MOST  ? pause_ms
                                                   : PAUSE_MS_MOST;
    b->tend_from = instant_add_ms(c->router->now, b->tend_pause_ms);
    if (!t->grows)
        look_ended(c->router, t);
    LIST_REMOVE(t, entry);
    session_end(c);
}

static const struct operation TEND = {.name = "LimiterTend",
                                      .begin = tend_begin,
                                      .ready = session_ready,
                                      .reply = session_reply,
                                      .finish = session_finish,
                                      .fail = tend_fail,
                                      .end = tend_end};

static void tend_start(struct router *r, struct known_bucket *b, bool grows)
{
    if (b->tended || instant_before(r->now, b->tend_from))
        return;
    struct call *c = call_create_own(r, &TEND);
    struct tend *t = arena_zalloc(&c->arena, sizeof *t);
    t->call = c;
    t->bucket = b;
    t->grows = grows;
    b->tended = true;
    c->state = t;
    LIST_INSERT_HEAD(&r->limiter->tends, t, entry);
    call_begin(c, NULL);
}

void tend_grow(struct router *r, struct known_bucket *b)
{
    if (b->merging || bucket_count(b) < limiter_shards_max(&b->limits))
        tend_start(r, b, !b->merging);
}

void tend_look(struct router *r)
{
    struct limiter *l = r->limiter;
    timer_start(&l->look, &l->looks, r->now);
    if (config_limiter(r->config)->limiter_aggregator == 0)
        return;
    if (!instant_before(r->now, l->look_from))
        patrol_look(r);
    struct known_bucket *b = TAILQ_FIRST(&l->used), *next;
    for (uint32_t left = l->count; left > 0;
         left--, b = next) { /* a call moves its bucket to the end */
        next = TAILQ_NEXT(b, used);
        const bool due = !instant_before(r->now, b->look_from) &&
                         !instant_before(r->now, l->look_from) && bucket_count(b) > 1;
        if (due || b->merging)
            tend_start(r, b, false);
    }
}

/* ---- events ---- */

/* A call that tells of an event. */
struct tell {
    LIST_ENTRY(tell) entry;
    struct call *call;
};

static bool tell_begin(struct call *c, const struct json_value m[])
{
    (void)m;
    subrequest_start(c->router, c->subrequests);
    return true;
}

static bool tell_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    (void)c;
    (void)s;
    (void)r; /* an event that is lost is counted all the same */
    return true;
}

static int tell_fail(struct call *c, const struct fault *f)
{
    (void)c;
    return words_fail_status(f);
}

static void tell_end(struct call *c)
{
    struct tell *t = c->state;
    LIST_REMOVE(t, entry);
}

static const struct operation TELL = {.name = "LimiterTell",
                                      .begin = tell_begin,
                                      .reply = tell_reply,
                                      .fail = tell_fail,
                                      .end = tell_end};

void tend_tell(struct router *r, const struct known_bucket *b, bool grown)
{
    struct metrics_limiter *counts = limiter_counts(r, b->name.space);
    struct limiter *l = r->limiter;
    *(grown ? &counts->doublings : &counts->merges) += 1;
    if (l->told.ns != 0 && instant_since(r->now, l->told).ns < duration_ms(EVENT_PAUSE_MS).ns)
        return;
    l->told = r->now;
    char reason[EVENT_TEXT_SIZE_MAX];
    const uint32_t now = bucket_count(b), before = grown ? now / 2 : 2 * now;
    snprintf(reason, sizeof reason, "%.*s/%.*s/%.*s: %s", SHOWN(b->name.space),
             SHOWN(b->name.entity), SHOWN(b->name.resource),
             grown ? "a shard of the bucket was written too often"
                   : "the bucket has needed half its shards for long");
    const struct decision d = {.has_event = true,
                               .event = {.kind = grown ? EVENT_BUCKET_GROWN : EVENT_BUCKET_MERGED,
                                         .table = slice_of(LIMITER_TABLE),
                                         .reason = slice_of(reason),
                                         .figure = slice_of("shards"),
                                         .before = before,
                                         .after = now}};
    struct buffer body = {0};
    decision_encode(&body, &d);
    struct call *c = call_create_own(r, &TELL);
    struct tell *t = arena_zalloc(&c->arena, sizeof *t);
    t->call = c;
    c->state = t;
    LIST_INSERT_HEAD(&l->tells, t, entry);
    struct subrequest *s = call_request(c, NULL, REQUEST_DECIDE);
    s->request.decide.op = CATALOG_EVENT;
    s->request.decide.decision = arena_copy(&c->arena, buffer_slice(&body));
    buffer_deinit(&body);
    call_begin(c, NULL);
}

void tend_end_all(struct router *r)
{
    struct tend *t;
    struct tell *e;
    while ((t = LIST_FIRST(&r->limiter->tends)) != NULL)
        call_end(t->call);
    while ((e = LIST_FIRST(&r->limiter->tells)) != NULL)
        call_end(e->call);
}

/* ---- steps ---- */

/* Sends a command of the phase to a shard. */
static void tend_send(struct call *c, enum limiter_verb verb, uint32_t shard, uint32_t index)
{
    struct tend *t = c->state;
    struct limiter_command command;
    command_begin(c->router, t->bucket, verb, shard, &command);
    if (t->truth.epoch > 0)
        command.sender_map = t->truth;
    if (verb == LIMITER_MERGE_IN) {
        command.reserved_share = t->gifts[index];
        command.created = t->opened[index];
        if (command.created)
            command.limits = *t->limits[index];
    }
    t->session.step = SESSION_OWN;
    command_send(c, t->bucket, &command, index, slice_make(NULL, 0), 0);
}

static bool tend_known(struct call *c)
{
    struct tend *t = c->state;
    if (t->phase == TEND_OVER)
        return true;
    if (t->grows) {
        t->phase = TEND_OVER;
        session_grow(c, t->bucket);
    } else {
        session_read(c, t->bucket);
    }
    return true;
}

/* Whether the bucket has needed half its shards at most since long ago. */
static bool tend_is_idle(const struct router *r, struct known_bucket *b, int64_t requests)
{
    const int64_t since_ms = instant_since(r->now, b->looked_at).ns / NS_PER_MS;
    const int64_t most = bucket_count(b) * SHARD_REQUESTS_S / 4;
    const int64_t more = requests - b->looked_requests;
    const bool busy = !b->looked || since_ms <= 0 || more < 0 || more * 1000 > most * since_ms;
    if (busy)
        b->idle_since = r->now;
    b->looked = true;
    b->looked_at = r->now;
    b->looked_requests = requests;
    const int64_t wait = duration_ms(config_limiter(r->config)->limiter_merge_ms).ns;
    return !busy && instant_since(r->now, b->idle_since).ns >= wait;
}

/* Tells shards that know of fewer changes, or of older limits. False: none lags. */
static bool tend_catch_up(struct call *c)
{
    struct tend *t = c->state;
    struct known_bucket *b = t->bucket;
    bool any = false;
    t->phase = TEND_TELL;
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        const struct known_shard *k = bucket_shard(b, i);
        const bool there = k->version > 0;
        if (!there || (k->shards >= bucket_count(b) && k->version >= b->limits.version))
            continue;
        tend_send(c, LIMITER_CONFIGURE, i, i);
        any = true;
    }
    return any;
}

/* What was done in an earlier round is not done again: each command costs units, and there may be few. */
static bool tend_peek(struct call *c)
{
    struct tend *t = c->state;
    t->phase = TEND_PEEK;
    t->count = bucket_count(t->bucket);
    t->truth = t->bucket->shards;
    if (t->count > LIMITER_SHARDS_MAX / 2)
        return true;
    t->session.step = SESSION_OWN;
    for (uint32_t i = 0; i < t->count; i++)
        command_read(c, t->bucket, t->count + i);
    return true;
}

static bool tend_close(struct call *c)
{
    struct tend *t = c->state;
    bool any = false;
    t->phase = TEND_CLOSE;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->closed[i])
            continue;
        tend_send(c, LIMITER_SEAL, t->count + i, i);
        any = true;
    }
    return any || tend_absorb(c);
}

static bool tend_read(struct call *c)
{
    struct tend *t = c->state;
    struct known_bucket *b = t->bucket;
    int64_t requests = 0;
    if (t->grows && b->shards.epoch != 0) { /* now it is known what shall grow */
        session_grow(c, b);
        return true;
    }
    for (uint32_t i = 0; i < bucket_count(b); i++)
        requests += bucket_shard(b, i)->requests;
    t->changes = b->merging;
    if (b->merging)
        return tend_peek(c);
    if (bucket_count(b) > 1 && tend_is_idle(c->router, b, requests)) {
        t->phase = TEND_HALVE;
        t->changes = true;
        tend_send(c, LIMITER_MERGE_BEGIN, 0, 0);
        return true;
    }
    t->changes = tend_catch_up(c);
    return true;
}

/* ---- replies ---- */

/* What the closed shard had. */
static void tend_keep(struct call *c, uint32_t index, const struct limiter_bucket *item)
{
    struct tend *t = c->state;
    if (!item->sealed || item->epoch < t->truth.epoch)
        return;
    t->closed[index] = true;
    t->opened[index] = item->created;
    t->gifts[index] =
        (struct limiter_reserved_share){.child = t->count + index, .epoch = item->epoch};
    memcpy(t->gifts[index].balances, item->balances, sizeof t->gifts[index].balances);
    if (!item->created)
        return;
    struct limiter_limits *limits = arena_alloc(&c->arena, sizeof *limits);
    *limits = item->limits;
    for (uint32_t i = 0; i < limits->count; i++)
        limits->at[i].name = arena_copy(&c->arena, limits->at[i].name);
    t->limits[index] = limits;
}

static void tend_peeked(struct call *c, const struct subrequest *s, const struct reply *r)
{
    struct tend *t = c->state;
    struct limiter_bucket item;
    if (r->code == REPLY_OK && r->kind == ANSWER_ITEM && r->item.found &&
        bucket_heard(c->router, t->bucket, s->index, r->item.bytes, t->session.asked,
                     r->item.wall_ms, &item))
        tend_keep(c, s->index - t->count, &item);
}

static bool tend_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct tend *t = c->state;
    struct command_end e;
    const uint32_t shard = t->phase == TEND_CLOSE ? t->count + s->index : s->index;
    if (t->phase == TEND_PEEK) {
        tend_peeked(c, s, r);
        return true;
    }
    command_took(c, t->bucket, shard, 1000, s, r, &e);
    /* A throttled step is not done: the merging must not end without it. */
    t->throttled |= e.throttled;
    t->failed |=
        e.end == CHARGE_LOST || (e.end == CHARGE_REFUSED && e.refusal != LIMITER_NO_CHANGE);
    if (t->phase == TEND_CLOSE && e.heard)
        tend_keep(c, s->index, &e.item);
    if (t->phase == TEND_HALVE)
        t->failed |= e.end != CHARGE_DONE;
    if (t->phase == TEND_HALVE && e.end == CHARGE_DONE)
        tend_tell(c->router, t->bucket, false);
    return true;
}

/* Something failed: the next round goes on. At once, if there were too few units. */
static bool tend_again(struct call *c)
{
    struct tend *t = c->state;
    if (!t->throttled || t->tries++ == TRIES_MOST)
        return true;
    t->failed = t->throttled = false;
    memset(t->closed, 0, sizeof t->closed);
    t->phase = TEND_LOOK;
    session_pause(c);
    return true;
}

static bool tend_halved(struct call *c)
{
    struct tend *t = c->state;
    if (t->failed)
        return tend_again(c);
    t->phase = TEND_HALVED;
    tend_send(c, LIMITER_MERGE_COMMIT, 0, 0);
    return true;
}

static bool tend_absorb(struct call *c)
{
    struct tend *t = c->state;
    t->phase = TEND_ABSORB;
    bool any = false;
    for (uint32_t i = 0; i < t->count; i++)
        t->failed |= !t->closed[i];
    for (uint32_t i = 0; i < t->count; i++) {
        const struct known_shard *k = bucket_shard(t->bucket, i);
        const bool has = k->version > 0 && k->shards <= t->count && k->epoch >= t->truth.epoch;
        if (!t->closed[i] || has)
            continue;
        tend_send(c, LIMITER_MERGE_IN, i, i);
        any = true;
    }
    return any || tend_halved(c);
}

static bool tend_finish(struct call *c)
{
    struct tend *t = c->state;
    switch (t->phase) {
    case TEND_HALVE:
        return t->failed ? tend_again(c) : tend_peek(c);
    case TEND_PEEK:
        return tend_close(c);
    case TEND_CLOSE:
        return tend_absorb(c);
    case TEND_ABSORB:
        return tend_halved(c);
    case TEND_HALVED:
        return !t->failed || tend_again(c);
    default:
        return true;
    }
}
