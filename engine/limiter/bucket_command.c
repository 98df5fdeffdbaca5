/* bucket_command.c - commands as bytes, and what they do to a bucket.
 *
 * A command on a bucket that is there runs in this order: it takes on newer limits, refills all
 * balances, adopts a newer shard map of its sender, does what its verb says, and charges the hidden
 * limit. A refusal changes nothing: the next command adopts the growth again.
 *
 * LIMITER-7  `sender_map` is a copy of shard 0's map, perhaps an old one. A shard never adopts a
 *            map of an epoch that it has reached. */
#include "engine/limiter/bucket_internal.h"

#include "base/mutation.h"
#include "base/probe.h"

/* ---- bytes ---- */

static bool shard_map_is_valid(const struct limiter_shard_map *s)
{
    if (s->epoch > LIMITER_TIME_MAX - LIMITER_SIZES || !limiter_is_size(s->count))
        return false;
    for (uint32_t i = 0; i < LIMITER_SIZES; i++) {
        const bool has = s->count >> i != 0;
        if (s->grown[i] > s->epoch || (has && i > 0 && s->grown[i] <= s->grown[i - 1]))
            return false;
    }
    return true;
}

/* A map that is not known: epoch 0, and no more bytes. */
static void shard_map_walk(struct codec *c, struct limiter_shard_map *s)
{
    if (codec_reads(c))
        *s = (struct limiter_shard_map){0};
    codec_u64(c, &s->epoch);
    if (s->epoch == 0)
        return;
    codec_u32(c, &s->count);
    for (uint32_t i = 0; i < LIMITER_SIZES; i++)
        codec_u64(c, &s->grown[i]);
    codec_check(c, shard_map_is_valid(s));
}

static void limits_walk(struct codec *c, struct limiter_limits *l)
{
    codec_u64(c, &l->version);
    codec_check(c, l->version <= INT64_MAX);
    codec_count(c, &l->count, 0, LIMITER_LIMITS_MAX);
    for (uint32_t i = 0; i < l->count; i++) {
        codec_sized(c, &l->at[i].name, LIMITER_NAME_MAX);
        codec_amount(c, &l->at[i].capacity);
        codec_amount(c, &l->at[i].amount);
        codec_amount(c, &l->at[i].period_ms);
        codec_amount(c, &l->at[i].request_min);
    }
    codec_check(c, l->count == 0 || limiter_limits_fault(l) == NULL);
}

static void reserved_share_walk(struct codec *c, struct limiter_reserved_share *g,
                                const struct limiter_limits *limits)
{
    codec_u32(c, &g->child);
    codec_u64(c, &g->epoch);
    codec_check(c, g->child > 0 && g->child < LIMITER_SHARDS_MAX);
    codec_check(c, g->epoch <= LIMITER_TIME_MAX - LIMITER_SIZES);
    for (uint32_t i = 0; i < limits->count && !codec_failed(c); i++) {
        codec_i64(c, &g->balances[i].tokens, -LIMITER_MTOK_MAX, LIMITER_MTOK_MAX);
        codec_i64(c, &g->balances[i].at_ms, 0, LIMITER_TIME_MAX);
        codec_i64(c, &g->balances[i].fraction, 0, limits->at[i].period_ms - 1);
    }
}

/* What a verb needs beside the fields that all commands have. */
static bool command_is_valid(const struct limiter_command *m)
{
    const bool root = m->shard == 0;
    switch ((enum limiter_verb)m->verb) {
    case LIMITER_TAKE:
    case LIMITER_ADJUST:
    case LIMITER_CONFIGURE:
        return m->limits.count > 0;
    case LIMITER_GROW:
    case LIMITER_MERGE_BEGIN:
    case LIMITER_MERGE_COMMIT:
        return root && m->sender_map.epoch > 0;
    case LIMITER_RESERVE_CHILD:
        return m->child > 0 && m->child < LIMITER_SHARDS_MAX &&
               limiter_parent_shard(m->child) == m->shard;
    case LIMITER_CREATE_CHILD:
        return !root && m->reserved_share.child == m->shard && m->reserved_share.epoch > 0 &&
               m->limits.count > 0;
    case LIMITER_SEAL:
        return m->sender_map.epoch > 0 && m->shard >= m->sender_map.count;
    case LIMITER_MERGE_IN:
        return m->sender_map.epoch > 0 && m->shard < m->sender_map.count &&
               m->reserved_share.child == m->shard + m->sender_map.count &&
               (!m->created || m->limits.count > 0);
    case LIMITER_RESET:
        return true;
    case LIMITER_VERBS:
        break;
    }
    return false;
}

