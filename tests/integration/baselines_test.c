/* baselines_test.c - the policies of other systems do on small cases what their sources say. */
#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "engine/admission/admission.h"
#include "engine/admission/member.h"
#include "engine/admission/policy_choice.h"
#include "gac/grant_policy.h"
#include "include/weir/policy_table.h"
#include "tests/check.h"
#include "tests/support/baseline_policies.h"

/* ---- sharing a node ---- */

enum {
    SHARERS = 3,
    SECONDS = 20,
    NODE_WCU = 1000
};

struct sharer {
    int64_t allocated_wcu;
    int64_t every_us; /* a request of one unit; 0: none */
    int64_t burst_mcu;
};

/* Runs the node for SECONDS; the first two are not counted, because its full bucket is spent.
 * `weights`: of the sharers' tables. */
static void share_weighted(const char *policy, struct sharer sharers[SHARERS],
                           const uint32_t weights[SHARERS])
{
    struct config config;
    struct node_admission node;
    struct admission partitions[SHARERS];
    struct instant now = {1000 * NS_PER_S};
    config_init(&config, PROFILE_RESEARCH);
    config.policies = baseline_policies();
    snprintf(config.node_policy, sizeof config.node_policy, "%s", policy);
    config_edit_admission(&config)->node_wcu = NODE_WCU;
    config_edit_admission(&config)->partition_max_wcu = 100000;
    node_admission_init(&node, &config, now);
    for (int i = 0; i < SHARERS; i++) {
        const struct admission_rates rates = {.rate_mcu = {0, sharers[i].allocated_wcu * 1000},
                                              .weight = weights[i]};
        admission_init(&partitions[i],
                       admission_policies_same(admission_policy_find(slice_of("always-burst"))),
                       &config, &rates, now);
    }
    for (int64_t us = 0; us < SECONDS * 1000000; us += 100) {
        now.ns += 100 * NS_PER_US;
        for (int i = 0; i < SHARERS; i++) {
            if (sharers[i].every_us == 0 || us % sharers[i].every_us != 0)
                continue;
            struct admit_verdict v =
                admission_try(&partitions[i], &node, ADMIT_WRITE, now, 1000, NULL);
            assert_true(v.wait.ns >= 0);
            if (v.burst && us > 2000000)
                sharers[i].burst_mcu += 1000;
        }
    }
}

static void share(const char *policy, struct sharer sharers[SHARERS])
{
    static const uint32_t none[SHARERS] = {0};
    share_weighted(policy, sharers, none);
}

/* In units a second. */
static int64_t got(const struct sharer *s)
{
    return s->burst_mcu / 1000 / (SECONDS - 2);
}

static const char *const node_policies[] = {"drr", "wfq", "sfq"};

TEST(bursts_of_equal_partitions_are_equal_whichever_requests_more_often)
{
    for (size_t i = 0; i < sizeof node_policies / sizeof node_policies[0]; i++) {
        struct sharer s[SHARERS] = {{100, 100, 0}, {100, 500, 0}};
        share(node_policies[i], s);
        print_message("%s: %lld %lld\n", node_policies[i], (long long)got(&s[0]),
                      (long long)got(&s[1]));
        assert_in_range(got(&s[0]), 340, 460); /* half of what 2 * 100 leave of 1,000 */
        assert_in_range(got(&s[1]), 340, 460);
    }
}

/* Not with deficit round robin: node_drr.c says why. */
TEST(a_partition_with_less_demand_than_its_share_gets_its_demand)
{
    for (size_t i = 1; i < sizeof node_policies / sizeof node_policies[0]; i++) {
        struct sharer s[SHARERS] = {{100, 100, 0}, {100, 500, 0}, {100, 5000, 0}};
        share(node_policies[i], s);
        print_message("%s: %lld %lld %lld\n", node_policies[i], (long long)got(&s[0]),
                      (long long)got(&s[1]), (long long)got(&s[2]));
        assert_in_range(got(&s[2]), 95, 100); /* 200 asked, 100 allocated */
    }
}

