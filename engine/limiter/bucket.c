/* bucket.c - shares, refilling, dividing, absorbing: arithmetic only. */
#include "engine/limiter/bucket_internal.h"

#include "base/mutation.h"

const struct limiter_limit limiter_writes = {
    .name = {(const uint8_t *)LIMITER_WRITES_NAME, sizeof LIMITER_WRITES_NAME - 1},
    .capacity = LIMITER_WRITES_MWCU,
    .amount = LIMITER_WRITES_MWCU,
    .period_ms = 1000,
    .least = LIMITER_LEAST_MTOK,
};

_Static_assert(1 << (LIMITER_SIZES - 1) == LIMITER_SHARDS_MAX, "a place in `grown` for each size");
_Static_assert(INT64_MAX / 4 > LIMITER_MTOK_MAX, "sums of a few levels do not overflow");

/* ---- shards ---- */

uint32_t limiter_size_of(uint32_t shard)
{
    must(shard < LIMITER_SHARDS_MAX);
    return shard == 0 ? 0 : 32 - (uint32_t)__builtin_clz(shard);
}

uint32_t limiter_parent(uint32_t shard)
{
    must(shard > 0);
    return shard & ~(limiter_born(shard) / 2);
}

int64_t limiter_share(int64_t whole, uint32_t shard, uint32_t shards)
{
    must(whole >= 0);
    must(shard < shards);
    return whole / shards + (shard < whole % shards);
}

uint32_t limiter_shards_most(const struct limiter_limits *limits)
{
    uint32_t most = LIMITER_SHARDS_MAX;
    for (uint32_t i = 0; i < limits->count; i++) {
        while (most > 1 && limits->at[i].capacity / most < limits->at[i].least)
            most /= 2;
    }
    return most;
}

/* ---- limits ---- */

static bool name_is_sound(struct slice name)
{
    if (name.size == 0 || name.size > LIMITER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        const uint8_t c = name.data[i];
        const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '-')
            return false;
    }
    return true;
}

static const char *limit_fault(const struct limiter_limit *l)
{
    if (!name_is_sound(l->name))
        return "a limit's name has 1 to 64 letters, digits, '_', '.' or '-'";
    if (slice_is(l->name, LIMITER_WRITES_NAME))
        return "the name 'wcu' is reserved";
    if (l->capacity < 1000 || l->capacity > LIMITER_MTOK_MAX)
        return "a capacity is from 1 to 1000000000000";
    if (l->amount < 1000 || l->amount > LIMITER_MTOK_MAX)
        return "a refill amount is from 1 to 1000000000000";
    if (l->period_ms < 1 || l->period_ms > LIMITER_PERIOD_MAX)
        return "a refill period is from 1 ms to 366 days";
    if (l->least < 1 || l->least > l->capacity)
        return "the smallest request is more than 0 and at most the capacity";
    return NULL;
}

const char *limiter_limits_fault(const struct limiter_limits *limits)
{
    if (limits->count < 1 || limits->count > LIMITER_LIMITS_MAX)
        return "a bucket has 1 to 8 limits";
    for (uint32_t i = 0; i < limits->count; i++) {
        const char *fault = limit_fault(&limits->at[i]);
        if (fault != NULL)
            return fault;
        for (uint32_t k = 0; k < i; k++) {
            if (slice_equal(limits->at[i].name, limits->at[k].name))
                return "two limits have the same name";
        }
    }
    return NULL;
}

uint32_t limiter_limit_find(const struct limiter_limits *limits, struct slice name)
{
    uint32_t i = 0;
    while (i < limits->count && !slice_equal(limits->at[i].name, name))
        i++;
    return i;
}

/* ---- time ---- */

/* The whole mtok that `elapsed` ms add, saturated; `part` gets the rest. */
static int64_t level_minted(int64_t amount, int64_t period_ms, int64_t elapsed, int64_t *part)
{
    uint64_t small;
    if (__builtin_expect(!__builtin_mul_overflow((uint64_t)amount, (uint64_t)elapsed, &small) &&
                             !__builtin_add_overflow(small, (uint64_t)*part, &small),
                         1)) {
        const uint64_t minted = small / (uint64_t)period_ms;
        *part = (int64_t)(small % (uint64_t)period_ms);
        return minted > INT64_MAX ? INT64_MAX : (int64_t)minted;
    }
    const __int128 large = (__int128)amount * elapsed + *part;
    const __int128 minted = large / period_ms;
    *part = (int64_t)(large % period_ms);
    return minted > INT64_MAX ? INT64_MAX : (int64_t)minted;
}

