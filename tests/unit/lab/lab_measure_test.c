/* Measures of runs that are small enough to be computed by hand. */
#include <math.h>
#include <string.h>

#include "base/instant.h"
#include "tests/check.h"
#include "tests/support/measured.h"

enum {
    OK,
    KEY_RANGE,
    ALLOCATION,
    NODE,
    TABLE = 5
};

static int begin(void **state)
{
    (void)state;
    measured_begin(&(struct measure_options){0});
    return 0;
}

static int finish(void **state)
{
    (void)state;
    measured_end();
    return 0;
}

FIXTURE(begin, finish)

/* A flow of its own stream and partition that debits `shared` too. */
static uint32_t flow_of(uint32_t tenant, uint32_t shared, int64_t weight)
{
    uint32_t stream = measure_add_stream(measured, tenant, tenant, 1);
    return measure_add_flow(measured, stream, weight, &shared, 1);
}

TEST(refusals_are_false_as_far_as_the_optimum_admits_them)
{
    uint32_t table = measure_add_resource(measured, MEASURE_TABLE);
    uint32_t a = flow_of(1, table, 1);
    measure_set_capacity(measured, table, 10000);
    requests_at(a, 0.01, 7, OK); /* 3 of the 5 refused fit into the table's 10 */
    requests_at(a, 0.02, 5, ALLOCATION);
    requests_at(a, 0.11, 10, OK); /* the next window: all are right */
    requests_at(a, 0.12, 5, TABLE);
    end_at(0.2);
    assert_about(value("false_throttle"), 3.0 / 20); /* in budget: 10 of 12, and 10 of 15 */
    assert_about(value("lost_throughput"), 3.0 / 20);
    assert_about(value("throttle_fraction"), 10.0 / 27);
    assert_about(value("goodput_ratio"), 17.0 / 20);
}

TEST(a_refusal_that_fits_only_in_part_is_right)
{
    uint32_t table = measure_add_resource(measured, MEASURE_TABLE);
    uint32_t a = flow_of(1, table, 1);
    measure_set_capacity(measured, table, 10000);
    requests_at(a, 0.01, 8, OK);
    request_at(a, 0.02, 3000, TABLE);
    end_at(0.1);
    assert_about(value("false_throttle"), 0);
    assert_about(value("lost_throughput"), 2000.0 / 10000);
}

TEST(only_whole_requests_fit)
{
    uint32_t table = measure_add_resource(measured, MEASURE_TABLE);
    uint32_t a = flow_of(1, table, 1);
    measure_set_capacity(measured, table, 10000);
    requests_at(a, 0.01, 5, OK);
    for (int i = 0; i < 3; i++)
        request_at(a, 0.02, 2000, ALLOCATION); /* two of them fit into 5 */
    end_at(0.1);
    assert_about(value("false_throttle"), 0.4);
}

/* 7 requests for two: one has 4, the other 3, where each should have 3.5. */
TEST(rates_that_differ_by_a_request_are_equal)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1), b = flow_of(2, node, 1);
    measure_set_capacity(measured, node, 7000);
    requests_at(a, 0, 4, OK);
    requests_at(a, 0, 4, NODE);
    requests_at(b, 0, 3, OK);
    requests_at(b, 0, 5, NODE);
    end_at(2);
    assert_about(value("false_throttle"), 0);
    assert_about(value("fairness_min_max"), 1);
    assert_about(value("convergence"), 0);
}

/* Two tenants share ten units a window, and one comes first in each. Max-min gives each five. Ideal
 * buckets give ten to the first: nobody who decides at once knows that the other will come. */
