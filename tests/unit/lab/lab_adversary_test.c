/* Adversaries: they take the place of the first policy, are called in every table, and a scenario
 * whose expectations hold under one of them is found. */
#include "lab/run/adversary.h"

#include <stdlib.h>

#include "base/policies.h"
#include "include/weir/policy.h"
#include "lab/adversaries/adversaries.h"
#include "lab/baselines/baselines.h"
#include "lab/run/plan.h"
#include "router/json/json.h"
#include "tests/check.h"

#define HEAD                                      \
    "name: x\nduration: 6s\nwarm: 0s\nseeds: 1\n" \
    "cluster: {nodes: 3, routers: 1, gac: 1, settings: {control_split: 0}}\n"
#define TABLE     "tables: [{name: users, rcu: 100, wcu: 100}]\n"
#define ON_DEMAND "tables: [{name: users, on_demand: true}]\n"
#define WORKLOAD(rate)                                                                \
    "workloads: [{name: w, table: users, mix: \"read:0:update:1\", item_bytes: 900, " \
    "arrivals: constant, rate: " rate "}]\n"

static struct policies policies;
static struct buffer error;

static int64_t no_clock(void)
{
    return 0; /* calls are counted if there is a clock */
}

/* A policy without the flag WEIR_PARTITION_SHARES: on demand, another one takes its place. */
static void replaced_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    (void)c;
    (void)cost_mcu;
    verdict->reason = WEIR_POLICY_ALLOCATION;
}

static void replaced_settle(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra)
{
    (void)c;
    (void)verdict;
    (void)extra;
}

static const struct weir_partition_policy replaced = {.size = sizeof replaced,
                                                      .name = "replaced",
                                                      .decide = replaced_decide,
                                                      .settle = replaced_settle};
static const struct weir_partition_policy *const partitions[] = {&replaced};
static const struct weir_policy_plugin plugin = {
    .abi = WEIR_POLICY_ABI, .size = sizeof plugin, .partition_count = 1, .partition = partitions};

