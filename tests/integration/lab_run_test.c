/* Runs at the fidelity admission: the same job gives the same result; figures that are known in
 * advance; results of several runs. */
#include "lab/run/run.h"

#include <stdlib.h>

#include "lab/run/plan.h"
#include "lab/run/result.h"
#include "router/json/json.h"
#include "tests/check.h"

static struct buffer error;

static void run_json(const char *text, uint32_t policy, uint64_t seed, struct buffer *out)
{
    const struct lab_job job = {.file = "a.yaml",
                                .text = slice_of(text),
                                .policy = policy,
                                .point = "",
                                .seed = seed,
                                .series = true};
    buffer_clear(out);
    if (lab_run(&job, out, &error) != STATUS_OK)
        fail_msg("%.*s", (int)error.size, (const char *)error.data);
}

/* The value of a measure for all requests, or, with a tenant, for its requests. */
static double measure_of(const struct buffer *json, const char *tenant, const char *name)
{
    static const uint8_t padding[JSON_PADDING];
    struct json_parser *parser = json_parser_create();
    struct buffer padded = {0};
    struct json_value root;
    buffer_append_slice(&padded, buffer_slice(json));
    buffer_append(&padded, padding, sizeof padding);
    assert_int_equal(json_parse(parser, slice_make(padded.data, json->size), &root), STATUS_OK);
    struct json_value measures = json_find(&root, "measures");
    struct json_value of = json_find(&measures, tenant);
    struct json_value v = json_find(&of, name);
    assert_true(v.type == JSON_INTEGER || v.type == JSON_DECIMAL);
    double value = v.type == JSON_INTEGER ? (double)json_integer(&v) : json_decimal(&v);
    buffer_deinit(&padded);
    json_parser_destroy(parser);
    return value;
}

static const char busy[] =
    "name: busy\nduration: 8s\nwarm: 1s\n"
    "cluster: {nodes: 4, routers: 4, gac: 3}\n"
    "tables: [{name: users, rcu: 2000, wcu: 1000, partitions: 8}]\n"
    "workloads:\n"
    "  - {name: skewed, table: users, rate: 2500, keys: \"zipf:0.99\", retry: standard, "
    "hedge: \"p50:0.5\"}\n"
    "  - {name: looped, table: users, clients: \"closed:20:10\", mix: \"ycsb:F\", hedge: 700us}\n"
    "faults:\n"
    "  - {kind: gac-down, which: 1, at: 2s, for: 1s}\n"
    "  - {kind: gac-down, which: 0, at: 2500ms, for: 1s}\n"
    "  - {kind: router-down, which: 2, at: 3s, for: 1s}\n"
    "  - {kind: router-down, which: 2, at: 3500ms, for: 1s}\n"
    "  - {kind: node-down, which: 3, at: 4s, for: 1s}\n"
    "  - {kind: split, at: 5s}\n"
    "  - {kind: update, at: 6s, rcu: 4000, wcu: 2000}\n"
    "policies: [{name: weir}, {name: lease, set: {cluster.settings.write_check: lease}}]\n"
    "expect: [{measure: throttle_fraction, at_most: 1}]\n";

TEST(the_same_job_gives_the_same_result_byte_for_byte)
{
    struct buffer a = {0}, b = {0};
    for (uint32_t policy = 0; policy < 2; policy++) {
        run_json(busy, policy, 7, &a);
        run_json(busy, policy, 7, &b);
        assert_true(slice_equal(buffer_slice(&a), buffer_slice(&b)));
    }
    run_json(busy, 0, 8, &b);
    assert_false(slice_equal(buffer_slice(&a), buffer_slice(&b)));
    buffer_deinit(&a);
    buffer_deinit(&b);
}

TEST(no_window_admits_more_than_its_greatest_total)
{
    struct buffer json = {0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_json(busy, 0, seed, &json);
        assert_true(measure_of(&json, "", "optimum_violations") == 0);
    }
    buffer_deinit(&json);
}

/* HEDGE-1 with the default budget. Writes are never hedged. The same demand without hedges has
 * exactly as many first attempts. */
TEST(hedges_keep_their_budget_and_change_no_demand)
{
    static const char text[] =
        "name: hedges\nduration: 20s\ncluster: {nodes: 6, routers: 4, costs: {jitter: 200us}}\n"
        "tables: [{name: users, rcu: 4000, wcu: 4000}]\n"
        "workloads: [{name: w, table: users, rate: 2000, mix: \"%s\", hedge: \"%s\"}]\n";
    static const char *const reads = "read:0.5:update:0.5:eventual:1";
    struct buffer json = {0};
    char with[1024], without[1024], writes[1024];
    snprintf(with, sizeof with, text, reads, "p90");
    snprintf(without, sizeof without, text, reads, "none");
    snprintf(writes, sizeof writes, text, "read:0:update:1", "1us:1");
    run_json(without, 0, 1, &json);
    double offered = measure_of(&json, "", "offered_requests");
    assert_true(measure_of(&json, "", "hedges") == 0);
    run_json(with, 0, 1, &json);
    double hedges = measure_of(&json, "", "hedges"), won = measure_of(&json, "", "hedges_won");
    assert_true(hedges > 0.04 * offered / 2 && hedges <= 0.05 * offered / 2);
    assert_true(won > 0 && won < hedges);
    assert_true(measure_of(&json, "", "offered_requests") == offered + hedges);
    run_json(writes, 0, 1, &json);
    assert_true(measure_of(&json, "", "hedges") == 0);
    buffer_deinit(&json);
}

