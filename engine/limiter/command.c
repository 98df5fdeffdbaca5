/* command.c - commands as bytes, and what they do to a bucket.
 *
 * A command on a bucket that is there runs in this order: it takes on newer limits, refills all levels,
 * adopts what `known` tells of the number of shards, does what its verb says, and charges the hidden
 * limit. A refusal changes nothing: the next command adopts the growth again.
 *
 * LIMITER-7  `known` is a copy of the truth, perhaps an old one. An epoch that a bucket has heard of is
 *            never adopted again. */
#include "engine/limiter/bucket_internal.h"

#include "base/mutation.h"
#include "base/probe.h"

/* ---- bytes ---- */

static bool shards_are_sound(const struct limiter_shards *s)
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

/* Nothing is known: 0, and no more bytes. */
static void shards_walk(struct codec *c, struct limiter_shards *s)
{
    if (codec_reads(c))
        *s = (struct limiter_shards){0};
    codec_u64(c, &s->epoch);
    if (s->epoch == 0)
        return;
    codec_u32(c, &s->count);
    for (uint32_t i = 0; i < LIMITER_SIZES; i++)
        codec_u64(c, &s->grown[i]);
    codec_check(c, shards_are_sound(s));
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
        codec_amount(c, &l->at[i].least);
    }
    codec_check(c, l->count == 0 || limiter_limits_fault(l) == NULL);
}

static void gift_walk(struct codec *c, struct limiter_gift *g, const struct limiter_limits *limits)
{
    codec_u32(c, &g->child);
    codec_u64(c, &g->epoch);
    codec_check(c, g->child > 0 && g->child < LIMITER_SHARDS_MAX);
    codec_check(c, g->epoch <= LIMITER_TIME_MAX - LIMITER_SIZES);
    for (uint32_t i = 0; i < limits->count && !codec_failed(c); i++) {
        codec_i64(c, &g->levels[i].tokens, -LIMITER_MTOK_MAX, LIMITER_MTOK_MAX);
        codec_i64(c, &g->levels[i].at_ms, 0, LIMITER_TIME_MAX);
        codec_i64(c, &g->levels[i].part, 0, limits->at[i].period_ms - 1);
    }
}

/* What a verb needs beside the fields that all commands have. */
static bool command_is_sound(const struct limiter_command *m)
{
    const bool root = m->shard == 0;
    switch ((enum limiter_verb)m->verb) {
    case LIMITER_TAKE:
    case LIMITER_ADJUST:
    case LIMITER_CONFIGURE:
        return m->limits.count > 0;
    case LIMITER_DOUBLE:
    case LIMITER_HALVE:
    case LIMITER_HALVED:
        return root && m->known.epoch > 0;
    case LIMITER_GIVE:
        return m->child > 0 && m->child < LIMITER_SHARDS_MAX &&
               limiter_parent(m->child) == m->shard;
    case LIMITER_OPEN:
        return !root && m->gift.child == m->shard && m->gift.epoch > 0 && m->limits.count > 0;
    case LIMITER_CLOSE:
        return m->known.epoch > 0 && m->shard >= m->known.count;
    case LIMITER_ABSORB:
        return m->known.epoch > 0 && m->shard < m->known.count &&
               m->gift.child == m->shard + m->known.count && (!m->opened || m->limits.count > 0);
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
    shards_walk(c, &m->known);
    limits_walk(c, &m->limits);
    const bool amounts = m->verb == LIMITER_TAKE || m->verb == LIMITER_ADJUST;
    const int64_t least = m->verb == LIMITER_ADJUST ? -LIMITER_MTOK_MAX : 0;
    for (uint32_t i = 0; i < m->limits.count && amounts; i++)
        codec_i64(c, &m->amounts[i], least, LIMITER_MTOK_MAX);
    codec_amount(c, &m->mwcu);
    codec_amount(c, &m->attempts);
    codec_amount(c, &m->until_ms);
    codec_bool(c, &m->homed);
    codec_u64(c, &m->home);
    if (m->verb == LIMITER_GIVE)
        codec_u32(c, &m->child);
    if (m->verb == LIMITER_OPEN || m->verb == LIMITER_ABSORB)
        gift_walk(c, &m->gift, &m->limits);
    if (m->verb == LIMITER_ABSORB)
        codec_bool(c, &m->opened);
    if (!codec_failed(c))
        codec_check(c, command_is_sound(m));
}

/* ---- a command on a bucket ---- */

struct limiter_run {
    const struct limiter_command *command; /* borrows */
    struct limiter_bucket bucket;
    bool exists;
    int64_t now_ms;
};

static void run_time_reach(struct limiter_run *run, const struct limiter_level *levels,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (levels[i].at_ms > run->now_ms)
            run->now_ms = levels[i].at_ms;
    }
}

