/* control_policy_test.c - plug-ins with policies of the controller's decision points: what they
 * must have. What such policies see and decide: tests/cases/control/policies.case. */
#include "base/config.h"
#include "base/policies.h"
#include "control/decision_points.h"
#include "include/weir/policy.h"
#include "tests/check.h"

static struct policies policies;

/* ---- names ---- */

TEST(a_name_that_no_policy_has_is_refused_with_those_there_are)
{
    struct config config;
    struct buffer error = {0};
    config_init(&config, PROFILE_RESEARCH);
    assert_int_equal(control_policies_check(&config, &error), STATUS_OK);
    memcpy(config.adaptive_policy, "luck", sizeof "luck");
    assert_int_equal(control_policies_check(&config, &error), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    assert_non_null(strstr((const char *)error.data, "adaptive_policy 'luck' is not known"));
    assert_non_null(strstr((const char *)error.data, "one of proportional"));
    assert_true(control_policy_is_own(POLICY_ADAPTIVE, "proportional"));
    assert_false(control_policy_is_own(POLICY_PARTITION, "proportional"));
    buffer_deinit(&error);
}

/* ---- what is required ---- */

static void no_adapt(struct weir_rates *r)
{
    (void)r;
}

static void no_trigger(struct weir_split *c, struct weir_split_trigger *trigger)
{
    (void)c;
    (void)trigger;
}

static bool no_raise(const struct weir_peak *p, int64_t allocation_mcu[2])
{
    (void)p;
    (void)allocation_mcu;
    return false;
}

static uint32_t no_place(const struct weir_move *m)
{
    (void)m;
    return WEIR_MOVE_NOWHERE;
}

static void expect_refused(const struct weir_policy_plugin *plugin, const char *text)
{
    struct buffer error = {0};
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, plugin, "FILE.so", control_policy_is_own, &error),
                     STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    if (strstr((const char *)error.data, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, (const char *)error.data);
    assert_int_equal(policies.count, 0);
    buffer_deinit(&error);
}

TEST(what_a_policy_of_the_controller_lacks_is_reported)
{
    struct weir_adaptive_policy a = {.size = sizeof a, .name = "scripted", .adapt = no_adapt};
    struct weir_split_policy s = {.size = sizeof s, .name = "scripted", .trigger = no_trigger};
    struct weir_demand_policy d = {.size = sizeof d, .name = "scripted", .raise = no_raise};
    struct weir_relocate_policy r = {.size = sizeof r, .name = "scripted", .place = no_place};
    const struct weir_adaptive_policy *const as[] = {&a};
    const struct weir_split_policy *const ss[] = {&s};
    const struct weir_demand_policy *const ds[] = {&d};
    const struct weir_relocate_policy *const rs[] = {&r};
    const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI, .size = sizeof plugin};
    struct weir_policy_plugin of_a = plugin, of_s = plugin, of_d = plugin, of_r = plugin;
    of_a.adaptive_count = of_s.split_count = of_d.demand_count = of_r.relocate_count = 1;
    of_a.adaptive = as;
    of_s.split = ss;
    of_d.demand = ds;
    of_r.relocate = rs;
    a.partition_bytes = s.state_bytes = WEIR_POLICY_STATE_MAX + 1;
    expect_refused(&of_a, "adaptive policy 'scripted' has too large a state");
    expect_refused(&of_s, "split policy 'scripted' has too large a state");
    a.partition_bytes = s.state_bytes = 0;
    a.flags = s.flags = d.flags = r.flags = 1;
    expect_refused(&of_a, "flags");
    expect_refused(&of_s, "flags");
    expect_refused(&of_d, "flags");
    expect_refused(&of_r, "flags");
    a.adapt = NULL;
    s.trigger = NULL;
    d.raise = NULL;
    r.place = NULL;
    expect_refused(&of_a, "adapt is required");
    expect_refused(&of_s, "trigger is required");
    expect_refused(&of_d, "raise is required");
    expect_refused(&of_r, "place is required");
    a.name = "proportional";
    s.name = "limits";
    d.name = "peak";
    r.name = "least-reserved";
    expect_refused(&of_a, "has the name of a policy of weir");
    expect_refused(&of_s, "has the name of a policy of weir");
    expect_refused(&of_d, "has the name of a policy of weir");
    expect_refused(&of_r, "has the name of a policy of weir");
    a.size = 8;
    expect_refused(&of_a, "size = 8");
}

/* ---- versions ---- */

TEST(a_plugin_from_before_the_controllers_points_is_taken)
{
    static const struct weir_headroom_policy headroom = {
        .size = sizeof headroom, .name = "old", .flags = WEIR_HEADROOM_UNCHECKED};
    static const struct weir_headroom_policy *const headrooms[] = {&headroom};
    const struct weir_policy_plugin plugin = {
        .abi = WEIR_POLICY_ABI,
        .size = offsetof(struct weir_policy_plugin, adaptive_count),
        .headroom_count = 1,
        .headroom = headrooms,
        .adaptive_count = 1000, /* what lies behind it */
    };
    struct buffer error = {0};
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, &plugin, "FILE.so", NULL, &error), STATUS_OK);
    assert_int_equal(policies.count, 1);
    buffer_deinit(&error);
}
