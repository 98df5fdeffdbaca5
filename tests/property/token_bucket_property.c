/* A token bucket against a model that keeps one exact sum since the beginning. */
#include "base/token_bucket.h"
#include "tests/check.h"

struct model {
    __int128 minted; /* in 1/NS_PER_S of a token, since the start */
    __int128 handed; /* whole tokens of it that were given out */
    int64_t balance;
    int64_t enough; /* the least capacity since tokens were taken, or since the rate was set */
};

/* Tokens that fell until `now`, given what fell until `then`. */
static int64_t model_refill(struct model *m, const struct token_bucket *b, int64_t elapsed)
{
    m->minted += (__int128)b->rate * elapsed;
    int64_t tokens = (int64_t)(m->minted / NS_PER_S - m->handed);
    m->handed += tokens;
    int64_t room = b->capacity - m->balance;
    m->balance += tokens < room ? tokens : room;
    return tokens < room ? 0 : tokens - room;
}

static bool model_has(const struct model *m, int64_t cost)
{
    return m->balance >= (cost < m->enough ? cost : m->enough);
}

static int64_t any(struct prng *p, int bits_max)
{
    return (int64_t)(prng_next(p) >> (64 - prng_between(p, 1, bits_max)));
}

/* BUCKET-1 to BUCKET-4 hold whatever happens: must() checks them, the model what they are worth. */
static void random_schedule(struct prng *p)
{
    struct token_bucket b;
    struct model m = {0};
    struct instant now = {any(p, 40)};
    int64_t capacity = any(p, 40) + 1;
    m.balance = prng_between(p, 0, capacity);
    m.enough = capacity;
    token_bucket_init(&b, capacity, any(p, 36), any(p, 45), m.balance, now);
    for (int i = 0; i < 2000; i++) {
        int64_t elapsed = any(p, 45), cost = any(p, 42);
        now = instant_add(now, (struct duration){elapsed});
        assert_true(token_bucket_refill(&b, now) == model_refill(&m, &b, elapsed));
        assert_true(b.balance == m.balance);
        assert_true(token_bucket_has(&b, cost) == model_has(&m, cost));
        if (prng_below(p, 2)) {
            token_bucket_debit(&b, cost);
            m.balance = m.balance - cost < -b.debt_max ? -b.debt_max : m.balance - cost;
            m.enough = cost > 0 ? b.capacity : m.enough;
        }
        if (prng_below(p, 50) == 0) {
            token_bucket_set_rate(&b, any(p, 40) + 1, any(p, 36), any(p, 45));
            m.balance = m.balance > b.capacity ? b.capacity : m.balance;
            m.enough = b.capacity;
        }
        if (prng_below(p, 20) == 0) {
            token_bucket_change_rate(&b, any(p, 40) + 1, any(p, 36), any(p, 45));
            m.balance = m.balance > b.capacity ? b.capacity : m.balance;
            m.enough = m.enough < b.capacity ? m.enough : b.capacity;
        }
    }
}

TEST(a_bucket_counts_as_the_exact_model_does)
{
    check_seeds(50, random_schedule);
}

static void one_refill_or_many(struct prng *p)
{
    struct token_bucket once, often;
    int64_t capacity = any(p, 30) + 1;
    token_bucket_init(&once, capacity, any(p, 36), any(p, 30), 0, (struct instant){0});
    token_bucket_debit(&once, any(p, 30));
    often = once;
    int64_t overflow = 0;
    for (int i = 0; i < 100; i++) {
        struct instant next = instant_add(often.updated_at, (struct duration){any(p, 32)});
        overflow += token_bucket_refill(&often, next);
    }
    assert_true(token_bucket_refill(&once, often.updated_at) == overflow);
    assert_memory_equal(&once, &often, sizeof once);
}

TEST(refilling_often_equals_refilling_once)
{
    check_seeds(500, one_refill_or_many); /* BUCKET-3 */
}

static void wait_then_has(struct prng *p)
{
    struct token_bucket b;
    int64_t capacity = any(p, 40) + 1, cost = any(p, 42);
    token_bucket_init(&b, capacity, any(p, 36) + 1, any(p, 42), 0, (struct instant){any(p, 40)});
    token_bucket_debit(&b, any(p, 42));
    token_bucket_refill(&b, instant_add(b.updated_at, (struct duration){any(p, 30)}));
    struct duration wait = token_bucket_wait(&b, cost);
    if (wait.ns > INT64_MAX / 2) /* centuries: the instant could not be written down */
        return;
    if (wait.ns > 0) {
        assert_false(token_bucket_has(&b, cost));
        token_bucket_refill(&b, instant_add(b.updated_at, (struct duration){wait.ns - 1}));
        assert_false(token_bucket_has(&b, cost));
        assert_true(token_bucket_wait(&b, cost).ns == 1);
        token_bucket_refill(&b, instant_add(b.updated_at, (struct duration){1}));
    }
    assert_true(token_bucket_has(&b, cost));
}

TEST(the_wait_is_right_to_the_nanosecond)
{
    check_seeds(2000, wait_then_has);
}