void limiter_refill(struct limiter_level *level, const struct limiter_limit *limit, uint32_t shard,
                    uint32_t shards, int64_t now_ms)
{
    const int64_t room = limiter_share(limit->capacity, shard, shards) - level->tokens;
    must(room >= 0); /* LIMITER-2 */
    must(level->part >= 0);
    must(level->part < limit->period_ms);
    must(level->at_ms >= 0);
    if (now_ms <= level->at_ms)
        return;
    const int64_t amount = limiter_share(limit->amount, shard, shards);
    const int64_t minted =
        level_minted(amount, limit->period_ms, now_ms - level->at_ms, &level->part);
    level->tokens += minted < room ? minted : room;
    level->at_ms = now_ms;
}

int64_t limiter_refill_ms(int64_t mtok, int64_t amount, int64_t period_ms)
{
    must(amount > 0);
    const __int128 wait = ((__int128)mtok * period_ms + amount - 1) / amount;
    return mtok <= 0 ? 0 : wait > LIMITER_WAIT_MS_MAX ? LIMITER_WAIT_MS_MAX : (int64_t)wait;
}

int64_t limiter_wait_ms(const struct limiter_level *level, const struct limiter_limit *limit,
                        uint32_t shard, uint32_t shards, int64_t tokens)
{
    if (tokens <= level->tokens)
        return 0;
    const int64_t amount = limiter_share(limit->amount, shard, shards);
    if (tokens > limiter_share(limit->capacity, shard, shards) || amount == 0)
        return INT64_MAX;
    const __int128 missing =
        ((__int128)tokens - level->tokens) * limit->period_ms - level->part; /* > 0 */
    const __int128 wait = (missing + amount - 1) / amount;
    return wait > INT64_MAX ? INT64_MAX : (int64_t)wait;
}

void limiter_levels_fill(struct limiter_level *levels, const struct limiter_limits *limits,
                         uint32_t shard, uint32_t shards, int64_t now_ms)
{
    for (uint32_t i = 0; i < limits->count; i++)
        levels[i] = (struct limiter_level){
            .tokens = limiter_share(limits->at[i].capacity, shard, shards), .at_ms = now_ms};
}

void limiter_levels_refill(struct limiter_level *levels, const struct limiter_limits *limits,
                           uint32_t shard, uint32_t shards, int64_t now_ms)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        const int64_t tokens = levels[i].tokens;
        limiter_refill(&levels[i], &limits->at[i], shard, shards, now_ms);
        if (MUTATED(MUTATION_LIMITER_SHARED_TIME))
            levels[i].part = 0;
        if (MUTATED(MUTATION_LIMITER_DRY_SHARDS) && shard > 0)
            levels[i].tokens = tokens;
    }
}

void limiter_levels_convert(struct limiter_level *levels, const struct limiter_limits *from,
                            const struct limiter_limits *to, uint32_t shard, uint32_t shards,
                            int64_t now_ms)
{
    struct limiter_level old[LIMITER_LIMITS_MAX];
    memcpy(old, levels, sizeof old);
    limiter_levels_refill(old, from, shard, shards, now_ms);
    limiter_levels_fill(levels, to, shard, shards, now_ms);
    for (uint32_t i = 0; i < to->count; i++) {
        const uint32_t k = limiter_limit_find(from, to->at[i].name);
        if (k == from->count)
            continue;
        if (old[k].tokens < levels[i].tokens)
            levels[i].tokens = old[k].tokens;
        levels[i].at_ms = old[k].at_ms;
        levels[i].part =
            (int64_t)((__int128)old[k].part * to->at[i].period_ms / from->at[k].period_ms);
    }
}

/* ---- whole buckets ---- */

