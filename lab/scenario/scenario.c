/* scenario.c - reads a scenario from a document. */
#include "engine/transaction/transaction.h"
#include "lab/scenario/scenario_table.h"

#include <math.h>

#include "base/instant.h"
#include "base/limits.h"
#include "base/settings/tables.h"
#include "lab/scenario/scenario_check.h"
#include "lab/scenario/scenario_fault.h"
#include "lab/scenario/scenario_limit.h"
#include "workload/text_fields.h"

#define AT(type, member) FIELD_MEMBER(struct type, member)
#define LIST(member, count)                                                   \
    AT(scenario, member), .max = COUNT_OF(((struct scenario *)NULL)->member), \
                          .count_at = offsetof(struct scenario, count)

enum {
    UNITS_MAX = 100000000 /* a second; the quotas of an account do not bind a scenario */
};
#define NS_MAX         SCENARIO_NS_MAX
#define IMPLIED_POLICY "weir" /* of a scenario that names none */

static struct scenario *scenario_of(const struct reading *r)
{
    return r->context;
}

/* ---- the cluster ---- */

static bool read_settings(struct reading *r, const struct document_node *n, void *target)
{
    struct config *c = target;
    struct buffer error = {0};
    bool good = true;
    if (n->kind != DOCUMENT_MAP)
        return reading_fail(r, n, "settings must be a map of names of settings and values");
    for (const struct document_node *m = n->first; m != NULL && good; m = m->next) {
        if (m->kind != DOCUMENT_TEXT)
            good = reading_fail(r, m, "%.*s must be a single value", TEXT_OF(m->key));
        else if (config_set(c, m->key, m->text, &error) != STATUS_OK)
            good = reading_fail(r, m, "%.*s", TEXT_OF(error));
    }
    buffer_deinit(&error);
    return good;
}

static const struct field cost_fields[] = {
    {"read", FIELD_DURATION, AT(scenario_costs, read_ns), .max = NS_PER_S,
     .help = "Processor time of a node for a read of one unit. Default: 20us."},
    {"miss", FIELD_DURATION, AT(scenario_costs, miss_ns), .max = NS_PER_S,
     .help = "Additional processor time of a node for each read item that is not in its memory "
             "(memory_items). Default: 0s."},
    {"write", FIELD_DURATION, AT(scenario_costs, write_ns), .max = NS_PER_S,
     .help = "Processor time of a leader for a write of one unit. Default: 40us."},
    {"follow", FIELD_DURATION, AT(scenario_costs, follow_ns), .max = NS_PER_S,
     .help = "Processor time of a follower for a write of one unit. Default: 20us."},
    {"unit", FIELD_DURATION, AT(scenario_costs, unit_ns), .max = NS_PER_S,
     .help = "Processor time of a node for each further unit. Default: 2us."},
    {"refuse", FIELD_DURATION, AT(scenario_costs, refuse_ns), .max = NS_PER_S,
     .help = "Processor time of a node or router for a request that it refuses. Default: 3us."},
    {"sync", FIELD_DURATION, AT(scenario_costs, sync_ns), .max = NS_PER_S,
     .help = "Time until a write is durable on a disk. Default: 250us."},
    {"router", FIELD_DURATION, AT(scenario_costs, router_ns), .max = NS_PER_S,
     .help = "Processor time of a router for a request. Default: 10us."},
    {"network", FIELD_DURATION, AT(scenario_costs, network_ns), .max = NS_PER_S,
     .help = "Time of a message between two processes. Default: 100us."},
    {"jitter", FIELD_DURATION, AT(scenario_costs, jitter_ns), .max = NS_PER_S,
     .help = "Mean of the random addition to `network`. Default: 20us."},
    {"cores", FIELD_INTEGER, AT(scenario_costs, cores), .min = 1, .max = 1024,
     .help = "Processors of a node. Default: 4."},
    {"move_bytes_per_s", FIELD_INTEGER, AT(scenario_costs, move_bytes_per_s), .min = 1,
     .max = 1000000000000, .help = "Speed at which a replica that moves is copied. Default: 50M."},
    FIELDS_END};

