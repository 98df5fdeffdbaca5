/* Random scenarios at the fidelity admission, from their first moment: no policy that keeps its
 * limits admits more than the optimum, in any window. So the optimum begins with what the system's
 * buckets have, and misses nothing that a policy may use. In a third of the scenarios work is slow:
 * there no policy serves more in time than the optimum's processors can do.
 *
 * `SEEDS=1000 build/fast/tests/property --filter lab_limits_property` runs more of them. */
#include <math.h>
#include <stdlib.h>

#include "lab/baselines/baselines.h"
#include "lab/run/plan.h"
#include "router/json/json.h"
#include "server/host/policy_file.h"
#include "tests/check.h"

enum {
    SEEDS = 12,
    TABLES_MAX = 3,
    WORKLOADS_MAX = 2, /* of a table */
};

#define OVERDRAWN 0.01 /* by requests that cost more than was known, once for each router */

#define PICK(p, list) ((list)[prng_below(p, COUNT_OF(list))])

static void draw_workload(struct prng *p, int table, int number, int64_t units, struct buffer *out)
{
    static const char *const keys[] = {"uniform", "zipf:0.99", "zipf:1.2"},
                             *const mixes[] = {"read:1", "read:0:update:1", "read:0.5:update:0.5"},
                             *const evens[] = {"", ":eventual:1", ":eventual:0.5"};
    static const int64_t percents[] = {30, 80, 100, 150, 300, 600},
                         sizes[] = {100, 900, 3000, 9000};
    const long long rate = 1 + units * PICK(p, percents) / 100;
    buffer_append_format(out, "  - {name: w%d-%d, table: table-%d, keys: \"%s\", mix: \"%s%s\", ",
                         table, number, table, PICK(p, keys), PICK(p, mixes), PICK(p, evens));
    buffer_append_format(out, "item_bytes: %lld, rate: ", (long long)PICK(p, sizes));
    switch (prng_below(p, 3)) {
    case 0:
        buffer_append_format(out, "%lld}\n", rate);
        break;
    case 1:
        buffer_append_format(out, "\"steps:%lld:%lld:4\"}\n", rate, 3 * rate);
        break;
    default:
        buffer_append_format(out, "\"spike:%lld:%lld:2:3\"}\n", rate, 4 * rate);
        break;
    }
}

/* Processors that the load may exceed, and a node that is slow for a while. */
static void draw_slow_work(struct prng *p, int nodes, struct buffer *costs, struct buffer *rest)
{
    static const char *const objectives[] = {"50ms", "300ms", "1s", "4s"}, *const works[] = {
                                                                               "500us", "2ms",
                                                                               "5ms", "20ms"};
    buffer_append_format(costs, "cores: %lld, read: %s, write: %s, follow: %s, unit: %s",
                         (long long)prng_between(p, 1, 3), PICK(p, works), PICK(p, works),
                         PICK(p, works), PICK(p, works));
    buffer_append_format(rest, "objective: %s\nfaults:\n", PICK(p, objectives));
    buffer_append_format(rest,
                         "  - {kind: node-slow, which: %lld, at: %lldms, for: 1s, factor: %s}\n",
                         (long long)prng_between(p, 1, nodes), (long long)prng_between(p, 0, 6000),
                         prng_below(p, 2) ? "5" : "0.3");
}

/* Nodes have what all tables together may use, or a multiple. Returns whether work is slow. */
static bool draw_scenario(struct prng *p, struct buffer *out)
{
    static const int64_t units[] = {50, 100, 300, 1000};
    static const char *const policies =
        "policies:\n"
        "  - {name: weir}\n"
        "  - {name: static, set: {cluster.settings.gac: static}}\n"
        "  - {name: periodic, set: {cluster.settings.gac: periodic}}\n"
        "  - {name: paper, set: {cluster.settings.gac: named, cluster.settings.gac_policy: "
        "gac-paper}}\n"
        "  - {name: shares, set: {cluster.settings.gac: \"off\", "
        "cluster.settings.partition_policy: "
        "allocation}}\n"
        "  - {name: nothing-shed, set: {cluster.settings.overload_policy: \"off\"}}\n"
        "  - {name: credits, set: {cluster.settings.overload_policy: credits, "
        "cluster.settings.overload_target_ms: \"4\"}}\n";
    const int tables = 1 + (int)prng_below(p, TABLES_MAX);
    const int nodes = 1 + (int)prng_below(p, 5);
    const bool slow = prng_below(p, 3) == 0;
    struct buffer workloads = {0}, costs = {0}, rest = {0}, list = {0};
    int64_t sum = 0;
    if (slow)
        draw_slow_work(p, nodes, &costs, &rest);
    buffer_append_format(out,
                         "name: drawn\nduration: 8s\nwarm: 0s\n%.*s"
                         "cluster: {nodes: %d, routers: %d, gac: %d, costs: {%.*s}, settings: ",
                         TEXT_OF(rest), nodes, 1 << prng_below(p, 4), 1 + (int)prng_below(p, 3),
                         TEXT_OF(costs));
    for (int t = 0; t < tables; t++) {
        const int64_t rcu = PICK(p, units), wcu = PICK(p, units);
        sum += rcu > wcu ? rcu : wcu;
        buffer_append_format(&list, "  - {name: table-%d, rcu: %lld, wcu: %lld, partitions: %d}\n",
                             t, (long long)rcu, (long long)wcu, 1 + (int)prng_below(p, 6));
        const int count = 1 + (int)prng_below(p, WORKLOADS_MAX);
        for (int w = 0; w < count; w++)
            draw_workload(p, t, w, rcu < wcu ? rcu : wcu, &workloads);
    }
    const long long capacity = sum * (1 + (int64_t)prng_below(p, 3));
    buffer_append_format(out, "{node_rcu: %lld, node_wcu: %lld}}\ntables:\n%.*sworkloads:\n%.*s%s",
                         capacity, capacity, TEXT_OF(list), TEXT_OF(workloads), policies);
    buffer_deinit(&list);
    buffer_deinit(&workloads);
    buffer_deinit(&costs);
    buffer_deinit(&rest);
    return slow;
}

