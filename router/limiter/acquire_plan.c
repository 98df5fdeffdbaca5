/* acquire_plan.c - plans which shards are charged for how much, and answers. */
#include "router/limiter/acquire_plan.h"

#include "base/mutation.h"
#include "router/json/json_writer.h"
#include "router/limiter/bucket_maintenance.h"
#include "router/limiter/idempotency_lookup.h"
#include "router/limiter/rate_limit_headers.h"

enum {
    SMALL_FRACTION = 8 /* a request of that part of a share is small */
};

_Static_assert(offsetof(struct acquire_plan, limiter_call) == 0, "call->state is a limiter_call");
_Static_assert(LIMITER_CHAIN_MAX <= 32, "shards_were_read has a bit for each bucket");

/* ---- refusals ---- */

/* 429: {"allowed":false,..,"reason","limit","entity","retry_after_ms"}; of a proxy: 403. */
static bool acquire_refuse(struct call *c, const struct cached_bucket *b, const char *reason,
                           const struct slice *limit, int64_t wait_ms)
{
    const struct acquire_plan *t = c->state;
    must(t->limiter_call.chain_count > 0);
    must(wait_ms >= 0);
    struct cached_bucket *own = t->limiter_call.chain[0];
    own->refused++;
    c->status = t->proxy ? 403 : 429;
    rate_limit_body_begin(c, false);
    json_member_text(&c->body, "reason", reason);
    json_member_string(&c->body, "entity", b->name.entity);
    if (limit != NULL)
        json_member_string(&c->body, "limit", *limit);
    json_member_integer(&c->body, "retry_after_ms", wait_ms);
    json_write_close(&c->body, '}');
    rate_limit_headers_set(c, wait_ms);
    return true;
}

/* Refuses for the limit that keeps the request waiting for the longest time. If all shards together
 * have enough, the request waits for one that has. */
static bool acquire_refuse_too_few(struct call *c, const struct cached_bucket *b,
                                   const int64_t amounts[])
{
    must(b->limits.count > 0);
    uint32_t limit = 0;
    int64_t longest = 0;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t wait = amounts[i] > 0 ? bucket_wait_ms(c->router, b, i, amounts[i]) : 0;
        if (wait > longest || (amounts[i] > 0 && amounts[limit] == 0))
            limit = i;
        longest = MAX(wait, longest);
    }
    if (longest == 0)
        longest = bucket_shard_wait_ms(c->router, b, amounts);
    return acquire_refuse(c, b, "limit", &b->limits.at[limit].name, longest > 0 ? longest : 1);
}

/* The store did not answer: whether the request is allowed all the same. */
static bool acquire_unavailable(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    const struct cached_bucket *b = s->chain_count > 0 ? s->chain[0] : NULL;
    enum on_unavailable choice = s->on_unavailable;
    if (call_fault(c)->kind != FAULT_UNAVAILABLE || b == NULL)
        return false;
    if (choice == ON_UNAVAILABLE_UNSET)
        choice = b->on_unavailable;
    struct metrics_limiter *counts = limiter_counts(c->router, b->name.name_space);
    counts->unavailable++;
    if (choice != ON_UNAVAILABLE_ALLOW)
        return false;
    counts->allowed++;
    buffer_clear(&c->body);
    c->status = t->proxy ? 204 : 200;
    if (t->proxy)
        return true;
    rate_limit_body_begin(c, true);
    json_member_text(&c->body, "reason", "unavailable");
    json_write_close(&c->body, '}');
    return true;
}

int acquire_fail(struct call *c, const struct fault *f)
{
    if (c->state != NULL && acquire_unavailable(c))
        return c->status;
    return limiter_error_answer(c, f);
}

/* ---- planning ---- */

static bool acquire_plan_make(struct call *c);
/* The amounts in the order of the bucket's limits. False: it has none of them. */
static bool acquire_plan_amounts(const struct acquire_plan *t, const struct cached_bucket *b,
                                 int64_t out[LIMITER_LIMITS_MAX])
{
    bool any = false;
    memset(out, 0, LIMITER_LIMITS_MAX * sizeof out[0]);
    for (uint32_t i = 0; i < t->amounts.count; i++) {
        const uint32_t limit = bucket_find_limit(b, t->amounts.at[i].limit);
        if (limit == b->limits.count)
            continue;
        out[limit] = t->amounts.at[i].mtok;
        any = true;
    }
    return any;
}

