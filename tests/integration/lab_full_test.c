/* Runs at the fidelity full: the same job gives the same result; a burst lasts as long as it must;
 * work takes as long as at the fidelity admission; what the cluster refuses is an error. */
#include <stdlib.h>

#include "lab/run/run.h"
#include "router/json/json.h"
#include "tests/check.h"

static struct buffer error;

static enum status run_at(enum lab_fidelity fidelity, const char *text, uint64_t seed,
                          struct buffer *out)
{
    const struct lab_job job = {.file = "a.yaml",
                                .text = slice_of(text),
                                .point = "",
                                .seed = seed,
                                .fidelity = fidelity,
                                .series = true};
    buffer_clear(out);
    buffer_clear(&error);
    return lab_run(&job, out, &error);
}

static enum status run(const char *text, uint64_t seed, struct buffer *out)
{
    return run_at(LAB_FULL, text, seed, out);
}

static void run_json(const char *text, uint64_t seed, struct buffer *out)
{
    if (run(text, seed, out) != STATUS_OK)
        fail_msg("%.*s", (int)error.size, (const char *)error.data);
}

/* The value of a measure for all requests. */
static double measure_of(const struct buffer *json, const char *name)
{
    static const uint8_t padding[JSON_PADDING];
    struct json_parser *parser = json_parser_create();
    struct buffer padded = {0};
    struct json_value root;
    buffer_append_slice(&padded, buffer_slice(json));
    buffer_append(&padded, padding, sizeof padding);
    assert_int_equal(json_parse(parser, slice_make(padded.data, json->size), &root), STATUS_OK);
    struct json_value measures = json_find(&root, "measures");
    struct json_value of = json_find(&measures, "");
    struct json_value v = json_find(&of, name);
    if (v.type != JSON_INTEGER && v.type != JSON_DECIMAL)
        fail_msg("%s has no value", name);
    double value = v.type == JSON_INTEGER ? (double)json_integer(&v) : json_decimal(&v);
    buffer_deinit(&padded);
    json_parser_destroy(parser);
    return value;
}

static const char busy[] =
    "name: busy\nduration: 8s\nwarm: 1s\n"
    "cluster: {nodes: 4, routers: 4, gac: 3}\n"
    "tables:\n"
    "  - {name: users, rcu: 2000, wcu: 1000, partitions: 8}\n"
    "  - {name: many, copies: 3, rcu: 50, wcu: 50, gac: static, weight: 2}\n"
    "  - {name: free, on_demand: true, max_wcu: 100}\n"
    "workloads:\n"
    "  - {name: skewed, table: users, rate: 1200, keys: \"zipf:0.99\", retry: standard, "
    "hedge: \"p50:0.5\"}\n"
    "  - {name: looped, table: users, clients: \"closed:20:10\", mix: \"ycsb:F\", hedge: 700us}\n"
    "  - {name: copied, table: many, each: true, rate: 60, routers: \"moving:0.5:2\"}\n"
    "  - {name: one, table: free, rate: 200, keys: \"append:a\", mix: \"read:0:insert:1\"}\n"
    "faults:\n"
    "  - {kind: gac-down, which: 1, at: 2s, for: 1s}\n"
    "  - {kind: gac-cut, which: 2, at: 3s, for: 1s}\n"
    "  - {kind: router-down, which: 2, at: 3s, for: 1s}\n"
    "  - {kind: router-clock, which: 3, at: 3s, offset: 1s, drift: 0.001}\n"
    "  - {kind: node-down, which: 3, at: 4s, for: 1s}\n"
    "  - {kind: split, at: 5500ms, table: users}\n"
    "  - {kind: update, at: 7s, rcu: 4000, wcu: 2000, table: users}\n"
    "policies: [{name: weir}]\n"
    "expect: [{measure: throttle_fraction, at_most: 1}]\n";

TEST(the_same_job_gives_the_same_result_byte_for_byte_at_full_fidelity)
{
    struct buffer a = {0}, b = {0};
    run_json(busy, 7, &a);
    run_json(busy, 7, &b);
    assert_true(slice_equal(buffer_slice(&a), buffer_slice(&b)));
    run_json(busy, 8, &b);
    assert_false(slice_equal(buffer_slice(&a), buffer_slice(&b)));
    buffer_deinit(&a);
    buffer_deinit(&b);
}

