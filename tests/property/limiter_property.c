/* A bucket of the rate limiter under random commands: nothing is minted, nothing is lost, and what
 * is left alone is full in the end. And mutations that this must find. */
#include "base/mutation.h"
#include "tests/check.h"
#include "tests/support/limiter_model.h"

enum {
    STEPS = 2500,
    SEEDS = 40,
    SEEDS_OF_A_MUTATION = 60,
};

/* Over all seeds, so that what never happens is seen. */
static uint64_t done[LIMITER_VERBS], refused[LIMITER_REFUSALS], expired;

static const char *model_fault(struct prng *p)
{
    static struct limiter_model model;
    limiter_model_init(&model, p);
    for (int i = 0; i < STEPS && model.fault == NULL; i++)
        limiter_model_step(&model);
    if (model.fault == NULL)
        limiter_model_settle(&model);
    for (int i = 0; i < LIMITER_VERBS; i++)
        done[i] += model.done[i];
    for (int i = 0; i < LIMITER_REFUSALS; i++)
        refused[i] += model.refused[i];
    expired += model.expired;
    limiter_model_deinit(&model);
    return model.fault;
}

static void random_commands(struct prng *p)
{
    const char *fault = model_fault(p);
    if (fault != NULL)
        fail_msg("%s", fault);
}

/* LIMITER-4. LIMITER-1 to LIMITER-7 */
TEST(no_tokens_are_made_or_lost_whatever_happens_to_commands)
{
    check_seeds(SEEDS, random_commands);
    if (getenv("SEED") != NULL)
        return;
    for (int i = LIMITER_TAKE; i < LIMITER_VERBS; i++) {
        printf("verb %d: done %llu times\n", i, (unsigned long long)done[i]);
        assert_true(done[i] > 0 || i == LIMITER_RESET);
    }
    for (int i = LIMITER_DONE; i < LIMITER_REFUSALS; i++)
        printf("refusal %d: %llu times\n", i, (unsigned long long)refused[i]);
    for (int i = LIMITER_TOO_FEW_TOKENS; i <= LIMITER_NOT_OWNER; i++)
        assert_true(refused[i] > 0);
    assert_true(expired > 0);
}

/* Shards expired before their reserved shares were full, because of what had been given back: 289
 * to a shard that was made anew, and had been taken from in its former life; 3957 to a shard that
 * was merged in. */
TEST(what_once_failed_passes)
{
    static const uint64_t seeds[] = {289, 3957};
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        struct prng p = prng_seeded(seeds[i]);
        random_commands(&p);
    }
}

static void assert_found(enum mutation mutation)
{
    const char *fault = NULL;
    mutation_active = mutation;
    for (uint64_t seed = 1; seed <= SEEDS_OF_A_MUTATION && fault == NULL; seed++) {
        struct prng p = prng_seeded(seed);
        fault = model_fault(&p);
        if (fault != NULL)
            printf("seed %llu: %s\n", (unsigned long long)seed, fault);
    }
    mutation_active = MUTATION_NONE;
    assert_non_null(fault);
}

TEST(a_new_shard_that_begins_full_is_found)
{
    assert_found(MUTATION_LIMITER_MINT);
}

TEST(a_time_that_moves_on_without_a_token_is_found)
{
    assert_found(MUTATION_LIMITER_SHARED_TIME);
}

TEST(a_reserved_share_that_is_lost_is_found)
{
    assert_found(MUTATION_LIMITER_LOSE_RESERVED);
}

TEST(a_shard_that_is_created_twice_is_found)
{
    assert_found(MUTATION_LIMITER_RECREATE);
}

TEST(shards_that_nothing_refills_are_found)
{
    assert_found(MUTATION_LIMITER_DRY_SHARDS);
}

TEST(a_hidden_limit_that_nothing_refills_is_found)
{
    assert_found(MUTATION_LIMITER_DRY_WRITES);
}

TEST(limits_that_reach_one_shard_only_are_found)
{
    assert_found(MUTATION_LIMITER_OLD_LIMITS);
}