static const struct field cluster_fields[] = {
    {"nodes", FIELD_INTEGER, AT(scenario_cluster, nodes), .min = 1, .max = NODES_LIMIT,
     .help = "Storage nodes. Default: 8."},
    {"routers", FIELD_INTEGER, AT(scenario_cluster, routers), .min = 1, .max = SCENARIO_ROUTERS_MAX,
     .help = "Request routers. Default: 16."},
    {"gac", FIELD_INTEGER, AT(scenario_cluster, gac), .min = 0, .max = SCENARIO_GAC_MAX,
     .help = "Servers of global admission control. Default: 3."},
    {"memory_items", FIELD_INTEGER, AT(scenario_cluster, memory_items), .min = 0,
     .max = SCENARIO_MEMORY_ITEMS_MAX,
     .help =
         "Items that each node keeps in memory, the last used ones; 0: all. Only at the fidelity "
         "`admission`. Default: 0."},
    {"wall_skew", FIELD_DURATION, AT(scenario_cluster, wall_skew_ns), .max = 3600 * NS_PER_S,
     .help = "Maximum error of the wall clock of a node or router. Only at the fidelity `full`. "
             "Default: 0s."},
    {"settings", FIELD_NODE, AT(scenario_cluster, config), .read = read_settings,
     .help = "Settings of the cluster by name: `weir node --config help` lists them."},
    {"costs", FIELD_MAP, AT(scenario_cluster, costs), .fields = cost_fields,
     .help = "The costs of work. The fidelity `full` uses all except move_bytes_per_s and miss, "
             "`real` none."},
    FIELDS_END};

/* ---- tenants ---- */

static const struct field tenant_fields[] = {
    {"name", FIELD_TEXT, AT(scenario_tenant, name), .required = true,
     .help = "Name of the tenant, as workloads have it."},
    {"weight", FIELD_REAL, AT(scenario_tenant, weight), .min = 0, .max = 1000000,
     .help = "Weight in the measures of fairness. Default: 1."},
    {"parent", FIELD_ANY_TEXT, AT(scenario_tenant, parent),
     .help = "The account of the tenant: a tenant that comes before it, and has no workload. The "
             "weight then counts among the tenants of the account. Default: none."},
    FIELDS_END};

static bool read_tenant(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_tenant *t = target;
    *t = (struct scenario_tenant){.weight = 1, .parent_place = UINT32_MAX};
    if (!fields_read(r, n, tenant_fields, t))
        return false;
    if (t->parent == NULL)
        return true;
    const struct scenario *s = scenario_of(r);
    t->parent_place = (uint32_t)NAME_PLACE(t->parent, s->tenants, s->tenant_count);
    return t->parent_place < s->tenant_count ||
           reading_fail(r, n, "tenant %s: there is no tenant `%s` before it", t->name, t->parent);
}

/* ---- workloads ---- */

/* "even", "shares:99:1:0": weights of any scale, in order; "moving:0.5:10" */
static const char *parse_spread(void *target, const char *text)
{
    struct scenario_spread *s = target;
    const char *rest;
    double n[2], sum = 0;
    int count;
    *s = (struct scenario_spread){.kind = SPREAD_EVEN};
    if (strcmp(text, "even") == 0)
        return NULL;
    if (text_begins(text, "shares", &rest)) {
        s->kind = SPREAD_SHARES;
        count = text_numbers(rest, s->shares, SCENARIO_ROUTERS_MAX);
        for (int i = 0; i < count; i++)
            sum += s->shares[i] >= 0 ? s->shares[i] : -HUGE_VAL;
        if (count < 1 || sum < 0)
            return "must be shares:WEIGHT:WEIGHT and so on, a weight for each router";
        for (s->count = 0; s->count < (uint32_t)count; s->count++)
            s->shares[s->count] /= sum;
        return sum > 0 ? NULL : "must have a weight above 0";
    }
    s->kind = SPREAD_MOVING;
    if (!text_begins(text, "moving", &rest) || text_numbers(rest, n, 2) != 2 || !(n[0] >= 0) ||
        n[0] > 1 || n[1] > 86400 || !text_seconds(n[1], &s->every_ns))
        return "must be even, shares:WEIGHT:WEIGHT.., or moving:FRACTION:EVERY_S with a fraction "
               "from 0 to 1 and 0.001 to 86400 seconds";
    s->fraction = n[0];
    return NULL;
}

