/* Scenario files: what is refused, with file, line and what is allowed; policies; plans; shipped
 * ones. */
#include "lab/scenario/scenario.h"

#include <math.h>
#include <stdlib.h>

#include "base/gac_policy.h"
#include "base/settings/choices.h"
#include "lab/run/plan.h"
#include "lab/scenario/scenario_limit.h"
#include "lab/scenario/shipped.h"
#include "tests/check.h"
#include "tests/support/baseline_policies.h"

#define HEAD "name: x\nduration: 10s\n"
#define BODY "tables: [{name: users}]\nworkloads: [{name: w, table: users}]\n"

static struct scenario *s;
static struct document d;
static struct buffer error;

static enum status read_text(const char *text)
{
    document_deinit(&d);
    buffer_clear(&error);
    enum status status = document_parse(&d, "a.yaml", slice_of(text), &error);
    return status == STATUS_OK ? scenario_read(&d, baseline_policies(), s, &error) : status;
}

static void expect_fault(const char *text, const char *fault)
{
    assert_int_equal(read_text(text), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    if (strncmp((const char *)error.data, fault, strlen(fault)) != 0)
        fail_msg("`%s` does not begin with `%s`", (const char *)error.data, fault);
}

TEST(a_small_scenario_has_defaults)
{
    assert_int_equal(read_text(HEAD BODY), STATUS_OK);
    assert_int_equal(s->seeds, 10);
    assert_int_equal(s->duration_ns, 10 * INT64_C(1000000000));
    assert_int_equal(s->cluster.nodes, 8);
    assert_int_equal(s->policy_count, 1);
    assert_string_equal(s->policies[0].name, "weir");
    assert_string_equal(s->tenants[0].name, "w");
    assert_int_equal(s->workloads[0].traffic.end_ns, INT64_MAX);
}

/* Results are found by these names. */
TEST(names_that_results_cannot_distinguish_are_refused)
{
    expect_fault(HEAD BODY "policies: [{name: a}, {name: b}, {name: a}]\n",
                 "a.yaml:5: two policies are named `a`");
    expect_fault(HEAD "tables: [{name: users}, {name: users}]\n"
                      "workloads: [{name: w, table: users}]\n",
                 "a.yaml:3: two tables are named `users`");
    expect_fault(HEAD "tenants: [{name: a}, {name: a}]\n" BODY,
                 "a.yaml:3: two tenants are named `a`");
    expect_fault(HEAD BODY "policies: [{name: \"\"}]\n",
                 "a.yaml:5: name is ``, but must be a text that is not empty");
    expect_fault(HEAD "tables: [{name: users}]\n"
                      "workloads: [{name: w, table: users, tenant: \"\"}]\n",
                 "a.yaml:4: tenant is ``, but must be a text that is not empty");
}

/* The name stands in paths of results. */
TEST(the_name_of_a_scenario_is_a_name_of_a_file)
{
    static const char *const good[] = {"x", "a-B_3.c", "9"};
    static const char *const bad[] = {"", "../../x", ".x", "..", "a b", "a/b", "\xc3\xa4"};
    char text[512], fault[512];
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        snprintf(text, sizeof text, "name: \"%s\"\nduration: 10s\n" BODY, good[i]);
        assert_int_equal(read_text(text), STATUS_OK);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof text, "duration: 10s\nname: \"%s\"\n" BODY, bad[i]);
        snprintf(fault, sizeof fault,
                 "a.yaml:2: name is `%s`, but must be 1 to 63 letters, digits, -, _ and .", bad[i]);
        expect_fault(text, fault);
    }
    snprintf(text, sizeof text, "name: %064d\nduration: 10s\n" BODY, 1);
    expect_fault(text, "a.yaml:1: name is `0000");
}

#define ROUTED(routers)              \
    HEAD "tables: [{name: users}]\n" \
         "workloads: [{name: w, table: users, routers: \"" routers "\"}]\n"