TEST(false_throttle_has_a_floor_that_is_no_fault)
{
    uint32_t table = measure_add_resource(measured, MEASURE_TABLE);
    uint32_t a = flow_of(1, table, 1), b = flow_of(2, table, 1);
    measure_set_bucket(measured, table, 100000, 10000);
    measure_set_capacity(measured, table, 20000); /* the depth, and what flows in */
    for (int w = 0; w < 4; w++) {
        requests_at(a, w * 0.1, 5, OK);
        requests_at(a, w * 0.1, 5, TABLE);
        requests_at(b, w * 0.1 + 0.001, 5, OK);
        requests_at(b, w * 0.1 + 0.001, 5, TABLE);
    }
    end_at(0.4);
    /* The first window has 20, of which b gets 1. In the others a gets 9, and b 1 of its 5. */
    assert_about(value("false_throttle_floor"), (9 + 3 * 4) / (20.0 + 3 * 10));
    assert_about(value("false_throttle"), 10 / 50.0);
}

/* The table has throughput for both. A policy that gave all to one refused the other wrongly. */
TEST(an_unfair_policy_loses_no_throughput_and_throttles_falsely)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1), b = flow_of(2, node, 3);
    measure_set_capacity(measured, node, 40000);
    for (int w = 0; w < 10; w++) {
        requests_at(a, w * 0.1, 40, OK);
        requests_at(b, w * 0.1, 40, NODE);
    }
    end_at(1);
    assert_about(value("lost_throughput"), 0);
    assert_about(value("false_throttle"), 30.0 / 80);
    struct measure_selector second = MEASURE_ALL;
    second.tenant = 2;
    assert_about(value_with("false_throttle", second), 30.0 / 40);
    assert_about(value_with("fair_rate", second), 300);
    assert_about(value_with("goodput_ratio", second), 0);
    assert_about(value("fairness_min_max"), 0);
    /* Shares: 40 / 10 and 0 / 30. */
    assert_about(value("fairness_jain"), 0.5);
    assert_about(value("goodput_ratio"), 1);
    assert_about(value("optimum_violations"), 0);
    assert_about(value("utilisation"), 1);
}

TEST(a_node_that_idles_while_work_waits_is_not_used)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    measure_set_capacity(measured, node, 10000);
    requests_at(a, 0, 6, OK);
    requests_at(a, 0, 20, NODE);
    requests_at(a, 0.1, 2, OK); /* nobody waits: this window does not count */
    end_at(0.2);
    assert_about(value("utilisation"), 0.6);
}

TEST(a_policy_that_refuses_all_is_neither_fair_nor_unfair)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1), b = flow_of(2, node, 1);
    measure_set_capacity(measured, node, 20000);
    for (int w = 0; w < 20; w++) {
        requests_at(a, w * 0.1, 5, NODE);
        requests_at(b, w * 0.1, 5, NODE);
    }
    end_at(2);
    double values[2] = {0};
    const char *names[] = {"fairness_min_max", "fairness_jain"};
    for (int i = 0; i < 2; i++) {
        char error[200];
        const struct measure_selector all = MEASURE_ALL;
        assert_null(measure_value(measured, names[i], &all, &values[i], error, sizeof error));
        assert_true(isnan(values[i]));
    }
}

TEST(shares_are_compared_second_by_second)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1), b = flow_of(2, node, 1);
    measure_set_capacity(measured, node, 20000);
    for (int w = 0; w < 10; w++) { /* shares: 100 and 50 of 100 each */
        requests_at(a, w * 0.1, 10, OK);
        requests_at(b, w * 0.1, 5, OK);
        requests_at(b, w * 0.1, 5, NODE);
    }
    for (int w = 10; w < 20; w++) { /* no refusals: the second does not count */
        requests_at(a, w * 0.1, 1, OK);
        requests_at(b, w * 0.1, 1, OK);
    }
    for (int w = 20; w < 30; w++) {
        requests_at(a, w * 0.1, 10, OK);
        requests_at(b, w * 0.1, 10, OK);
        requests_at(b, w * 0.1, 1, NODE);
    }
    end_at(3);
    assert_about(value("fairness_min_max"), (0.5 + 1) / 2);
    assert_about(value("fairness_min_max_worst"), 0.5);
    double jain = 1.5 * 1.5 / (2 * 1.25);
    assert_about(value("fairness_jain"), (jain + 1) / 2);
    assert_about(value("fairness_jain_worst"), jain);
}