/* Refuses limits that the bucket does not have, and amounts that it can never give. */
static bool acquire_plan_fits(struct call *c, const struct acquire_plan *t)
{
    for (uint32_t i = 0; i < t->amounts.count; i++) {
        for (uint32_t k = 0; k < t->limiter_call.chain_count; k++) {
            const struct cached_bucket *b = t->limiter_call.chain[k];
            const uint32_t limit = bucket_find_limit(b, t->amounts.at[i].limit);
            if (limit == b->limits.count && k == 0)
                return limiter_error_invalid(c, t->proxy ? "query" : "consume",
                                             "the bucket has no limit '%.*s'",
                                             SHOWN(t->amounts.at[i].limit));
            if (limit < b->limits.count && t->amounts.at[i].mtok > b->limits.at[limit].capacity)
                return limiter_error_invalid(
                    c, t->proxy ? "query" : "consume",
                    "'%.*s' of entity '%.*s' cannot give %.12g: its capacity is "
                    "%.12g",
                    SHOWN(t->amounts.at[i].limit), SHOWN(b->name.entity),
                    (double)t->amounts.at[i].mtok / 1000,
                    (double)b->limits.at[limit].capacity / 1000);
        }
    }
    return true;
}

static bool shard_may_have(const struct router *r, const struct cached_bucket *b, uint32_t shard,
                           const int64_t amounts[])
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && bucket_tokens_max(r, b, shard, i) < amounts[i])
            return false;
    }
    return true;
}

/* Whether one shard soon has so much by refilling. Then fractions are not gathered from several:
 * that costs two writes for each. */
static bool amounts_are_small(const struct cached_bucket *b, const int64_t amounts[])
{
    const uint32_t count = bucket_shard_count(b);
    for (uint32_t i = 0; i < b->limits.count && count > 1; i++) {
        if (amounts[i] > limiter_share(b->limits.at[i].capacity, count - 1, count) / SMALL_FRACTION)
            return false;
    }
    return count > 1;
}

/* Whether the cache alone shows that the bucket has too little. */
static bool cache_is_short(const struct router *r, const struct cached_bucket *b,
                           const int64_t amounts[])
{
    bool any = !amounts_are_small(b, amounts);
    for (uint32_t i = 0; i < bucket_shard_count(b) && !any; i++)
        any = shard_may_have(r, b, i, amounts);
    if (!any)
        return true;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && bucket_tokens_max_total(r, b, i) < amounts[i])
            return true;
    }
    return false;
}

/* Whether the hidden limit lets the shard take a request, as far as the router knows. */
static bool shard_may_write(const struct router *r, const struct cached_bucket *b, uint32_t shard)
{
    if (shard >= b->shards_allocated || !b->shards[shard].is_valid)
        return true;
    const struct cached_shard *k = &b->shards[shard];
    const int64_t since_ms = instant_since(r->now, k->requested_at).ns / NS_PER_MS + 1;
    return since_ms > LIMITER_SHARD_FRESH_MS ||
           k->write_tokens + since_ms * 1000 >= 2000 + k->deferred_cost_mwcu;
}

static bool share_is_short(const struct cached_bucket *b, uint32_t shard, const int64_t amounts[])
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > limiter_share(b->limits.at[i].capacity, shard, bucket_shard_count(b)))
            return true;
    }
    return false;
}

static uint32_t acquire_plan_shard(struct call *c, struct cached_bucket *b, const int64_t amounts[])
{
    struct acquire_plan *t = c->state;
    const uint32_t count = bucket_shard_count(b);
    if (t->limiter_call.charge.has_token)
        return idempotency_owner_shard(&t->limiter_call.charge, b);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t shard = b->next_shard++ & (count - 1);
        if (shard_may_have(c->router, b, shard, amounts) && shard_may_write(c->router, b, shard))
            return shard;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (shard_may_have(c->router, b, i, amounts))
            return i; /* its hidden limit is short */
    }
    if (!amounts_are_small(b, amounts))
        t->gathers |= bucket_is_fresh(c->router, b); /* no shard has enough */
    return b->next_shard++ & (count - 1);
}