static const char *parse_ycsb(void *target, const char *text)
{
    struct traffic_options *o = target;
    uint64_t count = o->keys.count;
    if (text[0] == '\0' || text[1] != '\0' || !ycsb_workload(text[0], &o->mix, &o->keys, &o->sizes))
        return "must be a letter from A to F";
    o->keys.count = count;
    return NULL;
}

static bool read_trace(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_workload *w = target;
    const struct document_node *m = n->kind == DOCUMENT_TEXT ? n : n->first;
    w->trace_count = 0;
    for (; m != NULL; m = n->kind == DOCUMENT_TEXT ? NULL : m->next) {
        if (m->kind != DOCUMENT_TEXT || n->kind == DOCUMENT_MAP ||
            w->trace_count == SCENARIO_TRACES_MAX)
            break;
        w->traces[w->trace_count++] = (const char *)m->text.data;
    }
    return (m == NULL && w->trace_count > 0) ||
           reading_fail(r, n, "trace must be a file, or a list of 1 to %d files",
                        SCENARIO_TRACES_MAX);
}

#define TRAFFIC(member) AT(scenario_workload, traffic.member)

static const struct field workload_fields[] = {
    {"name", FIELD_TEXT, AT(scenario_workload, name), .required = true,
     .help = "Name of the workload."},
    {"tenant", FIELD_TEXT, AT(scenario_workload, tenant),
     .help = "Tenant to which its requests count. Default: the name of the workload."},
    {"limiter", FIELD_ANY_TEXT, AT(scenario_workload, limiter),
     .help = "Each request acquires a token of the rate limiter instead of using an item: this is "
             "the resource, the key is the entity. Only at the fidelity `full`. Default: none."},
    {"table", FIELD_ANY_TEXT, AT(scenario_workload, table), .required = true,
     .help = "Name of a table."},
    {"each", FIELD_FLAG, AT(scenario_workload, each),
     .help = "The rate is of each copy of the table, not of all together. Default: false."},
    {"idempotency_keys", FIELD_FLAG, AT(scenario_workload, idempotency_keys),
     .help = "Each request to the rate limiter has an Idempotency-Key. Default: false."},
    {"start", FIELD_DURATION, TRAFFIC(start_ns), .max = NS_MAX,
     .help = "Time of the first request. Default: 0s."},
    {"end", FIELD_DURATION, TRAFFIC(end_ns), .max = NS_MAX,
     .help = "No request is due at this time or later. Default: the end of the run."},
    {"ycsb", FIELD_PARSED, AT(scenario_workload, traffic), .parse = parse_ycsb,
     .help = "Mix, keys and item size of a YCSB core workload, A to F. Later fields override."},
    {"rate", FIELD_PARSED, TRAFFIC(rate), .parse = rate_curve_parse,
     .help = "Requests per second of an open loop: a number, ramp:FROM:TO:SPAN_S, "
             "steps:R1:R2:..:EVERY_S, spike:BASE:PEAK:FROM_S:FOR_S, "
             "diurnal:MEAN:RATIO:PERIOD_S[:NOISE] or on-off:RATE:ON_S:OFF_S. Default: 100."},
    {"arrivals", FIELD_CHOICE, TRAFFIC(arrivals), .choices = arrival_names,
     .help = "The distribution of requests over time. Default: poisson."},
    {"clients", FIELD_PARSED, TRAFFIC(clients), .parse = traffic_clients_parse,
     .help = "A closed loop instead of a rate: closed:CLIENTS:THINK_MS[:exponential]."},
    {"keys", FIELD_PARSED, TRAFFIC(keys), .parse = load_keys_parse,
     .help = "uniform, zipf:THETA, scrambled-zipf:THETA, latest:THETA, hotspot:FRACTION:KEYS, "
             "shifting:FRACTION:EVERY_S[:RANGES], sequential, single:KEY, collection:KEY or "
             "append:KEY. Default: uniform."},
    {"key_count", FIELD_INTEGER, TRAFFIC(keys.count), .min = 1, .max = 1000000000000,
     .help = "Number of keys. Default: 10000."},
    {"mix", FIELD_PARSED, TRAFFIC(mix), .parse = traffic_mix_parse,
     .help =
         "ycsb:LETTER, or fractions that add up to 1: read:0.95:update:0.05 with insert, scan, "
         "read-modify-write and delete, and :eventual:FRACTION of the reads at the end. Default: "
         "read:0.5:update:0.5."},
    {"item_bytes", FIELD_PARSED, TRAFFIC(sizes), .parse = item_sizes_parse,
     .help = "Size of an item: a number, uniform:MIN:MAX or twitter[:MEDIAN]. Default: 100."},
    {"index_key_count", FIELD_INTEGER, AT(scenario_workload, index_key_count), .min = 0,
     .max = 1000000000000,
     .help = "Number of values of the key of each index of the table, in writes of this workload; "
             "0: as in the index. Default: 0."},
    {"transact", FIELD_INTEGER, AT(scenario_workload, transact), .min = 0,
     .max = TRANSACTION_ITEMS_MAX,
     .help = "Updates are TransactWriteItems of this number of items: the key, and others at even "
             "distances of key numbers. 0: they are PutItem. Not at the fidelity `admission`. "
             "Default: 0."},
    {"trace", FIELD_NODE, .read = read_trace,
     .help =
         "A file of requests instead of rate, keys, mix and item_bytes: a recording of `weir "
         "load --record` or `weir router --record`, a trace of Twitter's caches, or weir:cache, "
         "which "
         "comes with weir. A list of recordings, one for each router, is merged by the times of "
         "the requests."},
    {"trace_table", FIELD_ANY_TEXT, AT(scenario_workload, trace_table),
     .help = "Only requests to this table of the trace. Default: all."},
    {"trace_speed", FIELD_REAL, AT(scenario_workload, trace_speed), .min = 0, .max = 1000000,
     .help = "2: the trace runs twice as fast. Default: 1."},
    {"retry", FIELD_PARSED, AT(scenario_workload, retry), .parse = retry_parse,
     .help = "Retries of clients after a failure: none, legacy, standard, adaptive, standard-2026, "
             "adaptive-2026, sre-throttle:K, or a policy of --policy; :ATTEMPTS may follow. "
             "Default: none."},
    {"hedge", FIELD_PARSED, AT(scenario_workload, hedge), .parse = hedge_parse,
     .help = "The time after which a client sends a read in flight a second time, to another "
             "router: a time, or pNN: this percentile of its latencies. :FRACTION may follow: the "
             "maximum of hedges for each request (0.05). Default: none."},
    {"timeout", FIELD_DURATION, AT(scenario_workload, timeout_ns), .min = 1, .max = NS_MAX,
     .help = "A client gives an attempt up after this time. Default: 5s."},
    {"routers", FIELD_PARSED, AT(scenario_workload, routers), .parse = parse_spread,
     .help = "The distribution of requests over routers: even, shares:WEIGHT:WEIGHT.. or "
             "moving:FRACTION:EVERY_S. Default: even."},
    FIELDS_END};