TEST(over_admission_is_the_worst_window_without_the_bank)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    uint32_t limit = measure_add_limit(measured, 100000, 50000, 50000); /* 100/s, 50 banked */
    measure_set_stream_limit(measured, stream, limit);
    requests_at(flow, 0.955, 90, OK);
    requests_at(flow, 1.955, 90, OK); /* a second later, less 10 ms: not in one window of 1 s */
    requests_at(flow, 5.505, 80, OK);
    requests_at(flow, 6.495, 100, OK);
    end_at(20);
    /* One of the requests may be a debt. */
    assert_about(value("over_admission_100ms"), (100 - 10 - 50 - 1) / 10.0);
    assert_about(value("over_admission_1s"), (180 - 100 - 50 - 1) / 100.0);
    assert_about(value("over_admission_10s"), 0);
    struct measure_selector other = MEASURE_ALL;
    other.table = 7;
    assert_true(isnan(value_with("over_admission_1s", other)));
}

TEST(a_limit_is_used_by_what_is_admitted_of_its_rate)
{
    uint32_t flows[2];
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t stream = measure_add_stream(measured, i, 1, 1);
        measure_set_stream_limit(measured, stream,
                                 measure_add_limit(measured, 100000, 50000, 50000));
        flows[i] = measure_add_flow(measured, stream, 1, NULL, 0);
    }
    requests_at(flows[0], 3.5, 990, OK);
    requests_at(flows[1], 3.5, 500, OK);
    end_at(10);
    struct measure_selector first = MEASURE_ALL;
    first.tenant = 0;
    assert_about(value_with("limit_share", first), 0.99);
    assert_about(value("limit_share"), 0.5);
    first.tenant = 7;
    assert_true(isnan(value_with("limit_share", first)));
}

/* 3,333.33 mcu fall in 10 ms: whole mcu are one ahead of the fraction at times. */
TEST(what_a_limit_allows_to_the_mcu_is_no_excess)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    measure_set_stream_limit(measured, stream, measure_add_limit(measured, 333333, 0, 0));
    int64_t given = 0;
    for (int i = 0; i < 3000; i++) {
        int64_t fallen = ((i + 1) * INT64_C(333333) + 99) / 100;
        request_at(flow, i * 0.01 + 0.001, fallen - given, OK);
        given = fallen;
    }
    end_at(30);
    assert_about(value("over_admission_100ms"), 0);
    assert_about(value("over_admission_10s"), 0);
}

/* 100 units a second, up to 300 s saved, 1 s saved at first: at 150 a second the bank is empty
 * after 2 s. From then on each window of 10 s admits half as much again. */
TEST(a_limit_that_nobody_keeps_is_over_admitted_once_its_bank_is_empty)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 1);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    uint32_t limit = measure_add_limit(measured, 100000, 30000000, 100000);
    measure_set_stream_limit(measured, stream, limit);
    for (int i = 0; i < 3800; i++)
        request_at(flow, i * 0.01 + 0.005, 1500, OK);
    end_at(38);
    assert_about(value("over_admission_10s"), 0.5 - 1.5 / 1000);
    assert_about(value("over_admission_1s"), 0.5 - 1.5 / 100);
    assert_about(value("limit_share"), 1.5);
}

/* What is saved, and used, before the run counts is known when it does. */
TEST(a_bank_fills_and_empties_before_the_run_counts)
{
    for (int used = 0; used < 2; used++) {
        measured_begin(&(struct measure_options){.begin_ns = 10 * NS_PER_S});
        uint32_t stream = measure_add_stream(measured, 1, 1, 1);
        uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
        uint32_t limit = measure_add_limit(measured, 100000, 500000, 0);
        measure_set_stream_limit(measured, stream, limit);
        if (used)
            requests_at(flow, 9.995, 400, OK); /* of 500 that are saved by then */
        requests_at(flow, 10.5, 700, OK);
        end_at(20);
        assert_about(value("over_admission_1s"), used ? (700 - 100 - 101 - 1) / 100.0 : 0.99);
        assert_about(value("limit_share"), 0.7);
    }
}

