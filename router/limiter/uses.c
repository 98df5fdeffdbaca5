/* uses.c - what is done with a lease: adjust, release, commit and rollback.
 *
 * Each corrects what was taken at the shards where it was taken: a refund goes to the shard that was
 * charged, or to the one that the shard was merged into. Such corrections are never refused for want of tokens. */
#include "router/limiter/homes.h"
#include "router/limiter/lease.h"
#include "router/limiter/pages.h"
#include "router/limiter/shown.h"

#include "base/mutation.h"
#include "router/json/json_writer.h"

enum use {
    USE_ADJUST = 1,
    USE_RELEASE,
    USE_COMMIT,
    USE_ROLLBACK
};

struct lease_use {
    struct session session; /* must be first */
    struct lease given;
    struct lease lease; /* after the use */
    struct amounts amounts;
    enum use use;
    bool *gone;       /* of each part: its bucket has expired, and was full then */
    uint32_t *places; /* of each part: in the charge */
};

/* ---- what is corrected where ---- */

static struct known_bucket *use_bucket(struct call *c, struct slice entity)
{
    struct lease_use *u = c->state;
    struct session *s = &u->session;
    for (uint32_t i = 0; i < s->chain_count; i++) {
        if (slice_equal(s->chain[i]->name.entity, entity))
            return s->chain[i];
    }
    return NULL;
}

/* Adds to the correction of one of the lease's parts. An amount of a limit that is gone is dropped. */
static void use_correct(struct lease_use *u, uint32_t part, struct slice limit, int64_t mtok)
{
    u->lease.parts[part].amounts[lease_limit(&u->lease, limit)] += mtok;
    if (u->gone[part])
        return;
    struct charge_part *p = &u->session.charge.parts[u->places[part]];
    const uint32_t at = bucket_limit(p->bucket, limit);
    if (at < p->bucket->limits.count)
        p->amounts[at] += mtok;
}

/* What the lease holds of the limit, for one entity. */
static int64_t use_held(const struct lease_use *u, struct slice entity, uint32_t limit)
{
    int64_t held = 0;
    for (uint32_t i = 0; i < u->lease.part_count && limit < u->lease.limit_count; i++) {
        if (slice_equal(u->lease.parts[i].entity, entity))
            held += u->lease.parts[i].amounts[limit];
    }
    return held;
}

/* Whether an earlier part is of the same entity. */
static bool use_has_before(const struct lease_use *u, uint32_t part)
{
    for (uint32_t i = 0; i < part; i++) {
        if (slice_equal(u->lease.parts[i].entity, u->lease.parts[part].entity))
            return true;
    }
    return false;
}

/* Gives back from the parts that hold something; what is left, or is taken more, from `first`. */
static void use_spread(struct lease_use *u, uint32_t first, struct slice limit, int64_t mtok)
{
    const uint32_t at = lease_limit(&u->lease, limit);
    int64_t left = mtok;
    for (uint32_t i = first; i < u->lease.part_count && left < 0; i++) {
        if (!slice_equal(u->lease.parts[i].entity, u->lease.parts[first].entity))
            continue;
        const int64_t held = u->lease.parts[i].amounts[at];
        const int64_t back = held <= 0 ? 0 : held < -left ? held : -left;
        use_correct(u, i, limit, -back);
        left += back;
    }
    use_correct(u, first, limit, left);
}

static bool use_plan_amounts(struct call *c, struct lease_use *u)
{
    const struct known_bucket *own = u->session.chain[0];
    for (uint32_t i = 0; i < u->amounts.count; i++) {
        const struct slice limit = u->amounts.at[i].limit;
        const int64_t mtok = u->use == USE_RELEASE ? -u->amounts.at[i].mtok : u->amounts.at[i].mtok;
        const struct slice entity = u->lease.parts[0].entity;
        if (lease_limit(&u->lease, limit) == LIMITER_LIMITS_MAX ||
            bucket_limit(own, limit) == own->limits.count)
            return words_invalid(c, u->use == USE_RELEASE ? "release" : "adjust",
                                 "the bucket has no limit '%.*s'", SHOWN(limit));
        const int64_t held = use_held(u, entity, lease_limit(&u->lease, limit));
        if (u->use == USE_RELEASE && -mtok > held)
            return words_invalid(c, "release", "the lease holds only %.12g of '%.*s'",
                                 (double)held / 1000, SHOWN(limit));
        for (uint32_t k = 0; k < u->lease.part_count; k++) {
            if (!use_has_before(u, k))
                use_spread(u, k, limit, mtok);
        }
    }
    return true;
}

