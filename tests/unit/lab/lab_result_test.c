/* Results of runs whose values are given: verdicts, intervals, differences, precision, steadiness.
 *
 * t of 2 degrees of freedom is 4.30265: {x - d, x, x + d} has the interval x +- 2.48414 d. */
#include "lab/run/result.h"

#include <math.h>
#include <stdlib.h>

#include "lab/run/plan.h"
#include "lab/run/steadiness.h"
#include "tests/check.h"

#define HEAD                                                                                   \
    "name: x\nduration: 20s\nwarm: 2s\ntables: [{name: users}]\nworkloads: [{name: w, table: " \
    "users}]\npolicies: [{name: weir}, {name: other}, {name: third}]\n"

static struct lab_plan plan;
static struct lab_result *r;
static struct buffer error, out;

static void result_begin(const char *expect)
{
    struct buffer text = {0};
    static char kept[4096];
    buffer_append_format(&text, HEAD "%s", expect);
    snprintf(kept, sizeof kept, "%.*s", TEXT_OF(text));
    const struct lab_plan_options o = {.file = "a.yaml", .text = slice_of(kept), .seeds = 3};
    buffer_deinit(&text);
    buffer_clear(&error);
    if (lab_plan_make(&plan, &o, &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
    r = lab_result_create(plan.scenario, LAB_ADMISSION);
}

static void result_end(void)
{
    lab_result_destroy(r);
    lab_plan_deinit(&plan);
    buffer_deinit(&error);
    buffer_deinit(&out);
}

/* A run with one measure, the value of the first expectation, and more members. */
static void result_add(const char *policy, uint32_t seed, const char *measure, double value,
                       const char *more)
{
    struct buffer json = {0};
    buffer_append_format(&json,
                         "{\"scenario\":\"x\",\"policy\":\"%s\",\"point\":\"\",\"seed\":%u,"
                         "\"measures\":{\"\":{\"%s\":%.17g}},\"expectations\":[%.17g]%s}",
                         policy, seed, measure, value, value, more);
    if (lab_result_add(r, buffer_slice(&json), &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
    buffer_deinit(&json);
}

static void result_add_three(const char *policy, const char *measure, double a, double b, double c)
{
    const double values[] = {a, b, c};
    for (uint32_t seed = 1; seed <= 3; seed++)
        result_add(policy, seed, measure, values[seed - 1], "");
}

static const char *written(void (*write)(const struct lab_result *r, struct buffer *out))
{
    buffer_clear(&out);
    write(r, &out);
    buffer_append_u8(&out, 0);
    return (const char *)out.data;
}

static void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("`%s` is not in:\n%s", part, text);
}

static void expect_not_in(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("`%s` is in:\n%s", part, text);
}

#define EXPECT(bound) "expect: [{measure: throttle_fraction, " bound "}]\n"

/* 0.02 +- 0.0248414, cut at 0. */
TEST(a_mean_within_and_an_interval_beyond_the_bound_is_unsure)
{
    uint32_t failed;
    result_begin(EXPECT("at_most: 0.03"));
    result_add_three("weir", "throttle_fraction", 0.01, 0.02, 0.03);
    assert_false(lab_result_evaluate(r));
    assert_int_equal(lab_result_evaluated(r, &failed), 1);
    assert_int_equal(failed, 0);
    assert_int_equal(lab_result_unsure(r), 1);
    const char *text = written(lab_result_print);
    expect_in(text, "  UNSURE weir: throttle_fraction is 0.02 (0 to 0.0448414, 3 runs), must be "
                    "at\n         most 0.03\n");
    expect_in(text, "\n         cannot be told with 3 runs: mean within, interval beyond; run "
                    "more\n         seeds\n");
    text = written(lab_result_json);
    expect_in(text, "\"failed\":0,\"unsure\":1,");
    expect_in(text, "\"holds\":false,\"verdict\":\"unsure\"");
    text = written(lab_result_junit);
    expect_in(text, "failures=\"1\"");
    expect_in(text, "<failure type=\"unsure\" message=\"");
    expect_in(text, "cannot be told with 3 runs");
    result_end();
}

TEST(an_interval_within_the_bound_holds)
{
    uint32_t failed;
    result_begin(EXPECT("at_most: 0.045"));
    result_add_three("weir", "throttle_fraction", 0.01, 0.02, 0.03);
    assert_true(lab_result_evaluate(r));
    lab_result_evaluated(r, &failed);
    assert_int_equal(failed + lab_result_unsure(r), 0);
    expect_in(written(lab_result_print), "  holds  weir: ");
    expect_in(written(lab_result_json), "\"holds\":true,\"verdict\":\"holds\"");
    expect_in(written(lab_result_junit), "failures=\"0\"");
    result_end();
}

TEST(a_mean_beyond_the_bound_fails)
{
    uint32_t failed;
    result_begin(EXPECT("at_least: 0.021"));
    result_add_three("weir", "throttle_fraction", 0.01, 0.02, 0.03);
    assert_false(lab_result_evaluate(r));
    lab_result_evaluated(r, &failed);
    assert_int_equal(failed, 1);
    expect_in(written(lab_result_print), "  FAILS  weir: ");
    expect_in(written(lab_result_json), "\"verdict\":\"fails\"");
    expect_in(written(lab_result_junit), "<failure type=\"fails\"");
    result_end();
}

TEST(one_run_has_no_interval)
{
    result_begin(EXPECT("at_most: 0.02"));
    result_add("weir", 1, "throttle_fraction", 0.02, "");
    assert_true(lab_result_evaluate(r));
    expect_in(written(lab_result_print), "is 0.02 (one run: no interval), must be");
    result_end();
}

TEST(runs_of_one_value_are_named_as_such)
{
    result_begin(EXPECT("at_most: 0"));
    result_add_three("weir", "throttle_fraction", 0, 0, 0);
    assert_true(lab_result_evaluate(r));
    expect_in(written(lab_result_print), "is 0 in all 3 runs, must be at most 0\n");
    expect_in(written(lab_result_json),
              "\"equal\":true,\"mean\":0,\"low\":0,\"high\":0,\"runs\":3");
    result_end();
}

/* 0.99 +- 0.0248, and 0.01 +- 0.0248. */
TEST(each_measure_has_its_bounds)
{
    result_begin("expect: [{measure: utilisation, at_least: 0.9}]\n");
    result_add_three("weir", "utilisation", 0.98, 0.99, 1);
    result_add_three("other", "goodput_ratio", 0.98, 0.99, 1);
    result_add_three("third", "latency_slope_p50", 0, 0.01, 0.02);
    lab_result_evaluate(r);
    const char *csv = written(lab_result_csv);
    expect_in(csv, "\"utilisation\",3,0.98999999999999988,0.965158");
    expect_in(csv, ",1\n");      /* the fraction is cut */
    expect_in(csv, ",1.014841"); /* the ratio may exceed 1 */
    expect_in(csv, "\"latency_slope_p50\"");
    expect_in(csv, ",-0.014841"); /* the slope may be below 0 */
    result_end();
}

/* Differences 1, 2, 3: p is 0.07418; 1, 1.01, 0.99: t = 173.2, so p is 3.33e-5, and twice that. */
TEST(p_values_are_adjusted_over_all_compared_policies)
{
    result_begin("");
    result_add_three("weir", "latency_p99", 11, 12, 13);
    result_add_three("other", "latency_p99", 10, 10, 10);
    result_add_three("third", "latency_p99", 10, 10.99, 12.01);
    lab_result_evaluate(r);
    assert_int_equal(lab_result_compare(r, "weir", "other", &out), STATUS_OK);
    buffer_append_u8(&out, 0);
    expect_in((char *)out.data, "a: weir, b: other\n");
    expect_in((char *)out.data, "        12        10         2   0.074   -0.484 to 4.48\n");
    expect_in((char *)out.data, "adjusted by Holm over 1 tests\n");
    buffer_clear(&out);
    assert_int_equal(lab_result_compare(r, "weir", "other,third", &out), STATUS_OK);
    buffer_append_u8(&out, 0);
    expect_in((char *)out.data, "         2   0.074   -0.484 to 4.48\n");
    expect_in((char *)out.data, "         1 6.7e-05*  0.975 to 1.02\n");
    expect_in((char *)out.data, "adjusted by Holm over 2 tests\n");
    buffer_clear(&out);
    assert_int_equal(lab_result_compare(r, "weir", "other,none", &out), STATUS_NOT_FOUND);
    assert_int_equal(lab_result_compare(r, "weir", "weir", &out), STATUS_MALFORMED);
    assert_int_equal(lab_result_compare(r, "weir", "other,third,other", &out), STATUS_MALFORMED);
    const char *json = written(lab_result_json);
    expect_in(json, "\"p\":0.0741");
    expect_in(json, "\"p_adjusted\":0.0741");
    expect_in(json, "\"p_adjusted\":6.6");
    result_end();
}

/* 100 +- 1.242 is 1.24 % of the mean, 0 +- 0.0000248 below the floor of fractions. */
TEST(precision_is_reached_by_the_mean_or_by_the_floor)
{
    result_begin("");
    result_add_three("weir", "latency_p99", 99.5, 100, 100.5);
    result_add_three("other", "throttle_fraction", 0, 0.00001, 0.00002);
    lab_result_evaluate(r);
    lab_result_set_until(r, &(struct lab_until){13000, slice_of("latency_p99,throttle_fraction")});
    assert_true(lab_result_is_precise(r));
    expect_in(written(lab_result_print),
              "precision: reached after 3 seeds: all half widths are at most 1.3 % of the mean\n");
    lab_result_set_until(r, &(struct lab_until){12000, slice_of("throttle_fraction")});
    assert_true(lab_result_is_precise(r));
    lab_result_set_until(r, &(struct lab_until){12000, slice_of("throttle_fraction, latency_p99")});
    assert_false(lab_result_is_precise(r));
    expect_in(written(lab_result_print),
              "precision: NOT REACHED after 3 seeds: wider than 1.2 % of the mean are\n"
              "  weir: throttle_fraction has no value in these runs\n"
              "  weir: latency_p99 is 100 (98.7579 to 101.242, 3 runs)\n");
    expect_in(written(lab_result_json),
              "\"until\":{\"relative_half_width\":0.012,\"seeds\":3,\"reached\":false,"
              "\"wider\":[\"weir: latency_p99\"]}");
    result_end();
}

TEST(precision_is_that_of_the_expectations_unless_measures_are_named)
{
    result_begin(EXPECT("at_most: 1"));
    result_add_three("weir", "throttle_fraction", 0.5, 0.6, 0.7);
    lab_result_evaluate(r);
    lab_result_set_until(r, &(struct lab_until){.ppm = 20000});
    assert_false(lab_result_is_precise(r));
    expect_in(written(lab_result_print), "are\n  weir: throttle_fraction is 0.6 (");
    result_end();
}

#define STEADY(change, steady) \
    ",\"steadiness\":{\"change\":" change ",\"p\":0.001,\"steady\":" steady "}"

TEST(a_run_that_is_not_steady_is_reported)
{
    result_begin("");
    result_add("weir", 1, "admitted_rate", 10, STEADY("0", "true"));
    result_add("weir", 2, "admitted_rate", 10, STEADY("-0.25", "false"));
    result_add("weir", 3, "admitted_rate", 10, "");
    result_add("other", 1, "admitted_rate", 10, STEADY("0.002", "true"));
    lab_result_evaluate(r);
    const char *text = written(lab_result_print);
    expect_in(text, "weir is not steady after `warm` in 1 of 2 runs: ");
    expect_in(text, "by up to -25 %\n");
    expect_not_in(text, "other is not steady");
    expect_in(written(lab_result_json),
              "\"steadiness_checked\":3,\"unsteady\":[{\"point\":\"\",\"policy\":\"weir\","
              "\"runs\":1,\"checked\":2,\"change\":-0.25}]");
    result_end();
}

/* ---- which scenarios have a steady state ---- */

static bool steadiness_is_expected_of(const char *workload, const char *more)
{
    char text[1024];
    struct lab_plan p;
    snprintf(text, sizeof text,
             "name: x\nduration: 20s\nwarm: 2s\ntables: [{name: users}]\n"
             "workloads: [{name: w, table: users%s}]\n%s",
             workload, more);
    const struct lab_plan_options o = {.file = "a.yaml", .text = slice_of(text), .seeds = 1};
    buffer_clear(&error);
    if (lab_plan_make(&p, &o, &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
    const bool expected = steadiness_is_expected(p.scenario);
    lab_plan_deinit(&p);
    return expected;
}

TEST(only_a_constant_demand_is_checked_for_steadiness)
{
    assert_true(steadiness_is_expected_of(", rate: 100", ""));
    assert_true(steadiness_is_expected_of(", rate: 100, start: 2s, end: 20s", ""));
    assert_false(steadiness_is_expected_of(", rate: \"steps:100:200:5\"", ""));
    assert_false(steadiness_is_expected_of(", start: 3s", ""));
    assert_false(steadiness_is_expected_of(", end: 19s", ""));
    assert_false(steadiness_is_expected_of(", keys: \"shifting:0.5:2\"", ""));
    assert_false(steadiness_is_expected_of(", routers: \"moving:0.5:2\"", ""));
    assert_false(
        steadiness_is_expected_of("", "faults: [{kind: gac-down, which: 1, at: 5s, for: 5s}]\n"));
    buffer_deinit(&error);
}

TEST(a_small_change_is_steady_and_so_is_a_change_by_accident)
{
    assert_true(steadiness_holds(&(struct statistics_trend){.change = 0.009, .p = 0}));
    assert_true(steadiness_holds(&(struct statistics_trend){.change = 0.5, .p = 0.011}));
    assert_false(steadiness_holds(&(struct statistics_trend){.change = 0.011, .p = 0.009}));
    assert_false(steadiness_holds(&(struct statistics_trend){.change = -0.011, .p = 0.009}));
}

/* Windows of 100 ms, slots of 1 s. The second half of 8 s after the warm-up has twice the load. */
TEST(steadiness_is_that_of_the_admitted_seconds_after_the_warm_up)
{
    const struct measure_options o = {.begin_ns = 2000000000};
    struct measure *m = measure_create(&o);
    const uint32_t table = measure_add_resource(m, MEASURE_TABLE);
    measure_set_capacity(m, table, 1000000);
    const uint32_t flow = measure_add_flow(m, measure_add_stream(m, 0, 0, 1), 1, &table, 1);
    for (int64_t second = 0; second < 10; second++) {
        for (int64_t n = 0; n < (second < 2 ? 9 : second < 6 ? 1 : 2); n++) {
            const struct measure_request request = {
                .flow = flow, .at_ns = second * 1000000000 + n, .cost_mcu = 1000};
            measure_request(m, &request);
        }
    }
    measure_end(m, INT64_C(10000000000));
    const struct statistics_trend t = steadiness_of(m, o.begin_ns, INT64_C(10000000000));
    assert_true(t.p == 0 && t.change > 0.6666 && t.change < 0.6667);
    assert_true(isnan(steadiness_of(m, INT64_C(3000000000), INT64_C(10000000000)).p));
    measure_destroy(m);
}

/* ---- plans ---- */

static enum status plan_until(int64_t seeds, struct lab_until until, const char *expect)
{
    char text[1024];
    snprintf(text, sizeof text, HEAD "%s", expect);
    const struct lab_plan_options o = {
        .file = "a.yaml", .text = slice_of(text), .seeds = seeds, .until = until};
    buffer_clear(&error);
    enum status status = lab_plan_make(&plan, &o, &error);
    buffer_append_u8(&error, 0);
    lab_plan_deinit(&plan);
    return status;
}

TEST(a_plan_until_a_precision_has_50_seeds_and_takes_the_first_ones)
{
    const struct lab_until until = {20000, slice_of("latency_p99")};
    assert_int_equal(plan_until(0, until, ""), STATUS_OK);
    assert_int_equal(plan.seeds, 50);
    assert_true(lab_plan_includes(&plan, 49));
    plan.seeds_now = 5;
    assert_true(lab_plan_includes(&plan, 4) && lab_plan_includes(&plan, 54));
    assert_false(lab_plan_includes(&plan, 5) || lab_plan_includes(&plan, 49));
    assert_int_equal(plan_until(7, until, ""), STATUS_OK);
    assert_int_equal(plan.seeds, 7);
    buffer_deinit(&error);
}

TEST(a_precision_that_cannot_be_checked_is_refused)
{
    assert_int_equal(plan_until(4, (struct lab_until){.ppm = 1}, EXPECT("at_most: 1")),
                     STATUS_MALFORMED);
    expect_in((char *)error.data, "--until needs at least 5 seeds, and --seeds is 4");
    assert_int_equal(plan_until(5, (struct lab_until){.ppm = 1}, ""), STATUS_MALFORMED);
    expect_in((char *)error.data, "--until needs --measures, since the scenario expects nothing");
    assert_int_equal(plan_until(5, (struct lab_until){1, slice_of("splits,nosuch")}, ""),
                     STATUS_MALFORMED);
    expect_in((char *)error.data, "--measures: there is no measure `nosuch`");
    assert_int_equal(plan_until(5, (struct lab_until){1, slice_of("splits, partitions")}, ""),
                     STATUS_OK);
    assert_int_equal(plan_until(5, (struct lab_until){0, slice_of("splits")}, ""),
                     STATUS_MALFORMED);
    expect_in((char *)error.data, "--measures needs --until");
    buffer_deinit(&error);
}