/* The bank is what it was when the window began. */
TEST(a_limit_that_changes_counts_as_it_was)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    uint32_t limit = measure_add_limit(measured, 100000, 30000, 30000);
    measure_set_stream_limit(measured, stream, limit);
    requests_at(flow, 0.5, 131, OK);
    measure_set_limit(measured, limit, NS_PER_S, 100000, 0);
    requests_at(flow, 2.5, 111, OK);
    end_at(4);
    assert_about(value("over_admission_1s"), 0.1);
}

TEST(slow_answers_are_no_goodput)
{
    measured_begin(&(struct measure_options){.objective_ns = 10000000});
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    for (int i = 0; i < 10; i++) {
        int64_t latency_ns = i < 4 ? 20000000 : 10000000;
        struct measure_request r = {.flow = a,
                                    .at_ns = i * 1000000,
                                    .cost_mcu = 1000,
                                    .latency_ns = i % 2 == 0 ? latency_ns : -1};
        measure_request(measured, &r);
        if (i % 2 != 0) /* told later */
            measure_finish(measured, a, 1000, latency_ns);
    }
    end_at(1);
    assert_about(value("goodput_ratio"), 0.6);
    assert_true(fabs(value("latency_p50") - 10) < 0.1);
    assert_about(value("latency_p99"), 20);
    struct measure_selector half = MEASURE_ALL;
    half.percentile = 70000;
    assert_about(value_with("latency", half), 20);
}

TEST(more_than_the_optimum_is_a_violation_unless_it_is_slack)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    measure_set_capacity(measured, node, 9500);
    requests_at(a, 0, 10, OK);
    measure_advance(measured, 100000000);
    measure_set_slack(measured, node, 1000);
    requests_at(a, 0.1, 10, OK);
    end_at(0.2);
    assert_about(value("optimum_violations"), 1);
}

TEST(relief_lasts_a_second)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    measure_set_capacity(measured, node, 100000);
    for (int w = 0; w < 100; w++) {
        if (w == 20)
            measure_step(measured, 2000000000);
        bool bad = (w >= 20 && w < 35) || w == 40; /* a second of good windows follows 4.1 s */
        requests_at(a, w * 0.1, bad ? 90 : 100, OK);
        requests_at(a, w * 0.1, bad ? 10 : 0, NODE);
    }
    end_at(10);
    assert_about(value("time_to_relief"), 2.1);
    assert_about(value("convergence"), 2.1);
    assert_about(value("burst_duration"), 0);
    struct measure_selector late = MEASURE_ALL;
    late.from_ns = 5000000000;
    assert_true(isnan(value_with("time_to_relief", late))); /* no step there */
}

/* Two workloads step at one moment, a fault begins before the run counts, another ends with it:
 * nothing is refused, so relief is there at once. */
TEST(steps_at_one_moment_are_one_and_those_outside_of_the_run_are_none)
{
    measured_begin(&(struct measure_options){.begin_ns = NS_PER_S});
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    measure_step(measured, 0);
    for (int w = 10; w < 100; w++) {
        if (w == 50 || w == 55 || w == 95) {
            measure_step(measured, w * NS_PER_S / 10);
            measure_step(measured, w * NS_PER_S / 10);
        }
        requests_at(a, w * 0.1, 10, OK);
        requests_at(a, w * 0.1, w == 57 ? 2 : 0, NODE); /* 0.7 s after the first step */
    }
    end_at(10);
    assert_about(value("time_to_relief"), 0.8);
    assert_about(value("burst_duration"), 0.7);
    assert_about(value("refusals_end"), 1);
}

