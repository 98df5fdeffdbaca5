/* Autoscaling's decisions, period by period: when, how much, and when not. */
#include "lab/scenario/autoscaling.h"

#include "base/instant.h"
#include "tests/check.h"

enum {
    R = 0,
    W = 1,
    MCU = 1000
};

/* As the service: a target of 70 %. */
static const struct autoscaling_options as_documented = {
    .on = true,
    .kinds = {{.min = 10, .max = 1000, .target = 0.7}, {.min = 10, .max = 1000, .target = 0.7}},
    .period_ns = 60 * NS_PER_S,
    .out_after_ns = 120 * NS_PER_S,
    .in_after_ns = 900 * NS_PER_S,
    .in_margin = 0.2,
    .delay_ns = 180 * NS_PER_S};

static struct autoscaling begin(const struct autoscaling_options *o)
{
    struct autoscaling a;
    autoscaling_init(&a, o, (int64_t[]){100, 100});
    return a;
}

static bool period(struct autoscaling *a, int64_t reads, int64_t writes)
{
    return autoscaling_evaluate(a, (int64_t[]){reads * MCU, writes * MCU});
}

TEST(two_periods_above_the_target_raise_the_throughput)
{
    struct autoscaling a = begin(&as_documented);
    assert_false(period(&a, 90, 60));
    assert_true(period(&a, 84, 60));
    assert_int_equal(a.requested[R], 129); /* 90 by 0.7, rounded up: the highest of the row */
    assert_int_equal(a.requested[W], 0);
}

TEST(a_single_period_above_does_nothing)
{
    struct autoscaling a = begin(&as_documented);
    for (int i = 0; i < 50; i++) {
        assert_false(period(&a, 100, 60));
        assert_false(period(&a, 70, 60)); /* the target itself is not above */
    }
}

TEST(fifteen_periods_far_below_lower_the_throughput)
{
    struct autoscaling a = begin(&as_documented);
    for (int i = 0; i < 14; i++)
        assert_false(period(&a, 60, i == 3 ? 42 : 21));
    assert_true(period(&a, 60, 21));
    assert_int_equal(a.requested[R], 0);
    assert_int_equal(a.requested[W], 60);
}

/* 50 of 100 is 20 % below the target of 70 %: between the two nothing changes. */
TEST(between_margin_and_target_nothing_changes)
{
    struct autoscaling a = begin(&as_documented);
    for (int i = 0; i < 100; i++)
        assert_false(period(&a, 50 + i % 21, 50));
}

TEST(a_period_without_consumption_lowers_nothing)
{
    struct autoscaling a = begin(&as_documented);
    for (int i = 0; i < 100; i++)
        assert_false(period(&a, 0, i % 15 == 0 ? 0 : 1));
}

TEST(the_throughput_stays_between_min_and_max)
{
    struct autoscaling a = begin(&as_documented);
    for (int i = 0; i < 14; i++)
        assert_false(period(&a, 60, 1));
    assert_true(period(&a, 60, 1));
    assert_int_equal(a.requested[W], 10);
    autoscaling_done(&a, (int64_t[]){100, 10});
    for (int i = 0; i < 100; i++)
        assert_false(period(&a, 60, 1)); /* it has the least already */
    assert_false(period(&a, 900, 5));
    assert_true(period(&a, 900, 5));
    assert_int_equal(a.requested[R], 1000);
    autoscaling_done(&a, (int64_t[]){1000, 10});
    for (int i = 0; i < 100; i++)
        assert_false(period(&a, 990, 5)); /* it has the most already */
}

TEST(nothing_is_decided_during_a_change)
{
    struct autoscaling a = begin(&as_documented);
    period(&a, 100, 100);
    assert_true(period(&a, 100, 100)); /* one request for both kinds */
    assert_int_equal(a.requested[R], 143);
    assert_int_equal(a.requested[W], 143);
    for (int i = 0; i < 30; i++)
        assert_false(period(&a, 500, 100));
    assert_int_equal(a.requested[R], 143);
    autoscaling_done(&a, (int64_t[]){143, 143});
    assert_false(period(&a, 143, 80)); /* rows begin anew */
    assert_true(period(&a, 143, 80));
    assert_int_equal(a.requested[R], 205);
}

/* The table may not be lowered again today: the throughput stays, and is asked for later. */
TEST(a_refused_change_is_tried_again_after_another_row)
{
    struct autoscaling a = begin(&as_documented);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 14; i++)
            assert_false(period(&a, 20, 60));
        assert_true(period(&a, 20, 60));
        assert_int_equal(a.requested[R], 29);
        autoscaling_done(&a, (int64_t[]){100, 100});
    }
}

TEST(someone_elses_change_begins_rows_anew)
{
    struct autoscaling a = begin(&as_documented);
    assert_false(period(&a, 90, 60));
    autoscaling_changed(&a, (int64_t[]){110, 100});
    assert_false(period(&a, 90, 60));
    assert_true(period(&a, 90, 60));
    autoscaling_changed(&a, (int64_t[]){50, 100});
    assert_false(period(&a, 90, 60)); /* its own change is still on its way */
}

TEST(a_kind_without_bounds_is_not_scaled)
{
    struct autoscaling_options o = as_documented;
    o.kinds[R].max = 0;
    struct autoscaling a = begin(&o);
    for (int i = 0; i < 100; i++)
        assert_false(period(&a, i % 2 == 0 ? 1000 : 1, 60));
}
