/* take.c - plans what is taken where, and answers. */
#include "router/limiter/take.h"

#include "base/mutation.h"
#include "router/client.h"
#include "router/json/json_writer.h"
#include "router/limiter/homes.h"
#include "router/limiter/shown.h"
#include "router/limiter/tend.h"

enum {
    SMALL_PART = 8 /* a request of that part of a share is small */
};

/* ---- refusals ---- */

/* 429: {"allowed":false,..,"reason","limit","entity","retry_after_ms"}; of a proxy: 403. */
static bool take_refuse(struct call *c, const struct known_bucket *b, const char *reason,
                        const struct slice *limit, int64_t wait_ms)
{
    const struct take *t = c->state;
    struct known_bucket *own = t->session.chain[0];
    own->refused++;
    c->status = t->proxy ? 403 : 429;
    shown_begin(c, false);
    json_member_text(&c->body, "reason", reason);
    json_member_string(&c->body, "entity", b->name.entity);
    if (limit != NULL)
        json_member_string(&c->body, "limit", *limit);
    json_member_integer(&c->body, "retry_after_ms", wait_ms);
    json_write_close(&c->body, '}');
    shown_set_lines(c, wait_ms);
    return true;
}

/* Refuses for the limit that keeps the request waiting for the longest time. */
static bool take_refuse_short(struct call *c, const struct known_bucket *b, const int64_t amounts[])
{
    uint32_t limit = 0;
    int64_t longest = 0;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t wait = amounts[i] > 0 ? bucket_wait_ms(c->router, b, i, amounts[i]) : 0;
        if (wait > longest || (amounts[i] > 0 && amounts[limit] == 0))
            limit = i;
        longest = wait > longest ? wait : longest;
    }
    return take_refuse(c, b, "limit", &b->limits.at[limit].name, longest > 0 ? longest : 1);
}

/* The store could not be asked: whether the request is allowed all the same. */
static bool take_unavailable(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    const struct known_bucket *b = s->chain_count > 0 ? s->chain[0] : NULL;
    enum on_unavailable choice = s->on_unavailable;
    if (call_fault(c)->kind != FAULT_UNAVAILABLE || b == NULL)
        return false;
    if (choice == ON_UNAVAILABLE_UNSAID)
        choice = b->on_unavailable;
    struct metrics_limiter *counts = limiter_counts(c->router, b->name.space);
    counts->unavailable++;
    if (choice != ON_UNAVAILABLE_ALLOW)
        return false;
    counts->allowed++;
    buffer_clear(&c->body);
    c->status = t->proxy ? 204 : 200;
    if (t->proxy)
        return true;
    shown_begin(c, true);
    json_member_text(&c->body, "reason", "unavailable");
    json_write_close(&c->body, '}');
    return true;
}

int take_fail(struct call *c, const struct fault *f)
{
    if (c->state != NULL && take_unavailable(c))
        return c->status;
    return words_fail(c, f);
}

/* ---- planning ---- */

static bool take_known(struct call *c);
static bool take_charged(struct call *c);

/* The amounts in the order of the bucket's limits. False: it has none of them. */
static bool take_amounts_of(const struct take *t, const struct known_bucket *b,
                            int64_t out[LIMITER_LIMITS_MAX])
{
    bool any = false;
    memset(out, 0, LIMITER_LIMITS_MAX * sizeof out[0]);
    for (uint32_t i = 0; i < t->amounts.count; i++) {
        const uint32_t limit = bucket_limit(b, t->amounts.at[i].limit);
        if (limit == b->limits.count)
            continue;
        out[limit] = t->amounts.at[i].mtok;
        any = true;
    }
    return any;
}

/* Refuses limits that the bucket does not have, and amounts that it can never give. */
static bool take_fits(struct call *c, const struct take *t)
{
    for (uint32_t i = 0; i < t->amounts.count; i++) {
        for (uint32_t k = 0; k < t->session.chain_count; k++) {
            const struct known_bucket *b = t->session.chain[k];
            const uint32_t limit = bucket_limit(b, t->amounts.at[i].limit);
            if (limit == b->limits.count && k == 0)
                return words_invalid(c, t->proxy ? "query" : "consume",
                                     "the bucket has no limit '%.*s'",
                                     SHOWN(t->amounts.at[i].limit));
            if (limit < b->limits.count && t->amounts.at[i].mtok > b->limits.at[limit].capacity)
                return words_invalid(c, t->proxy ? "query" : "consume",
                                     "'%.*s' of entity '%.*s' can never be %.12g: its capacity is "
                                     "%.12g",
                                     SHOWN(t->amounts.at[i].limit), SHOWN(b->name.entity),
                                     (double)t->amounts.at[i].mtok / 1000,
                                     (double)b->limits.at[limit].capacity / 1000);
        }
    }
    return true;
}

