/* Measures of global indexes, and the end of refusals, of runs that are small enough to be computed
 * by hand. */
#include <math.h>

#include "base/instant.h"
#include "tests/check.h"
#include "tests/support/measured.h"

enum {
    OK,
    NODE = 3,
    TABLE = 5,
    INDEX = 7
};

static int finish(void **state)
{
    (void)state;
    measured_end();
    return 0;
}

FIXTURE(NULL, finish)

/* Two indexes: refusals name the second, or none. */
TEST(refusals_are_counted_by_the_index_that_they_name)
{
    measured_begin(&(struct measure_options){.no_optimum = true});
    assert_int_equal(measure_add_index(measured), 0);
    assert_int_equal(measure_add_index(measured), 1);
    const uint32_t a =
        measure_add_flow(measured, measure_add_stream(measured, 0, 0, 1), 1, NULL, 0);
    requests_at(a, 0.5, 6, OK);
    for (int i = 0; i < 4; i++)
        measure_request(measured, &(struct measure_request){.flow = a,
                                                            .reason = INDEX,
                                                            .index = i < 3 ? 2 : 0,
                                                            .at_ns = 1500000000,
                                                            .cost_mcu = 2000,
                                                            .latency_ns = -1});
    end_at(3);
    struct measure_selector named = MEASURE_ALL;
    named.reason = MEASURE_REASONS + 1;
    assert_about(value_with("refused_requests", named), 3);
    assert_about(value_with("refused_units", named), 6);
    assert_about(value_with("throttle_fraction", named), 6.0 / 14);
    named.from_ns = 2000000000;
    assert_about(value_with("refused_requests", named), 0);
    named = MEASURE_ALL;
    named.reason = MEASURE_REASONS;
    assert_about(value_with("refused_requests", named), 0);
    named.reason = INDEX;
    assert_about(value_with("refused_requests", named), 4);
    assert_about(value("index_unnamed"), 1);
}

TEST(states_are_the_greatest_of_a_table)
{
    measured_begin(&(struct measure_options){.no_optimum = true, .slots_max = 4});
    measure_report_state(
        measured, 500000000, 3,
        &(struct measure_state){.behind_ns = 2000000000, .backlog_bytes = 100, .shards = 2});
    measure_report_state(
        measured, 600000000, 3,
        &(struct measure_state){.behind_ns = 1000000000, .backlog_bytes = 300, .shards = 3});
    measure_report_state(
        measured, 1500000000, 4,
        &(struct measure_state){.behind_ns = 5000000000, .backlog_bytes = 50, .shards = 1});
    measure_report_state(
        measured, 7500000000, 3,
        &(struct measure_state){.behind_ns = 500000000, .backlog_bytes = 10, .shards = 5});
    end_at(7.9); /* slots of 2 s by now */
    struct measure_selector q = MEASURE_ALL;
    assert_about(value("index_lag"), 5);
    q.table = 3;
    assert_about(value_with("index_lag", q), 2);
    assert_about(value_with("index_backlog", q), 300);
    assert_about(value_with("shards", q), 5);
    q.to_ns = 2000000000;
    assert_about(value_with("shards", q), 3);
    q.to_ns = MEASURE_ALL.to_ns;
    q.from_ns = 2000000000;
    assert_about(value_with("index_lag", q), 0.5);
    q.table = 5;
    assert_true(isnan(value_with("index_lag", q)));
}

TEST(states_of_buckets_are_the_greatest)
{
    measured_begin(&(struct measure_options){.no_optimum = true, .slots_max = 4});
    const struct measure_state first = {.shards = 2, .refill_lag_ns = 20000000, .minted_mtok = 500};
    const struct measure_state later = {.shards = 4, .miscounted_mtok = 3000};
    measure_report_state(measured, 500000000, 1, &first);
    measure_report_state(measured, 7500000000, 1, &later);
    end_at(7.9);
    struct measure_selector q = MEASURE_ALL;
    q.to_ns = 2000000000;
    assert_about(value_with("refill_lag", q), 0.02);
    assert_about(value_with("tokens_minted", q), 0.5);
    assert_about(value_with("tokens_miscounted", q), 0);
    assert_about(value("tokens_miscounted"), 3);
    assert_about(value("shards"), 4);
}

/* Steps at 1 s and 6 s. The first is over after 2 s; one refusal of 200 does not count. */
TEST(refusals_end_with_the_last_second_that_refuses_a_hundredth)
{
    measured_begin(&(struct measure_options){.no_optimum = true});
    const uint32_t a =
        measure_add_flow(measured, measure_add_stream(measured, 0, 0, 1), 1, NULL, 0);
    measure_step(measured, 1000000000);
    for (int s = 1; s < 6; s++) {
        requests_at(a, s + 0.5, 199, OK);
        requests_at(a, s + 0.6, s < 3 ? 20 : 1, NODE);
    }
    measure_step(measured, 6000000000);
    for (int s = 6; s < 9; s++)
        requests_at(a, s + 0.5, 10, NODE);
    end_at(9);
    struct measure_selector q = MEASURE_ALL;
    q.to_ns = 5000000000;
    assert_about(value_with("refusals_end", q), 2);
    q = MEASURE_ALL;
    q.from_ns = 5000000000;
    assert_true(isinf(value_with("refusals_end", q)));
    q.reason = TABLE;
    assert_about(value_with("refusals_end", q), 0);
}