/* The bucket's time: the leader's clock, but not before what the levels have reached. */
static void run_time_set(struct limiter_run *run, int64_t now_ms)
{
    const struct limiter_command *m = run->command;
    const struct limiter_bucket *b = &run->bucket;
    run->now_ms = now_ms < 0 ? 0 : now_ms > LIMITER_TIME_MAX ? LIMITER_TIME_MAX : now_ms;
    run_time_reach(run, &b->writes, 1);
    run_time_reach(run, b->levels, b->limits.count);
    for (uint32_t i = 0; i < b->gift_count; i++)
        run_time_reach(run, b->gifts[i].levels, b->limits.count);
    if (m->verb == LIMITER_OPEN || (m->verb == LIMITER_ABSORB && m->opened))
        run_time_reach(run, m->gift.levels, m->limits.count);
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

/* Whether the shard takes nothing, and why. */
static enum limiter_refusal run_missing(const struct limiter_run *run)
{
    const struct limiter_bucket *b = &run->bucket;
    const struct limiter_shards *known = &run->command->known;
    const uint32_t shard = run->command->shard;
    const uint64_t grown = shard > 0 ? known->grown[limiter_size_of(shard)] : 0;
    if (!run->exists)
        return LIMITER_ABSENT;
    if (b->closed)
        return b->epoch >= grown ? LIMITER_CLOSED : LIMITER_ABSENT;
    return known->count > shard && b->epoch < grown ? LIMITER_ABSENT : LIMITER_DONE;
}

/* The bucket has divided, and the merging that followed did not reach it: it was made of a gift when
 * that merging had passed. No other shard can have been made of its own last gift: see bucket.h. */
static bool run_missed_merging(const struct limiter_run *run)
{
    const struct limiter_bucket *b = &run->bucket;
    const struct limiter_shards *known = &run->command->known;
    const uint64_t grown = known->grown[limiter_size_index(b->shards)];
    return b->gift_count > 0 && (known->count < b->shards ? grown == 0 : grown > b->epoch);
}

/* Takes back the last gift. */
static void run_take_back(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    struct limiter_gift *gift = &b->gifts[b->gift_count - 1];
    limiter_levels_refill(gift->levels, &b->limits, gift->child, limiter_born(gift->child),
                          run->now_ms);
    if (MUTATED(MUTATION_LIMITER_LOSE_GIFT))
        memset(gift->levels, 0, sizeof gift->levels);
    limiter_bucket_absorb(b, gift->levels, run->now_ms);
}

/* Adopts what the sender knows of the number of shards. Shard 0 has the truth. */
static void run_adopt(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_shards *known = &run->command->known;
    if (b->shard == 0 || known->epoch <= b->epoch)
        return;
    while (run_missed_merging(run)) {
        PROBE("a shard of a rate limiter's bucket has missed a merging");
        run_take_back(run);
    }
    while (known->count >= 2 * b->shards) {
        const uint64_t grown = known->grown[limiter_size_index(2 * b->shards)];
        if (grown <= b->epoch)
            break;
        limiter_bucket_divide(b, grown, run->now_ms);
    }
    if (known->count > b->shard)
        b->epoch = known->epoch;
}

/* Brings an open bucket up to date. */
static void run_prepare(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_limits *limits = &run->command->limits;
    if (limits->count > 0 && limits->version > b->limits.version)
        limiter_bucket_set_limits(b, limits, run->now_ms);
    limiter_levels_refill(b->levels, &b->limits, b->shard, b->shards, run->now_ms);
    if (!MUTATED(MUTATION_LIMITER_DRY_WRITES))
        limiter_refill(&b->writes, &limiter_writes, 0, 1, run->now_ms);
    run_adopt(run);
}

/* The refusal of a shard that is not open; otherwise brings it up to date. */
static enum limiter_refusal run_open(struct limiter_run *run)
{
    const enum limiter_refusal missing = run_missing(run);
    if (missing == LIMITER_DONE)
        run_prepare(run);
    return missing;
}

/* A bucket with a full hidden limit and empty levels. The counts of an earlier one go on. */
static void run_make(struct limiter_run *run, uint64_t epoch, const struct limiter_limits *limits)
{
    const uint32_t shard = run->command->shard;
    const struct limiter_bucket old = run->bucket; /* all zero: there is none */
    run->bucket = (struct limiter_bucket){
        .shard = shard,
        .shards = limiter_born(shard),
        .epoch = epoch,
        .writes = {.tokens = LIMITER_WRITES_MWCU, .at_ms = run->now_ms},
        .changed_ms = run->now_ms,
        .limits = *limits,
        .admitted = old.admitted,
        .refused = old.refused,
    };
    for (uint32_t i = 0; i < limits->count; i++) {
        const uint32_t k = limiter_limit_find(&old.limits, limits->at[i].name);
        run->bucket.taken[i] = k < old.limits.count ? old.taken[k] : 0;
        run->bucket.taken_before[i] = run->bucket.taken[i];
        run->bucket.levels[i].at_ms = run->now_ms;
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

static enum limiter_refusal take_make(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    if (run->exists || m->shard > 0)
        return run_open(run);
    must(m->limits.count > 0);
    run_make(run, run_epoch_after(run, m->known.epoch), &m->limits);
    b->truth = (struct limiter_shards){.epoch = b->epoch, .count = 1, .grown = {b->epoch}};
    limiter_levels_fill(b->levels, &b->limits, 0, 1, run->now_ms);
    return LIMITER_DONE;
}

/* The amounts in the order of the bucket's limits. False: one is for a limit that is gone. */
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

/* Whether the token belongs to another shard. A sender that knows of fewer changes than the shard may not
 * have asked where it belonged meanwhile. */
static bool run_is_elsewhere(const struct limiter_run *run)
{
    const struct limiter_command *m = run->command;
    const struct limiter_bucket *b = &run->bucket;
    return m->homed && run->exists &&
           ((m->home & (b->shards - 1)) != b->shard || m->known.epoch < b->epoch);
}

static int64_t run_mwcu(const struct limiter_run *run)
{
    const int64_t mwcu = run->command->mwcu;
    must(mwcu >= 0);
    return mwcu < LIMITER_WRITES_MWCU ? mwcu : LIMITER_WRITES_MWCU;
}

static enum limiter_refusal run_take(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal missing = take_make(run);
    int64_t amounts[LIMITER_LIMITS_MAX];
    if (missing != LIMITER_DONE)
        return missing;
    if (!run_amounts(run, amounts))
        return LIMITER_NO_LIMIT;
    if (run_is_elsewhere(run))
        return LIMITER_ELSEWHERE;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        must(amounts[i] >= 0);
        if (amounts[i] > 0 && b->levels[i].tokens < amounts[i])
            return LIMITER_SHORT;
    }
    if (b->writes.tokens < run_mwcu(run))
        return LIMITER_SHORT_WRITES;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        b->levels[i].tokens -= amounts[i];
        b->taken[i] = sum_saturated(b->taken[i], amounts[i]);
    }
    b->admitted = sum_saturated(b->admitted, 1);
    return LIMITER_DONE;
}

/* Whether the bucket can hold the debt. Debt that was cut off would be tokens from nowhere. */
static bool run_holds_debt(const struct limiter_bucket *b, const int64_t *amounts)
{
    for (uint32_t i = 0; i < b->limits.count; i++) {
        if (amounts[i] > 0 && sum_saturated(b->levels[i].tokens, -amounts[i]) < -LIMITER_MTOK_MAX)
            return false;
    }
    return true;
}

/* An amount for a limit that is gone is nobody's: it is dropped. */
static enum limiter_refusal run_adjust(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal missing = run_open(run);
    int64_t amounts[LIMITER_LIMITS_MAX];
    if (missing != LIMITER_DONE)
        return missing;
    run_amounts(run, amounts);
    if (run_is_elsewhere(run))
        return LIMITER_ELSEWHERE;
    if (!run_holds_debt(b, amounts))
        return LIMITER_DEEP;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t full = limiter_share(b->limits.at[i].capacity, b->shard, b->shards);
        const int64_t tokens = sum_saturated(b->levels[i].tokens, -amounts[i]);
        b->levels[i].tokens = tokens < full ? tokens : full;
        b->taken[i] = sum_saturated(b->taken[i], amounts[i]);
    }
    return LIMITER_DONE;
}

