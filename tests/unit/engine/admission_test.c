/* What case files (tests/cases) and properties do not say about admission. */
#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "engine/admission/admission.h"
#include "engine/admission/member.h"
#include "engine/admission/policy_choice.h"
#include "tests/check.h"

TEST(every_policy_in_the_list_of_names_is_found_and_no_other)
{
    static const char *const names[] = {"allocation", "burst", "always-burst", "none"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_non_null(admission_policy_find(slice_of(names[i])));
    assert_null(admission_policy_find(slice_of("")));
    assert_null(admission_policy_find(slice_of("burs")));
    assert_null(admission_policy_find(slice_of("bursts")));
}

TEST(every_profiles_policy_exists)
{
    for (enum profile profile = PROFILE_OFF; profile <= PROFILE_RESEARCH; profile++) {
        struct config config;
        config_init(&config, profile);
        assert_non_null(admission_policy_find(slice_of(config.partition_policy)));
    }
}

TEST(reasons_have_names_of_their_own)
{
    for (enum admit_reason a = 0; a < ADMIT_REASONS; a++) {
        assert_non_null(admit_reason_name(a));
        for (enum admit_reason b = 0; b < a; b++)
            assert_string_not_equal(admit_reason_name(a), admit_reason_name(b));
    }
}

TEST(levels_show_the_present_and_change_nothing)
{
    struct config config;
    struct node_admission node;
    struct admission a;
    struct admission_rates rates = {.rate_mcu = {5 * MCU_PER_UNIT, 10 * MCU_PER_UNIT}};
    struct instant start = {0}, later = {NS_PER_S / 2};
    config_init(&config, PROFILE_AWS);
    node_admission_init(&node, &config, start);
    admission_init(&a, admission_policies_same(admission_policy_find(slice_of("burst"))), &config,
                   &rates, start);
    admission_try(&a, &node, ADMIT_WRITE, start, 10 * MCU_PER_UNIT, NULL);
    struct admission before = a;
    struct admit_balances balances = admission_balances_with_node(&a, &node, ADMIT_WRITE, later);
    assert_int_equal(balances.allocation_mcu, 5 * MCU_PER_UNIT);
    assert_memory_equal(&before, &a, sizeof a);
}

TEST(a_members_headroom_comes_back_at_the_rate_of_its_bucket)
{
    struct config config;
    struct members m;
    struct duration wait = {0};
    const struct instant now = {NS_PER_S};
    config_init(&config, PROFILE_AWS);
    config_edit_choices(&config)->write_check = WRITE_CHECK_GAUGE;
    config_edit_admission(&config)->node_depth_ms = 250;
    members_init(&m, &config, 3);
    members_reported(&m, 2, now, 0, 1000, false); /* 1000 mcu in 250 ms */
    assert_false(member_has(&m, 2, now, 400, 0, &wait));
    assert_int_equal(wait.ns, 100 * NS_PER_MS + 1);
    members_deinit(&m);
}

/* The report is old, and balances swing: the whole would refuse what an even share has room for. */
TEST(at_a_shared_member_half_of_what_was_taken_must_remain)
{
    struct config config;
    struct members m;
    struct duration wait = {0};
    const struct instant now = {NS_PER_S};
    config_init(&config, PROFILE_AWS);
    config_edit_choices(&config)->write_check = WRITE_CHECK_GAUGE;
    members_init(&m, &config, 3);
    members_reported(&m, 2, now, 500, 1000, true);
    assert_true(member_has(&m, 2, now, 400, 200, &wait));
    assert_false(member_has(&m, 2, now, 400, 202, &wait));
    members_deinit(&m);
}

static uint32_t members_give(struct members *m, const struct admit_group *group, struct instant now)
{
    uint32_t requests = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t number;
        int64_t demand;
        if (!member_is_request_due(m, group->nodes[i], now, &number, &demand))
            continue;
        member_granted(m, group->nodes[i], now, number, demand);
        requests++;
    }
    return requests;
}

/* One refusal asks each of four members for tokens, not one member: leases last for 200 ms, and a
 * client that tries again each 60 ms would never have all four. */