static bool shard_may_have(const struct router *r, const struct known_bucket *b, uint32_t shard,
                           const int64_t amounts[])
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && bucket_possible(r, b, shard, i) < amounts[i])
            return false;
    }
    return true;
}

/* Whether one shard soon has so much by refilling. Then fractions are not gathered from several: that
 * costs two writes for each. */
static bool is_small(const struct known_bucket *b, const int64_t amounts[])
{
    const uint32_t count = bucket_count(b);
    for (uint32_t i = 0; i < b->limits.count && count > 1; i++) {
        if (amounts[i] > limiter_share(b->limits.at[i].capacity, count - 1, count) / SMALL_PART)
            return false;
    }
    return count > 1;
}

/* Whether memory alone tells that the bucket has too little. */
static bool memory_is_short(const struct router *r, const struct known_bucket *b,
                            const int64_t amounts[])
{
    bool any = !is_small(b, amounts);
    for (uint32_t i = 0; i < bucket_count(b) && !any; i++)
        any = shard_may_have(r, b, i, amounts);
    if (!any)
        return true;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && bucket_possible_in_all(r, b, i) < amounts[i])
            return true;
    }
    return false;
}

/* Whether the hidden limit lets the shard take a request, as far as the router knows. */
static bool shard_may_write(const struct router *r, const struct known_bucket *b, uint32_t shard)
{
    if (shard >= b->at_count || !b->at[shard].heard)
        return true;
    const struct known_shard *k = &b->at[shard];
    const int64_t since_ms = instant_since(r->now, k->asked).ns / NS_PER_MS + 1;
    return since_ms > LIMITER_HEARD_MS || k->writes + since_ms * 1000 >= 2000 + k->owed_mwcu;
}

static bool share_is_short(const struct known_bucket *b, uint32_t shard, const int64_t amounts[])
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > limiter_share(b->limits.at[i].capacity, shard, bucket_count(b)))
            return true;
    }
    return false;
}

static uint32_t take_shard(struct call *c, struct known_bucket *b, const int64_t amounts[])
{
    struct take *t = c->state;
    const uint32_t count = bucket_count(b);
    if (t->session.charge.named)
        return homes_own(&t->session.charge, b);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t shard = b->turn++ & (count - 1);
        if (shard_may_have(c->router, b, shard, amounts) && shard_may_write(c->router, b, shard))
            return shard;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (shard_may_have(c->router, b, i, amounts))
            return i; /* it is written too often */
    }
    if (!is_small(b, amounts))
        t->gathers |= bucket_is_known(c->router, b); /* no shard has enough */
    return b->turn++ & (count - 1);
}

static struct charge_part *part_add(struct charge *g, struct known_bucket *b, uint32_t shard)
{
    struct charge_part *p = &g->parts[g->count++];
    *p = (struct charge_part){.bucket = b, .shard = shard, .verb = LIMITER_TAKE};
    return p;
}

/* What the shard has now, as far as the router knows; it was just read. */
static int64_t shard_guess(const struct router *r, struct known_bucket *b, uint32_t shard,
                           uint32_t limit)
{
    const struct known_shard *k = bucket_shard(b, shard);
    const struct limiter_limit *l = &b->limits.at[limit];
    if (!k->heard || k->shards != bucket_count(b))
        return limiter_share(l->capacity, shard, bucket_count(b));
    struct limiter_level level = k->levels[limit];
    const int64_t now_ms = router_wall_ms(r);
    limiter_refill(&level, l, shard, k->shards, now_ms > level.at_ms ? now_ms : level.at_ms);
    return level.tokens;
}

/* Takes of the shards from `first` on as much as they have. False: together they have too little, or the
 * charge has too many parts. */