/* The split of 8 partitions makes 16 of them; the copies and the other table have one each, or as
 * many as on-demand tables begin with. Requests fail only while a router or a node is down. */
TEST(faults_and_tables_are_made_at_full_fidelity)
{
    struct buffer json = {0};
    run_json(busy, 7, &json);
    assert_true(measure_of(&json, "partitions") >= 20);
    double offered = measure_of(&json, "offered_requests"),
           admitted = measure_of(&json, "admitted_requests");
    assert_true(offered > 10000);
    assert_true(admitted > 0.6 * offered && admitted < offered);
    assert_non_null(memmem(json.data, json.size, "split", 5));
    buffer_deinit(&json);
}

/* 300 s at 100 units a second save 30,000; with the 100 of the allocation they last 75.25 s against
 * 500 a second. */
TEST(a_full_burst_lasts_for_75_seconds_at_full_fidelity)
{
    static const char text[] = "name: burst\nduration: 390s\n"
                               "cluster: {nodes: 3, routers: 1, gac: 0, settings: {gac: \"off\", "
                               "control_adaptive: 0, control_split: 0}}\n"
                               "tables: [{name: users, rcu: 100, wcu: 100}]\n"
                               "workloads: [{name: w, table: users, start: 300s, rate: 500, "
                               "arrivals: constant, mix: \"read:0:update:1\"}]\n";
    struct buffer json = {0};
    run_json(text, 1, &json);
    double s = measure_of(&json, "burst_duration");
    assert_true(s > 75.24 && s < 75.26);
    buffer_deinit(&json);
}

/* ---- work takes time ---- */

static void assert_near(double a, double b, double part)
{
    if (a < b * (1 - part) || a > b * (1 + part))
        fail_msg("%g is not within %g of %g", a, part, b);
}

/* `admission` at place 0, `full` at place 1. */
static void measure_both(const char *text, const char *name, double out[2])
{
    struct buffer json = {0};
    for (int i = 0; i < 2; i++) {
        if (run_at(i == 0 ? LAB_ADMISSION : LAB_FULL, text, 1, &json) != STATUS_OK)
            fail_msg("%.*s", (int)error.size, (const char *)error.data);
        out[i] = measure_of(&json, name);
    }
    buffer_deinit(&json);
}

#define NONE  "\"off\""
#define DELAY "delay, overload_target_ms: 50, overload_interval_ms: 100, overload_limit_ms: 250"
#define WORK_SCENARIO(OVERLOAD, MIX, COSTS, FAULT)                                                \
    "name: work\nduration: 6s\nwarm: 2s\n"                                                        \
    "cluster: {nodes: 3, routers: 2, gac: 0, settings: {gac: \"off\", overload_policy: " OVERLOAD \
    "}, costs: {" COSTS "}}\n"                                                                    \
    "tables: [{name: users, rcu: 2000, wcu: 2000, partitions: 4}]\n"                              \
    "workloads: [{name: w, table: users, end: 4s, rate: 300, keys: uniform, mix: \"" MIX "\"}]\n" \
    "faults: [" FAULT "]\n"

/* 1 ms for a write, 2 ms for a follower's work, and 3 ms for a read, each beside the network, disks
 * and turns of the real processes. */
TEST(work_takes_as_long_as_at_the_fidelity_admission)
{
    double p50[2];
    measure_both(WORK_SCENARIO(NONE, "read:0:update:1", "cores: 8, write: 1ms, follow: 2ms", ""),
                 "latency_p50", p50);
    assert_near(p50[1], p50[0], 0.1);
    measure_both(WORK_SCENARIO(NONE, "read:1", "cores: 8, read: 3ms", ""), "latency_p50", p50);
    assert_true(p50[0] > 3.2);
    assert_near(p50[1], p50[0], 0.1);
    measure_both(WORK_SCENARIO(NONE, "read:1", "router: 2ms", ""), "latency_p50", p50);
    assert_true(p50[0] > 2.2);
    assert_near(p50[1], p50[0], 0.1);
}

/* Others use nodes beyond their capacity. Within 2 s the queues grow to 1 s, at all members of each
 * group, or at the leaders of some. */