static struct charge_part *charge_add_part(struct charge *g, struct cached_bucket *b,
                                           uint32_t shard)
{
    must(g->count < CHARGE_PARTS_MAX);
    must(shard < bucket_shard_count(b));
    struct charge_part *p = &g->parts[g->count++];
    *p = (struct charge_part){.bucket = b, .shard = shard, .verb = LIMITER_TAKE};
    return p;
}

/* What the shard has now, as far as the router knows; it was just read. */
static int64_t shard_tokens_now(const struct router *r, struct cached_bucket *b, uint32_t shard,
                                uint32_t limit)
{
    const struct cached_shard *k = bucket_shard(b, shard);
    const struct limiter_limit *l = &b->limits.at[limit];
    if (!k->is_valid || k->shards != bucket_shard_count(b))
        return limiter_share(l->capacity, shard, bucket_shard_count(b));
    struct limiter_balance balance = k->balances[limit];
    const int64_t now_ms = router_wall_ms(r);
    limiter_refill(&balance, l, shard, k->shards, MAX(now_ms, balance.at_ms));
    return balance.tokens;
}

/* What the parts from `first` on take of the limit. */
static int64_t charge_sum(const struct charge *g, uint32_t first, uint32_t limit)
{
    int64_t sum = 0;
    for (uint32_t i = first; i < g->count; i++)
        sum += g->parts[i].amounts[limit];
    return sum;
}

/* Gathers from the shards from `first` on as much as they have. False: together they have too
 * little, or the charge has too many parts. */
static bool charge_gather(struct call *c, struct cached_bucket *b, uint32_t first,
                          const int64_t amounts[])
{
    struct acquire_plan *t = c->state;
    struct charge *g = &t->limiter_call.charge;
    int64_t missing[LIMITER_LIMITS_MAX];
    const uint32_t count = bucket_shard_count(b), before = g->count;
    bool whole = false;
    must(first < count);
    memcpy(missing, amounts, sizeof missing);
    for (uint32_t i = 0; i < count && !whole; i++) {
        const uint32_t shard = (first + i) & (count - 1);
        struct charge_part p = {.bucket = b, .shard = shard, .verb = LIMITER_TAKE};
        bool takes = i == 0 && g->has_token; /* where the token is */
        whole = true;
        for (uint32_t k = 0; k < b->limits.count; k++) {
            const int64_t has = missing[k] > 0 ? shard_tokens_now(c->router, b, shard, k) : 0;
            p.amounts[k] = has < 0 ? 0 : MIN(has, missing[k]);
            missing[k] -= p.amounts[k];
            takes |= p.amounts[k] > 0;
            whole &= missing[k] == 0;
        }
        if (takes && g->count == CHARGE_PARTS_MAX)
            return false;
        if (takes)
            g->parts[g->count++] = p;
    }
    for (uint32_t k = 0; k < b->limits.count; k++)
        must_in_tests(!whole || charge_sum(g, before, k) == amounts[k]);
    return whole;
}

/* The lease's shards are charged for more. */
static uint32_t lease_shard_of(const struct acquire_plan *t, const struct cached_bucket *b)
{
    for (uint32_t i = 0; i < t->lease.part_count; i++) {
        if (slice_equal(t->lease.parts[i].entity, b->name.entity))
            return t->lease.parts[i].shard & (bucket_shard_count(b) - 1);
    }
    return 0;
}

enum acquire_plan_result {
    ACQUIRE_PLAN_READY,
    ACQUIRE_PLAN_WAITS,   /* shards are read first */
    ACQUIRE_PLAN_TOO_FEW, /* the bucket has too little: the call is answered */
};

