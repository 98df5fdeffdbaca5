/* lease_operations.c - operations on a lease: adjust, release, commit and rollback.
 *
 * Each corrects what was taken at the shards where it was taken: a refund goes to the shard that
 * was charged, or to the one that the shard was merged into. Such corrections are never refused for
 * want of tokens. */
#include "router/limiter/app_lease.h"
#include "router/limiter/idempotency_lookup.h"
#include "router/limiter/limiter_operations.h"

#include "base/mutation.h"
#include "router/json/json_writer.h"

enum lease_operation_kind {
    LEASE_ADJUST = 1,
    LEASE_RELEASE,
    LEASE_COMMIT,
    LEASE_ROLLBACK
};

struct lease_operation {
    struct limiter_call limiter_call; /* must be first */
    struct app_lease given;
    struct app_lease lease; /* after the use */
    struct amounts amounts;
    enum lease_operation_kind kind;
    bool *expired;          /* of each part: its bucket has expired, and was full then */
    uint32_t *charge_index; /* of each part: in the charge */
};

_Static_assert(offsetof(struct lease_operation, limiter_call) == 0,
               "call->state is a limiter_call");

/* ---- what is corrected where ---- */

static struct cached_bucket *lease_operation_bucket(struct call *c, struct slice entity)
{
    struct lease_operation *u = c->state;
    struct limiter_call *s = &u->limiter_call;
    for (uint32_t i = 0; i < s->chain_count; i++) {
        if (slice_equal(s->chain[i]->name.entity, entity))
            return s->chain[i];
    }
    return NULL;
}

/* Adds to the correction of one of the lease's parts. An amount of a limit that the bucket does not
 * have any more is dropped. */
static void lease_operation_correct(struct lease_operation *u, uint32_t part, struct slice limit,
                                    int64_t mtok)
{
    const uint32_t place = app_lease_limit(&u->lease, limit);
    must(part < u->lease.part_count);
    must(place < LIMITER_LIMITS_MAX);
    u->lease.parts[part].amounts[place] += mtok;
    if (u->expired[part])
        return;
    must(u->charge_index[part] < u->limiter_call.charge.count);
    struct charge_part *p = &u->limiter_call.charge.parts[u->charge_index[part]];
    const uint32_t at = bucket_find_limit(p->bucket, limit);
    if (at < p->bucket->limits.count)
        p->amounts[at] += mtok;
}

/* What the lease holds of the limit, for one entity. */
static int64_t lease_operation_held(const struct lease_operation *u, struct slice entity,
                                    uint32_t limit)
{
    int64_t held = 0;
    for (uint32_t i = 0; i < u->lease.part_count && limit < u->lease.limit_count; i++) {
        if (slice_equal(u->lease.parts[i].entity, entity))
            held += u->lease.parts[i].amounts[limit];
    }
    return held;
}

/* Whether an earlier part is of the same entity. */
static bool lease_operation_has_before(const struct lease_operation *u, uint32_t part)
{
    for (uint32_t i = 0; i < part; i++) {
        if (slice_equal(u->lease.parts[i].entity, u->lease.parts[part].entity))
            return true;
    }
    return false;
}

/* Gives back from the parts that hold something; what is left, or is taken more, from `first`. */
static void lease_operation_spread(struct lease_operation *u, uint32_t first, struct slice limit,
                                   int64_t mtok)
{
    const uint32_t at = app_lease_limit(&u->lease, limit);
    int64_t left = mtok;
    must(first < u->lease.part_count);
    must(at < LIMITER_LIMITS_MAX);
    for (uint32_t i = first; i < u->lease.part_count && left < 0; i++) {
        if (!slice_equal(u->lease.parts[i].entity, u->lease.parts[first].entity))
            continue;
        const int64_t held = u->lease.parts[i].amounts[at];
        const int64_t back = held <= 0 ? 0 : MIN(held, -left);
        lease_operation_correct(u, i, limit, -back);
        left += back;
    }
    lease_operation_correct(u, first, limit, left);
}

static bool lease_operation_amounts(struct call *c, struct lease_operation *u)
{
    const struct cached_bucket *own = u->limiter_call.chain[0];
    for (uint32_t i = 0; i < u->amounts.count; i++) {
        const struct slice limit = u->amounts.at[i].limit;
        const int64_t mtok =
            u->kind == LEASE_RELEASE ? -u->amounts.at[i].mtok : u->amounts.at[i].mtok;
        const struct slice entity = u->lease.parts[0].entity;
        if (app_lease_limit(&u->lease, limit) == LIMITER_LIMITS_MAX ||
            bucket_find_limit(own, limit) == own->limits.count)
            return limiter_error_invalid(c, u->kind == LEASE_RELEASE ? "release" : "adjust",
                                         "the bucket has no limit '%.*s'", SHOWN(limit));
        const int64_t held = lease_operation_held(u, entity, app_lease_limit(&u->lease, limit));
        if (u->kind == LEASE_RELEASE && -mtok > held)
            return limiter_error_invalid(c, "release", "the lease holds only %.12g of '%.*s'",
                                         (double)held / 1000, SHOWN(limit));
        for (uint32_t k = 0; k < u->lease.part_count; k++) {
            if (!lease_operation_has_before(u, k))
                lease_operation_spread(u, k, limit, mtok);
        }
    }
    return true;
}