TEST(a_write_waits_for_others_as_at_the_fidelity_admission)
{
    double p50[2], p99[2];
    static const char all[] = WORK_SCENARIO(NONE, "read:0:update:1", "write: 100us",
                                            "{kind: node-busy, which: 0, at: 2s, factor: 1.5}");
    measure_both(all, "latency_p50", p50);
    assert_true(p50[0] > 400);
    assert_near(p50[1], p50[0], 0.1);
    static const char one[] = WORK_SCENARIO(NONE, "read:0:update:1", "write: 100us",
                                            "{kind: node-busy, which: 2, at: 2s, factor: 1.5}");
    measure_both(one, "latency_p50", p50);
    measure_both(one, "latency_p99", p99);
    assert_true(p50[0] < 2 && p99[0] > 500);
    assert_near(p50[1], p50[0], 0.1);
    assert_near(p99[1], p99[0], 0.1);
}

/* Twice as much work as the nodes can do, and refusals take a fifth of the time of a read. Overload
 * is seen by what requests wait for the processors, at nodes and at routers. */
TEST(overload_is_shed_as_at_the_fidelity_admission)
{
    double throttled[2];
    measure_both(WORK_SCENARIO(DELAY, "read:1", "cores: 1, read: 20ms, refuse: 4ms", ""),
                 "throttle_fraction", throttled);
    assert_true(throttled[0] > 0.4);
    assert_near(throttled[1], throttled[0], 0.1);
    measure_both(WORK_SCENARIO(DELAY, "read:1", "router: 13ms", ""), "throttle_fraction",
                 throttled);
    assert_true(throttled[0] > 0.2);
    assert_true(throttled[1] > 0.2 && throttled[1] < 0.9);
}

/* Near their capacity nodes have queues: 100 reads a second and node, of 7 ms each. */
TEST(nodes_have_queues_at_full_fidelity)
{
    double p99[2];
    measure_both(WORK_SCENARIO(NONE, "read:1", "cores: 1, read: 7ms", ""), "latency_p99", p99);
    assert_true(p99[0] > 15);
    assert_near(p99[1], p99[0], 0.35);
}

TEST(a_slow_node_is_as_slow_as_at_the_fidelity_admission)
{
    double p50[2], p99[2];
    static const char slow[] = WORK_SCENARIO(NONE, "read:1", "cores: 8, read: 500us",
                                             "{kind: node-slow, which: 0, at: 1s, factor: 8}");
    measure_both(slow, "latency_p50", p50);
    assert_true(p50[0] > 4.2);
    assert_near(p50[1], p50[0], 0.1);
    static const char over[] =
        WORK_SCENARIO(NONE, "read:1", "cores: 8, read: 500us",
                      "{kind: node-slow, which: 0, at: 0s, for: 1s, factor: 8}");
    measure_both(over, "latency_p99", p99);
    assert_true(p99[0] < 1.2);
    assert_near(p99[1], p99[0], 0.2);
}

/* A sixth of the reads meets the slow node, and each of them is sent again. Two thirds of these
 * meet another node, and win. */
TEST(a_hedge_wins_as_often_as_at_the_fidelity_admission)
{
    static const char text[] =
        "name: hedges\nduration: 12s\nwarm: 2s\n"
        "cluster: {nodes: 6, routers: 2, gac: 0, settings: {gac: \"off\"}, "
        "costs: {cores: 8, read: 500us}}\n"
        "tables: [{name: users, rcu: 8000, wcu: 100, partitions: 12}]\n"
        "workloads: [{name: w, table: users, end: 11s, rate: 600, mix: \"read:1:eventual:1\", "
        "hedge: \"5ms:1\"}]\n"
        "faults: [{kind: node-slow, which: 1, at: 1s, factor: 40}]\n";
    double fraction[2], won[2], p99[2];
    measure_both(text, "hedge_fraction", fraction);
    measure_both(text, "hedges_won", won);
    measure_both(text, "latency_p99", p99);
    assert_near(fraction[0], 1.0 / 6, 0.1);
    assert_near(fraction[1], fraction[0], 0.1);
    assert_near(won[0], 9 * 600 / 6.0 * 2 / 3, 0.15);
    assert_near(won[1], won[0], 0.15);
    assert_near(p99[1], p99[0], 0.1); /* of the sixth, a third meets the slow node twice */
}

/* A table of 100 units asks for 300. Half of the time node 2 has no room for bursts, neither as
 * leader nor as follower of every partition. */