static enum acquire_plan_result acquire_plan_bucket(struct call *c, uint32_t at,
                                                    const int64_t amounts[])
{
    struct acquire_plan *t = c->state;
    struct charge *g = &t->limiter_call.charge;
    must(at < t->limiter_call.chain_count);
    struct cached_bucket *b = t->limiter_call.chain[at];
    const uint32_t shard = t->uses_lease ? lease_shard_of(t, b) : acquire_plan_shard(c, b, amounts);
    const bool large = share_is_short(b, shard, amounts);
    const bool gathers = bucket_shard_count(b) > 1 && (t->gathers || large);
    if (!gathers && g->count < CHARGE_PARTS_MAX) {
        struct charge_part *p = charge_add_part(g, b, shard);
        memcpy(p->amounts, amounts, sizeof p->amounts);
        return ACQUIRE_PLAN_READY;
    }
    if (gathers && (t->shards_were_read >> at & 1) == 0 && !bucket_is_fresh(c->router, b)) {
        limiter_call_read_shards(c, b);
        return ACQUIRE_PLAN_WAITS;
    }
    if (gathers && charge_gather(c, b, shard, amounts))
        return ACQUIRE_PLAN_READY;
    if (idempotency_lookup_begin(c, true))
        return ACQUIRE_PLAN_WAITS;
    acquire_refuse_too_few(c, b, amounts);
    return ACQUIRE_PLAN_TOO_FEW;
}

static enum acquire_plan_result acquire_plan_buckets(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    struct charge *g = &s->charge;
    g->count = 0;
    if (g->parts == NULL)
        g->parts = arena_alloc(&c->arena, CHARGE_PARTS_MAX * sizeof *g->parts);
    for (uint32_t i = 0; i < s->chain_count; i++) {
        int64_t amounts[LIMITER_LIMITS_MAX];
        if (!acquire_plan_amounts(t, s->chain[i], amounts))
            continue;
        const enum acquire_plan_result end = acquire_plan_bucket(c, i, amounts);
        if (end != ACQUIRE_PLAN_READY)
            return end;
    }
    return ACQUIRE_PLAN_READY;
}

/* ---- leases ---- */

/* The lease's part for a shard. If there is no room, a part of the same entity at another shard. */
static struct app_lease_part *lease_part_of(struct app_lease *l, const struct charge_part *p)
{
    const struct slice entity = p->bucket->name.entity;
    struct app_lease_part *other = NULL;
    for (uint32_t i = 0; i < l->part_count; i++) {
        if (!slice_equal(l->parts[i].entity, entity))
            continue;
        other = &l->parts[i];
        if (other->shard == p->shard)
            return other;
    }
    if (other != NULL && l->part_count >= APP_LEASE_PARTS_MAX)
        return other;
    other = &l->parts[l->part_count++];
    *other = (struct app_lease_part){.entity = entity, .shard = p->shard};
    return other;
}

/* False: the lease has no room for one of the limits. */
static bool lease_add_part(struct app_lease *l, const struct charge_part *p)
{
    struct app_lease_part *at = lease_part_of(l, p);
    for (uint32_t i = 0; i < p->bucket->limits.count; i++) {
        if (p->amounts[i] == 0)
            continue;
        const uint32_t limit = app_lease_limit(l, p->bucket->limits.at[i].name);
        if (limit == LIMITER_LIMITS_MAX)
            return false;
        at->amounts[limit] += p->amounts[i];
    }
    return true;
}

/* The lease with what the charge takes. False: the lease has no room for all of it. */
static bool acquire_next_lease(struct call *c, struct app_lease *out)
{
    struct acquire_plan *t = c->state;
    const struct limiter_call *s = &t->limiter_call;
    const struct charge *g = &s->charge;
    bool whole = true;
    *out = t->lease;
    out->parts = arena_zalloc(&c->arena, (out->part_count + g->count) * sizeof *out->parts);
    if (out->part_count > 0)
        memcpy(out->parts, t->lease.parts, out->part_count * sizeof *out->parts);
    for (uint32_t i = 0; i < g->count; i++)
        whole &= lease_add_part(out, &g->parts[i]);
    if (!t->uses_lease) {
        memcpy(out->id, g->token, sizeof out->id);
        out->name_space = s->chain[0]->name.name_space;
        out->resource = s->chain[0]->name.resource;
        out->expires_ms = router_wall_ms(c->router) + t->lease_ms;
    }
    out->use_number++;
    return whole && app_lease_fits(&c->arena, out);
}

/* ---- steps ---- */

static bool acquire_shards_read(struct call *c)
{
    struct acquire_plan *t = c->state;
    for (uint32_t i = 0; i < t->limiter_call.chain_count; i++)
        t->shards_were_read |= (uint32_t)(t->limiter_call.chain[i] == t->limiter_call.repaired)
                               << i;
    return acquire_plan_make(c);
}

