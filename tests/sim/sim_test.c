/* The simulated world itself: it replays, and it finds what is broken on purpose.
 * Seeds that once found a bug: partitions_once_failed_test.c, tables_once_failed_test.c. */
#include "tests/check.h"

#include "tests/sim/alone.h"
#include "tests/support/baseline_policies.h"

static bool violates(const struct sim_options *o, uint64_t *hash)
{
    struct sim_result result;
    struct sim *s = sim_create(o);
    sim_run(s, &result);
    if (result.violated)
        printf("%.*s\n", (int)sim_violation(s).size, (const char *)sim_violation(s).data);
    *hash = result.hash;
    sim_destroy(s);
    return result.violated;
}

/* NODE-1: a clock, a thread or a global would show. */
TEST(the_same_seed_gives_the_same_run)
{
    const uint64_t first = check_first_seed(1);
    for (uint64_t seed = first; seed < first + 3; seed++) {
        struct sim_options o = {.seed = seed,
                                .faults = SIM_FAULTS_ALL,
                                .length_ms = 1000,
                                .policies = baseline_policies()};
        uint64_t once, again;
        assert_false(violates(&o, &once));
        assert_false(violates(&o, &again));
        assert_true(once == again);
    }
}

TEST(other_seeds_give_other_runs)
{
    const uint64_t seed = check_first_seed(1);
    struct sim_options one = alone(
        (struct sim_options){.seed = seed, .policies = baseline_policies(), .length_ms = 1000});
    struct sim_options two = alone(
        (struct sim_options){.seed = seed + 1, .policies = baseline_policies(), .length_ms = 1000});
    uint64_t first, second;
    assert_false(violates(&one, &first));
    assert_false(violates(&two, &second));
    assert_true(first != second);
}

/* The later faults too, which the seed never chooses for a plain plan. */
TEST(a_fault_that_is_named_is_in_every_plan)
{
    struct plan plan;
    for (unsigned fault = 0; fault < SIM_FAULTS; fault++) {
        for (int form = 0; form < 3; form++) {
            const struct sim_options o = {.seed = 1,
                                          .policies = baseline_policies(),
                                          .faults = SIM_FAULT_BIT(fault),
                                          .faults_forced = true,
                                          .plain = form == 1,
                                          .bench = form == 2};
            plan_make(&o, &plan);
            assert_int_equal(plan.faults, SIM_FAULT_BIT(fault));
        }
    }
    for (uint64_t seed = 1; seed <= 50; seed++) {
        plan_make(&(struct sim_options){.seed = seed, .faults = SIM_FAULTS_ALL, .plain = true},
                  &plan);
        assert_int_equal(plan.faults >> SIM_FAULTS_FIRST, 0);
    }
}

TEST(reads_fail_in_a_plain_run_that_names_them)
{
    struct sim_result result;
    struct sim *s = sim_create(&(struct sim_options){.seed = check_first_seed(1),
                                                     .policies = baseline_policies(),
                                                     .faults = SIM_FAULT_BIT(SIM_READ_ERROR),
                                                     .faults_forced = true,
                                                     .plain = true,
                                                     .length_ms = 10000});
    sim_run(s, &result);
    assert_false(result.violated);
    assert_true(result.injected > 0);
    sim_destroy(s);
}

/* A check that finds nothing here would find nothing anywhere. */
TEST(a_disk_that_lies_about_its_syncs_is_found_out)
{
    bool found = false;
    const uint64_t first = check_first_seed(1);
    for (uint64_t seed = first; seed < first + 20 && !found; seed++) {
        struct sim_options o = {.seed = seed,
                                .policies = baseline_policies(),
                                .faults = SIM_FAULT_BIT(SIM_LYING_DISK) | SIM_FAULT_BIT(SIM_POWER),
                                .faults_forced = true,
                                .replicas = 1,
                                .length_ms = 3000};
        uint64_t hash;
        found = violates(&o, &hash);
    }
    assert_true(found);
}

/* With faults of nodes and disks only, and policies that grant: nothing beyond the limits of the
 * table and of its indexes, and some of them. */
TEST(routers_take_no_more_than_a_table_may_use)
{
    int64_t taken = 0, of_indexes = 0;
    const uint64_t first = check_first_seed(1);
    for (uint64_t seed = first; seed < first + 4; seed++) {
        struct sim_options o = {.seed = seed,
                                .policies = baseline_policies(),
                                .faults = SIM_FAULT_BIT(SIM_CRASH) | SIM_FAULT_BIT(SIM_SLOW_DISK),
                                .gac = SIM_GAC_MAX,
                                .length_ms = 1000};
        struct sim_result result;
        struct sim *s = sim_create(&o);
        sim_run(s, &result);
        assert_false(result.violated);
        taken += result.gac_taken_mcu;
        of_indexes += result.gac_index_taken_mcu;
        sim_destroy(s);
    }
    assert_true(taken > 0);
    assert_true(of_indexes > 0);
}
