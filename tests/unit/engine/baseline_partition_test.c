/* baseline_partition_test.c - partition policies of other systems (lab/baselines/partition_*.c). */
#include "base/config.h"
#include "engine/admission/admission.h"
#include "engine/admission/policy_choice.h"
#include "tests/check.h"
#include "tests/support/baseline_policies.h"

/* An allocation of ten units, saved for a second. Each page turns out to cost 50 units. */
static int admitted_pages(const char *policy)
{
    struct config config;
    struct node_admission node;
    struct admission partition;
    const struct admission_rates rates = {.rate_mcu = {10000, 10000}, .weight = 1};
    const struct instant now = {1000 * NS_PER_S};
    int pages = 0;
    config_init(&config, PROFILE_RESEARCH);
    config.policies = baseline_policies();
    snprintf(config.partition_policy, sizeof config.partition_policy, "%s", policy);
    node_admission_init(&node, &config, now);
    admission_init(&partition, admission_policies_same(admission_policy_of(&config, 0, false)),
                   &config, &rates, now);
    for (int i = 0; i < 100; i++) {
        const struct admit_verdict v =
            admission_try(&partition, &node, ADMIT_READ, now, MCU_PER_UNIT, NULL);
        if (v.reason != ADMIT_OK) {
            assert_int_equal(v.reason, ADMIT_REFUSED_ALLOCATION);
            assert_true(v.wait.ns > 0);
            continue;
        }
        admission_settle(&partition, &node, ADMIT_READ, now, &v, 49 * MCU_PER_UNIT, NULL);
        pages++;
    }
    return pages;
}

TEST(a_limiter_that_counts_requests_admits_a_page_for_the_price_of_a_read)
{
    assert_int_equal(admitted_pages("allocation"), 1); /* in debt from then on */
    assert_int_equal(admitted_pages("count-requests"), 10);
}