/* The plan of a scenario with adversaries. */
static void make_plan(const char *text, struct lab_plan *p)
{
    const struct lab_plan_options o = {.file = "a.yaml",
                                       .text = slice_of(text),
                                       .policies = &policies,
                                       .first_seed = 1,
                                       .fidelity = LAB_FIDELITIES,
                                       .adversary = true};
    buffer_clear(&error);
    if (lab_plan_make(p, &o, &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
}

static void run_planned(const struct lab_plan *p, uint64_t number, struct buffer *json)
{
    struct lab_planned *run = must_calloc(1, sizeof *run);
    buffer_clear(json);
    lab_plan_run(p, number, run);
    if (lab_run(&run->job, json, &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
    free(run);
}

/* Runs the plan of a text. Returns whether each adversary breaks an expectation. */
static bool evaluate_text(const char *text, struct adversary_report *report, struct buffer *shown)
{
    struct lab_plan p;
    struct buffer json = {0};
    make_plan(text, &p);
    struct lab_result *r = lab_result_create(p.scenario, p.options.fidelity);
    for (uint64_t i = 0; i < p.runs; i++) {
        run_planned(&p, i, &json);
        assert_int_equal(lab_result_add(r, buffer_slice(&json), &error), STATUS_OK);
    }
    const bool all = adversary_evaluate(r, report);
    buffer_clear(shown);
    adversary_print_row(r, report, shown);
    adversary_print_faults(r, report, shown);
    buffer_append_u8(shown, 0);
    lab_result_destroy(r);
    lab_plan_deinit(&p);
    buffer_deinit(&json);
    return all;
}

static void expect_shown(const struct buffer *shown, const char *part)
{
    if (strstr((const char *)shown->data, part) == NULL)
        fail_msg("`%s` does not contain `%s`", (const char *)shown->data, part);
}

/* The setting of a policy; NULL: it has none. */
static const struct scenario_setting *setting_of(const struct scenario_policy *p, const char *path)
{
    const struct scenario_setting *found = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        if (slice_is(p->set[i].path, path)) {
            assert_null(found);
            found = &p->set[i];
        }
    }
    return found;
}

TEST(adversaries_and_what_they_are_compared_with_run)
{
    static const char text[] =
        HEAD "tables: [{name: users, rcu: 100, wcu: 100, gac: lease}]\n" WORKLOAD(
            "10") "policies:\n  - {name: first, set: {workloads.w.rate: \"20\", "
                  "cluster.settings.partition_policy: allocation}}\n"
                  "  - {name: divided}\n  - {name: other}\n"
                  "expect:\n  - {measure: throttle_fraction, versus: divided, at_most: 1}\n"
                  "  - {policy: divided, measure: throttle_fraction, versus: other, at_most: 1}\n";
    struct lab_plan p;
    make_plan(text, &p);
    assert_int_equal(p.scenario->policy_count, 3 + ADVERSARIES);
    assert_int_equal(p.policies, 1 + ADVERSARIES);
    assert_int_equal(p.chosen[0], 1);
    for (uint32_t i = 0; i < ADVERSARIES; i++)
        assert_string_equal(p.scenario->policies[p.chosen[1 + i]].name, adversary_names[i]);
    const struct scenario_policy *bad = &p.scenario->policies[3];
    assert_true(bad->exceeds);
    assert_true(slice_is(setting_of(bad, "workloads.w.rate")->value, "20"));
    assert_true(
        slice_is(setting_of(bad, "cluster.settings.partition_policy")->value, "refuse-all"));
    assert_true(slice_is(setting_of(bad, "tables.1.gac")->value, "off"));
    const struct scenario_policy *delayed = &p.scenario->policies[6];
    assert_true(slice_is(setting_of(delayed, "cluster.settings.partition_policy")->value,
                         "delayed-allocation"));
    assert_null(setting_of(delayed, "cluster.settings.gac"));
    lab_plan_deinit(&p);
}

/* On demand, weir replaces policies that do not share what a table's partitions leave. */
TEST(adversaries_are_called_on_demand)
{
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer shown = {0};
    assert_true(evaluate_text(
        HEAD ON_DEMAND WORKLOAD("100") "expect: [{measure: throttle_fraction, at_most: 0}, "
                                       "{measure: admitted_rate, at_most: 1}]\n",
        report, &shown));
    for (uint32_t i = 0; i < ADVERSARIES; i++)
        assert_true(report->of[i].was_called);
    assert_int_equal(report->of[0].broken, 1); /* nothing is admitted */
    assert_int_equal(report->of[1].broken, 2);
    assert_int_equal(report->of[2].broken, 1); /* nothing is refused */
    assert_int_equal(report->of[3].broken, 2); /* for two seconds, then all */
    free(report);
    buffer_deinit(&shown);
}

TEST(each_adversary_does_what_it_is_named_after)
{
    static const char text[] = HEAD TABLE WORKLOAD(
        "400") "expect:\n"
               "  - {measure: admitted_units, at_most: 0}\n"
               "  - {measure: admitted_units, at_least: 1195, at_most: 1205}\n"
               "  - {measure: admitted_units, at_least: 2395, at_most: 2405}\n"
               "  - {measure: admitted_units, to: 2s, at_most: 0}\n"
               "  - {measure: admitted_units, from: 2s, at_least: 700, at_most: 1500}\n";
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer shown = {0};
    assert_true(evaluate_text(text, report, &shown));
    for (uint32_t i = 0; i + 1 < ADVERSARIES; i++)
        assert_false(report->of[i].breaks[i]);
    assert_false(report->of[3].breaks[3]);
    assert_false(report->of[3].breaks[4]);
    assert_true(report->of[2].breaks[3]);
    expect_shown(&shown, "3 of 5");
    free(report);
    buffer_deinit(&shown);
}

/* What is expected of b, which runs too, is not counted. */
TEST(a_scenario_that_holds_under_an_adversary_is_named)
{
    static const char text[] = HEAD TABLE WORKLOAD(
        "10") "policies: [{name: a}, {name: b}]\n"
              "expect:\n  - {measure: admitted_rate, versus: b, at_least: 0.9}\n"
              "  - {policy: b, measure: throttle_fraction, at_least: 1}\n";
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer shown = {0};
    assert_false(evaluate_text(text, report, &shown));
    assert_int_equal(report->of[0].broken, 1);
    assert_int_equal(report->of[2].broken, 0);
    assert_int_equal(report->of[2].expected, 1);
    expect_shown(&shown, "WRONG: all expectations of x hold under admit-all\n");
    free(report);
    buffer_deinit(&shown);
}

/* The expectation breaks, because the measure has no value, but not by the adversary. */
TEST(an_adversary_that_is_uncalled_is_an_error)
{
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer shown = {0};
    assert_false(evaluate_text(HEAD TABLE "workloads: [{name: w, table: users, rate: 0.001}]\n"
                                          "expect: [{measure: latency_p99, at_most: 1}]\n",
                               report, &shown));
    assert_true(report->of[0].broken == 1 && !report->of[0].was_called);
    expect_shown(&shown,
                 "partition policy refuse-all of refuse-all was never called in scenario x");
    free(report);
    buffer_deinit(&shown);
}

TEST(a_scenario_has_no_policy_with_the_name_of_an_adversary)
{
    static const char text[] = HEAD TABLE WORKLOAD("10") "policies: [{name: a}, {name: delayed}]\n";
    const struct lab_plan_options o = {
        .file = "a.yaml", .text = slice_of(text), .policies = &policies, .adversary = true};
    struct lab_plan p;
    buffer_clear(&error);
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_MALFORMED);
    lab_plan_deinit(&p);
    buffer_append_u8(&error, 0);
    assert_string_equal((const char *)error.data,
                        "a.yaml: policy delayed has the name of a bad policy: choose another");
}

TEST(no_bad_policy_runs_where_the_rate_limiter_decides)
{
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer shown = {0};
    assert_true(evaluate_text(HEAD
                              "fidelity: full\ntables: [{name: weir-limiter, on_demand: true}]\n"
                              "limits: [{resource: api, capacity: 60}]\n"
                              "workloads: [{name: w, table: weir-limiter, limiter: api}]\n"
                              "expect: [{measure: throttle_fraction, at_most: 0}]\n",
                              report, &shown));
    expect_shown(&shown, "x                                 -");
    expect_shown(&shown, "note: in x the rate limiter decides, not a policy: no bad policy runs\n");
    free(report);
    buffer_deinit(&shown);
}

TEST(a_policy_of_a_plug_in_is_not_delayed)
{
    struct adversary_report *report = must_calloc(1, sizeof *report);
    struct buffer shown = {0};
    assert_true(evaluate_text(
        HEAD TABLE WORKLOAD(
            "400") "policies: [{name: a, set: {cluster.settings.partition_policy: replaced}}]\n"
                   "expect: [{measure: throttle_fraction, at_least: 0.1, at_most: 0.2}]\n",
        report, &shown));
    assert_int_equal(report->of[3].policy, UINT32_MAX);
    expect_shown(&shown, "note: delayed cannot take the place of the partition policy of a in x\n");
    free(report);
    buffer_deinit(&shown);
}

/* ---- policies that no decision calls ---- */

static void run_first(const char *text, struct buffer *json)
{
    const struct lab_job job = {
        .file = "a.yaml", .text = slice_of(text), .point = "", .seed = 1, .policies = &policies};
    buffer_clear(json);
    if (lab_run(&job, json, &error) != STATUS_OK)
        fail_msg("%.*s", TEXT_OF(error));
    buffer_append_u8(json, 0);
}

#define REPLACED "policies: [{name: a, set: {cluster.settings.partition_policy: replaced}}]\n"

/* The second run does not call it, the first and the third do. */
TEST(a_run_has_the_policies_that_were_never_called)
{
    static const char calls[] =
        HEAD "tables: [{name: users, rcu: 100, wcu: 100, gac: \"off\"}]\n" WORKLOAD("100") REPLACED;
    struct buffer json = {0};
    run_first(calls, &json);
    assert_null(strstr((const char *)json.data, "uncalled"));
    run_first(HEAD ON_DEMAND WORKLOAD("100") REPLACED, &json);
    assert_non_null(
        strstr((const char *)json.data, "\"uncalled\":[\"partition policy replaced\"]"));
    run_first(calls, &json);
    assert_null(strstr((const char *)json.data, "uncalled"));
    buffer_deinit(&json);
}

TEST(a_result_has_the_policies_that_were_never_called)
{
    static const char text[] = HEAD ON_DEMAND WORKLOAD("100") REPLACED;
    struct document d = {0};
    struct scenario *s = must_calloc(1, sizeof *s);
    struct buffer json = {0}, out = {0};
    assert_int_equal(document_parse(&d, "a.yaml", slice_of(text), &error), STATUS_OK);
    assert_int_equal(scenario_read(&d, &policies, s, &error), STATUS_OK);
    struct lab_result *r = lab_result_create(s, LAB_ADMISSION);
    run_first(text, &json);
    json.size--;
    assert_int_equal(lab_result_add(r, buffer_slice(&json), &error), STATUS_OK);
    lab_result_evaluate(r);
    lab_result_print(r, &out);
    lab_result_json(r, &out);
    buffer_append_u8(&out, 0);
    expect_shown(&out, "partition policy replaced of a was never called in scenario x");
    expect_shown(&out,
                 "\"uncalled\":[{\"point\":\"\",\"policy\":\"a\",\"never\":\"partition policy "
                 "replaced\"}]");
    lab_result_destroy(r);
    document_deinit(&d);
    free(s);
    buffer_deinit(&json);
    buffer_deinit(&out);
}

static int begin(void **state)
{
    (void)state;
    baselines_add(&policies);
    adversaries_add(&policies);
    adversaries_add(&policies); /* they are there already */
    policies.clock_ns = no_clock;
    return policies_add(&policies, &plugin, "test.so", NULL, &error) == STATUS_OK ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    buffer_deinit(&error);
    return 0;
}

FILE_FIXTURE(begin, finish)