TEST(a_run_whose_steps_are_none_counts_from_its_start)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    for (int w = 0; w < 100; w++)
        requests_at(a, w * 0.1, 10, OK);
    measure_step(measured, 99 * NS_PER_S / 10);
    end_at(10);
    assert_about(value("time_to_relief"), 0);
    assert_about(value("convergence"), 0);
}

TEST(what_never_comes_is_infinite)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    for (int w = 0; w < 30; w++) {
        requests_at(a, w * 0.1, 90, OK);
        requests_at(a, w * 0.1, 10, NODE);
    }
    end_at(3);
    assert_true(isinf(value("time_to_relief")) && isinf(value("convergence")));
}

TEST(a_burst_lasts_until_the_first_refusal)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1), b = flow_of(2, node, 1);
    requests_at(b, 0.5, 1, NODE); /* before the step */
    measure_step(measured, 1000000000);
    requests_at(a, 1.5, 5, OK);
    requests_at(a, 76, 1, ALLOCATION);
    requests_at(a, 77, 1, ALLOCATION);
    measure_step(measured, 80000000000);
    requests_at(b, 85, 1, OK);
    end_at(90);
    assert_about(value("burst_duration"), 75);
    struct measure_selector q = MEASURE_ALL;
    q.tenant = 2;
    assert_true(isinf(value_with("burst_duration", q)));
    q.tenant = MEASURE_ANY;
    q.from_ns = 70000000000;
    assert_true(isinf(value_with("burst_duration", q)));
}

TEST(splits_are_evaluated_by_their_later_load)
{
    /* of 1,000, 700 are one key's: 0.8 beyond an even share, where the best split has 0.4 */
    const struct measure_split even = {1600, (int64_t[]){500, 500}, 2, 0, 900},
                               lopsided = {1600, (int64_t[]){900, 100}, 2, 700, 600},
                               useless = {1600, (int64_t[]){1000, 10}, 2, 1000, 900},
                               many = {1600, (int64_t[]){100, 400, 100}, 3, 400, 300};
    assert_true(measure_split_is_useful(measured, &even) &&
                measure_split_is_useful(measured, &lopsided));
    assert_false(measure_split_is_useful(measured, &useless));
    assert_true(measure_split_is_useful(measured, &many)); /* 300 before, 500 after */
    measure_split_evaluated(measured, &even);
    measure_split_evaluated(measured, &lopsided);
    measure_split_evaluated(measured, &useless);
    measure_split_evaluated(measured, &many);
    for (int i = 0; i < 5; i++) /* the last one had no time to be evaluated */
        measure_split_made(measured);
    measure_partitions(measured, 7);
    end_at(1);
    assert_about(value("split_imbalance"), 0.4 / 4);
    assert_about(value("split_imbalance_floor"), 0.4 / 4 / 0.02);
    assert_about(value("split_imbalance_p99"), 0.4);
    assert_about(value("split_imbalance_floor_p99"), 20);
    assert_about(value("useless_splits"), 1.0 / 4);
    assert_true(value("splits") == 5 && value("partitions") == 7);
}

TEST(control_costs_messages_times_idle_tokens)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    requests_at(flow, 0, 1000, OK);
    measure_stranded(measured, 0, 4000);
    measure_stranded(measured, 5000000000, 8000);
    measure_gac_messages(measured, 50);
    end_at(10);
    assert_about(value("gac_messages"), 5);
    assert_about(value("stranded_units"), 6);
    assert_about(value("control_cost"), 30);
    assert_about(value("control_share"), 0.05);
}

/* 100 units of reads and 50 of writes for 36 s, then 200 and 10 for as long; on demand 360 writes.
 * */