TEST(requests_are_spread_over_routers)
{
    const struct scenario_spread *spread = &s->workloads[0].routers;
    assert_int_equal(read_text(ROUTED("even")), STATUS_OK);
    assert_int_equal(spread->kind, SPREAD_EVEN);
    assert_int_equal(read_text(ROUTED("shares:3:1:0")), STATUS_OK);
    assert_true(spread->kind == SPREAD_SHARES && spread->count == 3);
    assert_true(spread->shares[0] == 0.75 && spread->shares[1] == 0.25 && spread->shares[2] == 0);
    assert_int_equal(read_text(ROUTED("moving:0.6:2.5")), STATUS_OK);
    assert_true(spread->kind == SPREAD_MOVING && spread->fraction == 0.6);
    assert_int_equal(spread->every_ns, INT64_C(2500000000));
    static const char *const bad[][2] = {
        {ROUTED("odd"), "a.yaml:4: routers is `odd`: must be even, shares:WEIGHT"},
        {ROUTED("shares"), "a.yaml:4: routers is `shares`: must be shares:WEIGHT"},
        {ROUTED("shares:1:x"), "a.yaml:4: routers is `shares:1:x`: must be shares:WEIGHT"},
        {ROUTED("shares:1:-1"), "a.yaml:4: routers is `shares:1:-1`: must be shares:WEIGHT"},
        {ROUTED("shares:0:0"), "a.yaml:4: routers is `shares:0:0`: must have a weight above 0"},
        {ROUTED("moving:1.1:5"), "a.yaml:4: routers is `moving:1.1:5`: must be even"},
        {ROUTED("moving:1:0"), "a.yaml:4: routers is `moving:1:0`: must be even"},
        {ROUTED("moving:1:86401"), "a.yaml:4: routers is `moving:1:86401`: must be even"},
        {ROUTED("moving:1:5:6"), "a.yaml:4: routers is `moving:1:5:6`: must be even"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        expect_fault(bad[i][0], bad[i][1]);
}

TEST(a_former_name_of_a_field_is_taken)
{
    assert_int_equal(read_text(HEAD "tables: [{name: users, salting: auto}]\n"
                                    "workloads: [{name: w, table: users}]\n"),
                     STATUS_OK);
    assert_string_equal(s->tables[0].key_sharding, "auto");
}

TEST(a_workload_takes_one_trace_or_a_list)
{
    static const char *const good[] = {"a", "[a]", "[a, b]"};
    static const char *const bad[] = {"[]", "{a: b}", "[a, [b]]", "[a, {b: c}]"};
    char text[1024];
    for (uint32_t i = 0; i < COUNT_OF(good); i++) {
        snprintf(text, sizeof text,
                 HEAD "tables: [{name: users}]\nworkloads: [{name: w, table: users, trace: %s}]\n",
                 good[i]);
        assert_int_equal(read_text(text), STATUS_OK);
        assert_int_equal(s->workloads[0].trace_count, i == 2 ? 2 : 1);
        assert_string_equal(s->workloads[0].traces[0], "a");
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof text,
                 HEAD "tables: [{name: users}]\nworkloads: [{name: w, table: users, trace: %s}]\n",
                 bad[i]);
        expect_fault(text, "a.yaml:4: trace must be a file, or a list of 1 to 64 files");
    }
}

TEST(faults_name_file_line_field_and_what_is_allowed)
{
    expect_fault("name: x\n" BODY, "a.yaml:1: the field `duration` is missing");
    expect_fault(HEAD BODY "durationn: 1s\n",
                 "a.yaml:5: unknown field `durationn`; known are name, about, seeds, duration");
    expect_fault(HEAD "seeds: many\n" BODY,
                 "a.yaml:3: seeds is `many`, but must be a whole number from 1 to 1000000");
    expect_fault(HEAD "window: 1ns\n" BODY,
                 "a.yaml:3: window is `1ns`, but must be a time with its "
                 "unit (us, ms, s, m, h, d), 1ms to 60s");
    expect_fault(HEAD "cluster: {settings: {node_wcu: 0}}\n" BODY, "a.yaml:3: node_wcu = 0: ");
    expect_fault(
        HEAD "tables: [{name: users, gac: leas}]\n",
        "a.yaml:3: gac is `leas`, but must be as-configured, off, static, periodic or lease");
    expect_fault(HEAD "tables: [{name: u}]\n", "a.yaml:3: the name of a table has 3 to 63 letters");
    expect_fault(HEAD "tables: [{name: \"us ers\"}]\n",
                 "a.yaml:3: the name of a table has 3 to 63 letters");
    expect_fault(HEAD "tables: [{name: users}]\nworkloads: [{name: w, table: user}]\n",
                 "a.yaml:4: workload w: there is no table `user`");
    expect_fault(HEAD "tables: [{name: users}]\nworkloads: [{name: w, table: users, rate: fast}]\n",
                 "a.yaml:4: rate is `fast`: ");
    expect_fault(HEAD BODY "expect: [{measure: splits}]\n",
                 "a.yaml:5: an expectation needs at_least or at_most");
    expect_fault(HEAD BODY "expect: [{measure: splits, at_most: 1, policy: y}]\n",
                 "a.yaml:5: there is no policy `y`");
    expect_fault(HEAD "warm: 10s\n" BODY,
                 "a.yaml:3: warm is 10s, but must be shorter than duration, which is 10s");
    expect_fault(HEAD BODY "faults: [{kind: router-clock, at: 1s, drift: -1}]\n",
                 "a.yaml:5: drift is -1, but must be at least -0.9");
    expect_fault(HEAD BODY "faults: [{kind: update, at: 1s}]\n",
                 "a.yaml:5: the fault update needs rcu and wcu");
    expect_fault(HEAD BODY "faults: [{kind: node-down, at: 1s, which: 9}]\n",
                 "a.yaml:5: which of node-down is 9, but cluster.nodes is 8");
    expect_fault(HEAD BODY "faults: [{kind: router-clock, at: 1s, which: 17}]\n",
                 "a.yaml:5: which of router-clock is 17, but cluster.routers is 16");
    expect_fault(HEAD BODY "faults: [{kind: gac-cut, at: 1s, which: 4}]\n",
                 "a.yaml:5: which of gac-cut is 4, but cluster.gac is 3");
    expect_fault(HEAD BODY "faults: [{kind: split, at: 1s, table: user}]\n",
                 "a.yaml:5: split: there is no table `user`");
    assert_int_equal(read_text(HEAD BODY "faults: [{kind: split, at: 1s, table: users, which: 9}, "
                                         "{kind: node-slow, at: 1s, which: 8}]\n"),
                     STATUS_OK);
    expect_fault(HEAD "tables: [{name: users, weight: 101}]\n",
                 "a.yaml:3: weight is `101`, but must be a whole number from 1 to 100");
#define TENANTS(TEXT) \
    HEAD "tables: [{name: users}]\ntenants: [" TEXT "]\nworkloads: [{name: a, table: users}]\n"
    expect_fault(TENANTS("{name: b, parent: c}, {name: c}"),
                 "a.yaml:4: tenant b: there is no tenant `c` before it");
    expect_fault(TENANTS("{name: b, parent: b}"),
                 "a.yaml:4: tenant b: there is no tenant `b` before it");
    expect_fault(TENANTS("{name: a}, {name: b, parent: a}"),
                 "a.yaml:5: workload a: tenant a is the account of others, and has no workload");
#undef TENANTS
#define HEDGED(TEXT) \
    HEAD "tables: [{name: users}]\nworkloads: [{name: w, table: users, hedge: \"" TEXT "\"}]\n"
    expect_fault(HEDGED("p100"), "a.yaml:4: hedge is `p100`: must be none, TIME[:FRACTION] or pNN");
    expect_fault(HEDGED("p95") "cluster: {routers: 1}\n",
                 "a.yaml:4: hedge of workload w needs another router, but cluster.routers is 1");
#undef HEDGED
}

TEST(values_that_contradict_each_other_are_refused_with_their_lines)
{
    expect_fault(HEAD BODY "expect:\n  - {measure: splits, at_most: 1}\n"
                           "  - measure: splits\n    at_least: 2\n    at_most: 1\n",
                 "a.yaml:7: at_least is 2, but must be at most at_most, which is 1");
    expect_fault(HEAD BODY "expect: [{measure: splits, at_most: 1, from: 3s, to: 3s}]\n",
                 "a.yaml:5: from is 3s, but must be before to, which is 3s");
    expect_fault(HEAD BODY "expect:\n  - measure: splits\n    at_most: 1\n    from: 10s\n",
                 "a.yaml:8: from is 10s, but must be before the end of the run at 10s");
    expect_fault(HEAD BODY "faults:\n  - {kind: split, at: 9s}\n  - {kind: split, at: 10s}\n",
                 "a.yaml:7: at is 10s, but must be before the end of the run at 10s");
    expect_fault(HEAD BODY "cluster:\n  settings:\n    control_ms: 200\n"
                           "    split_fill_percent: 90\n    split_percent: 85\n",
                 "a.yaml:8: settings: split_percent = 85 must be more than 90");
}

TEST(a_run_that_is_cut_short_from_outside_keeps_what_is_later)
{
    assert_int_equal(read_text(HEAD BODY "faults: [{kind: split, at: 9s}]\n"
                                         "expect: [{measure: splits, at_most: 1, from: 8s}]\n"),
                     STATUS_OK);
    assert_int_equal(document_set(&d, slice_of("duration"), slice_of("5s"), &error), STATUS_OK);
    assert_int_equal(scenario_read(&d, baseline_policies(), s, &error), STATUS_OK);
}

#define SCALED(fields) \
    HEAD "tables: [{name: users, rcu: 100, wcu: 100, autoscaling: {" fields "}}]\n"

TEST(autoscaling_has_the_defaults_of_the_service)
{
    assert_int_equal(
        read_text(SCALED("writes: {min: 10, max: 500}") "workloads: [{name: w, table: users}]\n"),
        STATUS_OK);
    const struct autoscaling_options *o = &s->tables[0].autoscaling;
    assert_true(o->on && o->kinds[0].max == 0 && o->kinds[1].max == 500);
    assert_true(o->kinds[1].target == 0.7 && o->in_margin == 0.2);
    assert_int_equal(o->out_after_ns, 2 * o->period_ns);
    assert_int_equal(o->in_after_ns, 15 * o->period_ns);
}

TEST(autoscaling_that_cannot_be_is_refused)
{
    expect_fault(SCALED(""), "a.yaml:3: autoscaling needs reads or writes");
    expect_fault(SCALED("reads: {min: 10}"), "a.yaml:3: the field `max` is missing");
    expect_fault(SCALED("reads: {min: 10, max: 9}"),
                 "a.yaml:3: min of reads is 10, but must be at most max, which is 9");
    expect_fault(SCALED("reads: {min: 1, max: 900, target: 0.95}"),
                 "a.yaml:3: target of reads is 0.95, but must be from 0.2 to 0.9");
    expect_fault(
        SCALED("writes: {min: 1, max: 900, target: 0.3}, in_margin: 0.3"),
        "a.yaml:3: in_margin is 0.3, but must be below the target of writes, which is 0.3");
    expect_fault(SCALED("writes: {min: 200, max: 900}"),
                 "a.yaml:3: table users: wcu must be from min to max of autoscaling's writes");
    expect_fault(HEAD "tables: [{name: users, on_demand: true, autoscaling: {reads: {min: 1, max: "
                      "9}}}]\n",
                 "a.yaml:3: table users: a table on demand has no throughput");
}

#define TRANSACTED(table, workload)           \
    HEAD "tables: [{name: users" table "}]\n" \
         "workloads: [{name: w, table: users, transact: 3" workload "}]\n"
#define UPDATES ", mix: \"read:0.5:update:0.5\""

TEST(transactions_that_cannot_be_are_refused)
{
    assert_int_equal(read_text(TRANSACTED("", UPDATES)), STATUS_OK);
    assert_int_equal(s->workloads[0].transact, 3);
    assert_int_equal(read_text(TRANSACTED("", UPDATES ", key_count: 3")), STATUS_OK);
    expect_fault(TRANSACTED("", UPDATES ", key_count: 2"),
                 "a.yaml:4: transact of workload w is 3, which needs at least as many keys as a "
                 "transaction");
    expect_fault(
        TRANSACTED("", ", mix: \"read:0.5:delete:0.5\""),
        "a.yaml:4: transact of workload w is 3, which needs a mix whose writes are updates");
    expect_fault(TRANSACTED("", ", mix: \"read:0.5:insert:0.5\""),
                 "a.yaml:4: transact of workload w is 3, which needs a mix whose");
    expect_fault(TRANSACTED("", ", mix: \"read-modify-write:1\""),
                 "a.yaml:4: transact of workload w is 3, which needs a mix whose");
    expect_fault(TRANSACTED("", ", trace: t"), "a.yaml:4: transact of workload w is 3, which needs "
                                               "a workload without `trace` and `limiter`");
    expect_fault(TRANSACTED(", on_demand: true, indexes: [{name: by-status}]", UPDATES),
                 "a.yaml:4: transact of workload w is 3, which needs a table without indexes");
    expect_fault(HEAD "tables: [{name: users}]\nworkloads: [{name: w, table: users, "
                      "transact: 101}]\n",
                 "a.yaml:4: transact is `101`, but must be a whole number from 0 to 100");
}

#define LIMITED(table, limits, workload)                                  \
    HEAD "tables: [{name: " table ", on_demand: true}]\nlimits: [" limits \
         "]\nworkloads: [{name: w, table: " table workload "}]\n"
#define API "{resource: api, capacity: 60}"

TEST(a_workload_has_the_limit_of_its_entity)
{
    assert_int_equal(read_text(LIMITED("weir-limiter",
                                       API ", {entity: e, resource: api, capacity: 9, refill: 3, "
                                           "period: 1s}",
                                       ", limiter: api, keys: \"single:e\"")),
                     STATUS_OK);
    assert_int_equal(scenario_limit_of_workload(s, &s->workloads[0]), 1);
    assert_int_equal(scenario_limit_rate_mcu(&s->limits[1]), 3000);
    assert_int_equal(scenario_limit_rate_mcu(&s->limits[0]), 1000);
    assert_int_equal(scenario_limit_of(s, slice_of("f"), "api"), 0);
    assert_int_equal(scenario_limit_of(s, slice_of("e"), "other"), SCENARIO_LIMIT_NONE);
}

TEST(limits_that_cannot_be_are_refused)
{
    expect_fault(LIMITED("users", API, ", limiter: api"),
                 "a.yaml:5: workload w acquires tokens: its table must be weir-limiter");
    expect_fault(LIMITED("weir-limiter", API, ", limiter: other"),
                 "a.yaml:5: workload w: no limit is for the resource `other`");
    expect_fault(LIMITED("weir-limiter", API, ", limiter: api, item_bytes: 9"),
                 "a.yaml:5: workload w acquires tokens: it cannot have `item_bytes`");
    expect_fault(LIMITED("weir-limiter", API, ", limiter: api, keys: \"append:e\""),
                 "a.yaml:5: workload w acquires tokens: its keys name entities");
    expect_fault(LIMITED("weir-limiter", API, ""),
                 "a.yaml:4: there are limits, but no workload has `limiter`");
    expect_fault(LIMITED("weir-limiter", "{resource: api, capacity: 6, smallest_request: 7}", ""),
                 "a.yaml:4: smallest_request is 7, but capacity is 6");
    expect_fault(LIMITED("weir-limiter", "{resource: \"a#b\", capacity: 6}", ""),
                 "a.yaml:4: entities and resources of limits have letters");
}

#define INDEXED(fields) HEAD "tables: [{name: users, indexes: [" fields "]}]\n"

TEST(a_table_has_global_indexes)
{
    assert_int_equal(
        read_text(INDEXED("{name: by-a, key_count: 3}, {name: by-b, keys: \"zipf:1\", "
                          "projection: keys, wcu: 7}") "workloads: [{name: w, table: users, "
                                                       "index_key_count: 5}]\n"),
        STATUS_OK);
    const struct indexes_options *o = &s->tables[0].indexes;
    assert_int_equal(o->count, 2);
    assert_int_equal(o->at[0].keys.count, 3);
    assert_int_equal(o->at[0].projection, INDEX_ALL);
    assert_int_equal(o->at[1].projection, INDEX_KEYS);
    assert_int_equal(o->at[1].keys.kind, LOAD_KEYS_ZIPF);
    assert_int_equal(o->at[1].wcu, 7);
    assert_int_equal(s->workloads[0].index_key_count, 5);
}

TEST(indexes_that_cannot_be_are_refused)
{
    expect_fault(INDEXED("{name: ab}"), "a.yaml:3: the name of an index has 3 to 63 letters");
    expect_fault(INDEXED("{name: by-a, key_count: 0}"),
                 "a.yaml:3: key_count is `0`, but must be a whole number from 1 to");
    expect_fault(INDEXED("{name: by-a, projection: some}"),
                 "a.yaml:3: projection is `some`, but must be all or keys");
    expect_fault(INDEXED("{name: by-a, keys: \"hotspot:0.5:9\", key_count: 3}"),
                 "a.yaml:3: keys of index by-a: hotspot has more hot keys than there are keys");
    expect_fault(INDEXED("{name: by-a}, {name: by-a}"), "a.yaml:3: two indexes are named `by-a`");
    expect_fault(INDEXED("{name: aaa}, {name: bbb}, {name: ccc}, {name: ddd}, {name: eee}, "
                         "{name: fff}"),
                 "a.yaml:3: indexes may have at most 5 elements");
    expect_fault(HEAD "tables: [{name: users, on_demand: true, indexes: [{name: by-a, wcu: 5}]}]\n",
                 "a.yaml:3: index by-a: rcu and wcu must be 0, since its table is on demand, not 0 "
                 "and 5");
    expect_fault(HEAD "tables: [{name: users}]\n"
                      "workloads: [{name: w, table: users, index_key_count: 5}]\n",
                 "a.yaml:4: index_key_count of workload w is 5, but must be 0: table users has no "
                 "indexes");
    expect_fault(INDEXED("{name: by-a, keys: \"hotspot:0.5:9\"}") "workloads: [{name: w, table: "
                                                                  "users, index_key_count: 5}]\n",
                 "a.yaml:4: index_key_count of workload w is 5, but an index's keys: hotspot has");
}

TEST(a_policy_changes_what_it_sets)
{
    assert_int_equal(read_text(HEAD BODY "policies: [{name: p, set: {workloads.w.rate: 77, "
                                         "cluster.settings.gac: static}}]\n"),
                     STATUS_OK);
    const struct scenario_policy p = s->policies[0];
    assert_int_equal(scenario_choose(&p, &d, &error), STATUS_OK);
    assert_int_equal(scenario_read(&d, baseline_policies(), s, &error), STATUS_OK);
    assert_true(rate_curve_at(&s->workloads[0].traffic.rate, 0) == 77);
    assert_int_equal(config_choices(&s->cluster.config)->gac, GAC_STATIC);
}

TEST(an_error_in_what_a_policy_sets_names_path_and_policy)
{
    static const char text[] =
        HEAD BODY "policies: [{name: a}, {name: b, set: {workloads.w.rat: 1}}]\n";
    const struct lab_plan_options o = {.file = "a.yaml", .text = slice_of(text)};
    struct lab_plan p;
    buffer_clear(&error);
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_MALFORMED);
    lab_plan_deinit(&p);
    buffer_append_u8(&error, 0);
    const char *given = (const char *)error.data, *end = strstr(given, " (policy b)");
    static const char begin[] = "a.yaml: what is set at `workloads.w.rat`: unknown field `rat`; ";
    assert_true(strncmp(given, begin, strlen(begin)) == 0);
    assert_true(end != NULL && end[strlen(" (policy b)")] == 0);
}