static bool part_gather(struct call *c, struct known_bucket *b, uint32_t first,
                        const int64_t amounts[])
{
    struct take *t = c->state;
    struct charge *g = &t->session.charge;
    int64_t missing[LIMITER_LIMITS_MAX];
    const uint32_t count = bucket_count(b);
    bool whole = false;
    memcpy(missing, amounts, sizeof missing);
    for (uint32_t i = 0; i < count && !whole; i++) {
        const uint32_t shard = (first + i) & (count - 1);
        struct charge_part p = {.bucket = b, .shard = shard, .verb = LIMITER_TAKE};
        bool takes = i == 0 && g->named; /* where the token is */
        whole = true;
        for (uint32_t k = 0; k < b->limits.count; k++) {
            const int64_t has = missing[k] > 0 ? shard_guess(c->router, b, shard, k) : 0;
            p.amounts[k] = has < 0 ? 0 : has < missing[k] ? has : missing[k];
            missing[k] -= p.amounts[k];
            takes |= p.amounts[k] > 0;
            whole &= missing[k] == 0;
        }
        if (takes && g->count == CHARGE_PARTS_MAX)
            return false;
        if (takes)
            g->parts[g->count++] = p;
    }
    return whole;
}

/* The lease's shards are charged for more. */
static uint32_t lease_shard(const struct take *t, const struct known_bucket *b)
{
    for (uint32_t i = 0; i < t->lease.part_count; i++) {
        if (slice_equal(t->lease.parts[i].entity, b->name.entity))
            return t->lease.parts[i].shard & (bucket_count(b) - 1);
    }
    return 0;
}

enum plan_end {
    PLAN_READY,
    PLAN_WAITS, /* shards are read first */
    PLAN_SHORT, /* the bucket has too little: the call is answered */
};

static enum plan_end plan_bucket(struct call *c, uint32_t at, const int64_t amounts[])
{
    struct take *t = c->state;
    struct charge *g = &t->session.charge;
    struct known_bucket *b = t->session.chain[at];
    const uint32_t shard = t->uses_lease ? lease_shard(t, b) : take_shard(c, b, amounts);
    const bool large = share_is_short(b, shard, amounts);
    const bool gathers = bucket_count(b) > 1 && (t->gathers || large);
    if (!gathers) {
        struct charge_part *p = part_add(g, b, shard);
        memcpy(p->amounts, amounts, sizeof p->amounts);
        return PLAN_READY;
    }
    if ((t->reads >> at & 1) == 0 && !bucket_is_known(c->router, b)) {
        session_read(c, b);
        return PLAN_WAITS;
    }
    if (part_gather(c, b, shard, amounts))
        return PLAN_READY;
    if (homes_ask(c, true))
        return PLAN_WAITS;
    take_refuse_short(c, b, amounts);
    return PLAN_SHORT;
}

static enum plan_end take_plan(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    struct charge *g = &s->charge;
    g->count = 0;
    if (g->parts == NULL)
        g->parts = arena_alloc(&c->arena, CHARGE_PARTS_MAX * sizeof *g->parts);
    for (uint32_t i = 0; i < s->chain_count; i++) {
        int64_t amounts[LIMITER_LIMITS_MAX];
        if (g->count == CHARGE_PARTS_MAX || !take_amounts_of(t, s->chain[i], amounts))
            continue;
        const enum plan_end end = plan_bucket(c, i, amounts);
        if (end != PLAN_READY)
            return end;
    }
    return PLAN_READY;
}

/* ---- leases ---- */

/* The lease's part for a shard. If there is no room, a part of the same entity at another shard. */
static struct lease_part *lease_part_of(struct lease *l, const struct charge_part *p)
{
    const struct slice entity = p->bucket->name.entity;
    struct lease_part *other = NULL;
    for (uint32_t i = 0; i < l->part_count; i++) {
        if (!slice_equal(l->parts[i].entity, entity))
            continue;
        other = &l->parts[i];
        if (other->shard == p->shard)
            return other;
    }
    if (other != NULL && l->part_count >= LEASE_PARTS_MAX)
        return other;
    other = &l->parts[l->part_count++];
    *other = (struct lease_part){.entity = entity, .shard = p->shard};
    return other;
}

/* False: the lease has no room for one of the limits. */
static bool take_keep_part(struct lease *l, const struct charge_part *p)
{
    struct lease_part *at = lease_part_of(l, p);
    for (uint32_t i = 0; i < p->bucket->limits.count; i++) {
        if (p->amounts[i] == 0)
            continue;
        const uint32_t limit = lease_limit(l, p->bucket->limits.at[i].name);
        if (limit == LIMITER_LIMITS_MAX)
            return false;
        at->amounts[limit] += p->amounts[i];
    }
    return true;
}