TEST(provisioned_units_and_those_on_demand_are_paid_for)
{
    uint32_t fixed = measure_add_flow(measured, measure_add_stream(measured, 1, 0, 1), 1, NULL, 0);
    uint32_t free = measure_add_flow(measured, measure_add_stream(measured, 1, 3, 1), 1, NULL, 0);
    measure_provisioned(measured, 0, (int64_t[]){100, 50});
    measure_set_on_demand(measured, 3, true);
    requests_at(fixed, 1, 500, OK);
    requests_at(free, 2, 360, OK);
    requests_at(free, 2, 1000, TABLE);
    measure_provisioned(measured, 36000000000, (int64_t[]){200, 10});
    measure_set_on_demand(measured, 3, false);
    requests_at(free, 40, 1000, OK);
    end_at(72);
    assert_about(value("provisioned_unit_hours"), (150 + 210) / 100.0);
    assert_about(value("price"), (20 + 50 + 40 + 10) / 100.0 + 0.1 * 0.625e-6 / 0.00065 * 3600);
}

TEST(what_is_provisioned_may_be_unknown)
{
    end_at(10);
    assert_true(isnan(value("price")) && isnan(value("provisioned_unit_hours")));
}

TEST(selectors_take_tenants_reasons_and_times)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1), b = flow_of(2, node, 1);
    for (int s = 0; s < 10; s++) {
        requests_at(a, s + 0.5, 10, OK);
        requests_at(b, s + 0.5, s < 5 ? 20 : 0, KEY_RANGE);
        requests_at(b, s + 0.5, 20, NODE);
    }
    end_at(10);
    struct measure_selector q = MEASURE_ALL;
    assert_about(value("refused_units"), 300);
    q.reason = KEY_RANGE;
    assert_about(value_with("refused_units", q), 100);
    assert_about(value_with("refused_requests", q), 100);
    assert_about(value_with("throttle_fraction", q), 0.25);
    q.to_ns = 5000000000;
    assert_about(value_with("refused_rate", q), 20);
    q = MEASURE_ALL;
    q.tenant = 1;
    assert_about(value_with("throttle_fraction", q), 0);
    assert_about(value_with("admitted_rate", q), 10);
    q.kind = 0;
    assert_about(value_with("offered_requests", q), 0);
    assert_true(isnan(value_with("throttle_fraction", q)));
    q = MEASURE_ALL;
    q.from_ns = 5000000000;
    q.to_ns = 7000000000;
    assert_about(value_with("refused_units", q), 40);
    assert_about(value_with("offered_rate", q), 30);
}

TEST(a_long_run_keeps_its_sums_in_fewer_slots)
{
    measured_begin(&(struct measure_options){.slots_max = 8});
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    measure_set_capacity(measured, node, 2000);
    for (int s = 0; s < 100; s++) {
        requests_at(a, s + 0.25, 1, OK);
        requests_at(a, s + 0.25, 1, NODE);
    }
    end_at(100);
    assert_true(measure_slot_ns(measured) == 16 * INT64_C(1000000000) &&
                measure_slots(measured) == 7);
    assert_about(value("admitted_units"), 100);
    assert_about(value("false_throttle"), 0.5);
    assert_about(value("utilisation"), 0.5);
    struct measure_selector all = MEASURE_ALL;
    int64_t offered = 0;
    for (size_t i = 0; i < measure_slots(measured); i++) {
        struct measure_point p = measure_point(measured, &all, i);
        offered += p.offered_mcu;
    }
    assert_int_equal(offered, 200000);
}

TEST(the_warm_up_is_not_counted)
{
    measured_begin(&(struct measure_options){.begin_ns = 2000000000});
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    requests_at(a, 0.5, 50, NODE);
    requests_at(a, 1.99, 50, OK);
    measure_advance(measured, 1900000000);
    measure_finish(measured, a, 1000, 7000000000); /* of a hedged request */
    requests_at(a, 2, 10, OK);
    requests_at(a, 3, 5, OK);
    end_at(4);
    assert_true(value("latency_p999") < 7000);
    assert_about(value("offered_units"), 15);
    assert_about(value("offered_rate"), 7.5);
    assert_true(isinf(value("burst_duration")));
    assert_about(value("time_to_relief"), 0);
}