static double json_number(const struct json_value *v)
{
    return v->type == JSON_INTEGER   ? (double)json_integer(v)
           : v->type == JSON_DECIMAL ? json_decimal(v)
                                     : NAN;
}

/* Where work differs, max-min does not serve most. */
static void assert_within_the_optimum(const struct buffer *json, const char *policy,
                                      const struct buffer *scenario, bool slow)
{
    struct json_parser *parser = json_parser_create();
    struct buffer padded = {0};
    struct json_value root;
    buffer_append_slice(&padded, buffer_slice(json));
    buffer_reserve(&padded, JSON_PADDING);
    assert_int_equal(json_parse(parser, buffer_slice(&padded), &root), STATUS_OK);
    const struct json_value measures = json_find(&root, "measures"), all = json_find(&measures, ""),
                            windows = json_find(&all, "optimum_violations"),
                            ratio = json_find(&all, "goodput_ratio");
    const double goodput = json_number(&ratio);
    if (json_number(&windows) > 0 || (!slow && goodput > 1 + OVERDRAWN))
        fail_msg("%s: %g windows beyond the optimum, goodput %.9g\n%.*s", policy,
                 json_number(&windows), goodput, TEXT_OF(*scenario));
    json_parser_destroy(parser);
    buffer_deinit(&padded);
}

static void run_policies(const struct buffer *text, uint64_t seed, bool slow)
{
    static struct policies policies;
    struct buffer json = {0}, error = {0};
    struct lab_plan plan;
    policy_file_begin(&policies);
    baselines_add(&policies);
    const struct lab_plan_options options = {.file = "drawn.yaml",
                                             .text = buffer_slice(text),
                                             .seeds = 1,
                                             .first_seed = seed,
                                             .policies = &policies};
    if (lab_plan_make(&plan, &options, &error) != STATUS_OK)
        fail_msg("%.*s\n%.*s", TEXT_OF(error), TEXT_OF(*text));
    struct lab_planned *run = must_calloc(1, sizeof *run);
    for (uint64_t i = 0; i < plan.runs; i++) {
        buffer_clear(&json);
        lab_plan_run(&plan, i, run);
        if (lab_run(&run->job, &json, &error) != STATUS_OK)
            fail_msg("%.*s\n%.*s", TEXT_OF(error), TEXT_OF(*text));
        assert_within_the_optimum(&json, plan.scenario->policies[run->job.policy].name, text, slow);
    }
    free(run);
    lab_plan_deinit(&plan);
    buffer_deinit(&json);
    buffer_deinit(&error);
}

static void policies_stay_within_the_optimum(struct prng *p)
{
    struct buffer text = {0};
    const bool slow = draw_scenario(p, &text);
    run_policies(&text, prng_below(p, 1000), slow);
    buffer_deinit(&text);
}

TEST(no_policy_that_keeps_limits_is_beyond_the_optimum)
{
    check_seeds(SEEDS, policies_stay_within_the_optimum);
}

/* Nodes of one core that do a read in 10 ms. Nothing is shed. */
static void run_slow_nodes(int nodes, const char *objective, const char *workload,
                           const char *fault)
{
    struct buffer text = {0};
    buffer_append_format(&text,
                         "name: drawn\nduration: 4s\nwarm: 0s\nobjective: %s\n"
                         "cluster: {nodes: %d, routers: 1, gac: 1, costs: {cores: 1, read: 10ms}, "
                         "settings: {overload_policy: \"off\"}}\n"
                         "tables:\n  - {name: items, rcu: 5000, wcu: 1}\n"
                         "workloads:\n  - {name: w, table: items, item_bytes: 900, %s}\n"
                         "faults:\n  - {%s}\npolicies:\n  - {name: weir}\n",
                         objective, nodes, workload, fault);
    run_policies(&text, 1, true);
    buffer_deinit(&text);
}

TEST(a_node_that_becomes_faster_within_a_window_can_do_more_in_it)
{
    run_slow_nodes(1, "50ms", "mix: \"read:1\", rate: 2000, start: 2050ms",
                   "kind: node-slow, which: 1, at: 2050ms, for: 1s, factor: 0.1");
}

TEST(a_node_that_comes_back_has_no_queue)
{
    run_slow_nodes(3, "300ms", "mix: \"read:1:eventual:1\", rate: 900",
                   "kind: node-down, which: 2, at: 1010ms, for: 40ms");
}

/* Each of 12 partitions may be left with the debt of a request of 9 units, and the only router with
 * none. */
TEST(partitions_may_each_overdraw_their_table)
{
    struct buffer text = {0};
    buffer_append_text(&text,
                       "name: drawn\nduration: 8s\nwarm: 0s\ncluster: {nodes: 3, routers: 1}\n"
                       "tables:\n  - {name: items, rcu: 120, wcu: 1, partitions: 12}\n"
                       "workloads:\n  - {name: w, table: items, mix: \"read:1\", "
                       "item_bytes: 36000, rate: 100}\n"
                       "policies:\n  - {name: shares, set: {cluster.settings.gac: \"off\", "
                       "cluster.settings.partition_policy: allocation}}\n");
    run_policies(&text, 1, false);
    buffer_deinit(&text);
}