/* The lease with what the charge takes. False: it is one that nobody could read, or it lacks something. */
static bool take_next_lease(struct call *c, struct lease *out)
{
    struct take *t = c->state;
    const struct session *s = &t->session;
    const struct charge *g = &s->charge;
    bool whole = true;
    *out = t->lease;
    out->parts = arena_zalloc(&c->arena, (out->part_count + g->count) * sizeof *out->parts);
    if (out->part_count > 0)
        memcpy(out->parts, t->lease.parts, out->part_count * sizeof *out->parts);
    for (uint32_t i = 0; i < g->count; i++)
        whole &= take_keep_part(out, &g->parts[i]);
    if (!t->uses_lease) {
        memcpy(out->id, g->token, sizeof out->id);
        out->space = s->chain[0]->name.space;
        out->resource = s->chain[0]->name.resource;
        out->until_ms = router_wall_ms(c->router) + t->lease_ms;
    }
    out->use++;
    return whole && lease_fits(&c->arena, out);
}

/* ---- steps ---- */

static bool take_read(struct call *c)
{
    struct take *t = c->state;
    for (uint32_t i = 0; i < t->session.chain_count; i++)
        t->reads |= (uint32_t)(t->session.chain[i] == t->session.mended) << i;
    return take_known(c);
}

static bool take_known(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    struct lease next;
    if (!take_fits(c, t))
        return false;
    for (uint32_t i = 0; i < s->chain_count && !s->charge.named; i++) {
        struct known_bucket *b = s->chain[i];
        int64_t amounts[LIMITER_LIMITS_MAX];
        if (!take_amounts_of(t, b, amounts) || !memory_is_short(c->router, b, amounts) ||
            MUTATED(MUTATION_LIMITER_ASK_IN_VAIN))
            continue;
        b->attempts++;
        limiter_counts(c->router, b->name.space)->from_memory++;
        return take_refuse_short(c, b, amounts);
    }
    if (take_plan(c) != PLAN_READY || homes_ask(c, false))
        return true;
    if ((t->lease_ms > 0 || t->uses_lease) && !take_next_lease(c, &next))
        return words_invalid(c, "lease", "it has no room for so much: acquire another one");
    t->reads = 0; /* the next plan goes by what is there then */
    session_charge(c);
    return true;
}

/* ---- the end of a charge ---- */

/* It was done before, and nobody knows any more in which parts: as if each bucket had been charged at one shard. */
static void take_simplify(struct take *t)
{
    struct session *s = &t->session;
    struct charge *g = &s->charge;
    g->count = 0;
    for (uint32_t i = 0; i < s->chain_count; i++) {
        struct known_bucket *b = s->chain[i];
        int64_t amounts[LIMITER_LIMITS_MAX];
        if (!take_amounts_of(t, b, amounts))
            continue;
        struct charge_part *p = part_add(g, b, t->uses_lease ? lease_shard(t, b) : homes_own(g, b));
        memcpy(p->amounts, amounts, sizeof p->amounts);
    }
}

static void take_write_lease(struct call *c, struct take *t)
{
    struct buffer text = {0};
    struct lease l;
    if (t->session.charge.before)
        take_simplify(t);
    take_next_lease(c, &l);
    lease_write(&text, &l);
    json_member_string(&c->body, "lease", buffer_slice(&text));
    json_member_integer(&c->body, "expires_ms", l.until_ms);
    buffer_deinit(&text);
}

static bool may_grow(const struct session *s, const struct known_bucket *b)
{
    return !MUTATED(MUTATION_LIMITER_LONE_PARENT) || b == s->chain[0];
}

static bool take_answer(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    struct known_bucket *own = s->chain[0];
    own->admitted++;
    limiter_counts(c->router, own->name.space)->admitted++;
    for (uint32_t i = 0; i < s->charge.count; i++) {
        const struct charge_part *p = &s->charge.parts[i];
        const struct known_shard *k = bucket_shard(p->bucket, p->shard);
        if (k->heard && may_grow(s, p->bucket) &&
            bucket_is_pressed(c->router, p->bucket, p->shard, false) &&
            !memory_is_short(c->router, p->bucket, p->amounts)) /* more shards would help */
            tend_grow(c->router, p->bucket);
    }
    shown_set_lines(c, -1);
    if (t->proxy) {
        c->status = 204;
        return true;
    }
    shown_begin(c, true);
    if (t->lease_ms > 0 || t->uses_lease)
        take_write_lease(c, t);
    json_write_close(&c->body, '}');
    return true;
}

