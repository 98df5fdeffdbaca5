/* large_bodies_test.c - requests that a thread of the router parses, in whole worlds with
 * faults. */
#include "tests/sim/once_failed.h"

TEST(worlds_with_large_bodies_pass)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        assert_passes(alone((struct sim_options){.seed = seed,
                                                 .faults = SIM_FAULTS_ALL,
                                                 .extras = SIM_EXTRA_BIT(SIM_LARGE_BODIES),
                                                 .extras_forced = true,
                                                 .length_ms = 1000}));
}