TEST(a_partition_that_bursts_alone_takes_everything)
{
    for (size_t i = 0; i < sizeof node_policies / sizeof node_policies[0]; i++) {
        struct sharer s[SHARERS] = {{100, 100, 0}};
        share(node_policies[i], s);
        assert_in_range(got(&s[0]), 880, 910);
    }
}

/* By allocations. Deficit round robin does not look at them. */
TEST(tags_share_by_weight)
{
    for (size_t i = 1; i < sizeof node_policies / sizeof node_policies[0]; i++) {
        struct sharer s[SHARERS] = {{50, 100, 0}, {150, 100, 0}};
        share(node_policies[i], s);
        print_message("%s by weight: %lld %lld\n", node_policies[i], (long long)got(&s[0]),
                      (long long)got(&s[1]));
        assert_in_range(got(&s[0]), 160, 250); /* 200 and 600 */
        assert_in_range(got(&s[1]), 530, 660);
    }
}

/* weir's own policy too. All three have equal allocations. */
TEST(tables_with_weights_share_in_proportion)
{
    static const char *const policies[] = {"fair", "drr", "wfq", "sfq"};
    static const uint32_t weights[SHARERS] = {3, 1, 6};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct sharer two[SHARERS] = {{10, 100, 0}, {10, 100, 0}};
        share_weighted(policies[i], two, weights);
        print_message("%s, weights 3 and 1: %lld %lld\n", policies[i], (long long)got(&two[0]),
                      (long long)got(&two[1]));
        assert_in_range(got(&two[0]), 675, 765); /* of 980: 735 and 245 */
        assert_in_range(got(&two[1]), 215, 300);
        struct sharer all[SHARERS] = {{10, 100, 0}, {10, 100, 0}, {10, 100, 0}};
        share_weighted(policies[i], all, weights);
        print_message("%s, weights 3, 1 and 6: %lld %lld %lld\n", policies[i],
                      (long long)got(&all[0]), (long long)got(&all[1]), (long long)got(&all[2]));
        assert_in_range(got(&all[0]), 250, 330); /* of 970: 291, 97 and 582 */
        assert_in_range(got(&all[1]), 75, 125);
        assert_in_range(got(&all[2]), 520, 620);
    }
}

static void assert_within_15_percent(const char *of, int64_t value, int64_t published)
{
    print_message("%s: %lld, published: %lld\n", of, (long long)value, (long long)published);
    assert_in_range(value, published * 85 / 100, published * 115 / 100);
}

/* Shreedhar and Varghese (1996), Demers et al. (1989), Goyal et al. (1996): backlogged flows share
 * by their weights, whatever they send; shares differ by a packet or a quantum at most. */
TEST(published_shares_follow_weights_and_not_what_is_sent)
{
    static const uint32_t even[SHARERS] = {1, 1, 1}, weights[SHARERS] = {1, 2, 3};
    for (size_t i = 0; i < sizeof node_policies / sizeof node_policies[0]; i++) {
        struct sharer flows[SHARERS] = {{10, 300, 0}, {10, 300, 0}, {10, 100, 0}};
        share_weighted(node_policies[i], flows, even);
        struct sharer weighted[SHARERS] = {{10, 100, 0}, {10, 100, 0}, {10, 100, 0}};
        share_weighted(node_policies[i], weighted, weights);
        for (int f = 0; f < SHARERS; f++) { /* of 970 */
            assert_within_15_percent(node_policies[i], got(&flows[f]), 323);
            assert_within_15_percent(node_policies[i], got(&weighted[f]), 970 * (f + 1) / 6);
        }
    }
}

TEST(a_weight_changes_nothing_for_a_partition_that_bursts_alone)
{
    static const char *const policies[] = {"fair", "drr", "wfq", "sfq"};
    static const uint32_t weights[SHARERS] = {7, 1, 1};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct sharer s[SHARERS] = {{100, 100, 0}};
        share_weighted(policies[i], s, weights);
        assert_in_range(got(&s[0]), 880, 910);
    }
}

/* ---- limits of tables ---- */

enum {
    ROUTERS = 3
};

struct table_fixture {
    struct ledger l;
    struct ledger_terms terms;
    struct instant now;
    const struct weir_table_policy *policy;
    struct gac_request requests[ROUTERS];
};