TEST(a_write_that_is_refused_requests_tokens_of_every_member)
{
    struct config config;
    struct node_admission node;
    struct admission a;
    struct members m;
    const struct admission_rates rates = {.rate_mcu = {MCU_PER_UNIT, MCU_PER_UNIT}};
    const struct admission_policies policies =
        admission_policies_same(admission_policy_find(slice_of("always-burst")));
    const struct instant start = {0}, later = {NS_PER_S};
    const int64_t capacity = 1000 * MCU_PER_UNIT, cost = 100 * MCU_PER_UNIT;
    config_init(&config, PROFILE_AWS);
    config_edit_choices(&config)->write_check = WRITE_CHECK_LEASE;
    node_admission_init(&node, &config, start);
    admission_init(&a, policies, &config, &rates, start);
    members_init(&m, &config, 5);
    const struct admit_group group = {.members = &m, .count = 4, .nodes = {2, 3, 4, 5}};
    for (uint32_t i = 0; i < group.count; i++)
        members_reported(&m, group.nodes[i], start, capacity, capacity, false);
    admission_try(&a, &node, ADMIT_WRITE, start, cost,
                  &group); /* the allocation pays, and is in debt */
    assert_int_equal(admission_try(&a, &node, ADMIT_WRITE, start, cost, &group).reason, ADMIT_OK);
    assert_int_equal(members_give(&m, &group, start), group.count); /* leases replace reports */
    members_give(&m, &group, later);
    for (uint32_t i = 0; i < group.count; i++)
        members_reported(&m, group.nodes[i], later, capacity, capacity, false);
    assert_int_equal(admission_try(&a, &node, ADMIT_WRITE, later, cost, &group).reason,
                     ADMIT_REFUSED_MEMBER);
    assert_int_equal(members_give(&m, &group, later), group.count);
    assert_int_equal(admission_try(&a, &node, ADMIT_WRITE, later, cost, &group).reason, ADMIT_OK);
    members_deinit(&m);
}

TEST(a_debt_is_in_the_reserved_bucket_of_the_table_once)
{
    struct config config;
    struct node_admission node;
    struct admission rich, poor;
    struct table_share share = {.table_id = 1};
    const struct admission_rates rates = {.rate_mcu = {10 * MCU_PER_UNIT, 10 * MCU_PER_UNIT}};
    const struct weir_partition_policy *policy = admission_policy_find(slice_of("always-burst"));
    const struct instant start = {0};
    const struct token_bucket *b = &share.buckets[ADMIT_WRITE];
    config_init(&config, PROFILE_AWS);
    node_admission_init(&node, &config, start);
    admission_init(&rich, admission_policies_same(policy), &config, &rates, start);
    admission_init(&poor, admission_policies_same(policy), &config, &rates, start);
    admission_join(&rich, &share, start);
    admission_join(&poor, &share, start);
    struct admit_verdict v = admission_try(&poor, &node, ADMIT_WRITE, start, MCU_PER_UNIT, NULL);
    admission_settle(&poor, &node, ADMIT_WRITE, start, &v, 14 * MCU_PER_UNIT, NULL);
    assert_int_equal(poor.meters[ADMIT_WRITE].allocation.balance, -5 * MCU_PER_UNIT);
    assert_int_equal(b->balance, 5 * MCU_PER_UNIT);
    for (int i = 0; i < 3; i++) {
        admission_change(&poor, admission_policies_same(policy), &config, &rates, start);
        assert_int_equal(b->balance, 10 * MCU_PER_UNIT);
        admission_join(&poor, &share, start);
        assert_int_equal(b->balance, 5 * MCU_PER_UNIT);
    }
}

