/* bucket.c - shares, refilling, dividing, merging: arithmetic only. */
#include "engine/limiter/bucket_internal.h"

#include "base/mutation.h"

const struct limiter_limit limiter_write_limit = {
    .name = {(const uint8_t *)LIMITER_WRITES_NAME, sizeof LIMITER_WRITES_NAME - 1},
    .capacity = LIMITER_WRITES_MWCU,
    .amount = LIMITER_WRITES_MWCU,
    .period_ms = 1000,
    .request_min = LIMITER_REQUEST_MIN_MTOK,
};

_Static_assert(1 << (LIMITER_SIZES - 1) == LIMITER_SHARDS_MAX, "a place in `grown` for each size");
_Static_assert(INT64_MAX / 4 > LIMITER_MTOK_MAX, "sums of a few balances do not overflow");

/* ---- shards ---- */

uint32_t limiter_size_of(uint32_t shard)
{
    must(shard < LIMITER_SHARDS_MAX);
    return shard == 0 ? 0 : 32 - (uint32_t)__builtin_clz(shard);
}

uint32_t limiter_parent_shard(uint32_t shard)
{
    must(shard > 0);
    return shard & ~(limiter_size_at_creation(shard) / 2);
}

int64_t limiter_share(int64_t whole, uint32_t shard, uint32_t shards)
{
    must(whole >= 0);
    must(shard < shards);
    return whole / shards + (shard < whole % shards);
}

uint32_t limiter_shards_max(const struct limiter_limits *limits)
{
    uint32_t max = LIMITER_SHARDS_MAX;
    for (uint32_t i = 0; i < limits->count; i++) {
        while (max > 1 && limits->at[i].capacity / max < limits->at[i].request_min)
            max /= 2;
    }
    return max;
}

/* ---- limits ---- */

static bool limit_name_is_valid(struct slice name)
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

static const char *limiter_limit_fault(const struct limiter_limit *l)
{
    if (!limit_name_is_valid(l->name))
        return "a limit's name must have 1 to 64 letters, digits, '_', '.' or '-'";
    if (slice_is(l->name, LIMITER_WRITES_NAME))
        return "the name 'wcu' is reserved";
    if (l->capacity < 1000 || l->capacity > LIMITER_MTOK_MAX)
        return "a capacity must be from 1 to 1000000000000";
    if (l->amount < 1000 || l->amount > LIMITER_MTOK_MAX)
        return "a refill amount must be from 1 to 1000000000000";
    if (l->period_ms < 1 || l->period_ms > LIMITER_PERIOD_MAX)
        return "a refill period must be from 1 ms to 366 days";
    if (l->request_min < 1 || l->request_min > l->capacity)
        return "the smallest request must be more than 0 and at most the capacity";
    return NULL;
}