static bool acquire_plan_make(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    struct app_lease next;
    if (!acquire_plan_fits(c, t))
        return false;
    for (uint32_t i = 0; i < s->chain_count && !s->charge.has_token; i++) {
        struct cached_bucket *b = s->chain[i];
        int64_t amounts[LIMITER_LIMITS_MAX];
        if (!acquire_plan_amounts(t, b, amounts) || !cache_is_short(c->router, b, amounts) ||
            MUTATED(MUTATION_LIMITER_IGNORE_CACHE))
            continue;
        b->unreported_refusals++;
        limiter_counts(c->router, b->name.name_space)->refused_by_cache++;
        return acquire_refuse_too_few(c, b, amounts);
    }
    if (acquire_plan_buckets(c) != ACQUIRE_PLAN_READY || idempotency_lookup_begin(c, false))
        return true;
    if ((t->lease_ms > 0 || t->uses_lease) && !acquire_next_lease(c, &next))
        return limiter_error_invalid(c, "lease",
                                     "it has no room for these amounts: acquire another lease");
    t->shards_were_read = 0; /* the next plan goes by what is there then */
    limiter_call_charge(c);
    return true;
}

/* ---- the end of a charge ---- */

/* The charge was done before, and its parts are not known any more: as if each bucket had been
 * charged at one shard. */
static void acquire_plan_simplify(struct acquire_plan *t)
{
    struct limiter_call *s = &t->limiter_call;
    struct charge *g = &s->charge;
    g->count = 0;
    for (uint32_t i = 0; i < s->chain_count; i++) {
        struct cached_bucket *b = s->chain[i];
        int64_t amounts[LIMITER_LIMITS_MAX];
        if (!acquire_plan_amounts(t, b, amounts))
            continue;
        struct charge_part *p = charge_add_part(
            g, b, t->uses_lease ? lease_shard_of(t, b) : idempotency_owner_shard(g, b));
        memcpy(p->amounts, amounts, sizeof p->amounts);
    }
}

static void acquire_write_lease(struct call *c, struct acquire_plan *t)
{
    struct buffer text = {0};
    struct app_lease l;
    if (t->limiter_call.charge.is_repeat)
        acquire_plan_simplify(t);
    acquire_next_lease(c, &l);
    app_lease_write(&text, &l);
    json_member_string(&c->body, "lease", buffer_slice(&text));
    json_member_integer(&c->body, "expires_ms", l.expires_ms);
    buffer_deinit(&text);
}

static bool acquire_may_grow(const struct limiter_call *s, const struct cached_bucket *b)
{
    return !MUTATED(MUTATION_LIMITER_LONE_PARENT) || b == s->chain[0];
}

static bool acquire_answer(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    must(s->chain_count > 0);
    struct cached_bucket *own = s->chain[0];
    own->admitted++;
    limiter_counts(c->router, own->name.name_space)->admitted++;
    for (uint32_t i = 0; i < s->charge.count; i++) {
        const struct charge_part *p = &s->charge.parts[i];
        const struct cached_shard *k = bucket_shard(p->bucket, p->shard);
        if (k->is_valid && acquire_may_grow(s, p->bucket) &&
            bucket_shard_is_hot(c->router, p->bucket, p->shard, false) &&
            !cache_is_short(c->router, p->bucket, p->amounts)) /* more shards would help */
            maintenance_grow(c->router, p->bucket);
    }
    rate_limit_headers_set(c, -1);
    if (t->proxy) {
        c->status = 204;
        return true;
    }
    rate_limit_body_begin(c, true);
    if (t->lease_ms > 0 || t->uses_lease)
        acquire_write_lease(c, t);
    json_write_close(&c->body, '}');
    return true;
}