static void expect_plan_fault(const char *text, const char *fault)
{
    const struct lab_plan_options o = {.file = "a.yaml", .text = slice_of(text)};
    struct lab_plan p;
    buffer_clear(&error);
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_MALFORMED);
    lab_plan_deinit(&p);
    buffer_append_u8(&error, 0);
    if (strncmp((const char *)error.data, fault, strlen(fault)) != 0)
        fail_msg("`%s` does not begin with `%s`", (const char *)error.data, fault);
}

TEST(a_fault_of_an_expectation_is_found_before_the_first_run)
{
    expect_plan_fault(HEAD BODY "expect:\n  - {measure: nosuch, at_most: 1}\n",
                      "a.yaml:6: there is no measure `nosuch`; ");
    expect_plan_fault(HEAD BODY "expect: [{measure: splits, tenant: nobody, at_most: 1}]\n",
                      "a.yaml:5: no tenant, table or reason is named `nobody`");
    expect_plan_fault(HEAD BODY "expect: [{measure: splits, table: users, at_most: 1}]\n",
                      "a.yaml:5: splits cannot be selected with a table");
    expect_plan_fault(HEAD BODY "expect: [{measure: refused_requests, reason: ok, at_most: 1}]\n",
                      "a.yaml:5: no tenant, table or reason is named `ok`");
    expect_plan_fault(HEAD BODY "policies: [{name: a}, {name: b, set: {expect.1.measure: no}}]\n"
                                "expect: [{measure: splits, at_most: 1}]\n",
                      "a.yaml:6: there is no measure `no`");
}