void limiter_command_walk(struct codec *c, struct limiter_command *m)
{
    m->verb = codec_choice(c, m->verb, LIMITER_TAKE, LIMITER_VERBS - 1);
    codec_u32(c, &m->shard);
    codec_check(c, m->shard < LIMITER_SHARDS_MAX);
    shard_map_walk(c, &m->sender_map);
    limits_walk(c, &m->limits);
    const bool amounts = m->verb == LIMITER_TAKE || m->verb == LIMITER_ADJUST;
    const int64_t min = m->verb == LIMITER_ADJUST ? -LIMITER_MTOK_MAX : 0;
    for (uint32_t i = 0; i < m->limits.count && amounts; i++)
        codec_i64(c, &m->amounts[i], min, LIMITER_MTOK_MAX);
    codec_amount(c, &m->mwcu);
    codec_amount(c, &m->unreported_refusals);
    codec_amount(c, &m->expires_ms);
    codec_bool(c, &m->token_has_owner);
    codec_u64(c, &m->owner_key);
    if (m->verb == LIMITER_RESERVE_CHILD)
        codec_u32(c, &m->child);
    if (m->verb == LIMITER_CREATE_CHILD || m->verb == LIMITER_MERGE_IN)
        reserved_share_walk(c, &m->reserved_share, &m->limits);
    if (m->verb == LIMITER_MERGE_IN)
        codec_bool(c, &m->created);
    if (!codec_failed(c))
        codec_check(c, command_is_valid(m));
}

/* ---- a command on a bucket ---- */

struct limiter_run {
    const struct limiter_command *command; /* borrows */
    struct limiter_bucket bucket;
    bool exists;
    int64_t now_ms;
};

static void run_time_reach(struct limiter_run *run, const struct limiter_balance *balances,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        run->now_ms = MAX(run->now_ms, balances[i].at_ms);
    }
}

/* The bucket's time: the leader's clock, but not before what the balances have reached. */
static void run_time_set(struct limiter_run *run, int64_t now_ms)
{
    const struct limiter_command *m = run->command;
    const struct limiter_bucket *b = &run->bucket;
    run->now_ms = now_ms < 0 ? 0 : MIN(now_ms, LIMITER_TIME_MAX);
    run_time_reach(run, &b->write_balance, 1);
    run_time_reach(run, b->balances, b->limits.count);
    for (uint32_t i = 0; i < b->reserved_count; i++)
        run_time_reach(run, b->reserved[i].balances, b->limits.count);
    if (m->verb == LIMITER_CREATE_CHILD || (m->verb == LIMITER_MERGE_IN && m->created))
        run_time_reach(run, m->reserved_share.balances, m->limits.count);
}

/* The epoch that follows. */
static uint64_t run_epoch_after(const struct limiter_run *run, uint64_t epoch)
{
    const uint64_t now = (uint64_t)run->now_ms;
    return now > epoch ? now : epoch + 1;
}

static bool run_has_epochs(const struct limiter_run *run)
{
    return run->bucket.epoch < LIMITER_TIME_MAX;
}

/* Why the shard takes nothing; LIMITER_DONE: it does. */
static enum limiter_refusal run_shard_refusal(const struct limiter_run *run)
{
    const struct limiter_bucket *b = &run->bucket;
    const struct limiter_shard_map *map = &run->command->sender_map;
    const uint32_t shard = run->command->shard;
    const uint64_t grown = shard > 0 ? map->grown[limiter_size_of(shard)] : 0;
    if (!run->exists)
        return LIMITER_ABSENT;
    if (b->sealed)
        return b->epoch >= grown ? LIMITER_SEALED : LIMITER_ABSENT;
    return map->count > shard && b->epoch < grown ? LIMITER_ABSENT : LIMITER_DONE;
}

/* The bucket has divided, and the merging that followed did not reach it: it was created
 * after its parent had merged. No other shard can have been created of its last reserved share: see
 * bucket.h. */
static bool run_missed_merging(const struct limiter_run *run)
{
    const struct limiter_bucket *b = &run->bucket;
    const struct limiter_shard_map *map = &run->command->sender_map;
    const uint64_t grown = map->grown[limiter_size_index(b->shards)];
    return b->reserved_count > 0 && (map->count < b->shards ? grown == 0 : grown > b->epoch);
}