TEST(a_busy_node_refuses_bursts_as_at_the_fidelity_admission)
{
    static const char text[] =
        "name: busy\nduration: 40s\nwarm: 20s\n"
        "cluster: {nodes: 3, routers: 2, gac: 0, settings: {gac: \"off\", node_wcu: 1000, "
        "control_split: 0, control_adaptive: 0, control_leaders: 0, control_balance: 0}}\n"
        "tables: [{name: users, rcu: 100, wcu: 100, partitions: 1}]\n"
        "workloads: [{name: w, table: users, start: 20s, rate: 200, item_bytes: 900, "
        "mix: \"read:0:update:1\"}]\n"
        "faults: [{kind: node-busy, which: 2, at: 20s, for: 10s, factor: 1.5}]\n";
    double throttled[2];
    measure_both(text, "throttle_fraction", throttled);
    assert_true(throttled[0] > 0.2);
    assert_near(throttled[1], throttled[0], 0.1);
}

/* ---- stored bytes ---- */

#define STORED_SCENARIO(TABLE)                                                               \
    "name: stored\nduration: 12s\n"                                                          \
    "cluster: {nodes: 3, routers: 1, gac: 0, settings: {gac: \"off\", partition_max_bytes: " \
    "1048576}}\n"                                                                            \
    "tables: [{name: users, rcu: 500, wcu: 500, " TABLE "}]\n"                               \
    "workloads: [{name: w, table: users, rate: 10, mix: \"read:1\"}]\n"

/* A partition with 1.5 of the 1 MiB that it may hold is split; one with 0.5 is not. */
TEST(tables_hold_their_bytes_at_full_fidelity)
{
    struct buffer json = {0};
    run_json(STORED_SCENARIO("bytes: 1500000"), 1, &json);
    assert_true(measure_of(&json, "partitions") >= 2);
    run_json(STORED_SCENARIO("bytes: 500000"), 1, &json);
    assert_true(measure_of(&json, "partitions") == 1);
    run_json(STORED_SCENARIO("copies: 2, bytes: 1500000, whole_collections: true"), 1, &json);
    assert_true(measure_of(&json, "partitions") >= 4);
    buffer_deinit(&json);
}

/* Nine times the writes that the table begins with, from 10 s to 35 s: the throughput follows, and
 * comes back. The service's minutes are seconds here. */
TEST(autoscaling_works_as_at_the_fidelity_admission)
{
    static const char text[] =
        "name: scaled\nduration: 60s\n"
        "cluster: {nodes: 3, routers: 2, gac: 1, settings: {gac_bank_ms: 1000, "
        "decrease_wait_s: 5}}\n"
        "tables: [{name: users, rcu: 100, wcu: 50, autoscaling: {writes: {min: 50, max: 1000}, "
        "period: 1s, out_after: 2s, in_after: 5s, delay: 1s}}]\n"
        "workloads: [{name: w, table: users, rate: \"spike:20:180:10:25\", "
        "mix: \"read:0:update:1\"}]\n";
    double hours[2], refused[2], excess[2];
    measure_both(text, "provisioned_unit_hours", hours);
    measure_both(text, "throttle_fraction", refused);
    measure_both(text, "over_admission_10s", excess);
    assert_true(hours[0] > 1.2 * 150 / 60 && hours[0] < 2 * 150 / 60.0);
    assert_near(hours[1], hours[0], 0.05);
    assert_true(refused[0] > 0.03 && refused[0] < 0.2);
    assert_near(refused[1], refused[0], 0.15);
    assert_true(excess[0] < 0.01 && excess[1] < 0.05);
}

/* The index takes 50 rows a second, in one partition, of the 200 that are written. */
#define INDEXED_SCENARIO(BACKLOG)                                                              \
    "name: indexed\nduration: 12s\nwarm: 4s\n"                                                 \
    "cluster: {nodes: 3, routers: 2, gac: 1, settings: {burst_max_s: 0, control_split: 0, "    \
    "control_adaptive: 0, index_backlog_ms: " BACKLOG "}}\n"                                   \
    "tables: [{name: users, rcu: 500, wcu: 500, indexes: [{name: by-kind, key_count: 3, wcu: " \
    "50}, "                                                                                    \
    "{name: by-name, projection: keys}]}]\n"                                                   \
    "workloads: [{name: w, table: users, rate: 200, key_count: 1000000, item_bytes: 200, "     \
    "mix: \"read:0:update:1\"}]\n"                                                             \
    "expect: [{measure: refused_requests, reason: users/by-kind, at_most: 1}, "                \
    "{measure: refused_requests, reason: users/by-name, at_most: 1}]\n"