TEST(a_plan_numbers_all_runs)
{
    static const char text[] = HEAD BODY
        "policies: [{name: a}, {name: b/..}]\n"
        "sweep: [{path: workloads.w.rate, values: [1, 2]}, {path: seeds, values: [3, 4, 5]}]\n";
    struct lab_plan_options o = {
        .file = "a.yaml", .text = slice_of(text), .seeds = 4, .first_seed = 10, .sweep = true};
    struct lab_plan p;
    struct lab_planned *run = must_calloc(1, sizeof *run);
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    assert_int_equal(p.runs, 2 * 2 * 3 * 4);
    lab_plan_run(&p, 24 + 4 * 4 + 3, run);
    assert_int_equal(run->job.policy, 1);
    assert_int_equal(run->job.seed, 13);
    assert_string_equal(run->point, "rate=2,seeds=4");
    assert_string_equal(run->path, "runs/2-b_../4/13.json");
    lab_plan_deinit(&p);
    o.only = "b/..";
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    assert_int_equal(p.policies, 1);
    lab_plan_deinit(&p);
    o.only = "b/..,a";
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    assert_int_equal(p.policies, 2);
    lab_plan_deinit(&p);
    static const char *const wrong[] = {"c", "a,c", "a,", ",a", "a,,b/.."};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        o.only = wrong[i];
        assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_MALFORMED);
        lab_plan_deinit(&p);
    }
    free(run);
}