static bool find_table(struct reading *r, const struct document_node *n,
                       struct scenario_workload *w)
{
    const struct scenario *s = scenario_of(r);
    w->table_place = (uint32_t)NAME_PLACE(w->table, s->tables, s->table_count);
    return w->table_place < s->table_count ||
           reading_fail(r, n, "workload %s: there is no table `%s`; tables come before workloads",
                        w->name, w->table);
}

static bool find_tenant(struct reading *r, const struct document_node *n,
                        struct scenario_workload *w)
{
    struct scenario *s = scenario_of(r);
    if (w->tenant == NULL)
        w->tenant = w->name;
    if (NAME_PLACE(w->tenant, s->tenants, s->tenant_count) < s->tenant_count)
        return true;
    if (s->tenant_count == SCENARIO_TENANTS_MAX)
        return reading_fail(r, n, "there are more than %d tenants", SCENARIO_TENANTS_MAX);
    s->tenants[s->tenant_count++] =
        (struct scenario_tenant){.name = w->tenant, .weight = 1, .parent_place = UINT32_MAX};
    return true;
}

static bool check_index_keys(struct reading *r, const struct document_node *n,
                             const struct scenario_workload *w)
{
    const struct indexes_options *indexes = &scenario_of(r)->tables[w->table_place].indexes;
    if (w->index_key_count > 0 && indexes->count == 0)
        return reading_fail(r, n,
                            "index_key_count of workload %s is %lld, but must be 0: table %s has "
                            "no indexes",
                            w->name, (long long)w->index_key_count, w->table);
    const char *fault = indexes_check_count(indexes, w->index_key_count);
    return fault == NULL ||
           reading_fail(r, n, "index_key_count of workload %s is %lld, but an index's keys: %s",
                        w->name, (long long)w->index_key_count, fault);
}