static bool take_short(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    const struct charge_part *p = &s->charge.parts[s->charge.failed];
    int64_t amounts[LIMITER_LIMITS_MAX];
    const bool spread = bucket_count(p->bucket) > 1;
    if (session_tell(c, p->bucket))
        return true;
    if (spread && !s->charge.named && s->charge.count == 1 && t->others < TAKE_OTHERS_MAX &&
        !memory_is_short(c->router, p->bucket, p->amounts)) {
        t->others++;
        return take_known(c);
    }
    if (spread && (s->charge.named || !is_small(p->bucket, p->amounts)) &&
        t->gathered < TAKE_GATHERS_MAX &&
        (bucket_count(p->bucket) <= TAKE_READS_MAX || bucket_is_known(c->router, p->bucket))) {
        t->gathered++;
        t->gathers = true;
        return take_known(c);
    }
    take_amounts_of(t, p->bucket, amounts);
    limiter_counts(c->router, p->bucket->name.space)->refused++;
    return take_refuse_short(c, p->bucket, amounts);
}

/* The shard, or its partition, is written too often. */
static bool take_short_writes(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    const struct charge_part *p = &s->charge.parts[s->charge.failed];
    struct known_bucket *b = p->bucket;
    int64_t amounts[LIMITER_LIMITS_MAX];
    take_amounts_of(t, b, amounts);
    const bool unasked = s->charge.named && s->charge.throttled; /* it may have been done before */
    if (!unasked && memory_is_short(c->router, b, amounts)) { /* more shards would help nothing */
        limiter_counts(c->router, b->name.space)->refused++;
        return take_refuse_short(c, b, amounts);
    }
    const bool grows = !s->charge.throttled && !b->merging && may_grow(s, b) &&
                       bucket_count(b) < limiter_shards_most(&b->limits) &&
                       bucket_is_pressed(c->router, b, p->shard, true);
    if (grows && s->rounds++ < SESSION_ROUNDS_MAX) {
        session_grow(c, b);
        return true;
    }
    if (!s->charge.named && bucket_count(b) > 1 && t->others < TAKE_OTHERS_MAX) {
        t->others++;
        return take_known(c);
    }
    const int64_t missing = p->mwcu - bucket_shard(b, p->shard)->writes;
    limiter_counts(c->router, b->name.space)->refused++;
    return take_refuse(c, b, "writes", NULL, missing > 1000 ? missing / 1000 : 1);
}

static bool take_gives_up(struct call *c)
{
    return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                     "The bucket's shards change too fast: try again");
}

static bool take_charged(struct call *c)
{
    struct take *t = c->state;
    struct session *s = &t->session;
    struct fault *f = call_fault(c);
    switch (s->charge.end) {
    case CHARGE_DONE:
        return take_answer(c);
    case CHARGE_USED:
        return t->uses_lease
                   ? fault_set(f, FAULT_IN_USE,
                               "The lease was used before; use the one in the last answer")
                   : fault_set(f, FAULT_TOKEN_MISMATCH,
                               "The Idempotency-Key was used for another request");
    case CHARGE_LOST:
        return false; /* take_fail */
    case CHARGE_REFUSED:
        break;
    }
    switch (s->charge.refusal) {
    case LIMITER_SHORT:
        return take_short(c);
    case LIMITER_SHORT_WRITES:
        return take_short_writes(c);
    case LIMITER_LATE:
        if (homes_ask_late(c))
            return true;
        return t->uses_lease
                   ? fault_set(f, FAULT_EXPIRED_ITERATOR, "The lease is over")
                   : fault_set(f, FAULT_UNAVAILABLE,
                               "The clocks of router and node differ by more than %d minutes",
                               LIMITER_KNOWN_MS / 60000);
    case LIMITER_NO_BUCKET:
        return fault_set(f, FAULT_INTERNAL,
                         "The item of the bucket's shard %u is none that weir has written",
                         s->charge.parts[s->charge.failed].shard);
    default:
        return session_mend(c) || take_gives_up(c);
    }
}

const struct session_work take_work = {
    .known = take_known, .charged = take_charged, .read = take_read};