TEST(a_plan_has_the_fidelity_of_the_scenario_or_of_the_command)
{
    struct lab_plan_options o = {.file = "a.yaml",
                                 .text = slice_of(HEAD "fidelity: full\n" BODY),
                                 .fidelity = LAB_FIDELITIES};
    struct lab_plan p;
    struct lab_planned *run = must_calloc(1, sizeof *run);
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    lab_plan_run(&p, 0, run);
    assert_int_equal(run->job.fidelity, LAB_FULL);
    lab_plan_deinit(&p);
    o.fidelity = LAB_ADMISSION;
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    lab_plan_run(&p, 0, run);
    assert_int_equal(run->job.fidelity, LAB_ADMISSION);
    lab_plan_deinit(&p);
    expect_fault(HEAD "fidelity: half\n" BODY,
                 "a.yaml:3: fidelity is `half`, but must be admission, full or real");
    free(run);
}

TEST(a_plan_finds_a_policy_that_does_not_fit_before_the_first_run)
{
    static const char text[] = HEAD BODY "policies: [{name: a}, {name: b, set: {seeds: none}}]\n";
    const struct lab_plan_options o = {.file = "a.yaml", .text = slice_of(text)};
    struct lab_plan p;
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_MALFORMED);
    lab_plan_deinit(&p);
}