/* A transaction has puts of existing keys, which differ. They have no keys of indexes. */
static bool check_transact(struct reading *r, const struct document_node *n,
                           const struct scenario_workload *w)
{
    const struct traffic_mix *mix = &w->traffic.mix;
    const char *fault = NULL;
    if (w->transact == 0)
        return true;
    if (w->trace_count > 0 || w->limiter != NULL)
        fault = "needs a workload without `trace` and `limiter`";
    else if (scenario_of(r)->tables[w->table_place].indexes.count > 0)
        fault = "needs a table without indexes";
    else if (mix->fraction[TRAFFIC_INSERT] > 0 || mix->fraction[TRAFFIC_DELETE] > 0 ||
             mix->fraction[TRAFFIC_READ_MODIFY_WRITE] > 0)
        fault = "needs a mix whose writes are updates";
    else if ((uint64_t)w->transact > w->traffic.keys.count)
        fault = "needs at least as many keys as a transaction has items";
    return fault == NULL || reading_fail(r, n, "transact of workload %s is %lld, which %s", w->name,
                                         (long long)w->transact, fault);
}

static bool read_workload(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_workload *w = target;
    *w = (struct scenario_workload){.timeout_ns = 5 * NS_PER_S,
                                    .trace_speed = 1,
                                    .traffic = traffic_defaults(),
                                    .retry.policies = scenario_of(r)->cluster.config.policies};
    must(retry_parse(&w->retry, "none") == NULL);
    w->traffic.end_ns = INT64_MAX;
    if (!fields_read(r, n, workload_fields, w) || !find_table(r, n, w) || !find_tenant(r, n, w))
        return false;
    const char *fault = load_keys_check(&w->traffic.keys);
    if (fault != NULL)
        return reading_fail(r, n, "keys of workload %s: %s", w->name, fault);
    return check_index_keys(r, n, w) && check_transact(r, n, w) &&
           scenario_limit_check_workload(r, n, scenario_of(r), w);
}

/* ---- policies ---- */