TEST(a_flat_ramp_has_no_slope)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    for (int i = 1; i <= 4; i++) {
        measure_phase(measured, i * 1000000000LL, i);
        for (int k = 0; k < 100; k++) {
            int64_t latency_ns = k < 90 ? 100 : 100 + (i - 1) * 8; /* below 128: exact */
            measure_request(measured, &(struct measure_request){.flow = flow,
                                                                .at_ns = i * 1000000000LL + k,
                                                                .cost_mcu = 1000,
                                                                .latency_ns = latency_ns});
        }
    }
    end_at(6);
    assert_about(value("latency_slope_p50"), 0);
    assert_about(value("latency_slope_p99"), 0.24);
}

/* Two equal accounts have 12 a window; the tenants of one weigh 3 to 1. In the second window the
 * lesser tenant asks for nothing: the other one has its part. */
TEST(accounts_share_and_their_tenants_share_within)
{
    uint32_t node = measure_add_resource(measured, MEASURE_NODE), streams[3], flows[3];
    uint32_t account = measure_add_group(measured, MEASURE_ANY, 1000);
    const uint32_t groups[3] = {measure_add_group(measured, account, 3000),
                                measure_add_group(measured, account, 1000),
                                measure_add_group(measured, MEASURE_ANY, 1000)};
    measure_set_capacity(measured, node, 12000);
    for (uint32_t i = 0; i < 3; i++) {
        streams[i] = measure_add_stream(measured, i, i, 1);
        measure_set_stream_group(measured, streams[i], groups[i]);
        flows[i] = measure_add_flow(measured, streams[i], 1, &node, 1);
        requests_at(flows[i], 0.01, 20, i == 2 ? NODE : OK);
    }
    requests_at(flows[0], 0.11, 20, OK);
    requests_at(flows[2], 0.11, 20, NODE);
    end_at(0.2);
    struct measure_selector of[3] = {MEASURE_ALL, MEASURE_ALL, MEASURE_ALL};
    of[0].tenant = 0, of[1].tenant = 1, of[2].tenant = 2;
    assert_about(value_with("fair_rate", of[0]), (4.5 + 6) / 0.2);
    assert_about(value_with("fair_rate", of[1]), 1.5 / 0.2);
    assert_about(value_with("fair_rate", of[2]), (6 + 6) / 0.2);
}

/* Ten requests; four have a hedge of 2 units, of which one is refused and one answers first. Its
 * first attempt is admitted, and nobody looks at the answer. */
TEST(a_hedge_is_load_and_its_request_has_one_latency)
{
    measured_begin(&(struct measure_options){.no_optimum = true, .slots_max = 2});
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    for (int i = 0; i < 10; i++) {
        struct measure_request r = {.flow = flow,
                                    .at_ns = i * 1000000000LL,
                                    .cost_mcu = 1000,
                                    .latency_ns = i == 0 ? -1 : 5000000,
                                    .unawaited = i == 0};
        measure_request(measured, &r);
        r = (struct measure_request){.flow = flow,
                                     .reason = i == 3 ? NODE : OK,
                                     .at_ns = r.at_ns,
                                     .cost_mcu = 2000,
                                     .latency_ns = -1,
                                     .unawaited = true,
                                     .hedge = true};
        if (i < 4)
            measure_request(measured, &r);
    }
    measure_finish(measured, flow, 2000, 3000000);
    measure_hedge_won(measured, flow);
    end_at(10);
    assert_about(value("hedges"), 4);
    assert_about(value("hedges_won"), 1);
    assert_about(value("hedge_fraction"), 0.4);
    assert_about(value("hedge_load"), 0.6);
    assert_about(value("admitted_units"), 16);
    assert_about(value("goodput_rate"), 1.1); /* 9 first attempts and a hedge */
}

