/* Random scenarios at the fidelity admission, from their first moment: no policy that keeps its
 * limits admits more than the optimum, in any window. So the optimum begins with what the system's
 * buckets have, and misses nothing that a policy may use.
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

/* Nodes have what all tables together may use, or a multiple. */
static void draw_scenario(struct prng *p, struct buffer *out)
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
        "allocation}}\n";
    const int tables = 1 + (int)prng_below(p, TABLES_MAX);
    struct buffer workloads = {0};
    int64_t sum = 0;
    buffer_append_format(out,
                         "name: drawn\nduration: 8s\nwarm: 0s\n"
                         "cluster: {nodes: %d, routers: %d, gac: %d, settings: ",
                         1 + (int)prng_below(p, 5), 1 << prng_below(p, 4),
                         1 + (int)prng_below(p, 3));
    struct buffer list = {0};
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
}

static double json_number(const struct json_value *v)
{
    return v->type == JSON_INTEGER   ? (double)json_integer(v)
           : v->type == JSON_DECIMAL ? json_decimal(v)
                                     : NAN;
}

static void assert_within_the_optimum(const struct buffer *json, const char *policy,
                                      const struct buffer *scenario)
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
    if (json_number(&windows) > 0 || goodput > 1 + OVERDRAWN)
        fail_msg("%s: %g windows beyond the optimum, goodput %.9g\n%.*s", policy,
                 json_number(&windows), goodput, TEXT_OF(*scenario));
    json_parser_destroy(parser);
    buffer_deinit(&padded);
}

static void policies_stay_within_the_optimum(struct prng *p)
{
    static struct policies policies;
    struct buffer text = {0}, json = {0}, error = {0};
    struct lab_plan plan;
    policy_file_begin(&policies);
    baselines_add(&policies);
    draw_scenario(p, &text);
    const struct lab_plan_options options = {.file = "drawn.yaml",
                                             .text = buffer_slice(&text),
                                             .seeds = 1,
                                             .first_seed = prng_below(p, 1000),
                                             .policies = &policies};
    if (lab_plan_make(&plan, &options, &error) != STATUS_OK)
        fail_msg("%.*s\n%.*s", TEXT_OF(error), TEXT_OF(text));
    struct lab_planned *run = must_calloc(1, sizeof *run);
    for (uint64_t i = 0; i < plan.runs; i++) {
        buffer_clear(&json);
        lab_plan_run(&plan, i, run);
        if (lab_run(&run->job, &json, &error) != STATUS_OK)
            fail_msg("%.*s\n%.*s", TEXT_OF(error), TEXT_OF(text));
        assert_within_the_optimum(&json, plan.scenario->policies[run->job.policy].name, &text);
    }
    free(run);
    lab_plan_deinit(&plan);
    buffer_deinit(&text);
    buffer_deinit(&json);
    buffer_deinit(&error);
}

TEST(no_policy_that_keeps_limits_is_beyond_the_optimum)
{
    check_seeds(SEEDS, policies_stay_within_the_optimum);
}
