/* token_bucket.c - refilling by whole tokens, with the fraction kept. */
#include "base/token_bucket.h"

#include "base/must.h"

static inline __attribute__((always_inline)) void token_bucket_check(const struct token_bucket *b)
{
    must(b->balance <= b->capacity);                  /* BUCKET-1 */
    must(b->balance >= -b->debt_max);                 /* BUCKET-2 */
    must((uint64_t)b->fraction < (uint64_t)NS_PER_S); /* BUCKET-3 */
    must((b->capacity | b->rate | b->debt_max) >= 0);
    must((uint64_t)b->enough - 1 < (uint64_t)b->capacity || b->capacity == 0); /* BUCKET-5 */
}

void token_bucket_init(struct token_bucket *b, int64_t capacity, int64_t rate, int64_t debt_max,
                       int64_t balance, struct instant now)
{
    *b = (struct token_bucket){.balance = balance,
                               .capacity = capacity,
                               .enough = capacity,
                               .debt_max = debt_max,
                               .rate = rate,
                               .updated_at = now};
    token_bucket_check(b);
}

/* Whole tokens that `elapsed` ns add, saturated; `fraction` gets the rest. */
static int64_t tokens_minted(const struct token_bucket *b, int64_t elapsed, int64_t *fraction)
{
    uint64_t small;
    if (__builtin_expect(!__builtin_mul_overflow((uint64_t)b->rate, (uint64_t)elapsed, &small) &&
                             !__builtin_add_overflow(small, (uint64_t)b->fraction, &small),
                         1)) {
        *fraction = (int64_t)(small % (uint64_t)NS_PER_S);
        return (int64_t)(small / (uint64_t)NS_PER_S);
    }
    unsigned __int128 large =
        (unsigned __int128)(uint64_t)b->rate * (uint64_t)elapsed + (uint64_t)b->fraction;
    *fraction = (int64_t)(large % (uint64_t)NS_PER_S);
    large /= (uint64_t)NS_PER_S;
    return large > INT64_MAX ? INT64_MAX : (int64_t)large;
}

int64_t token_bucket_refill(struct token_bucket *b, struct instant now)
{
    int64_t elapsed;
    token_bucket_check(b);
    must(now.ns >= b->updated_at.ns); /* BUCKET-4 */
    must(!__builtin_sub_overflow(now.ns, b->updated_at.ns, &elapsed));
    if (elapsed == 0)
        return 0;
    b->updated_at = now;
    return token_bucket_add(b, tokens_minted(b, elapsed, &b->fraction));
}

int64_t token_bucket_add(struct token_bucket *b, int64_t tokens)
{
    must(tokens >= 0);
    int64_t room = b->capacity - b->balance;
    int64_t taken = tokens < room ? tokens : room;
    b->balance += taken;
    token_bucket_check(b);
    return tokens - taken;
}

/* The balance needed before `cost` may be taken. A bucket of capacity 0 never has enough: otherwise
 * an empty one would admit every cost. */
static int64_t balance_needed(const struct token_bucket *b, int64_t cost)
{
    if (b->capacity == 0 && cost > 0)
        return INT64_MAX;
    return cost < b->enough ? cost : b->enough;
}

bool token_bucket_has(const struct token_bucket *b, int64_t cost)
{
    must(cost >= 0);
    return b->balance >= balance_needed(b, cost);
}

void token_bucket_debit(struct token_bucket *b, int64_t cost)
{
    must(cost >= 0);
    token_bucket_check(b);
    int64_t room = b->balance + b->debt_max;
    b->balance -= cost < room ? cost : room;
    b->enough = cost > 0 ? b->capacity : b->enough;
    token_bucket_check(b);
}

struct duration token_bucket_wait(const struct token_bucket *b, int64_t cost)
{
    must(cost >= 0);
    token_bucket_check(b);
    int64_t needed = balance_needed(b, cost);
    if (b->balance >= needed)
        return (struct duration){0};
    if (b->rate == 0 || needed == INT64_MAX)
        return (struct duration){INT64_MAX};
    /* The first instant at which rate * wait + fraction holds the missing whole tokens. */
    uint64_t missing = (uint64_t)(needed - b->balance), rate = (uint64_t)b->rate;
    uint64_t small;
    if (__builtin_expect(!__builtin_mul_overflow(missing, (uint64_t)NS_PER_S, &small), 1)) {
        small -= (uint64_t)b->fraction;
        uint64_t wait = small / rate + (small % rate != 0);
        return (struct duration){wait > INT64_MAX ? INT64_MAX : (int64_t)wait};
    }
    unsigned __int128 large =
        (unsigned __int128)missing * (uint64_t)NS_PER_S - (uint64_t)b->fraction;
    large = (large + rate - 1) / rate;
    return (struct duration){large > INT64_MAX ? INT64_MAX : (int64_t)large};
}

void token_bucket_set_rate(struct token_bucket *b, int64_t capacity, int64_t rate, int64_t debt_max)
{
    b->capacity = b->enough = capacity;
    b->rate = rate;
    if (b->balance > capacity)
        b->balance = capacity;
    b->debt_max = -b->balance > debt_max ? -b->balance : debt_max;
    token_bucket_check(b);
}

void token_bucket_change_rate(struct token_bucket *b, int64_t capacity, int64_t rate,
                              int64_t debt_max)
{
    const int64_t enough = b->enough;
    token_bucket_set_rate(b, capacity, rate, debt_max);
    if (enough > 0 && enough < capacity)
        b->enough = enough;
}