static bool read_set(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_policy *p = target;
    if (n->kind != DOCUMENT_MAP)
        return reading_fail(r, n, "set must be a map of paths and values");
    for (const struct document_node *m = n->first; m != NULL; m = m->next) {
        if (m->kind != DOCUMENT_TEXT)
            return reading_fail(r, m, "the value of %.*s must be a text of YAML: quote it",
                                (int)m->key.size, (const char *)m->key.data);
        if (p->count == SCENARIO_SETTINGS_MAX)
            return reading_fail(r, m, "a policy sets at most %d values", SCENARIO_SETTINGS_MAX);
        p->set[p->count++] = (struct scenario_setting){m->key, m->text};
    }
    return true;
}

static const struct field policy_fields[] = {
    {"name", FIELD_TEXT, AT(scenario_policy, name), .required = true,
     .help = "Name of the policy."},
    {"about", FIELD_ANY_TEXT, AT(scenario_policy, about),
     .help = "Its description, in a sentence."},
    {"ablation", FIELD_FLAG, AT(scenario_policy, ablation),
     .help = "One mechanism is off, to show that it is needed. Default: false."},
    {"exceeds", FIELD_FLAG, AT(scenario_policy, exceeds),
     .help = "It admits more than limits and optimum, on purpose. Default: false."},
    {"set", FIELD_NODE, .read = read_set,
     .help = "Differences: paths in this file and values, "
             "`cluster.settings.gac: static`."},
    FIELDS_END};

static bool read_policy(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_policy *p = target;
    *p = (struct scenario_policy){.about = ""};
    return fields_read(r, n, policy_fields, p);
}

enum status scenario_add_policies(struct document *d, struct slice more, struct buffer *error)
{
    enum status status = STATUS_OK;
    if (document_member(d->root, "policies") == NULL)
        status = document_extend(d, "policies", slice_of("- {name: " IMPLIED_POLICY "}"), error);
    return status == STATUS_OK ? document_extend(d, "policies", more, error) : status;
}