/* Takes back the share that was reserved last. */
static void run_reclaim_share(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    struct limiter_reserved_share *reserved = &b->reserved[b->reserved_count - 1];
    limiter_balances_refill(reserved->balances, &b->limits, reserved->child,
                            limiter_size_at_creation(reserved->child), run->now_ms);
    if (MUTATED(MUTATION_LIMITER_LOSE_RESERVED))
        memset(reserved->balances, 0, sizeof reserved->balances);
    limiter_bucket_merge_in(b, reserved->balances, run->now_ms);
}

/* Adopts the sender's shard map, if it is newer. Shard 0 has the true one. */
static void run_adopt_shard_map(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_shard_map *map = &run->command->sender_map;
    if (b->shard == 0 || map->epoch <= b->epoch)
        return;
    while (run_missed_merging(run)) {
        PROBE("a shard of a rate limiter's bucket has missed a merging");
        run_reclaim_share(run);
    }
    while (map->count >= 2 * b->shards) {
        const uint64_t grown = map->grown[limiter_size_index(2 * b->shards)];
        if (grown <= b->epoch)
            break;
        limiter_bucket_divide(b, grown, run->now_ms);
    }
    if (map->count > b->shard)
        b->epoch = map->epoch;
}

/* Brings a live shard up to date. */
static void run_prepare(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_limits *limits = &run->command->limits;
    if (limits->count > 0 && limits->version > b->limits.version)
        limiter_bucket_set_limits(b, limits, run->now_ms);
    limiter_balances_refill(b->balances, &b->limits, b->shard, b->shards, run->now_ms);
    if (!MUTATED(MUTATION_LIMITER_DRY_WRITES))
        limiter_refill(&b->write_balance, &limiter_write_limit, 0, 1, run->now_ms);
    run_adopt_shard_map(run);
}

/* Refuses for a shard that is absent or sealed. Otherwise brings the shard up to date. */
static enum limiter_refusal run_require_live(struct limiter_run *run)
{
    const enum limiter_refusal refusal = run_shard_refusal(run);
    if (refusal == LIMITER_DONE)
        run_prepare(run);
    return refusal;
}

/* A bucket with a full hidden limit and empty balances. The counts of an earlier one go on. */
static void run_create_bucket(struct limiter_run *run, uint64_t epoch,
                              const struct limiter_limits *limits)
{
    const uint32_t shard = run->command->shard;
    const struct limiter_bucket old = run->bucket; /* all zero: there is none */
    run->bucket = (struct limiter_bucket){
        .shard = shard,
        .shards = limiter_size_at_creation(shard),
        .epoch = epoch,
        .write_balance = {.tokens = LIMITER_WRITES_MWCU, .at_ms = run->now_ms},
        .changed_ms = run->now_ms,
        .limits = *limits,
        .admitted = old.admitted,
        .refused = old.refused,
    };
    for (uint32_t i = 0; i < limits->count; i++) {
        const uint32_t k = limiter_limit_find(&old.limits, limits->at[i].name);
        run->bucket.taken[i] = k < old.limits.count ? old.taken[k] : 0;
        run->bucket.taken_before[i] = run->bucket.taken[i];
        run->bucket.balances[i].at_ms = run->now_ms;
    }
}

static int64_t sum_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* ---- requests ---- */

static enum limiter_refusal run_create_first_shard(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    if (run->exists || m->shard > 0)
        return run_require_live(run);
    must(m->limits.count > 0);
    run_create_bucket(run, run_epoch_after(run, m->sender_map.epoch), &m->limits);
    b->shard_map = (struct limiter_shard_map){.epoch = b->epoch, .count = 1, .grown = {b->epoch}};
    limiter_balances_fill(b->balances, &b->limits, 0, 1, run->now_ms);
    return LIMITER_DONE;
}

/* The amounts in the order of the bucket's limits. False: one is for a limit that the bucket does
 * not have. */
static bool run_amounts(const struct limiter_run *run, int64_t amounts[LIMITER_LIMITS_MAX])
{
    const struct limiter_command *m = run->command;
    const struct limiter_limits *limits = &run->bucket.limits;
    bool all = true;
    memset(amounts, 0, LIMITER_LIMITS_MAX * sizeof *amounts);
    for (uint32_t i = 0; i < m->limits.count; i++) {
        const uint32_t k = limiter_limit_find(limits, m->limits.at[i].name);
        if (k < limits->count)
            amounts[k] = m->amounts[i];
        else
            all &= m->amounts[i] == 0;
    }
    return all;
}