/* Without an objective any admitted unit is goodput, but not one whose answer nobody hears. */
TEST(an_answer_that_nobody_receives_is_no_goodput)
{
    uint32_t stream = measure_add_stream(measured, 1, 1, 0);
    uint32_t flow = measure_add_flow(measured, stream, 1, NULL, 0);
    struct measure_request r = {.flow = flow, .cost_mcu = 1000, .latency_ns = -1};
    measure_request(measured, &r);
    r.unawaited = true;
    measure_request(measured, &r);
    end_at(1);
    assert_about(value("goodput_rate"), 1);
}

TEST(a_run_without_the_optimum_counts_only)
{
    measured_begin(&(struct measure_options){.no_optimum = true});
    uint32_t node = measure_add_resource(measured, MEASURE_NODE);
    uint32_t a = flow_of(1, node, 1);
    requests_at(a, 0, 3, OK);
    requests_at(a, 0, 1, NODE);
    end_at(1);
    assert_about(value("throttle_fraction"), 0.25);
    const char *const names[] = {"false_throttle", "goodput_ratio",  "utilisation",
                                 "fairness_jain",  "time_to_relief", "optimum_violations",
                                 "splits",         "gac_messages",   "fair_rate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(isnan(value(names[i])));
        assert_true(measure_needs_optimum(names[i]));
    }
    assert_false(measure_needs_optimum("throttle_fraction"));
    assert_false(measure_needs_optimum("partitions"));
}

static const char *fault_of(const char *name, struct measure_selector q)
{
    static char error[4096];
    double unused;
    return measure_value(measured, name, &q, &unused, error, sizeof error);
}

TEST(questions_that_have_no_answer_are_reported)
{
    end_at(1);
    const char *fault = fault_of("goodput", MEASURE_ALL);
    assert_non_null(
        strstr(fault, "there is no measure `goodput`; `weir lab list measures` lists them"));
    assert_non_null(
        strstr(fault_of("throtle_fraction", MEASURE_ALL), "(did you mean `throttle_fraction`?)"));
    struct measure_selector q = MEASURE_ALL;
    q.tenant = 1;
    assert_string_equal(fault_of("utilisation", q), "utilisation cannot be selected with a tenant");
    q = MEASURE_ALL;
    q.to_ns = 1;
    assert_string_equal(fault_of("latency_p99", q), "latency_p99 cannot be selected with times");
    q = MEASURE_ALL;
    q.reason = MEASURE_REASONS;
    assert_string_equal(fault_of("refused_units", q),
                        "refused_units: a reason is a number from 1 to 11");
    char small[8];
    double unused;
    q = MEASURE_ALL;
    assert_ptr_equal(measure_value(measured, "x", &q, &unused, small, sizeof small), small);
    assert_int_equal(strlen(small), 7);
}

/* Each measure answers for a run in which nothing happened. */
TEST(an_empty_run_has_no_figures_and_no_faults)
{
    end_at(0);
    for (size_t i = 0; measure_definition_at(i) != NULL; i++)
        (void)value(measure_definition_at(i)->name);
    assert_true(isnan(value("false_throttle")) && isnan(value("useless_splits")));
}

TEST(docs_list_each_measure_with_its_target_bounds_and_floor)
{
    static char text[1 << 16];
    FILE *file = fopen(SOURCE_DIR "/docs/measures.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *at = text;
    for (size_t i = 0; measure_definition_at(i) != NULL; i++) {
        const struct measure_definition *d = measure_definition_at(i);
        char row[512], target[32] = "-";
        if (!isnan(d->target))
            snprintf(target, sizeof target, "%g", d->target);
        snprintf(row, sizeof row, "| `%s` | %s | %s | %s | %s | %s | %g |", d->name, d->unit,
                 d->definition,
                 d->better == MEASURE_LOWER    ? "lower"
                 : d->better == MEASURE_HIGHER ? "higher"
                                               : "-",
                 target,
                 d->bounds.high == 1  ? "0 to 1"
                 : d->bounds.low == 0 ? "from 0"
                                      : "-",
                 d->floor);
        const char *found = strstr(at, row);
        if (found == NULL)
            fail_msg("docs/measures.md lacks, or has out of order: %s", row);
        at = found;
    }
}