/* A shard that is not there gets the limits when it is made. */
static enum limiter_refusal run_configure(struct limiter_run *run)
{
    const uint64_t version = run->bucket.limits.version, epoch = run->bucket.epoch;
    const enum limiter_refusal missing = run_open(run);
    if (missing != LIMITER_DONE)
        return missing == LIMITER_ABSENT ? LIMITER_NO_CHANGE : missing;
    const bool newer = run->bucket.limits.version > version || run->bucket.epoch > epoch;
    return newer ? LIMITER_DONE : LIMITER_NO_CHANGE;
}

static enum limiter_refusal run_reset(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal missing = run_open(run);
    if (missing != LIMITER_DONE)
        return missing == LIMITER_ABSENT ? LIMITER_NO_CHANGE : missing;
    limiter_levels_fill(b->levels, &b->limits, b->shard, b->shards, run->now_ms);
    for (uint32_t i = 0; i < b->gift_count; i++)
        limiter_levels_fill(b->gifts[i].levels, &b->limits, b->gifts[i].child,
                            limiter_born(b->gifts[i].child), run->now_ms);
    return LIMITER_DONE;
}

/* ---- more shards ---- */

/* Whether shard 0 still is as the sender knows it. */
static bool run_is_current(const struct limiter_run *run)
{
    return run->command->known.epoch == run->bucket.truth.epoch && run_has_epochs(run);
}