/* Whether the token belongs to another shard. A sender whose map is older than the shard's may not
 * have asked the shards that owned the token meanwhile. */
static bool run_is_not_owner(const struct limiter_run *run)
{
    const struct limiter_command *m = run->command;
    const struct limiter_bucket *b = &run->bucket;
    return m->token_has_owner && run->exists &&
           ((m->owner_key & (b->shards - 1)) != b->shard || m->sender_map.epoch < b->epoch);
}

static int64_t run_write_cost(const struct limiter_run *run)
{
    const int64_t mwcu = run->command->mwcu;
    must(mwcu >= 0);
    return MIN(mwcu, LIMITER_WRITES_MWCU);
}

static enum limiter_refusal run_take(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal refusal = run_create_first_shard(run);
    int64_t amounts[LIMITER_LIMITS_MAX];
    if (refusal != LIMITER_DONE)
        return refusal;
    if (!run_amounts(run, amounts))
        return LIMITER_NO_LIMIT;
    if (run_is_not_owner(run))
        return LIMITER_NOT_OWNER;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        must(amounts[i] >= 0);
        if (amounts[i] > 0 && b->balances[i].tokens < amounts[i])
            return LIMITER_TOO_FEW_TOKENS;
    }
    if (b->write_balance.tokens < run_write_cost(run))
        return LIMITER_TOO_FEW_WRITES;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        b->balances[i].tokens -= amounts[i];
        b->taken[i] = sum_saturated(b->taken[i], amounts[i]);
    }
    b->admitted = sum_saturated(b->admitted, 1);
    return LIMITER_DONE;
}

/* Whether the shard can hold the debt. Debt that was cut off would be tokens from nowhere. */
static bool run_debt_fits(const struct limiter_bucket *b, const int64_t *amounts)
{
    const int64_t min = limiter_balance_min(b);
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && sum_saturated(b->balances[i].tokens, -amounts[i]) < min)
            return false;
    }
    return true;
}

/* An amount for a limit that is gone is nobody's: it is dropped. */
static enum limiter_refusal run_adjust(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    int64_t amounts[LIMITER_LIMITS_MAX];
    run_amounts(run, amounts);
    if (run_is_not_owner(run))
        return LIMITER_NOT_OWNER;
    if (!run_debt_fits(b, amounts))
        return LIMITER_DEBT_TOO_LARGE;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t full = limiter_share(b->limits.at[i].capacity, b->shard, b->shards);
        const int64_t tokens = sum_saturated(b->balances[i].tokens, -amounts[i]);
        b->balances[i].tokens = MIN(tokens, full);
        b->taken[i] = sum_saturated(b->taken[i], amounts[i]);
    }
    return LIMITER_DONE;
}

/* An absent shard gets the limits when it is created. */
static enum limiter_refusal run_configure(struct limiter_run *run)
{
    const uint64_t version = run->bucket.limits.version, epoch = run->bucket.epoch;
    const enum limiter_refusal refusal = run_require_live(run);
    if (refusal != LIMITER_DONE)
        return refusal == LIMITER_ABSENT ? LIMITER_NO_CHANGE : refusal;
    const bool newer = run->bucket.limits.version > version || run->bucket.epoch > epoch;
    return newer ? LIMITER_DONE : LIMITER_NO_CHANGE;
}

static enum limiter_refusal run_reset(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal refusal = run_require_live(run);
    if (refusal != LIMITER_DONE)
        return refusal == LIMITER_ABSENT ? LIMITER_NO_CHANGE : refusal;
    limiter_balances_fill(b->balances, &b->limits, b->shard, b->shards, run->now_ms);
    for (uint32_t i = 0; i < b->reserved_count; i++)
        limiter_balances_fill(b->reserved[i].balances, &b->limits, b->reserved[i].child,
                              limiter_size_at_creation(b->reserved[i].child), run->now_ms);
    return LIMITER_DONE;
}

/* ---- more shards ---- */

/* Whether the sender's map is that of shard 0 still. */
static bool run_is_current(const struct limiter_run *run)
{
    return run->command->sender_map.epoch == run->bucket.shard_map.epoch && run_has_epochs(run);
}

static void run_advance_epoch(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    b->epoch = run_epoch_after(run, b->epoch);
    b->shard_map.epoch = b->epoch;
    b->changed_ms = run->now_ms;
}