enum status scenario_choose(const struct scenario_policy *p, struct document *d,
                            struct buffer *error)
{
    for (uint32_t i = 0; i < p->count; i++) {
        enum status status = document_set(d, p->set[i].path, p->set[i].value, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- expectations and axes ---- */

static const struct field expectation_fields[] = {
    {"measure", FIELD_ANY_TEXT, AT(scenario_expectation, measure), .required = true,
     .help = "Name of a measure: `weir lab list measures` lists them."},
    {"policy", FIELD_ANY_TEXT, AT(scenario_expectation, policy),
     .help = "Policy whose runs are checked. Default: the first."},
    {"tenant", FIELD_ANY_TEXT, AT(scenario_expectation, tenant),
     .help = "Only requests of this tenant. Default: all."},
    {"table", FIELD_ANY_TEXT, AT(scenario_expectation, table),
     .help = "Only requests to this table. Default: all."},
    {"reason", FIELD_ANY_TEXT, AT(scenario_expectation, reason),
     .help = "Only refusals for this reason, or by the global index TABLE/INDEX. Default: all."},
    {"from", FIELD_DURATION, AT(scenario_expectation, from_ns), .max = NS_MAX,
     .help = "Only from this time on. Default: the end of `warm`."},
    {"to", FIELD_DURATION, AT(scenario_expectation, to_ns), .max = NS_MAX,
     .help = "Only up to this time. Default: the end of the run."},
    {"versus", FIELD_ANY_TEXT, AT(scenario_expectation, versus),
     .help = "The value is divided by that of this policy, seed by seed. 0 / 0 counts as 1."},
    {"at_least", FIELD_REAL, AT(scenario_expectation, at_least), .min = INT64_MIN / 2,
     .max = INT64_MAX / 2, .help = "The interval over the seeds must not reach below."},
    {"at_most", FIELD_REAL, AT(scenario_expectation, at_most), .min = INT64_MIN / 2,
     .max = INT64_MAX / 2, .help = "The interval over the seeds must not reach above."},
    {"why", FIELD_ANY_TEXT, AT(scenario_expectation, why), .help = "Its meaning, in a sentence."},
    FIELDS_END};

static bool read_expectation(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_expectation *e = target;
    *e = (struct scenario_expectation){.to_ns = INT64_MAX,
                                       .from_ns = -1,
                                       .at_least = -HUGE_VAL,
                                       .at_most = HUGE_VAL,
                                       .why = "",
                                       .line = n->line};
    if (!fields_read(r, n, expectation_fields, e))
        return false;
    if (e->at_least == -HUGE_VAL && e->at_most == HUGE_VAL)
        return reading_fail(r, n, "an expectation needs at_least or at_most");
    if (e->at_least > e->at_most)
        return reading_fail(r, n, "at_least is %g, but must be at most at_most, which is %g",
                            e->at_least, e->at_most);
    return e->from_ns < e->to_ns ||
           reading_fail(r, n, "from is %gs, but must be before to, which is %gs",
                        (double)e->from_ns / 1e9, (double)e->to_ns / 1e9);
}

static bool read_values(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_axis *a = target;
    if (n->kind != DOCUMENT_LIST)
        return reading_fail(r, n, "values must be a list");
    for (const struct document_node *m = n->first; m != NULL; m = m->next) {
        if (m->kind != DOCUMENT_TEXT || a->count == SCENARIO_VALUES_MAX)
            return reading_fail(r, m, "values are at most %d single values", SCENARIO_VALUES_MAX);
        a->values[a->count++] = m->text;
    }
    return a->count > 0 || reading_fail(r, n, "values must have at least one value");
}

static bool read_path(struct reading *r, const struct document_node *n, void *target)
{
    if (n->kind != DOCUMENT_TEXT)
        return reading_fail(r, n, "path must be a single value");
    *(struct slice *)target = n->text;
    return true;
}

static const struct field axis_fields[] = {
    {"path", FIELD_NODE, AT(scenario_axis, path), .required = true, .read = read_path,
     .help = "The varied value: a path in this file."},
    {"values", FIELD_NODE, .required = true, .read = read_values,
     .help = "The values of the axis."},
    FIELDS_END,
};

static bool read_axis(struct reading *r, const struct document_node *n, void *target)
{
    memset(target, 0, sizeof(struct scenario_axis));
    return fields_read(r, n, axis_fields, target);
}

/* ---- the whole ---- */

bool scenario_name_is_valid(struct slice value)
{
    for (size_t i = 0; i < value.size; i++) {
        const uint8_t c = value.data[i], letter = c | 0x20;
        if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
            (c != '.' || i == 0))
            return false;
    }
    return value.size >= 1 && value.size <= SCENARIO_NAME_SIZE_MAX;
}

static const struct field scenario_fields[] = {
    {"name", FIELD_TEXT, AT(scenario, name), .required = true, .valid = scenario_name_is_valid,
     .expected = SCENARIO_NAME_EXPECTED, .help = "Name of the scenario."},
    {"about", FIELD_ANY_TEXT, AT(scenario, about), .help = "Its finding, in a sentence."},
    {"seeds", FIELD_INTEGER, AT(scenario, seeds), .min = 1, .max = 1000000,
     .help = "Runs of each policy. Default: 10."},
    {"duration", FIELD_DURATION, AT(scenario, duration_ns), .required = true, .min = NS_PER_MS,
     .max = NS_MAX, .help = "Virtual time of a run."},
    {"warm", FIELD_DURATION, AT(scenario, warm_ns), .max = NS_MAX,
     .help = "The first part of a run, which measures ignore. Default: 0s."},
    {"window", FIELD_DURATION, AT(scenario, window_ns), .min = NS_PER_MS, .max = 60 * NS_PER_S,
     .help = "The optimum is computed for each window of this time. Default: 100ms."},
    {"objective", FIELD_DURATION, AT(scenario, objective_ns), .min = 0, .max = NS_MAX,
     .help = "A slower request does not count as goodput; 0s: every request does. Default: 1s."},
    {"fidelity", FIELD_CHOICE, AT(scenario, fidelity), .choices = lab_fidelity_names,
     .help =
         "The fidelity of all policies, unless the command has --fidelity. Default: admission."},
    {"cluster", FIELD_MAP, AT(scenario, cluster), .fields = cluster_fields,
     .help = "Processes, settings and costs."},
    {"tables", FIELD_LIST, LIST(tables, table_count), .required = true, .distinct = true,
     .read = scenario_table_read, .fields = scenario_table_fields, .help = "A list of tables."},
    {"tenants", FIELD_LIST, LIST(tenants, tenant_count), .distinct = true, .read = read_tenant,
     .fields = tenant_fields, .help = "A list of tenants with weights."},
    {"limits", FIELD_LIST, LIST(limits, limit_count), .read = scenario_limit_read,
     .fields = scenario_limit_fields,
     .help = "A list of limits of the rate limiter, before the workloads that use them."},
    {"workloads", FIELD_LIST, LIST(workloads, workload_count), .required = true,
     .read = read_workload, .fields = workload_fields, .help = "A list of workloads."},
    {"faults", FIELD_LIST, LIST(faults, fault_count), .read = scenario_fault_read,
     .fields = scenario_fault_fields, .help = "A list of faults."},
    {"policies", FIELD_LIST, LIST(policies, policy_count), .distinct = true, .read = read_policy,
     .fields = policy_fields,
     .help = "A list of policies to compare. Default: one, `weir`, without changes."},
    {"expect", FIELD_LIST, LIST(expectations, expectation_count), .read = read_expectation,
     .fields = expectation_fields, .help = "A list of expectations."},
    {"sweep", FIELD_LIST, LIST(axes, axis_count), .read = read_axis, .fields = axis_fields,
     .help = "A list of axes; a sweep runs every combination of their values."},
    FIELDS_END};

static const struct scenario_costs default_costs = {.read_ns = 20 * NS_PER_US,
                                                    .write_ns = 40 * NS_PER_US,
                                                    .follow_ns = 20 * NS_PER_US,
                                                    .unit_ns = 2 * NS_PER_US,
                                                    .refuse_ns = 3 * NS_PER_US,
                                                    .sync_ns = 250 * NS_PER_US,
                                                    .router_ns = 10 * NS_PER_US,
                                                    .network_ns = 100 * NS_PER_US,
                                                    .jitter_ns = 20 * NS_PER_US,
                                                    .cores = 4,
                                                    .move_bytes_per_s = 50000000};

enum status scenario_read(struct document *d, struct policies *policies, struct scenario *out,
                          struct buffer *error)
{
    struct reading r = {.document = d, .error = error, .context = out};
    *out = (struct scenario){.about = "",
                             .seeds = 10,
                             .window_ns = 100 * NS_PER_MS,
                             .objective_ns = NS_PER_S,
                             .cluster = {.nodes = 8, .routers = 16, .gac = 3}};
    out->cluster.costs = default_costs;
    config_init(&out->cluster.config, PROFILE_RESEARCH);
    out->cluster.config.policies = policies;
    config_edit_tables(&out->cluster.config)->table_max_rcu = UNITS_MAX;
    config_edit_tables(&out->cluster.config)->table_max_wcu = UNITS_MAX;
    if (!fields_read(&r, d->root, scenario_fields, out))
        return STATUS_MALFORMED;
    if (out->policy_count == 0)
        out->policies[out->policy_count++] =
            (struct scenario_policy){.name = IMPLIED_POLICY, .about = "the defaults"};
    return scenario_check(&r, out) ? STATUS_OK : STATUS_MALFORMED;
}

void scenario_describe_format(struct buffer *out)
{
    fields_describe("a scenario", scenario_fields, out);
}