/* The burst of 45 units takes more than the reserved bucket has. It would keep the next one out. */
TEST(a_burst_within_the_reserved_bucket_needs_only_its_cost) /* RESIDUAL-4 */
{
    struct config config;
    struct node_admission node;
    struct admission other, idle, hot;
    struct table_share share = {.table_id = 1};
    const struct admission_policies policies =
        admission_policies_same(admission_policy_find(slice_of("always-burst")));
    const struct instant now = {0};
    config_init(&config, PROFILE_AWS);
    config_edit_admission(&config)->node_wcu = 100;
    config_edit_admission(&config)->node_depth_ms = 1000;
    node_admission_init(&node, &config, now);
    const struct admission_rates little = {.rate_mcu = {0, MCU_PER_UNIT}},
                                 much = {.rate_mcu = {0, 40 * MCU_PER_UNIT}};
    admission_init(&other, policies, &config, &little, now);
    admission_init(&idle, policies, &config, &much, now);
    admission_init(&hot, policies, &config, &little, now);
    admission_join(&idle, &share, now);
    admission_join(&hot, &share, now);
    for (int i = 0; i < 2; i++) { /* by its allocation, and by a burst */
        assert_int_equal(admission_try(&other, &node, ADMIT_WRITE, now, MCU_PER_UNIT, NULL).reason,
                         ADMIT_OK);
    }
    admission_try(&hot, &node, ADMIT_WRITE, now, MCU_PER_UNIT, NULL);
    struct admit_verdict v = admission_try(&hot, &node, ADMIT_WRITE, now, 45 * MCU_PER_UNIT, NULL);
    assert_true(v.reason == ADMIT_OK && v.burst && !v.reserved);
    v = admission_try(&hot, &node, ADMIT_WRITE, now, 10 * MCU_PER_UNIT, NULL);
    assert_true(v.reason == ADMIT_OK && v.burst && v.reserved);
    assert_int_equal(v.balances.node_mcu, 52 * MCU_PER_UNIT); /* less than 10 and 45 units */
    v = admission_try(&hot, &node, ADMIT_WRITE, now, 41 * MCU_PER_UNIT, NULL);
    assert_int_equal(v.reason, ADMIT_REFUSED_NODE);
}

/* A cost counts by the weight as what was taken does: otherwise the heavier table gets too little.
 */
TEST(the_cost_of_a_burst_counts_by_the_weight_of_its_table)
{
    struct config config;
    struct node_admission node;
    struct admission heavy, light;
    const struct admission_policies policies =
        admission_policies_same(admission_policy_find(slice_of("always-burst")));
    const struct admission_rates one = {.rate_mcu = {0, MCU_PER_UNIT}, .weight = 1},
                                 three = {.rate_mcu = {0, MCU_PER_UNIT}, .weight = 3};
    const struct instant now = {0};
    config_init(&config, PROFILE_AWS);
    config_edit_admission(&config)->node_wcu = 100;
    config_edit_admission(&config)->node_depth_ms = 1000;
    node_admission_init(&node, &config, now);
    admission_init(&heavy, policies, &config, &three, now);
    admission_init(&light, policies, &config, &one, now);
    admission_try(&heavy, &node, ADMIT_WRITE, now, MCU_PER_UNIT, NULL);
    admission_try(&light, &node, ADMIT_WRITE, now, MCU_PER_UNIT, NULL);
    admission_try(&light, &node, ADMIT_WRITE, now, 10 * MCU_PER_UNIT, NULL);
    struct admit_verdict v =
        admission_try(&heavy, &node, ADMIT_WRITE, now, 30 * MCU_PER_UNIT, NULL);
    assert_true(v.reason == ADMIT_OK && v.burst);
    assert_int_equal(v.balances.node_mcu, 88 * MCU_PER_UNIT);
    /* 58 units are left, and 10 thirds of what was taken. */
    v = admission_try(&heavy, &node, ADMIT_WRITE, now, 50 * MCU_PER_UNIT, NULL);
    assert_int_equal(v.reason, ADMIT_OK); /* 50 thirds and 10 are 27 */
    v = admission_try(&light, &node, ADMIT_WRITE, now, 4 * MCU_PER_UNIT, NULL);
    assert_int_equal(v.reason, ADMIT_REFUSED_NODE); /* 8 are left: 4 and 10 are more */
    admission_init(&heavy, policies, &config, &three, now);
    admission_try(&heavy, &node, ADMIT_WRITE, now, MCU_PER_UNIT, NULL);
    v = admission_try(&heavy, &node, ADMIT_WRITE, now, 20 * MCU_PER_UNIT, NULL);
    assert_int_equal(v.reason, ADMIT_REFUSED_NODE); /* more than there is, not by the weight */
}