/* 300 s at 100 units a second save 30,000; with the 100 of the allocation they last 75.25 s against
 * 500 a second. */
TEST(a_full_burst_lasts_for_75_seconds)
{
    static const char text[] = "name: burst\nduration: 390s\n"
                               "cluster: {nodes: 3, routers: 1, gac: 0, settings: {gac: \"off\", "
                               "control_adaptive: 0, control_split: 0}}\n"
                               "tables: [{name: users, rcu: 100, wcu: 100}]\n"
                               "workloads: [{name: w, table: users, start: 300s, rate: 500, "
                               "arrivals: constant, mix: \"read:0:update:1\"}]\n";
    struct buffer json = {0};
    run_json(text, 0, 1, &json);
    double s = measure_of(&json, "", "burst_duration");
    assert_true(s > 75.24 && s < 75.26);
    buffer_deinit(&json);
}

/* One partition is split into eight, which are cold: neighbours are merged until one is left. */
#define CUT_AND_COLD(settings)                                                               \
    "name: cold\nduration: 60s\ncluster: {nodes: 4, routers: 2, gac: 1, settings: "          \
    "{split_window_ms: 2500, merge_cold_ms: 3000, merge_backoff_ms: "                        \
    "1000" settings "}}\n"                                                                   \
    "tables: [{name: users, rcu: 500, wcu: 500}]\n"                                          \
    "workloads: [{name: w, table: users, rate: 150, keys: \"zipf:0.9\", retry: standard}]\n" \
    "faults: [{kind: split, at: 1s}, {kind: split, at: 2s}, {kind: split, at: 3s}]\n"

static bool has_text(const struct buffer *json, const char *text)
{
    return memmem(json->data, json->size, text, strlen(text)) != NULL;
}

TEST(cold_partitions_are_merged)
{
    struct buffer json = {0}, again = {0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_json(CUT_AND_COLD(", control_merge: 1"), 0, seed, &json);
        assert_true(measure_of(&json, "", "partitions") == 1);
        assert_true(measure_of(&json, "", "throttle_fraction") == 0);
        assert_true(measure_of(&json, "", "optimum_violations") == 0);
        assert_true(has_text(&json, "is to absorb its keys"));
        run_json(CUT_AND_COLD(", control_merge: 1"), 0, seed, &again);
        assert_true(slice_equal(buffer_slice(&json), buffer_slice(&again)));
    }
    run_json(CUT_AND_COLD(""), 0, 1, &json);
    assert_true(measure_of(&json, "", "partitions") == 8);
    buffer_deinit(&json);
    buffer_deinit(&again);
}

/* The upper partition's replicas need longer to stop than they may. */
TEST(a_merge_that_is_given_up_leaves_the_partitions)
{
    struct buffer json = {0};
    run_json(CUT_AND_COLD(", control_merge: 1, merge_freeze_ms: 10"), 0, 1, &json);
    assert_true(measure_of(&json, "", "partitions") == 8);
    assert_true(measure_of(&json, "", "throttle_fraction") == 0);
    assert_true(has_text(&json, "not all its replicas stopped in time"));
    buffer_deinit(&json);
}

#define READS(memory, keys, more)                                                        \
    "name: cold\nduration: 40s\nwarm: 20s\ncluster: {nodes: 1, routers: 1, gac: 0, "     \
    "memory_items: " memory                                                              \
    ", settings: {gac: \"off\"}, costs: {cores: 8, read: 1ms, miss: 9ms}}\n"             \
    "tables: [{name: users, rcu: 900, wcu: 900}]\n"                                      \
    "workloads: [{name: w, table: users, rate: 300, arrivals: constant, keys: uniform, " \
    "key_count: " keys ", mix: \"read:1\"}]\n" more

/* A quarter of the items is in memory: three of four reads take 9 ms longer. */
TEST(reads_that_are_not_in_memory_take_longer)
{
    struct buffer json = {0};
    double p50[2];
    run_json(READS("500", "2000", ""), 0, 1, &json);
    double hits = measure_of(&json, "", "memory_hits");
    assert_true(hits > 0.23 && hits < 0.27);
    p50[1] = measure_of(&json, "", "latency_p50");
    run_json(READS("2000", "2000", ""), 0, 1, &json);
    assert_true(measure_of(&json, "", "memory_hits") > 0.9);
    p50[0] = measure_of(&json, "", "latency_p50");
    assert_true(p50[0] > 1 && p50[0] < 2 && p50[1] > p50[0] + 8.5 && p50[1] < p50[0] + 9.5);
    buffer_deinit(&json);
}

