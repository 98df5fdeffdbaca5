/* Splits whose leader dies in the middle, stage by stage, under all other faults: what clients saw
 * stays linearizable, and the split is done in the end, everywhere.
 *
 *   ROUNDS=200 build/fast/tests/simulation --filter split_kill_test      # the long form */
#include "tests/check.h"

#include <stdlib.h>

#include "sim/sim.h"
#include "tests/support/baseline_policies.h"

enum {
    ROUNDS = 15,
    QUIET_RUNS = 5,
    SEEDS_PER_ROUND = 4, /* not every seed has a split that can be caught where it should be */
    FIRST_SEED = 7000000
};

static const char *const STAGE_NAMES[SPLIT_STAGES] = {"none",    "proposed", "logged",
                                                      "applied", "done",     "followed"};

static struct sim_options options_of(uint64_t seed, enum split_stage stage)
{
    return (struct sim_options){.seed = seed,
                                .policies = baseline_policies(),
                                .plain = true,
                                .faults = SIM_FAULTS_ALL,
                                .nodes = 3 + (uint32_t)(seed % 3),
                                .replicas = 3,
                                .length_ms = 2000,
                                .kill_leader_at = stage};
}

static struct sim_result run(const struct sim_options *o)
{
    struct sim_result result;
    struct sim *s = sim_create(o);
    sim_run(s, &result);
    if (result.violated || result.undecided) {
        struct slice why = sim_violation(s);
        fail_msg("seed %llu, leader killed at \"%s\": %.*s", (unsigned long long)o->seed,
                 STAGE_NAMES[o->kill_leader_at], (int)why.size,
                 result.undecided ? "undecided" : (const char *)why.data);
    }
    sim_destroy(s);
    return result;
}

TEST(a_split_survives_its_leader_at_every_stage)
{
    const char *setting = getenv("ROUNDS");
    const uint64_t rounds = setting != NULL ? strtoull(setting, NULL, 10) : ROUNDS;
    uint64_t seed = check_first_seed(FIRST_SEED);
    uint64_t hits[SPLIT_STAGES] = {0}, runs = 0, done = 0;
    struct client_counters sum = {0};
    while (done < rounds && runs < SEEDS_PER_ROUND * rounds) {
        enum split_stage stage = (enum split_stage)(1 + done % (SPLIT_STAGES - 1));
        struct sim_options o = options_of(seed++, stage);
        struct sim_result r = run(&o);
        runs++;
        done += r.leader_killed_at != SPLIT_STAGE_NONE;
        hits[r.leader_killed_at]++;
        sum.calls += r.clients.calls;
        sum.unknown += r.clients.unknown;
        assert_int_equal(r.clients.rejected, 0);
    }
    for (int stage = 1; stage < SPLIT_STAGES; stage++) {
        printf("    leader killed at \"%s\": %llu\n", STAGE_NAMES[stage],
               (unsigned long long)hits[stage]);
        assert_true(hits[stage] >= rounds / (SPLIT_STAGES - 1));
    }
    printf("    %llu rounds of %llu runs; %llu requests, %llu with an unknown outcome\n",
           (unsigned long long)done, (unsigned long long)runs, (unsigned long long)sum.calls,
           (unsigned long long)sum.unknown);
}

/* Where nothing fails, no request fails for a split. The seeds are always the same: other plans
 * have limits that clients reach, or networks slower than their leases. */
TEST(a_split_by_itself_fails_no_request)
{
    uint64_t calls = 0, shed = 0, behind = 0;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + QUIET_RUNS; seed++) {
        struct sim_options o = options_of(seed, SPLIT_STAGE_NONE);
        o.faults = 0;
        o.gac = SIM_NONE; /* which refuses what is above the table's limit */
        struct sim_result r = run(&o);
        calls += r.clients.calls;
        shed += r.clients.shed;
        behind += r.clients.behind;
        assert_int_equal(r.clients.failed + r.clients.unknown, r.clients.shed + r.clients.behind);
    }
    printf("    %llu requests, none failed, %llu were shed by queues and %llu refused for indexes "
           "that "
           "seeds made too short\n",
           (unsigned long long)calls, (unsigned long long)shed, (unsigned long long)behind);
}
