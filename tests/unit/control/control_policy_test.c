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

/* In the names of the version before, which are aliases. */
static void no_wish(struct weir_cut *c, struct weir_wish *wish)
{
    (void)weir_cut_setting(c, WEIR_CUT_JUDGE);
    (void)wish;
}

#define ASSERT_ALIAS(former, name) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&former), __typeof__(&name)), #former)

ASSERT_ALIAS(weir_peak_promised, weir_peak_allocated);
ASSERT_ALIAS(weir_peak_ready, weir_peak_warm);
ASSERT_ALIAS(weir_move_needs, weir_move_required);
ASSERT_ALIAS(weir_move_promised, weir_move_reserved);
ASSERT_ALIAS(weir_member_lacked, weir_member_add_demand);
ASSERT_ALIAS(weir_arrival_is_promised, weir_arrival_is_within_limit);
ASSERT_ALIAS(weir_ledger_enough, weir_ledger_grant_threshold);
ASSERT_ALIAS(weir_ledger_longest_ns, weir_ledger_lifetime_max_ns);
ASSERT_ALIAS(weir_ledger_level, weir_ledger_fair_share);
ASSERT_ALIAS(weir_holder_owed, weir_holder_debt);
ASSERT_ALIAS(weir_holder_until, weir_holder_admit_within);
ASSERT_ALIAS(weir_holder_live, weir_holder_set_lifetime);
ASSERT_ALIAS(weir_holder_was_promised, weir_holder_is_due);

TEST(members_and_values_of_the_version_before_are_aliases)
{
    struct weir_split_policy s = {.wish = no_wish};
    struct weir_choice choice = {.how = WEIR_CHOICE_EVENLY};
    assert_true(s.trigger == no_wish);
    assert_true(&s.choose == &s.decide);
    assert_int_equal(choice.how, WEIR_SPLIT_DECISION_EVENLY);
    assert_int_equal(WEIR_CHOICE_WHOLE, WEIR_SPLIT_DECISION_WHOLE);
    assert_int_equal(WEIR_CHOICE_POINTS, WEIR_SPLIT_DECISION_POINTS);
    assert_int_equal((enum weir_choice_how)choice.how, WEIR_CHOICE_EVENLY);
    assert_int_equal((enum weir_wish_why)WEIR_WISH_NONE, WEIR_SPLIT_TRIGGER_NONE);
    assert_int_equal(WEIR_WISH_CONSUMED, WEIR_SPLIT_TRIGGER_CONSUMED);
    assert_int_equal(WEIR_WISH_REFUSED, WEIR_SPLIT_TRIGGER_REFUSED);
    assert_int_equal(WEIR_WISH_SIZE, WEIR_SPLIT_TRIGGER_SIZE);
    assert_int_equal(WEIR_BUCKET_PROMISE, WEIR_BUCKET_RESERVED);
    assert_int_equal(WEIR_VERDICT_PROMISED, WEIR_VERDICT_RESERVED);
    assert_int_equal(WEIR_TABLE_ASKS, WEIR_TABLE_REQUESTS_GRANTS);
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
    struct weir_split_policy s = {.size = sizeof s, .name = "scripted", .wish = no_wish};
    struct weir_demand_policy d = {.size = sizeof d, .name = "scripted", .earn = no_raise};
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