TEST(what_is_given_back_is_as_if_it_had_not_been_taken)
{
    static const char *const policies[] = {"burst", "always-burst", "allocation", "fair"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        struct config config;
        struct node_admission node;
        struct admission a;
        const struct admission_rates rates = {.rate_mcu = {10 * MCU_PER_UNIT, 10 * MCU_PER_UNIT}};
        const struct weir_partition_policy *policy = admission_policy_find(slice_of(policies[i]));
        if (policy == NULL)
            continue;
        config_init(&config, PROFILE_AWS);
        node_admission_init(&node, &config, (struct instant){0});
        admission_init(&a, admission_policies_same(policy), &config, &rates, (struct instant){0});
        const struct instant later = {300 * NS_PER_S}; /* there is burst, too */
        const struct admission_balances full = admission_balances(&a, ADMIT_WRITE, later);
        admission_restore(&a, ADMIT_WRITE, later, &full);
        for (int k = 0; k < 3; k++) {
            const int64_t cost = (k == 1 ? 15 : 4) * MCU_PER_UNIT;
            const struct admission_balances before = admission_balances(&a, ADMIT_WRITE, later);
            const int64_t node_mcu = node.buckets[ADMIT_WRITE].balance;
            const struct admit_verdict v = admission_try(&a, &node, ADMIT_WRITE, later, cost, NULL);
            assert_int_equal(v.reason, ADMIT_OK);
            admission_give_back(&a, &node, ADMIT_WRITE, later, &v, cost, NULL);
            const struct admission_balances after = admission_balances(&a, ADMIT_WRITE, later);
            assert_memory_equal(&before, &after, sizeof before);
            if (k > 0) /* the first try has refilled it */
                assert_int_equal(node.buckets[ADMIT_WRITE].balance, node_mcu);
        }
    }
}

static uint32_t passes(struct admission *a, struct node_admission *node, enum admit_kind kind)
{
    uint32_t count = 0;
    while (count < 1000 &&
           admission_try(a, node, kind, (struct instant){0}, MCU_PER_UNIT, NULL).reason == ADMIT_OK)
        count++;
    return count;
}

/* As a partition of a global index has them, where routers keep the limit of its reads. */
TEST(reads_and_writes_may_have_different_policies)
{
    struct config config;
    struct node_admission node;
    struct admission a, piece;
    struct table_share share = {.table_id = 1};
    const struct admission_rates rates = {.rate_mcu = {10 * MCU_PER_UNIT, 10 * MCU_PER_UNIT}};
    const struct admission_rates both = {.rate_mcu = {20 * MCU_PER_UNIT, 20 * MCU_PER_UNIT}};
    const struct admission_policies policies = {{admission_policy_find(slice_of("always-burst")),
                                                 admission_policy_find(slice_of("burst"))}};
    const uint32_t halves[] = {500000, 500000};
    const uint32_t *const share_ppm[] = {halves, halves};
    struct admission *pieces[] = {&a, &piece};
    const struct instant now = {0};
    config_init(&config, PROFILE_AWS);
    node_admission_init(&node, &config, now);
    admission_init(&a, policies, &config, &both, now);
    admission_split(pieces, 2, &config, (struct admission_rates[]){rates, rates}, share_ppm, now);
    for (int i = 0; i < 2; i++) {
        admission_join(pieces[i], &share, now);
        assert_int_equal(share.buckets[ADMIT_WRITE].rate, 0);
        assert_int_equal(passes(pieces[i], &node, ADMIT_WRITE), 10);
        assert_int_equal(passes(pieces[i], &node, ADMIT_READ), 1000);
        assert_int_equal(admission_left_mcu(pieces[i], ADMIT_WRITE), 0);
        assert_true(admission_left_mcu(pieces[i], ADMIT_READ) > 0);
    }
    assert_int_equal(share.buckets[ADMIT_READ].rate, 20 * MCU_PER_UNIT);
    admission_leave(&a, now);
    admission_leave(&piece, now);
    assert_int_equal(share.buckets[ADMIT_READ].rate, 0);
    admission_merge(&a, &piece, &config, &both, now);
    assert_int_equal(passes(&a, &node, ADMIT_WRITE), 0);
    assert_int_equal(a.meters[ADMIT_WRITE].burst.capacity, 20 * 300 * MCU_PER_UNIT);
    assert_int_equal(a.meters[ADMIT_READ].burst.capacity, 0);
}