TEST(an_index_that_is_full_holds_writes_up_and_is_named)
{
    struct buffer json = {0};
    run_json(INDEXED_SCENARIO("200"), 1, &json);
    const double refused = measure_of(&json, "throttle_fraction");
    assert_true(refused > 0.7 && refused < 0.8);
    assert_true(measure_of(&json, "index_unnamed") == 0);
    assert_true(measure_of(&json, "index_lag") < 2);
    char expected[64];
    snprintf(expected, sizeof expected, "\"expectations\":[%.0f,0]",
             measure_of(&json, "refused_requests"));
    assert_non_null(memmem(json.data, json.size, expected, strlen(expected)));
    run_json(INDEXED_SCENARIO("3600000"), 1, &json);
    assert_true(measure_of(&json, "throttle_fraction") == 0);
    assert_true(measure_of(&json, "index_lag") > 5);
    buffer_deinit(&json);
}

#define LIMITED(entity, rate)                                                                     \
    "name: limited\nduration: 12s\nwarm: 6s\ncluster: {nodes: 3, routers: 2, gac: 1}\n"           \
    "tables: [{name: weir-limiter, on_demand: true}]\n"                                           \
    "limits:\n"                                                                                   \
    "  - {entity: hot, resource: api, capacity: 100, refill: 6000}\n"                             \
    "  - {resource: api, capacity: 60}\n"                                                         \
    "workloads:\n"                                                                                \
    "  - {name: hot, table: weir-limiter, limiter: api, keys: \"single:" entity "\", rate: " rate \
    ", idempotency_keys: true}\n"                                                                 \
    "  - {name: quiet, table: weir-limiter, limiter: api, key_count: 100, rate: 50}\n"

TEST(a_workload_is_held_to_its_limit_of_the_rate_limiter)
{
    struct buffer json = {0};
    run_json(LIMITED("hot", "300"), 1, &json);
    assert_near(measure_of(&json, "limit_share"), 1, 0.01);
    assert_near(measure_of(&json, "admitted_rate"), 150, 0.05);
    assert_true(measure_of(&json, "tokens_miscounted") == 0);
    assert_true(measure_of(&json, "tokens_minted") == 0);
    assert_true(measure_of(&json, "shards") == 1);
    assert_non_null(memmem(json.data, json.size, "\"limit\":100000", 14));
    assert_int_equal(run_at(LAB_ADMISSION, LIMITED("hot", "300"), 1, &json), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "admission has no rate limiter", 29));
    buffer_deinit(&json);
}

#define EXPIRING(expire_at)                                                                 \
    "name: x\nduration: 9s\nwarm: 1s\ncluster: {nodes: 3, routers: 2, gac: 1, settings: "   \
    "{ttl_window_ms: 1000, expiry_busy_percent: 100, expiry_items_s: 100000}, "             \
    "costs: {cores: 1, write: 300us, follow: 150us}}\n"                                     \
    "tables: [{name: users, rcu: 100, wcu: 2000, expire_at: " expire_at "}]\n"              \
    "workloads: [{name: w, table: users, keys: sequential, key_count: 100000, rate: 1000, " \
    "arrivals: constant, mix: \"read:0:update:1\", item_bytes: 900}]\n"

/* Nothing but the work of deleting some 5,000 items tells the runs apart: they cost one unit each,
 * also with the attribute. */
TEST(items_with_a_time_to_live_are_deleted_during_the_run)
{
    struct buffer json = {0};
    run_json(EXPIRING("0s"), 1, &json);
    assert_near(measure_of(&json, "admitted_rate"), 1000, 0.01);
    assert_true(measure_of(&json, "latency_p99") < 5);
    run_json(EXPIRING("6s"), 1, &json);
    assert_near(measure_of(&json, "offered_rate"), 1000, 0.05);
    assert_true(measure_of(&json, "latency_p99") > 20);
    run_json(EXPIRING("100s"), 1, &json);
    assert_true(measure_of(&json, "latency_p99") < 5);
    assert_int_equal(run_at(LAB_ADMISSION, EXPIRING("6s"), 1, &json), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "admission has no time to live", 29));
    buffer_deinit(&json);
}