/* The bank begins with one second of the rate. In units a second. */
static void table_set(struct table_fixture *s, const char *policy, int64_t rate, int64_t bank_s,
                      const int64_t demands[ROUTERS])
{
    *s = (struct table_fixture){.terms = {.bank = {bank_s * NS_PER_S},
                                          .lifetime = {NS_PER_S},
                                          .lifetime_max = {4 * NS_PER_S},
                                          .router_timeout = {60 * NS_PER_S},
                                          .grant = {NS_PER_S / 10},
                                          .requests = 100,
                                          .start = {NS_PER_S},
                                          .routers = ROUTERS,
                                          .here = ROUTERS},
                                .now = {NS_PER_S},
                                .policy = policies_policy(policies_find(
                                    baseline_policies(), POLICY_TABLE, slice_of(policy)))};
    assert_non_null(s->policy);
    for (uint32_t i = 0; i < ROUTERS; i++)
        s->requests[i] = (struct gac_request){.key = {.table = 1},
                                              .epoch = 1,
                                              .version = 1,
                                              .rate = rate * 1000,
                                              .demand = demands[i] * 1000,
                                              .need = 1000,
                                              .cost = 1000};
    ledger_init(&s->l, s->now, &s->terms, &s->requests[0]);
}

/* The router has spent all it held; returns the grant in units. */
static int64_t request_of(struct table_fixture *s, uint32_t router)
{
    const struct gac_answer *again;
    struct gac_request *request = &s->requests[router];
    request->number++;
    ledger_refill(&s->l, s->now, &s->terms);
    struct weir_holder *h = ledger_take(&s->l, s->now, &s->terms, router + 1, request, &again);
    assert_non_null(h);
    ledger_grant_by_policy(&s->l, s->now, &s->terms, NULL, s->policy, h);
    request->spent += h->answer.granted;
    return h->answer.granted / 1000;
}

/* 600 a second; wants 100, 400 and 700. The even share is 200. The first leaves 100, which goes to
 * the others as 200 to 500. */
TEST(doorman_tops_up_even_shares_in_proportion_to_demand_beyond)
{
    const int64_t demands[ROUTERS] = {100, 400, 700};
    struct table_fixture s;
    int64_t granted[ROUTERS];
    table_set(&s, "doorman", 600, 10, demands);
    for (int period = 0; period < 4; period++) {
        for (uint32_t i = 0; i < ROUTERS; i++)
            granted[i] = request_of(&s, i);
        s.now.ns += NS_PER_S - 1;
    }
    assert_int_equal(granted[0], 100);
    assert_in_range(granted[1], 227, 229);
    assert_in_range(granted[2], 270, 272);
    ledger_deinit(&s.l);
}

/* The example for PROPORTIONAL_SHARE in the documentation of youtube/doorman: of a capacity of 120,
 * three clients that want 1000, 50 and 10 get 69.69072165, 40.309278351 and 10. In thousandths. */
TEST(doormans_published_example)
{
    const int64_t demands[ROUTERS] = {1000000, 50000, 10000};
    struct table_fixture s;
    int64_t granted[ROUTERS];
    table_set(&s, "doorman", 120000, 10, demands);
    for (int period = 0; period < 4; period++) {
        for (uint32_t i = 0; i < ROUTERS; i++)
            granted[i] = request_of(&s, i);
        s.now.ns += NS_PER_S - 1;
    }
    assert_in_range(granted[0], 69690 - 1, 69690 + 1);
    assert_in_range(granted[1], 40309 - 1, 40309 + 1);
    assert_in_range(granted[2], 10000 - 1, 10000);
    ledger_deinit(&s.l);
}

/* Elhemali et al. (USENIX ATC 2022), section 4.3: request routers get shares of the table's tokens,
 * so that they consume the table's throughput together, whatever each of them gets. */