static enum limiter_refusal run_grow(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    if (!run_is_current(run) || b->merging || b->shard_map.count >= LIMITER_SHARDS_MAX ||
        2 * b->shard_map.count > limiter_shards_max(&b->limits))
        return LIMITER_NO_CHANGE;
    run_advance_epoch(run);
    b->shard_map.count *= 2;
    b->shard_map.grown[limiter_size_index(b->shard_map.count)] = b->epoch;
    limiter_bucket_divide(b, b->epoch, run->now_ms);
    return LIMITER_DONE;
}

static bool run_has_reserved(const struct limiter_run *run)
{
    const struct limiter_bucket *b = &run->bucket;
    const uint32_t child = run->command->child;
    const uint64_t grown = run->command->sender_map.grown[limiter_size_of(child)];
    for (uint32_t i = 0; i < b->reserved_count; i++) {
        if (b->reserved[i].child == child && b->reserved[i].epoch >= grown)
            return true;
    }
    return false;
}

/* LIMITER_NO_CHANGE: the share was reserved before, or there is none. The sender reads the item. */
static enum limiter_refusal run_reserve_child(struct limiter_run *run)
{
    const bool had = run_has_reserved(run);
    const enum limiter_refusal refusal = run_require_live(run);
    if (refusal != LIMITER_DONE)
        return refusal;
    return !had && run_has_reserved(run) ? LIMITER_DONE : LIMITER_NO_CHANGE;
}

static void balance_clamp(struct limiter_balance *balance, int64_t full)
{
    balance->tokens = MIN(balance->tokens, full);
}

/* The balances that the command brings of the shard `child`, refilled. */
static void run_incoming_balances(const struct limiter_run *run, uint32_t child,
                                  struct limiter_balance balances[LIMITER_LIMITS_MAX])
{
    const struct limiter_command *m = run->command;
    const uint32_t shards = limiter_size_at_creation(child);
    memcpy(balances, m->reserved_share.balances, sizeof m->reserved_share.balances);
    for (uint32_t i = 0; i < m->limits.count; i++)
        balance_clamp(&balances[i], limiter_share(m->limits.at[i].capacity, child, shards));
    limiter_balances_refill(balances, &m->limits, child, shards, run->now_ms);
}

static enum limiter_refusal run_create_child(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    must(m->limits.count > 0);
    must(m->shard > 0);
    const bool again = MUTATED(MUTATION_LIMITER_RECREATE) && !b->sealed;
    if (run->exists && b->epoch >= m->reserved_share.epoch && !again)
        return LIMITER_NO_CHANGE;
    if (m->sender_map.count > m->shard &&
        m->sender_map.grown[limiter_size_of(m->shard)] > m->reserved_share.epoch)
        return LIMITER_NO_CHANGE; /* the share was reserved by a former growth */
    run_create_bucket(run, m->reserved_share.epoch, &m->limits);
    run_incoming_balances(run, m->shard, b->balances);
    run_adopt_shard_map(run);
    return LIMITER_DONE;
}

/* ---- fewer shards ---- */

static enum limiter_refusal run_merge_begin(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    if (!run_is_current(run) || b->merging || b->shard_map.count == 1)
        return LIMITER_NO_CHANGE;
    run_advance_epoch(run);
    b->shard_map.count /= 2;
    b->merging = true;
    return LIMITER_DONE;
}

static enum limiter_refusal run_seal(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    must(m->shard > 0);
    must(m->shard >= m->sender_map.count);
    if (!run->exists || b->epoch < m->sender_map.grown[limiter_size_of(m->shard)]) {
        const struct limiter_limits limits = b->limits;
        run_create_bucket(run, m->sender_map.epoch, &limits);
        b->sealed = true;
        return LIMITER_DONE;
    }
    if (b->epoch > m->sender_map.epoch || (b->sealed && b->epoch == m->sender_map.epoch))
        return LIMITER_NO_CHANGE;
    if (!b->sealed) {
        run_prepare(run);
        if (b->reserved_count > 0) /* its own children are merged first */
            return LIMITER_NO_CHANGE;
        b->sealed = b->created = true;
        b->changed_ms = run->now_ms;
    }
    b->epoch = m->sender_map.epoch;
    return LIMITER_DONE;
}

/* What was given back to the child, beyond what was taken from it, is in no reserved share
 * (bucket_full_ms). */