static void run_move_on(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    b->epoch = run_epoch_after(run, b->epoch);
    b->truth.epoch = b->epoch;
    b->changed_ms = run->now_ms;
}

static enum limiter_refusal run_double(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal missing = run_open(run);
    if (missing != LIMITER_DONE)
        return missing;
    if (!run_is_current(run) || b->merging || b->truth.count >= LIMITER_SHARDS_MAX ||
        2 * b->truth.count > limiter_shards_most(&b->limits))
        return LIMITER_NO_CHANGE;
    run_move_on(run);
    b->truth.count *= 2;
    b->truth.grown[limiter_size_index(b->truth.count)] = b->epoch;
    limiter_bucket_divide(b, b->epoch, run->now_ms);
    return LIMITER_DONE;
}

static bool run_has_gift(const struct limiter_run *run)
{
    const struct limiter_bucket *b = &run->bucket;
    const uint32_t child = run->command->child;
    const uint64_t grown = run->command->known.grown[limiter_size_of(child)];
    for (uint32_t i = 0; i < b->gift_count; i++) {
        if (b->gifts[i].child == child && b->gifts[i].epoch >= grown)
            return true;
    }
    return false;
}

/* LIMITER_NO_CHANGE: the gift is there, or there is none. The sender reads the item. */
static enum limiter_refusal run_give(struct limiter_run *run)
{
    const bool had = run_has_gift(run);
    const enum limiter_refusal missing = run_open(run);
    if (missing != LIMITER_DONE)
        return missing;
    return !had && run_has_gift(run) ? LIMITER_DONE : LIMITER_NO_CHANGE;
}

