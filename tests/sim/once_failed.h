/* once_failed.h - runs of seeds that once found a bug. */
#pragma once

#include "tests/check.h"

#include "tests/sim/alone.h"
#include "tests/support/baseline_policies.h"

static inline void assert_passes(struct sim_options o)
{
    struct sim_result result;
    o.policies = baseline_policies();
    printf("SEED=%llu\n", (unsigned long long)o.seed);
    struct sim *s = sim_create(&o);
    sim_run(s, &result);
    if (result.violated)
        printf("%.*s\n", (int)sim_violation(s).size, (const char *)sim_violation(s).data);
    sim_destroy(s);
    assert_false(result.violated);
}

/* A test for one seed, in a run that has nothing but what the options name. */
#define SEED_PASSES(number, ...)                                                 \
    TEST(seed_##number##_passes)                                                 \
    {                                                                            \
        assert_passes(alone((struct sim_options){.seed = number, __VA_ARGS__})); \
    }