TEST(published_routers_consume_the_throughput_of_the_table_together)
{
    static const int64_t demands[][ROUTERS] = {{2000, 0, 0}, {1000, 1000, 1000}, {5000, 300, 20}};
    for (size_t d = 0; d < sizeof demands / sizeof demands[0]; d++) {
        struct table_fixture s;
        int64_t sum = 0;
        table_set(&s, "gac-paper", 1000, 1, demands[d]);
        for (int turn = 0; turn < 1000; turn++) { /* of 10 ms */
            for (uint32_t i = 0; i < ROUTERS; i++) {
                const int64_t granted = request_of(&s, i);
                sum += turn < 200 ? 0 : granted;
            }
            s.now.ns += NS_PER_S / 100;
        }
        assert_within_15_percent("gac-paper, units in 8 s", sum, 8000);
        ledger_deinit(&s.l);
    }
}

TEST(doorman_grants_the_demand_while_all_fits)
{
    const int64_t demands[ROUTERS] = {100, 50, 400};
    struct table_fixture s;
    table_set(&s, "doorman", 600, 10, demands);
    for (uint32_t i = 0; i < ROUTERS; i++)
        assert_int_equal(request_of(&s, i), demands[i]);
    ledger_deinit(&s.l);
}

/* 1,000 a second, two routers that want 500 and 1,500: at once while the bank has it, then 1 to
 * 3. */
TEST(a_tenant_bucket_grants_at_once_and_then_by_shares)
{
    const int64_t demands[ROUTERS] = {250, 750, 0};
    struct table_fixture s;
    int64_t sums[ROUTERS] = {0};
    table_set(&s, "tenant-bucket", 1000, 1, demands);
    assert_int_equal(request_of(&s, 0), 500); /* two seconds' worth */
    s.requests[0].demand = 500000;
    s.requests[1].demand = 1500000;
    for (int slice = 0; slice < 100; slice++) {
        for (uint32_t i = 0; i < 2; i++) {
            int64_t granted = request_of(&s, i);
            sums[i] += slice < 20 ? 0 : granted;
        }
        s.now.ns += NS_PER_S / 10;
    }
    assert_in_range(sums[0], 1950, 2050); /* of 8,000 in 8 s */
    assert_in_range(sums[1], 5850, 6150);
    ledger_deinit(&s.l);
}

/* 1,000 a second, two routers that want 500 and 1,500. Slots are even, 500 each. Then the parts of
 * what comes in are (1 - 1/4 + 1/2) / 2 and (1 - 3/4 + 1/2) / 2: 5 to 3. */
TEST(a_pd_group_grants_less_to_routers_that_request_more)
{
    const int64_t demands[ROUTERS] = {500, 1500, 0};
    struct table_fixture s;
    int64_t sums[ROUTERS] = {0};
    table_set(&s, "pd-group", 1000, 1, demands);
    for (int slice = 0; slice < 100; slice++) {
        for (uint32_t i = 0; i < 2; i++) {
            int64_t granted = request_of(&s, i);
            sums[i] += slice < 20 ? 0 : granted;
        }
        s.now.ns += NS_PER_S / 10;
    }
    assert_in_range(sums[0], 4900, 5100); /* of 8,000 in 8 s */
    assert_in_range(sums[1], 2900, 3100);
    ledger_deinit(&s.l);
}

TEST(a_pd_group_with_one_client_gives_it_everything)
{
    const int64_t demands[ROUTERS] = {2000, 0, 0};
    struct table_fixture s;
    int64_t sum = 0;
    table_set(&s, "pd-group", 1000, 1, demands);
    assert_int_equal(request_of(&s, 0), 1000); /* what the bank begins with */
    for (int slice = 0; slice < 100; slice++) {
        s.now.ns += NS_PER_S / 10;
        int64_t granted = request_of(&s, 0);
        sum += slice < 20 ? 0 : granted;
    }
    assert_int_equal(sum, 8000); /* of 8 s */
    ledger_deinit(&s.l);
}

TEST(one_bucket_grants_what_is_needed_until_it_is_empty)
{
    const int64_t demands[ROUTERS] = {1000, 100000, 0};
    struct table_fixture s;
    table_set(&s, "one-bucket", 1000, 1, demands);
    assert_int_equal(request_of(&s, 0), 10); /* 10 ms */
    assert_int_equal(request_of(&s, 1), 990);
    assert_int_equal(request_of(&s, 0), 0);
    s.now.ns += NS_PER_S / 1000;
    assert_int_equal(request_of(&s, 0), 1); /* what came in 1 ms */
    ledger_deinit(&s.l);
}