const char *limiter_limits_fault(const struct limiter_limits *limits)
{
    if (limits->count < 1 || limits->count > LIMITER_LIMITS_MAX)
        return "a bucket must have 1 to 8 limits";
    for (uint32_t i = 0; i < limits->count; i++) {
        const char *fault = limiter_limit_fault(&limits->at[i]);
        if (fault != NULL)
            return fault;
        for (uint32_t k = 0; k < i; k++) {
            if (slice_equal(limits->at[i].name, limits->at[k].name))
                return "two limits must not have the same name";
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
static int64_t balance_refill_mtok(int64_t amount, int64_t period_ms, int64_t elapsed,
                                   int64_t *fraction)
{
    uint64_t small;
    if (__builtin_expect(!__builtin_mul_overflow((uint64_t)amount, (uint64_t)elapsed, &small) &&
                             !__builtin_add_overflow(small, (uint64_t)*fraction, &small),
                         1)) {
        const uint64_t refilled = small / (uint64_t)period_ms;
        *fraction = (int64_t)(small % (uint64_t)period_ms);
        return refilled > INT64_MAX ? INT64_MAX : (int64_t)refilled;
    }
    const __int128 large = (__int128)amount * elapsed + *fraction;
    const __int128 refilled = large / period_ms;
    *fraction = (int64_t)(large % period_ms);
    return refilled > INT64_MAX ? INT64_MAX : (int64_t)refilled;
}

void limiter_refill(struct limiter_balance *balance, const struct limiter_limit *limit,
                    uint32_t shard, uint32_t shards, int64_t now_ms)
{
    const int64_t room = limiter_share(limit->capacity, shard, shards) - balance->tokens;
    must(room >= 0); /* LIMITER-2 */
    must(balance->fraction >= 0);
    must(balance->fraction < limit->period_ms);
    must(balance->at_ms >= 0);
    if (now_ms <= balance->at_ms)
        return;
    const int64_t amount = limiter_share(limit->amount, shard, shards);
    const int64_t refilled =
        balance_refill_mtok(amount, limit->period_ms, now_ms - balance->at_ms, &balance->fraction);
    balance->tokens += MIN(refilled, room);
    balance->at_ms = now_ms;
}

int64_t limiter_refill_ms(int64_t mtok, int64_t amount, int64_t period_ms)
{
    must(amount > 0);
    const __int128 wait = ((__int128)mtok * period_ms + amount - 1) / amount;
    return mtok <= 0 ? 0 : wait > LIMITER_WAIT_MS_MAX ? LIMITER_WAIT_MS_MAX : (int64_t)wait;
}

int64_t limiter_wait_ms(const struct limiter_balance *balance, const struct limiter_limit *limit,
                        uint32_t shard, uint32_t shards, int64_t tokens)
{
    if (tokens <= balance->tokens)
        return 0;
    const int64_t amount = limiter_share(limit->amount, shard, shards);
    if (tokens > limiter_share(limit->capacity, shard, shards) || amount == 0)
        return INT64_MAX;
    const __int128 missing =
        ((__int128)tokens - balance->tokens) * limit->period_ms - balance->fraction; /* > 0 */
    const __int128 wait = (missing + amount - 1) / amount;
    return wait > INT64_MAX ? INT64_MAX : (int64_t)wait;
}

void limiter_balances_fill(struct limiter_balance *balances, const struct limiter_limits *limits,
                           uint32_t shard, uint32_t shards, int64_t now_ms)
{
    for (uint32_t i = 0; i < limits->count; i++)
        balances[i] = (struct limiter_balance){
            .tokens = limiter_share(limits->at[i].capacity, shard, shards), .at_ms = now_ms};
}

void limiter_balances_refill(struct limiter_balance *balances, const struct limiter_limits *limits,
                             uint32_t shard, uint32_t shards, int64_t now_ms)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        const int64_t tokens = balances[i].tokens;
        limiter_refill(&balances[i], &limits->at[i], shard, shards, now_ms);
        if (MUTATED(MUTATION_LIMITER_SHARED_TIME))
            balances[i].fraction = 0;
        if (MUTATED(MUTATION_LIMITER_DRY_SHARDS) && shard > 0)
            balances[i].tokens = tokens;
    }
}

void limiter_balances_convert(struct limiter_balance *balances, const struct limiter_limits *from,
                              const struct limiter_limits *to, uint32_t shard, uint32_t shards,
                              int64_t now_ms)
{
    struct limiter_balance old[LIMITER_LIMITS_MAX];
    memcpy(old, balances, sizeof old);
    limiter_balances_refill(old, from, shard, shards, now_ms);
    limiter_balances_fill(balances, to, shard, shards, now_ms);
    for (uint32_t i = 0; i < to->count; i++) {
        const uint32_t k = limiter_limit_find(from, to->at[i].name);
        if (k == from->count)
            continue;
        balances[i].tokens = MIN(balances[i].tokens, old[k].tokens);
        balances[i].at_ms = old[k].at_ms;
        balances[i].fraction =
            (int64_t)((__int128)old[k].fraction * to->at[i].period_ms / from->at[k].period_ms);
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
    limiter_balances_convert(b->balances, &b->limits, limits, b->shard, b->shards, now_ms);
    for (uint32_t i = 0; i < b->reserved_count; i++) {
        struct limiter_reserved_share *g = &b->reserved[i];
        limiter_balances_convert(g->balances, &b->limits, limits, g->child,
                                 limiter_size_at_creation(g->child), now_ms);
    }
    b->limits = *limits;
}

void limiter_bucket_divide(struct limiter_bucket *b, uint64_t epoch, int64_t now_ms)
{
    const uint32_t child = b->shard + b->shards;
    must(child < LIMITER_SHARDS_MAX);
    must(b->reserved_count < LIMITER_SIZES);
    struct limiter_reserved_share *reserved = &b->reserved[b->reserved_count++];
    *reserved = (struct limiter_reserved_share){.child = child, .epoch = epoch};
    b->shards *= 2;
    b->changed_ms = now_ms;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t capacity = b->limits.at[i].capacity;
        struct limiter_balance *own = &b->balances[i];
        const int64_t half = own->tokens / 2; /* debt, too */
        reserved->balances[i] = (struct limiter_balance){.tokens = half, .at_ms = now_ms};
        own->tokens -= half;
        must(own->tokens <= limiter_share(capacity, b->shard, b->shards)); /* LIMITER-1 */
        must(half <= limiter_share(capacity, child, b->shards));
    }
    if (MUTATED(MUTATION_LIMITER_MINT))
        limiter_balances_fill(reserved->balances, &b->limits, child, b->shards, now_ms);
}

void limiter_bucket_merge_in(struct limiter_bucket *b, const struct limiter_balance *balances,
                             int64_t now_ms)
{
    must(b->reserved_count > 0);
    b->reserved_count--;
    b->shards /= 2;
    b->changed_ms = now_ms;
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const struct limiter_limit *limit = &b->limits.at[i];
        const int64_t full = limiter_share(limit->capacity, b->shard, b->shards);
        struct limiter_balance *own = &b->balances[i];
        own->tokens += balances[i].tokens;
        own->fraction += balances[i].fraction;
        if (own->fraction >= limit->period_ms) { /* two fractions make a whole one */
            own->fraction -= limit->period_ms;
            own->tokens++;
        }
        own->tokens = MIN(own->tokens, full);
        if (own->tokens < -LIMITER_MTOK_MAX) /* a shard from before limiter_balance_min */
            own->tokens = -LIMITER_MTOK_MAX;
    }
}