static void level_clamp(struct limiter_level *level, int64_t full)
{
    level->tokens = level->tokens < full ? level->tokens : full;
}

/* The levels that the command brings of the shard `child`, refilled. */
static void run_brought(const struct limiter_run *run, uint32_t child,
                        struct limiter_level levels[LIMITER_LIMITS_MAX])
{
    const struct limiter_command *m = run->command;
    const uint32_t shards = limiter_born(child);
    memcpy(levels, m->gift.levels, sizeof m->gift.levels);
    for (uint32_t i = 0; i < m->limits.count; i++)
        level_clamp(&levels[i], limiter_share(m->limits.at[i].capacity, child, shards));
    limiter_levels_refill(levels, &m->limits, child, shards, run->now_ms);
}

static enum limiter_refusal run_open_shard(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    must(m->limits.count > 0);
    must(m->shard > 0);
    const bool again = MUTATED(MUTATION_LIMITER_REOPEN) && !b->closed;
    if (run->exists && b->epoch >= m->gift.epoch && !again)
        return LIMITER_NO_CHANGE;
    if (m->known.count > m->shard && m->known.grown[limiter_size_of(m->shard)] > m->gift.epoch)
        return LIMITER_NO_CHANGE; /* the gift is of a former growth */
    run_make(run, m->gift.epoch, &m->limits);
    run_brought(run, m->shard, b->levels);
    run_adopt(run);
    return LIMITER_DONE;
}

/* ---- fewer shards ---- */

static enum limiter_refusal run_halve(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal missing = run_open(run);
    if (missing != LIMITER_DONE)
        return missing;
    if (!run_is_current(run) || b->merging || b->truth.count == 1)
        return LIMITER_NO_CHANGE;
    run_move_on(run);
    b->truth.count /= 2;
    b->merging = true;
    return LIMITER_DONE;
}

static enum limiter_refusal run_close(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    must(m->shard > 0);
    must(m->shard >= m->known.count);
    if (!run->exists || b->epoch < m->known.grown[limiter_size_of(m->shard)]) {
        const struct limiter_limits limits = b->limits;
        run_make(run, m->known.epoch, &limits);
        b->closed = true;
        return LIMITER_DONE;
    }
    if (b->epoch > m->known.epoch || (b->closed && b->epoch == m->known.epoch))
        return LIMITER_NO_CHANGE;
    if (!b->closed) {
        run_prepare(run);
        if (b->gift_count > 0) /* its own children are merged first */
            return LIMITER_NO_CHANGE;
        b->closed = b->opened = true;
        b->changed_ms = run->now_ms;
    }
    b->epoch = m->known.epoch;
    return LIMITER_DONE;
}

/* What was given back to the child, beyond what was taken from it, is in no gift (bucket_full_ms). */
static void absorb_returns(struct limiter_run *run, const struct limiter_level *levels)
{
    struct limiter_bucket *b = &run->bucket;
    struct limiter_gift *gift = &b->gifts[b->gift_count - 1];
    limiter_levels_refill(gift->levels, &b->limits, gift->child, limiter_born(gift->child),
                          run->now_ms);
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t more = levels[i].tokens - gift->levels[i].tokens;
        b->taken_before[i] = sum_saturated(b->taken_before[i], more > 0 ? more : 0);
    }
}