static bool acquire_too_few_tokens(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    must(s->charge.failed < s->charge.count);
    const struct charge_part *p = &s->charge.parts[s->charge.failed];
    int64_t amounts[LIMITER_LIMITS_MAX];
    const bool spread = bucket_shard_count(p->bucket) > 1;
    if (limiter_call_send_limits(c, p->bucket))
        return true;
    if (spread && !s->charge.has_token && s->charge.count == 1 &&
        t->other_tries < ACQUIRE_OTHER_TRIES_MAX &&
        !cache_is_short(c->router, p->bucket, p->amounts)) {
        t->other_tries++;
        return acquire_plan_make(c);
    }
    if (spread && (s->charge.has_token || !amounts_are_small(p->bucket, p->amounts)) &&
        t->gather_count < ACQUIRE_GATHERS_MAX &&
        (bucket_shard_count(p->bucket) <= ACQUIRE_READS_MAX ||
         bucket_is_fresh(c->router, p->bucket))) {
        t->gather_count++;
        t->gathers = true;
        return acquire_plan_make(c);
    }
    acquire_plan_amounts(t, p->bucket, amounts);
    limiter_counts(c->router, p->bucket->name.name_space)->refused++;
    return acquire_refuse_too_few(c, p->bucket, amounts);
}

/* The shard, or its partition, is written too often. */
static bool acquire_too_few_writes(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    must(s->charge.failed < s->charge.count);
    const struct charge_part *p = &s->charge.parts[s->charge.failed];
    struct cached_bucket *b = p->bucket;
    int64_t amounts[LIMITER_LIMITS_MAX];
    acquire_plan_amounts(t, b, amounts);
    const bool may_be_done =
        s->charge.has_token && s->charge.throttled;              /* it may have been done before */
    if (!may_be_done && cache_is_short(c->router, b, amounts)) { /* more shards would not help */
        limiter_counts(c->router, b->name.name_space)->refused++;
        return acquire_refuse_too_few(c, b, amounts);
    }
    const bool grows = !s->charge.throttled && !b->merging && acquire_may_grow(s, b) &&
                       bucket_shard_count(b) < limiter_shards_max(&b->limits) &&
                       bucket_shard_is_hot(c->router, b, p->shard, true);
    if (grows && s->repairs++ < LIMITER_CALL_REPAIRS_MAX) {
        limiter_call_grow(c, b);
        return true;
    }
    if (!s->charge.has_token && bucket_shard_count(b) > 1 &&
        t->other_tries < ACQUIRE_OTHER_TRIES_MAX) {
        t->other_tries++;
        return acquire_plan_make(c);
    }
    const int64_t missing = p->mwcu - bucket_shard(b, p->shard)->write_tokens;
    limiter_counts(c->router, b->name.name_space)->refused++;
    return acquire_refuse(c, b, "writes", NULL, missing > 1000 ? missing / 1000 : 1);
}

static bool acquire_give_up(struct call *c)
{
    return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                     "The bucket's shards change too fast: try again");
}

static bool acquire_charge_ended(struct call *c)
{
    struct acquire_plan *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    struct fault *f = call_fault(c);
    switch (s->charge.end) {
    case CHARGE_DONE:
        return acquire_answer(c);
    case CHARGE_TOKEN_MISMATCH:
        return t->uses_lease
                   ? fault_set(f, FAULT_IN_USE,
                               "The lease was used before; use the lease of the last answer")
                   : fault_set(f, FAULT_TOKEN_MISMATCH,
                               "The Idempotency-Key was used for another request");
    case CHARGE_UNAVAILABLE:
        return false; /* acquire_fail */
    case CHARGE_REFUSED:
        break;
    }
    switch (s->charge.refusal) {
    case LIMITER_TOO_FEW_TOKENS:
        return acquire_too_few_tokens(c);
    case LIMITER_TOO_FEW_WRITES:
        return acquire_too_few_writes(c);
    case LIMITER_EXPIRED:
        if (idempotency_lookup_expired(c))
            return true;
        return t->uses_lease
                   ? fault_set(f, FAULT_EXPIRED_ITERATOR, "The lease is over")
                   : fault_set(f, FAULT_UNAVAILABLE,
                               "The clocks of router and node differ by more than %d minutes",
                               LIMITER_SHARD_MAP_TTL_MS / 60000);
    case LIMITER_NO_BUCKET:
        return fault_set(f, FAULT_INTERNAL,
                         "The item of the bucket's shard %u was not written by weir",
                         s->charge.parts[s->charge.failed].shard);
    default:
        return limiter_call_repair(c) || acquire_give_up(c);
    }
}

const struct limiter_call_handlers acquire_handlers = {.plan = acquire_plan_make,
                                                       .charge_ended = acquire_charge_ended,
                                                       .shards_read = acquire_shards_read};