void limiter_bucket_set_limits(struct limiter_bucket *b, const struct limiter_limits *limits,
                               int64_t now_ms)
{
    int64_t taken[LIMITER_LIMITS_MAX], before[LIMITER_LIMITS_MAX];
    if (MUTATED(MUTATION_LIMITER_OLD_LIMITS) && b->shard > 0)
        return;
    memcpy(taken, b->taken, sizeof taken);
    memcpy(before, b->taken_before, sizeof before);
    memset(b->taken, 0, sizeof b->taken);
    memset(b->taken_before, 0, sizeof b->taken_before);
    for (uint32_t i = 0; i < limits->count; i++) {
        const uint32_t k = limiter_limit_find(&b->limits, limits->at[i].name);
        if (k == b->limits.count)
            continue;
        b->taken[i] = taken[k];
        b->taken_before[i] = before[k];
    }
    limiter_levels_convert(b->levels, &b->limits, limits, b->shard, b->shards, now_ms);
    for (uint32_t i = 0; i < b->gift_count; i++) {
        struct limiter_gift *g = &b->gifts[i];
        limiter_levels_convert(g->levels, &b->limits, limits, g->child, limiter_born(g->child),
                               now_ms);
    }
    b->limits = *limits;
}

void limiter_bucket_divide(struct limiter_bucket *b, uint64_t epoch, int64_t now_ms)
{
    const uint32_t child = b->shard + b->shards;
    must(child < LIMITER_SHARDS_MAX);
    must(b->gift_count < LIMITER_SIZES);
    struct limiter_gift *gift = &b->gifts[b->gift_count++];
    *gift = (struct limiter_gift){.child = child, .epoch = epoch};
    b->shards *= 2;
    b->changed_ms = now_ms;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t capacity = b->limits.at[i].capacity;
        struct limiter_level *own = &b->levels[i];
        const int64_t half = own->tokens / 2; /* debt, too */
        gift->levels[i] = (struct limiter_level){.tokens = half, .at_ms = now_ms};
        own->tokens -= half;
        must(own->tokens <= limiter_share(capacity, b->shard, b->shards)); /* LIMITER-1 */
        must(half <= limiter_share(capacity, child, b->shards));
    }
    if (MUTATED(MUTATION_LIMITER_MINT))
        limiter_levels_fill(gift->levels, &b->limits, child, b->shards, now_ms);
}

void limiter_bucket_absorb(struct limiter_bucket *b, const struct limiter_level *levels,
                           int64_t now_ms)
{
    must(b->gift_count > 0);
    b->gift_count--;
    b->shards /= 2;
    b->changed_ms = now_ms;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const struct limiter_limit *limit = &b->limits.at[i];
        const int64_t full = limiter_share(limit->capacity, b->shard, b->shards);
        struct limiter_level *own = &b->levels[i];
        own->tokens += levels[i].tokens;
        own->part += levels[i].part;
        if (own->part >= limit->period_ms) { /* two fractions make a whole one */
            own->part -= limit->period_ms;
            own->tokens++;
        }
        if (own->tokens > full)
            own->tokens = full;
        if (own->tokens < -LIMITER_MTOK_MAX)
            own->tokens = -LIMITER_MTOK_MAX;
    }
}

/* The time at which the shard is full, and its gift, too, in the item of the shard that it came from.
 * As long as the gift is not full, the shard has more than the gift by at most what was given back to
 * it beyond what was taken from it. */
static int64_t bucket_full_ms(const struct limiter_bucket *b, uint32_t i)
{
    const struct limiter_limit *limit = &b->limits.at[i];
    struct limiter_level level = b->levels[i];
    const __int128 taken = (__int128)b->taken[i] - b->taken_before[i];
    if (taken < -LIMITER_MTOK_MAX)
        level.tokens -= LIMITER_MTOK_MAX;
    else if (taken < 0)
        level.tokens += (int64_t)taken;
    const int64_t full = limiter_share(limit->capacity, b->shard, b->shards);
    const int64_t wait = limiter_wait_ms(&level, limit, b->shard, b->shards, full);
    return wait < LIMITER_TIME_MAX ? level.at_ms + wait : LIMITER_TIME_MAX;
}

int64_t limiter_bucket_expiry_s(const struct limiter_bucket *b)
{
    int64_t full_ms = b->closed ? b->changed_ms : b->writes.at_ms;
    if (b->gift_count > 0)
        return 0; /* LIMITER-6 */
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t at_ms = bucket_full_ms(b, i);
        full_ms = at_ms > full_ms ? at_ms : full_ms;
    }
    return (full_ms + LIMITER_KEEP_MS + 999) / 1000;
}