static void absorb_levels(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_command *m = run->command;
    struct limiter_level levels[LIMITER_LIMITS_MAX];
    const uint32_t child = b->gifts[b->gift_count - 1].child;
    if (!m->opened) {
        run_take_back(run);
        return;
    }
    run_brought(run, child, levels);
    limiter_levels_convert(levels, &m->limits, &b->limits, child, limiter_born(child), run->now_ms);
    absorb_returns(run, levels);
    limiter_bucket_absorb(b, levels, run->now_ms);
}

/* A shard that never divided, or has absorbed, has no more shards than are left. */
static enum limiter_refusal run_absorb(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const struct limiter_shards *known = &run->command->known;
    must(known->count > run->command->shard);
    const bool current = run->command->gift.epoch == known->epoch; /* closed by this merging */
    if (!run->exists || b->closed || known->epoch < b->epoch || !current)
        return LIMITER_NO_CHANGE;
    const uint64_t epoch = b->epoch;
    run_prepare(run);
    if (b->shard == 0 &&
        (!b->merging || known->epoch != b->epoch || known->count != b->truth.count))
        return LIMITER_NO_CHANGE;
    if (b->shards == 2 * known->count)
        absorb_levels(run);
    else if (b->shards > known->count || epoch == known->epoch)
        return LIMITER_NO_CHANGE;
    return LIMITER_DONE;
}

static enum limiter_refusal run_halved(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const enum limiter_refusal missing = run_open(run);
    if (missing != LIMITER_DONE)
        return missing;
    if (!run_is_current(run) || !b->merging || b->shards != b->truth.count)
        return LIMITER_NO_CHANGE;
    run_move_on(run);
    b->merging = false;
    b->truth.grown[limiter_size_index(2 * b->truth.count)] = 0;
    return LIMITER_DONE;
}

/* ---- all verbs ---- */

static enum limiter_refusal (*const run_verbs[LIMITER_VERBS])(struct limiter_run *) = {
    [LIMITER_TAKE] = run_take,       [LIMITER_ADJUST] = run_adjust,
    [LIMITER_DOUBLE] = run_double,   [LIMITER_GIVE] = run_give,
    [LIMITER_OPEN] = run_open_shard, [LIMITER_HALVE] = run_halve,
    [LIMITER_CLOSE] = run_close,     [LIMITER_ABSORB] = run_absorb,
    [LIMITER_HALVED] = run_halved,   [LIMITER_CONFIGURE] = run_configure,
    [LIMITER_RESET] = run_reset,
};

static void run_charge(struct limiter_run *run)
{
    struct limiter_bucket *b = &run->bucket;
    const int64_t tokens = b->writes.tokens - run_mwcu(run);
    b->writes.tokens = tokens > -LIMITER_WRITES_MWCU ? tokens : -LIMITER_WRITES_MWCU;
    b->refused = sum_saturated(b->refused, run->command->attempts);
}

enum limiter_refusal limiter_apply(const struct limiter_command *command, struct slice old,
                                   bool exists, int64_t now_ms, struct buffer *out)
{
    struct limiter_run run = {.command = command, .exists = exists};
    must(command->verb >= LIMITER_TAKE);
    must(command->verb < LIMITER_VERBS);
    if (command->until_ms != 0 && now_ms >= command->until_ms)
        return LIMITER_LATE;
    if (exists && (!limiter_bucket_decode(old, &run.bucket) || run.bucket.shard != command->shard))
        return LIMITER_NO_BUCKET;
    run_time_set(&run, now_ms);
    const enum limiter_refusal refusal = run_verbs[command->verb](&run);
    if (refusal != LIMITER_DONE)
        return refusal;
    run_charge(&run);
    limiter_bucket_encode(old, &run.bucket, out);
    return LIMITER_DONE;
}