/* Makes a part of the charge for each shard that the lease's parts are at now. */
static bool lease_operation_place(struct call *c, struct lease_operation *u)
{
    struct charge *g = &u->limiter_call.charge;
    g->count = 0;
    for (uint32_t i = 0; i < u->lease.part_count; i++) {
        struct cached_bucket *b = lease_operation_bucket(c, u->lease.parts[i].entity);
        uint32_t at = 0;
        if (b == NULL)
            return limiter_error_invalid(c, "lease", "it is not a valid lease");
        if (u->expired[i])
            continue;
        const uint32_t shard = u->lease.parts[i].shard & (bucket_shard_count(b) - 1);
        while (at < g->count && (g->parts[at].bucket != b || g->parts[at].shard != shard))
            at++;
        must(g->count <= i); /* `parts` has a place for each of the lease's */
        if (at == g->count)
            g->parts[g->count++] =
                (struct charge_part){.bucket = b, .shard = shard, .verb = LIMITER_ADJUST};
        u->charge_index[i] = at;
    }
    return true;
}

static bool lease_operation_answer(struct call *c);

static bool lease_operation_plan(struct call *c)
{
    struct lease_operation *u = c->state;
    struct charge *g = &u->limiter_call.charge;
    const size_t size = u->given.part_count * sizeof *u->given.parts;
    if (g->parts == NULL)
        g->parts = arena_zalloc(&c->arena, u->given.part_count * sizeof *g->parts);
    u->lease = u->given;
    u->lease.parts = arena_alloc(&c->arena, size);
    memcpy(u->lease.parts, u->given.parts, size);
    if (!lease_operation_place(c, u))
        return false;
    for (uint32_t i = 0; i < u->lease.part_count && u->kind == LEASE_ROLLBACK; i++) {
        for (uint32_t k = 0; k < u->lease.limit_count; k++)
            lease_operation_correct(u, i, u->lease.limits[k], -u->given.parts[i].amounts[k]);
    }
    if (!lease_operation_amounts(c, u))
        return false;
    if (!app_lease_fits(&c->arena, &u->lease))
        return limiter_error_invalid(c, "adjust", "the lease has no room for these amounts");
    if (g->count == 0)
        return lease_operation_answer(c);
    if (u->kind == LEASE_COMMIT)
        g->count = 1; /* one shard has to know that the lease has ended */
    if (!idempotency_lookup_begin(c, false))
        limiter_call_charge(c);
    return true;
}

/* ---- the answer ---- */

static bool lease_operation_answer(struct call *c)
{
    struct lease_operation *u = c->state;
    struct buffer text = {0};
    json_write_open(&c->body, '{');
    json_member_bool(&c->body, "done", true);
    if (u->kind == LEASE_ADJUST || u->kind == LEASE_RELEASE) {
        u->lease.use_number++;
        app_lease_write(&text, &u->lease);
        json_member_string(&c->body, "lease", buffer_slice(&text));
        json_member_integer(&c->body, "expires_ms", u->lease.expires_ms);
        buffer_deinit(&text);
    }
    json_write_close(&c->body, '}');
    return true;
}

/* Shard 0 is absent: the bucket has expired, and was full then. */
static bool lease_operation_is_expired(struct call *c)
{
    struct lease_operation *u = c->state;
    const struct charge *g = &u->limiter_call.charge;
    must(g->failed < g->count);
    const struct charge_part *p = &g->parts[g->failed];
    if (g->refusal != LIMITER_ABSENT || p->shard > 0 ||
        u->limiter_call.repairs++ >= LIMITER_CALL_REPAIRS_MAX)
        return false;
    for (uint32_t i = 0; i < u->given.part_count; i++)
        u->expired[i] |= lease_operation_bucket(c, u->given.parts[i].entity) == p->bucket;
    return lease_operation_plan(c);
}