/* Three routers report every 100 ms. */
TEST(gossip_sends_each_router_what_the_others_reported)
{
    const int64_t demands[ROUTERS] = {100, 400, 700};
    struct table_fixture s;
    int64_t others[ROUTERS];
    table_set(&s, "gossip", 600, 10, demands);
    for (int interval = 0; interval < 3; interval++) {
        for (uint32_t i = 0; i < ROUTERS; i++) {
            assert_int_equal(request_of(&s, i), 0); /* no tokens */
            others[i] = s.l.holders[i].answer.others;
            assert_int_equal(s.l.holders[i].answer.wait.ns, NS_PER_S / 10);
            assert_true(interval == 2 || others[i] == GAC_UNKNOWN);
        }
        s.now.ns += NS_PER_S / 10;
    }
    assert_int_equal(others[0], 1100000);
    assert_int_equal(others[1], 800000);
    assert_int_equal(others[2], 500000);
    s.now.ns += NS_PER_S; /* the other two send nothing for as long as tokens live */
    request_of(&s, 0);
    assert_int_equal(s.l.holders[0].answer.others, 0);
    ledger_deinit(&s.l);
}

TEST(a_gossip_share_is_the_routers_part_of_the_demand)
{
    const struct weir_table_policy *p =
        policies_policy(policies_find(baseline_policies(), POLICY_TABLE, slice_of("gossip")));
    assert_non_null(p);
    assert_int_equal(p->share(600000, 3, 100000, GAC_UNKNOWN), 200000); /* even at first */
    assert_int_equal(p->share(600000, 3, 100000, 1100000), 50000);
    assert_int_equal(p->share(600000, 3, 700000, 500000), 350000);
    assert_int_equal(p->share(600000, 3, 100000, 0), 600000);
    assert_int_equal(p->share(600000, 3, 0, INT64_C(1) << 55), 1); /* never a bucket of no size */
    assert_int_equal(p->share(INT64_C(1) << 55, 3, INT64_C(1) << 55, INT64_C(1) << 55), INT64_C(1)
                                                                                            << 54);
}

/* ---- headroom of members ---- */

/* The node's bucket of 1,000 units fills in 200 ms, and was empty. */
TEST(a_refilled_report_has_what_came_since)
{
    static const char *const policies[] = {"gauge", "refilled"};
    for (int i = 0; i < 2; i++) {
        struct config config;
        struct members m;
        struct instant now = {NS_PER_S};
        struct duration wait;
        config_init(&config, PROFILE_RESEARCH);
        config_edit_choices(&config)->write_check = WRITE_CHECK_NAMED;
        snprintf(config.headroom_policy, sizeof config.headroom_policy, "%s", policies[i]);
        config_edit_admission(&config)->node_depth_ms = 200;
        members_init(&m, &config, 3);
        members_reported(&m, 2, now, 0, 1000000, false);
        assert_false(member_has(&m, 2, now, 100000, 0, &wait));
        assert_in_range(wait.ns, 20 * NS_PER_MS, 20 * NS_PER_MS + 1);
        now = instant_add(now, duration_ms(10));
        assert_false(member_has(&m, 2, now, 100000, 0, &wait));
        assert_in_range(wait.ns, (i == 0 ? 20 : 10) * NS_PER_MS,
                        (i == 0 ? 20 : 10) * NS_PER_MS + 1);
        now = instant_add(now, duration_ms(11));
        assert_int_equal(member_has(&m, 2, now, 100000, 0, &wait), i == 1);
        /* A shared node keeps as much for the others as the partition took. */
        members_reported(&m, 2, now, 50000, 1000000, true);
        assert_false(member_has(&m, 2, now, 40000, 40000, &wait));
        now = instant_add(now, duration_ms(7));
        assert_int_equal(member_has(&m, 2, now, 40000, 40000, &wait), i == 1);
        members_deinit(&m);
    }
}