static void expect_refusal(enum lab_fidelity fidelity, const char *text, const char *fault)
{
    const struct lab_plan_options o = {
        .file = "a.yaml", .text = slice_of(text), .fidelity = fidelity};
    struct lab_plan p;
    buffer_clear(&error);
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    if (strncmp((const char *)error.data, fault, strlen(fault)) != 0)
        fail_msg("`%s` does not begin with `%s`", (const char *)error.data, fault);
    assert_null(strstr((const char *)error.data, "(policy ")); /* it changes nothing */
    lab_plan_deinit(&p);
}

#define CLUSTER(members) \
    HEAD BODY "cluster:\n  costs: {network: 1ms}\n  wall_skew: 0s\n  " members "\n"
#define TABLE(members)                                              \
    HEAD "tables:\n  - {name: users}\n  - name: more\n    " members \
         "\nworkloads: [{name: w, table: users}]\n"

#define WORKLOAD(members) \
    HEAD "tables: [{name: users}]\nworkloads:\n  - name: w\n    table: users\n    " members "\n"

/* Before the first run, and at the field. */
TEST(what_a_fidelity_cannot_run_is_refused_when_the_scenario_is_read)
{
    static const struct {
        enum lab_fidelity fidelity;
        const char *text, *fault;
    } rows[] = {
        {LAB_ADMISSION, TABLE("key_sharding: auto"),
         "a.yaml:6: the fidelity admission has no sharded keys, but table more has "
         "`key_sharding: auto`. The fidelity full has them"},
        {LAB_ADMISSION, TABLE("indexes: [{name: by-kind}]"),
         "a.yaml:6: the fidelity admission has no global indexes, but table more has 1"},
        {LAB_FULL, CLUSTER("nodes: 10"), "a.yaml:8: the fidelity full has at most 9 nodes, not 10"},
        {LAB_FULL, CLUSTER("routers: 33"),
         "a.yaml:8: the fidelity full has at most 32 routers, not 33"},
        {LAB_FULL, CLUSTER("gac: 6"),
         "a.yaml:8: the fidelity full has at most 5 servers of global admission control, not 6"},
        {LAB_FULL, CLUSTER("memory_items: 5"), "a.yaml:8: the fidelity full does not track items"},
        {LAB_FULL, TABLE("copies: 1000"),
         "a.yaml:4: the fidelity full has at most 1000 tables, not 1001"},
        {LAB_FULL, TABLE("bytes: 100000000"),
         "a.yaml:6: the fidelity full stores at most 67108864 `bytes`"},
        {LAB_FULL, TABLE("wcu: 10\n    bytes: 60000000"),
         "a.yaml:7: the fidelity full fills table more with its write capacity"},
        {LAB_FULL, WORKLOAD("mix: 'read:0.9:scan:0.1'"),
         "a.yaml:7: the fidelity full does not know what a scan costs"},
        {LAB_FULL, WORKLOAD("item_bytes: uniform:100:5000"),
         "a.yaml:5: the fidelity full does not know what a read of more than 4096 bytes costs"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_refusal(rows[i].fidelity, rows[i].text, rows[i].fault);
}

/* The cluster would refuse the table, at every fidelity. */
TEST(a_table_has_the_partitions_that_its_throughput_needs)
{
#define SMALL "cluster: {settings: {partition_max_rcu: 300, partition_max_wcu: 100}}\n"
    expect_fault(SMALL HEAD "tables: [{name: users, rcu: 2000, wcu: 10,\n"
                            "  partitions: 6}]\nworkloads: [{name: w, table: users}]\n",
                 "a.yaml:5: partitions of users is 6, but must be 0 or at least 7: its throughput "
                 "of 2000 RCU and 10 WCU needs so many");
    expect_fault(SMALL HEAD "tables:\n  - name: users\n    rcu: 10\n    wcu: 10\n    indexes:\n"
                            "      - {name: one}\n"
                            "      - name: two\n        wcu: 201\n        partitions: 2\n"
                            "workloads: [{name: w, table: users}]\n",
                 "a.yaml:12: partitions of two is 2, but must be 0 or at least 3");
    expect_fault(SMALL HEAD "tables:\n  - name: users\n    rcu: 600000\n"
                            "workloads: [{name: w, table: users}]\n",
                 "a.yaml:5: users would need 2000 partitions, but "
                 "cluster.settings.table_partitions_max is 1000");
    assert_int_equal(read_text(SMALL HEAD "tables: [{name: users, rcu: 2000, wcu: 10,\n"
                                          "  partitions: 7}]\n"
                                          "workloads: [{name: w, table: users}]\n"),
                     STATUS_OK);
}

TEST(policies_are_added_behind_the_one_that_is_implied)
{
    const struct lab_plan_options o = {.file = "a.yaml",
                                       .text = slice_of(HEAD BODY),
                                       .more = slice_of("- {name: other}\n"),
                                       .fidelity = LAB_FIDELITIES};
    struct lab_plan p;
    assert_int_equal(lab_plan_make(&p, &o, &error), STATUS_OK);
    assert_int_equal(p.scenario->policy_count, 2);
    assert_string_equal(p.scenario->policies[0].name, "weir");
    assert_string_equal(p.scenario->policies[1].name, "other");
    lab_plan_deinit(&p);
}

TEST(every_shipped_scenario_makes_a_plan)
{
    assert_true(lab_shipped_count >= 10);
    for (size_t i = 0; i < lab_shipped_count; i++) {
        const struct lab_plan_options o = {.file = lab_shipped[i].name,
                                           .text = lab_shipped[i].text,
                                           .sweep = true,
                                           .fidelity = LAB_FIDELITIES,
                                           .policies = baseline_policies()};
        struct lab_plan p;
        buffer_clear(&error);
        if (lab_plan_make(&p, &o, &error) != STATUS_OK)
            fail_msg("%.*s", (int)error.size, (const char *)error.data);
        assert_string_equal(p.scenario->name, lab_shipped[i].name);
        assert_true(p.scenario->expectation_count > 0);
        assert_ptr_equal(lab_shipped_find(p.scenario->name), &lab_shipped[i]);
        lab_plan_deinit(&p);
    }
}

static int begin(void **state)
{
    (void)state;
    s = must_calloc(1, sizeof *s);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(s);
    document_deinit(&d);
    buffer_deinit(&error);
    return 0;
}

FILE_FIXTURE(begin, finish)