static void run_merge_in_returns(struct limiter_run *run, const struct limiter_balance *balances)
{
    struct limiter_bucket *b = &run->bucket;
    struct limiter_reserved_share *reserved = &b->reserved[b->reserved_count - 1];
    limiter_balances_refill(reserved->balances, &b->limits, reserved->child,
                            limiter_size_at_creation(reserved->child), run->now_ms);
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t more = balances[i].tokens - reserved->balances[i].tokens;
        b->taken_before[i] = sum_saturated(b->taken_before[i], MAX(more, 0));
    }
}

static void run_merge_in_balances(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    struct limiter_balance balances[LIMITER_LIMITS_MAX];
    const uint32_t child = b->reserved[b->reserved_count - 1].child;
    if (!m->created) {
        run_reclaim_share(run);
        return;
    }
    run_incoming_balances(run, child, balances);
    limiter_balances_convert(balances, &m->limits, &b->limits, child,
                             limiter_size_at_creation(child), run->now_ms);
    run_merge_in_returns(run, balances);
    limiter_bucket_merge_in(b, balances, run->now_ms);
}

/* A shard that never divided, or has merged its child, counts no more shards than are left. */
static enum limiter_refusal run_merge_in(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_shard_map *map = &run->command->sender_map;
    must(map->count > run->command->shard);
    const bool current =
        run->command->reserved_share.epoch == map->epoch; /* sealed by this merging */
    if (!run->exists || b->sealed || map->epoch < b->epoch || !current)
        return LIMITER_NO_CHANGE;
    const uint64_t epoch = b->epoch;
    run_prepare(run);
    if (b->shard == 0 &&
        (!b->merging || map->epoch != b->epoch || map->count != b->shard_map.count))
        return LIMITER_NO_CHANGE;
    if (b->shards == 2 * map->count)
        run_merge_in_balances(run);
    else if (b->shards > map->count || epoch == map->epoch)
        return LIMITER_NO_CHANGE;
    return LIMITER_DONE;
}

static enum limiter_refusal run_merge_commit(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    if (!run_is_current(run) || !b->merging || b->shards != b->shard_map.count)
        return LIMITER_NO_CHANGE;
    run_advance_epoch(run);
    b->merging = false;
    b->shard_map.grown[limiter_size_index(2 * b->shard_map.count)] = 0;
    return LIMITER_DONE;
}

/* ---- all verbs ---- */

static const struct {
    enum limiter_refusal (*run)(struct limiter_run *);
    bool needs_live; /* otherwise `run` says what becomes of an absent or a sealed shard */
} run_verbs[LIMITER_VERBS] = {
    [LIMITER_TAKE] = {run_take, false},
    [LIMITER_ADJUST] = {run_adjust, true},
    [LIMITER_GROW] = {run_grow, true},
    [LIMITER_RESERVE_CHILD] = {run_reserve_child, false},
    [LIMITER_CREATE_CHILD] = {run_create_child, false},
    [LIMITER_MERGE_BEGIN] = {run_merge_begin, true},
    [LIMITER_SEAL] = {run_seal, false},
    [LIMITER_MERGE_IN] = {run_merge_in, false},
    [LIMITER_MERGE_COMMIT] = {run_merge_commit, true},
    [LIMITER_CONFIGURE] = {run_configure, false},
    [LIMITER_RESET] = {run_reset, false},
};

static void run_charge_writes(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const int64_t tokens = b->write_balance.tokens - run_write_cost(run);
    b->write_balance.tokens = MAX(tokens, -LIMITER_WRITES_MWCU);
    b->refused = sum_saturated(b->refused, run->command->unreported_refusals);
}

enum limiter_refusal limiter_apply(const struct limiter_command *command, struct slice old,
                                   bool exists, int64_t now_ms, struct buffer *out)
{
    struct limiter_run run = {.command = command, .exists = exists};
    must(command->verb >= LIMITER_TAKE);
    must(command->verb < LIMITER_VERBS);
    if (command->expires_ms != 0 && now_ms >= command->expires_ms)
        return LIMITER_EXPIRED;
    if (exists && (!limiter_bucket_decode(old, &run.bucket) || run.bucket.shard != command->shard))
        return LIMITER_NO_BUCKET;
    run_time_set(&run, now_ms);
    enum limiter_refusal refusal = LIMITER_DONE;
    if (run_verbs[command->verb].needs_live)
        refusal = run_require_live(&run);
    if (refusal == LIMITER_DONE)
        refusal = run_verbs[command->verb].run(&run);
    if (refusal != LIMITER_DONE)
        return refusal;
    run_charge_writes(&run);
    limiter_bucket_encode(old, &run.bucket, out);
    return LIMITER_DONE;
}