/* Makes a part of the charge for each shard that the lease's parts are at now. */
static bool use_place(struct call *c, struct lease_use *u)
{
    struct charge *g = &u->session.charge;
    g->count = 0;
    for (uint32_t i = 0; i < u->lease.part_count; i++) {
        struct known_bucket *b = use_bucket(c, u->lease.parts[i].entity);
        uint32_t at = 0;
        if (b == NULL)
            return words_invalid(c, "lease", "it is none that an answer has given");
        if (u->gone[i])
            continue;
        const uint32_t shard = u->lease.parts[i].shard & (bucket_count(b) - 1);
        while (at < g->count && (g->parts[at].bucket != b || g->parts[at].shard != shard))
            at++;
        if (at == g->count)
            g->parts[g->count++] =
                (struct charge_part){.bucket = b, .shard = shard, .verb = LIMITER_ADJUST};
        u->places[i] = at;
    }
    return true;
}

static bool use_answer(struct call *c);

static bool use_known(struct call *c)
{
    struct lease_use *u = c->state;
    struct charge *g = &u->session.charge;
    const size_t size = u->given.part_count * sizeof *u->given.parts;
    if (g->parts == NULL)
        g->parts = arena_zalloc(&c->arena, u->given.part_count * sizeof *g->parts);
    u->lease = u->given;
    u->lease.parts = arena_alloc(&c->arena, size);
    memcpy(u->lease.parts, u->given.parts, size);
    if (!use_place(c, u))
        return false;
    for (uint32_t i = 0; i < u->lease.part_count && u->use == USE_ROLLBACK; i++) {
        for (uint32_t k = 0; k < u->lease.limit_count; k++)
            use_correct(u, i, u->lease.limits[k], -u->given.parts[i].amounts[k]);
    }
    if (!use_plan_amounts(c, u))
        return false;
    if (!lease_fits(&c->arena, &u->lease))
        return words_invalid(c, "adjust", "the lease has no room for so much");
    if (g->count == 0)
        return use_answer(c);
    if (u->use == USE_COMMIT)
        g->count = 1; /* it only has to be known that the lease is over */
    if (!homes_ask(c, false))
        session_charge(c);
    return true;
}

/* ---- the answer ---- */

static bool use_answer(struct call *c)
{
    struct lease_use *u = c->state;
    struct buffer text = {0};
    json_write_open(&c->body, '{');
    json_member_bool(&c->body, "done", true);
    if (u->use == USE_ADJUST || u->use == USE_RELEASE) {
        u->lease.use++;
        lease_write(&text, &u->lease);
        json_member_string(&c->body, "lease", buffer_slice(&text));
        json_member_integer(&c->body, "expires_ms", u->lease.until_ms);
        buffer_deinit(&text);
    }
    json_write_close(&c->body, '}');
    return true;
}

/* There is no shard 0 any more: the bucket has expired, and was full then. */
static bool use_is_gone(struct call *c)
{
    struct lease_use *u = c->state;
    const struct charge *g = &u->session.charge;
    const struct charge_part *p = &g->parts[g->failed];
    if (g->refusal != LIMITER_ABSENT || p->shard > 0 || u->session.rounds++ >= SESSION_ROUNDS_MAX)
        return false;
    for (uint32_t i = 0; i < u->given.part_count; i++)
        u->gone[i] |= use_bucket(c, u->given.parts[i].entity) == p->bucket;
    return use_known(c);
}