static bool lease_operation_charge_ended(struct call *c)
{
    struct lease_operation *u = c->state;
    struct charge *g = &u->limiter_call.charge;
    struct fault *f = call_fault(c);
    switch (g->end) {
    case CHARGE_DONE:
        return lease_operation_answer(c);
    case CHARGE_TOKEN_MISMATCH:
        return fault_set(f, FAULT_IN_USE,
                         "The lease was used before; use the lease of the last answer");
    case CHARGE_UNAVAILABLE:
        return false;
    case CHARGE_REFUSED:
        break;
    }
    if (g->refusal == LIMITER_EXPIRED && idempotency_lookup_expired(c))
        return true;
    if (g->refusal == LIMITER_EXPIRED)
        return fault_set(f, FAULT_EXPIRED_ITERATOR, "The lease is over");
    if (g->refusal == LIMITER_TOO_FEW_WRITES)
        return fault_set(f, FAULT_UNAVAILABLE,
                         "The bucket's shard gets too many writes: try again");
    if (g->refusal == LIMITER_DEBT_TOO_LARGE)
        return fault_set(f, FAULT_VALIDATION,
                         "adjust: the debt of a limit would be more than its shard's share of "
                         "%lld tokens",
                         (long long)LIMITER_TOKENS_MAX);
    if (g->refusal == LIMITER_NO_BUCKET)
        return fault_set(f, FAULT_INTERNAL,
                         "The item of the bucket's shard %u was not written by weir",
                         g->parts[g->failed].shard);
    return lease_operation_is_expired(c) || limiter_call_repair(c) ||
           fault_set(f, FAULT_UNAVAILABLE, "The bucket's shards change too fast: try again");
}

static const struct limiter_call_handlers lease_operation_handlers = {
    .plan = lease_operation_plan, .charge_ended = lease_operation_charge_ended, .no_parents = true};

/* ---- requests ---- */

static bool lease_operation_begin(struct call *c, const struct json_value body[])
{
    const enum lease_operation_kind use = (enum lease_operation_kind)c->operation->variant;
    const char *amounts = use == LEASE_ADJUST ? "adjust" : use == LEASE_RELEASE ? "release" : NULL;
    const char *const names[] = {"lease", amounts, NULL};
    struct lease_operation *u = arena_zalloc(&c->arena, sizeof *u);
    struct charge *g = &u->limiter_call.charge;
    struct slice text;
    struct limiter_request w;
    u->kind = use;
    if (!limiter_request_body(&w, c, body) || !limiter_request_check_names(&w, names) ||
        !limiter_request_text(&w, "lease", APP_LEASE_TEXT_MAX, &text) ||
        (amounts != NULL &&
         !limiter_request_amounts(&w, amounts, names, use == LEASE_ADJUST ? -LIMITER_MTOK_MAX : 0,
                                  &u->amounts)))
        return false;
    if (!app_lease_read(&c->arena, text, &u->given))
        return limiter_error_invalid(c, "lease", "it is not a valid lease");
    app_lease_token(&u->given, g->token);
    g->has_token = true;
    g->digest = amounts_digest(&u->amounts, (uint64_t)use + 2);
    g->expires_ms = u->given.expires_ms;
    for (uint32_t i = 0; MUTATED(MUTATION_LIMITER_FAR_REFUND) && i < u->given.part_count; i++)
        u->given.parts[i].shard ^= 1;
    g->owner_key = u->given.parts[0].shard;
    g->token_has_owner = true;
    u->expired = arena_zalloc(&c->arena, u->given.part_count * sizeof *u->expired);
    u->charge_index = arena_zalloc(&c->arena, u->given.part_count * sizeof *u->charge_index);
    struct bucket_name name = {u->given.name_space, u->given.parts[0].entity, u->given.resource};
    limiter_call_begin(c, &u->limiter_call, &lease_operation_handlers, &name);
    for (uint32_t i = 1; i < u->given.part_count; i++) {
        name.entity = u->given.parts[i].entity;
        if (lease_operation_bucket(c, name.entity) != NULL)
            continue;
        if (u->limiter_call.chain_count == LIMITER_CHAIN_MAX)
            return limiter_error_invalid(c, "lease", "it is not a valid lease");
        limiter_call_add_bucket(c, &name);
    }
    return true;
}

LIMITER_OPERATION(adjust, "LimiterAdjust", .begin = lease_operation_begin, .variant = LEASE_ADJUST,
                  LIMITER_CALL_OPERATION);
LIMITER_OPERATION(release, "LimiterRelease", .begin = lease_operation_begin,
                  .variant = LEASE_RELEASE, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(commit, "LimiterCommit", .begin = lease_operation_begin, .variant = LEASE_COMMIT,
                  LIMITER_CALL_OPERATION);
LIMITER_OPERATION(rollback, "LimiterRollback", .begin = lease_operation_begin,
                  .variant = LEASE_ROLLBACK, LIMITER_CALL_OPERATION);