TEST(a_node_that_was_down_has_nothing_in_memory)
{
    struct buffer json = {0};
    run_json(READS("2000", "2000", "faults: [{kind: node-down, at: 30s, for: 1s}]\n"), 0, 1, &json);
    double hits = measure_of(&json, "", "memory_hits");
    assert_true(hits > 0.4 && hits < 0.8);
    buffer_deinit(&json);
}

/* Lines of 80 columns in one line. */
static char *unwrapped(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        const bool goes_on = *at == '\n' && at[1] == ' ';
        if (goes_on)
            at += strspn(at + 1, " ");
        *to++ = goes_on ? ' ' : *at;
    }
    *to = '\0';
    return text;
}

TEST(results_are_summed_over_seeds_and_paired)
{
    static const char text[] =
        "name: sums\nduration: 20s\n"
        "tables: [{name: users, rcu: 100, wcu: 100}]\n"
        "workloads: [{name: w, table: users, rate: 400, mix: \"read:0:update:1\"}]\n"
        "policies: [{name: weir}, {name: free, set: {cluster.settings.gac: \"off\", "
        "cluster.settings.partition_policy: none}}]\n"
        "expect:\n"
        "  - {policy: free, measure: throttle_fraction, at_most: 0}\n"
        "  - {measure: throttle_fraction, at_most: 0.001}\n"
        "  - {policy: free, measure: admitted_rate, versus: weir, at_least: 1.5}\n"
        "  - {policy: free, measure: throttle_fraction, versus: free, at_least: 2}\n";
    const struct lab_plan_options o = {
        .file = "a.yaml", .text = slice_of(text), .seeds = 3, .first_seed = 1};
    struct lab_plan p;
    struct lab_planned *run = must_calloc(1, sizeof *run);
    struct buffer json = {0}, out = {0};
    uint32_t failed;
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    struct lab_result *r = lab_result_create(p.scenario, LAB_ADMISSION);
    for (uint64_t i = 0; i < p.runs; i++) {
        buffer_clear(&json);
        lab_plan_run(&p, i, run);
        assert_int_equal(lab_run(&run->job, &json, &error), STATUS_OK);
        assert_int_equal(lab_result_add(r, buffer_slice(&json), &error), STATUS_OK);
    }
    assert_false(lab_result_evaluate(r));
    assert_int_equal(lab_result_runs(r), 6);
    assert_int_equal(lab_result_evaluated(r, &failed), 4);
    assert_int_equal(failed, 2);
    lab_result_junit(r, &out);
    assert_non_null(memmem(out.data, out.size, "failures=\"2\"", 12));
    buffer_clear(&out);
    lab_result_print(r, &out); /* the columns, and what they mean */
    buffer_append_u8(&out, '\0');
    assert_non_null(strstr((char *)out.data, "\nthrottled   part of the offered units"));
    assert_non_null(strstr(unwrapped((char *)out.data),
                           "divided by free's is 1 in all 3 runs (both values are 0 "
                           "in 3 of 3 runs, and 0 / 0 counts as 1), must be"));
    buffer_clear(&out);
    assert_int_equal(lab_result_compare(r, "weir", "free", &out), STATUS_OK);
    buffer_append_u8(&out, '\0');
    const char *head = strchr((char *)out.data, '\n') + 1,
               *longest = strstr(head, "throttle_fraction_requests ");
    const size_t column = (size_t)(strstr(head, " a ") - head) + 2; /* the end of its figures */
    assert_int_not_equal(longest[column - 1], ' ');
    assert_int_equal(longest[column], ' ');
    assert_int_equal(lab_result_compare(r, "weir", "none", &out), STATUS_NOT_FOUND);
    assert_int_equal(lab_result_add(r, slice_of("{}"), &error), STATUS_MALFORMED);
    assert_int_equal(lab_result_add(r, slice_of("{"), &error), STATUS_MALFORMED);
    lab_result_destroy(r);
    lab_plan_deinit(&p);
    buffer_deinit(&json);
    buffer_deinit(&out);
    free(run);
}

TEST(a_run_that_cannot_be_is_refused)
{
    static const char text[] = "name: big\nduration: 1s\ncluster: {nodes: 1}\n"
                               "tables: [{name: users, rcu: 1000000, wcu: 1000000}]\n"
                               "workloads: [{name: w, table: users}]\n";
    const struct lab_job job = {.file = "a.yaml", .text = slice_of(text), .point = ""};
    struct buffer json = {0};
    buffer_clear(&error);
    assert_int_equal(lab_run(&job, &json, &error), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "refuses table users", 19));
    buffer_deinit(&json);
}

static int finish(void **state)
{
    (void)state;
    buffer_deinit(&error);
    return 0;
}

FILE_FIXTURE(NULL, finish)