static bool use_charged(struct call *c)
{
    struct lease_use *u = c->state;
    struct charge *g = &u->session.charge;
    struct fault *f = call_fault(c);
    switch (g->end) {
    case CHARGE_DONE:
        return use_answer(c);
    case CHARGE_USED:
        return fault_set(f, FAULT_IN_USE,
                         "The lease was used before; use the one in the last answer");
    case CHARGE_LOST:
        return false;
    case CHARGE_REFUSED:
        break;
    }
    if (g->refusal == LIMITER_LATE && homes_ask_late(c))
        return true;
    if (g->refusal == LIMITER_LATE)
        return fault_set(f, FAULT_EXPIRED_ITERATOR, "The lease is over");
    if (g->refusal == LIMITER_SHORT_WRITES)
        return fault_set(f, FAULT_UNAVAILABLE,
                         "The bucket's shard is written too often: try again");
    if (g->refusal == LIMITER_DEEP)
        return fault_set(f, FAULT_VALIDATION,
                         "adjust: the debt of a limit would be more than %lld tokens",
                         (long long)LIMITER_TOKENS_MAX);
    if (g->refusal == LIMITER_NO_BUCKET)
        return fault_set(f, FAULT_INTERNAL,
                         "The item of the bucket's shard %u is none that weir has written",
                         g->parts[g->failed].shard);
    return use_is_gone(c) || session_mend(c) ||
           fault_set(f, FAULT_UNAVAILABLE, "The bucket's shards change too fast: try again");
}

static const struct session_work WORK = {
    .known = use_known, .charged = use_charged, .no_parents = true};

/* ---- requests ---- */

static bool use_begin(struct call *c, const struct json_value *body, enum use use,
                      const char *amounts)
{
    const char *const names[] = {"lease", amounts, NULL};
    struct lease_use *u = arena_zalloc(&c->arena, sizeof *u);
    struct charge *g = &u->session.charge;
    struct slice text;
    struct words w;
    u->use = use;
    if (!words_body(&w, c, body) || !words_only(&w, names) ||
        !words_text(&w, "lease", LEASE_TEXT_MAX, &text) ||
        (amounts != NULL && !words_amounts(&w, amounts, names,
                                           use == USE_ADJUST ? -LIMITER_MTOK_MAX : 0, &u->amounts)))
        return false;
    if (!lease_read(&c->arena, text, &u->given))
        return words_invalid(c, "lease", "it is none that an answer has given");
    lease_token(&u->given, g->token);
    g->named = true;
    g->digest = amounts_digest(&u->amounts, (uint64_t)use + 2);
    g->until_ms = u->given.until_ms;
    for (uint32_t i = 0; MUTATED(MUTATION_LIMITER_FAR_REFUND) && i < u->given.part_count; i++)
        u->given.parts[i].shard ^= 1;
    g->home = u->given.parts[0].shard;
    g->homed = true;
    u->gone = arena_zalloc(&c->arena, u->given.part_count * sizeof *u->gone);
    u->places = arena_zalloc(&c->arena, u->given.part_count * sizeof *u->places);
    struct bucket_name name = {u->given.space, u->given.parts[0].entity, u->given.resource};
    session_begin(c, &u->session, &WORK, &name);
    for (uint32_t i = 1; i < u->given.part_count; i++) {
        name.entity = u->given.parts[i].entity;
        if (use_bucket(c, name.entity) != NULL)
            continue;
        if (u->session.chain_count == LIMITER_CHAIN_MAX)
            return words_invalid(c, "lease", "it is none that an answer has given");
        session_add(c, &name);
    }
    return true;
}

static bool adjust_begin(struct call *c, const struct json_value body[])
{
    return use_begin(c, body, USE_ADJUST, "adjust");
}

static bool release_begin(struct call *c, const struct json_value body[])
{
    return use_begin(c, body, USE_RELEASE, "release");
}

static bool commit_begin(struct call *c, const struct json_value body[])
{
    return use_begin(c, body, USE_COMMIT, NULL);
}

static bool rollback_begin(struct call *c, const struct json_value body[])
{
    return use_begin(c, body, USE_ROLLBACK, NULL);
}

const struct operation operation_limiter_adjust = {
    .name = "LimiterAdjust", .begin = adjust_begin, SESSION_STEPS};
const struct operation operation_limiter_release = {
    .name = "LimiterRelease", .begin = release_begin, SESSION_STEPS};
const struct operation operation_limiter_commit = {
    .name = "LimiterCommit", .begin = commit_begin, SESSION_STEPS};
const struct operation operation_limiter_rollback = {
    .name = "LimiterRollback", .begin = rollback_begin, SESSION_STEPS};