/* The time at which the shard is full, and its reserved share in its parent's item, too. As long as
 * the reserved share is not full, the shard has more than that by at most what was given back to it
 * beyond what was taken from it. */
static int64_t bucket_full_ms(const struct limiter_bucket *b, uint32_t i)
{
    const struct limiter_limit *limit = &b->limits.at[i];
    struct limiter_balance balance = b->balances[i];
    const __int128 taken = (__int128)b->taken[i] - b->taken_before[i];
    if (taken < -LIMITER_MTOK_MAX)
        balance.tokens -= LIMITER_MTOK_MAX;
    else if (taken < 0)
        balance.tokens += (int64_t)taken;
    const int64_t full = limiter_share(limit->capacity, b->shard, b->shards);
    const int64_t wait = limiter_wait_ms(&balance, limit, b->shard, b->shards, full);
    return wait < LIMITER_TIME_MAX ? balance.at_ms + wait : LIMITER_TIME_MAX;
}

int64_t limiter_bucket_expiry_s(const struct limiter_bucket *b)
{
    int64_t full_ms = b->sealed ? b->changed_ms : b->write_balance.at_ms;
    if (b->reserved_count > 0)
        return 0; /* LIMITER-6 */
    for (uint32_t i = 0; i < b->limits.count; i++) {
        const int64_t at_ms = bucket_full_ms(b, i);
        full_ms = MAX(at_ms, full_ms);
    }
    return (full_ms + LIMITER_KEEP_MS + 999) / 1000;
}