#define TRANSACTED(keys)                                                                      \
    "name: x\nduration: 6s\nwarm: 1s\ncluster: {nodes: 3, routers: 2, gac: 1}\n"              \
    "tables: [{name: users, rcu: 100, wcu: 1000}]\n"                                          \
    "workloads: [{name: w, table: users, key_count: " keys ", rate: 50, arrivals: constant, " \
    "mix: \"read:0:update:1\", item_bytes: 900, transact: 3}]\n"

/* Three items of one unit, for twice the units. */
TEST(a_workload_of_transactions_costs_twice_its_writes)
{
    struct buffer json = {0};
    run_json(TRANSACTED("100000"), 1, &json);
    assert_near(measure_of(&json, "admitted_rate"), 300, 0.02);
    assert_true(measure_of(&json, "throttle_fraction") == 0);
    run_json(TRANSACTED("3"), 1, &json); /* each is of the same items */
    assert_near(measure_of(&json, "offered_rate"), 300, 0.02);
    assert_int_equal(run_at(LAB_ADMISSION, TRANSACTED("100"), 1, &json), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "admission has no transactions", 29));
    buffer_deinit(&json);
}

/* The limit of 10 units is a sixth of what is asked for. */
TEST(a_cancelled_transaction_without_throughput_counts_as_throttled)
{
    static const char scenario[] =
        "name: x\nduration: 6s\nwarm: 3s\n"
        "cluster: {nodes: 3, routers: 2, gac: 1, settings: {gac_bank_ms: 1000, "
        "gac_start_units: 0}}\n"
        "tables: [{name: users, rcu: 100, wcu: 10}]\n"
        "workloads: [{name: w, table: users, rate: 10, arrivals: constant, "
        "mix: \"read:0:update:1\", item_bytes: 900, transact: 3}]\n"
        "expect: [{measure: throttle_fraction, reason: failed, at_most: 0},"
        "{measure: throttle_fraction, reason: allocation, at_least: 0.6}]\n";
    static const char failed_and_throttled[] = "\"expectations\":[0,0.";
    struct buffer json = {0};
    run_json(scenario, 1, &json);
    assert_true(measure_of(&json, "throttle_fraction") > 0.6);
    assert_non_null(
        memmem(json.data, json.size, failed_and_throttled, strlen(failed_and_throttled)));
    buffer_deinit(&json);
}

TEST(what_is_in_memory_is_refused_at_full_fidelity)
{
    struct buffer json = {0};
    assert_int_equal(run("name: cold\nduration: 1s\ncluster: {memory_items: 5}\n"
                         "tables: [{name: users}]\nworkloads: [{name: w, table: users}]\n",
                         1, &json),
                     STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "memory_items must be 0", 22));
    buffer_deinit(&json);
}

/* Cut into four by hand, at a load that one partition can serve. */
TEST(cold_partitions_are_merged_as_at_the_fidelity_admission)
{
    static const char text[] =
        "name: cold\nduration: 40s\nwarm: 2s\ncluster: {nodes: 3, routers: 2, gac: 1, settings: "
        "{control_merge: 1, split_window_ms: 2500, merge_cold_ms: 3000, merge_backoff_ms: 1000}}\n"
        "tables: [{name: users, rcu: 500, wcu: 500}]\n"
        "workloads: [{name: w, table: users, rate: 100}]\n"
        "faults: [{kind: split, at: 1s}, {kind: split, at: 3s}]\n";
    struct buffer json = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_at(i == 0 ? LAB_ADMISSION : LAB_FULL, text, 1, &json), STATUS_OK);
        assert_true(measure_of(&json, "partitions") == 1);
        assert_true(measure_of(&json, "throttle_fraction") == 0);
        int merges = 0;
        const char *at = (const char *)json.data, *end = at + json.size;
        while ((at = memmem(at, (size_t)(end - at), "to absorb its keys", 18)) != NULL) {
            merges++;
            at += 18;
        }
        assert_int_equal(merges, 3);
    }
    buffer_deinit(&json);
}

TEST(a_table_that_the_cluster_refuses_is_an_error)
{
    struct buffer json = {0};
    assert_int_equal(run("name: refused\nduration: 1s\ncluster: {nodes: 1}\n"
                         "tables: [{name: users, rcu: 1000000, wcu: 1000000}]\n"
                         "workloads: [{name: w, table: users}]\n",
                         1, &json),
                     STATUS_MALFORMED);
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
