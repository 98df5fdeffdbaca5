/* run.c - runs a scenario, and writes what came of it. */
#include "lab/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/instant.h"
#include "lab/fidelity/admission/model.h"
#include "lab/fidelity/full/full.h"
#include "lab/run/policy_calls.h"
#include "lab/run/request_rows.h"
#include "lab/run/steadiness.h"
#include "lab/run/window_rows.h"
#include "lab/scenario/demand.h"
#include "lab/scenario/scaling.h"
#include "lab/scenario/scenario_limit.h"
#include "lab/scenario/traces.h"
#include "router/json/json_writer.h"

enum {
    STEPS = 200,             /* in which a run goes on, between looks at progress */
    SERIES_SLOTS_MAX = 300,  /* as in lab/fidelity/admission/sample.c */
    SERIES_TENANTS_MAX = 32, /* the first ones, beside all requests together */
    SERIES_INDEXED_MAX = 16
};

const char *const lab_fidelity_names[LAB_FIDELITIES + 1] = {"admission", "full", "real", NULL};

static const struct lab_runner *const runners[LAB_FIDELITIES] = {
    [LAB_ADMISSION] = &admission_runner, [LAB_FULL] = &full_runner};

/* As the measures number reasons. */
const char *const lab_reasons[MEASURE_REASONS + 1] = {
    "ok",    "key-range", "allocation", "node",  "member", "table", "overload",
    "index", "client",    "failed",     "limit", "writes", NULL};

/* ---- reading ---- */

static uint32_t place_of(const char *const names[], const char *name)
{
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return MEASURE_ANY;
}

/* One of the reasons, or the index TABLE/INDEX. */
static uint32_t reason_named(const struct scenario *s, const char *name)
{
    const char *slash = strchr(name, '/');
    if (slash == NULL) {
        const uint32_t place = place_of(lab_reasons, name);
        return place == 0 ? MEASURE_ANY : place; /* ok is no refusal */
    }
    const struct slice table = slice_make(name, (size_t)(slash - name));
    for (uint32_t place = 0; place < s->table_count; place++) {
        const struct indexes_options *o = &s->tables[place].indexes;
        for (uint32_t i = 0; i < o->count && slice_is(table, s->tables[place].name); i++) {
            if (strcmp(slash + 1, o->at[i].name) == 0)
                return MEASURE_REASONS + demand_index(s, place, i);
        }
    }
    return MEASURE_ANY;
}

static bool select_for(const struct scenario *s, const struct scenario_expectation *e,
                       struct measure_selector *out, const char **fault)
{
    *out = MEASURE_ALL;
    if (e->tenant != NULL)
        out->tenant = (uint32_t)NAME_PLACE(e->tenant, s->tenants, s->tenant_count);
    if (e->table != NULL)
        out->table = (uint32_t)NAME_PLACE(e->table, s->tables, s->table_count);
    if (e->reason != NULL)
        out->reason = reason_named(s, e->reason);
    out->from_ns = e->from_ns < 0 ? 0 : e->from_ns;
    out->to_ns = e->to_ns == INT64_MAX ? 0 : e->to_ns;
    *fault = e->tenant != NULL && out->tenant == s->tenant_count ? e->tenant
             : e->table != NULL && out->table == s->table_count  ? e->table
             : e->reason != NULL && out->reason == MEASURE_ANY   ? e->reason
                                                                 : NULL;
    return *fault == NULL;
}

/* A fault of an expectation is found before the run, not after it. */
static enum status check_expectations(const struct lab_job *job, const struct scenario *s,
                                      struct buffer *error)
{
    for (uint32_t i = 0; i < s->expectation_count; i++) {
        const struct scenario_expectation *e = &s->expectations[i];
        struct measure_selector selector;
        const char *fault;
        char text[1024];
        if (!select_for(s, e, &selector, &fault))
            return buffer_explain(error, STATUS_MALFORMED,
                                  "%s:%u: no tenant, table or reason is named `%s`", job->file,
                                  e->line, fault);
        fault = measure_check(e->measure, &selector, text, sizeof text);
        if (fault != NULL)
            return buffer_explain(error, STATUS_MALFORMED, "%s:%u: %s", job->file, e->line, fault);
    }
    return STATUS_OK;
}

static const struct lab_runner *runner_of(const struct lab_job *job, const struct scenario *s)
{
    const enum lab_fidelity fidelity =
        job->fidelity == LAB_FIDELITIES ? (enum lab_fidelity)s->fidelity : job->fidelity;
    return fidelity == LAB_REAL ? job->real : runners[fidelity];
}

static enum status check_fidelity(const struct lab_job *job, struct document *d,
                                  const struct scenario *s, struct buffer *error)
{
    struct reading r = {.document = d, .error = error};
    const struct lab_runner *runner = runner_of(job, s);
    return runner == NULL || runner->can_run(&r, s) ? STATUS_OK : STATUS_MALFORMED;
}

enum status lab_job_read(const struct lab_job *job, struct document *d, struct scenario *out,
                         struct buffer *error)
{
    enum status status = document_parse(d, job->file, job->text, error);
    if (status == STATUS_OK && job->more.size > 0)
        status = scenario_add_policies(d, job->more, error);
    for (uint32_t i = 0; status == STATUS_OK && i < job->set_count; i++)
        status = document_set(d, job->set[i].path, job->set[i].value, error);
    if (status == STATUS_OK)
        status = scenario_read(d, job->policies, out, error);
    if (status != STATUS_OK)
        return status;
    if (job->policy >= out->policy_count)
        return buffer_explain(error, STATUS_MALFORMED, "%s: there is no policy number %u",
                              job->file, job->policy);
    const struct scenario_policy chosen = out->policies[job->policy];
    status = scenario_choose(&chosen, d, error);
    if (status == STATUS_OK)
        status = scenario_read(d, job->policies, out, error);
    if (status == STATUS_OK)
        status = check_expectations(job, out, error);
    if (status == STATUS_OK)
        status = check_fidelity(job, d, out, error);
    if (status != STATUS_OK && chosen.count > 0)
        buffer_append_format(error, " (policy %s)", chosen.name);
    return status;
}

/* ---- writing ---- */

/* Scenarios may name tenants as they like. */
static void open_tenant(struct buffer *out, const char *name)
{
    json_write_name(out, slice_of(name));
    json_write_open(out, '{');
}

static double value_of(const struct measure *m, const char *name,
                       const struct measure_selector *selector)
{
    char error[512];
    double value;
    const char *fault = measure_value(m, name, selector, &value, error, sizeof error);
    return fault == NULL ? value : NAN;
}

static void write_measures(const struct measure *m, const struct measure_selector *selector,
                           struct buffer *out)
{
    const struct measure_definition *d;
    for (size_t i = 0; (d = measure_definition_at(i)) != NULL; i++)
        json_member_decimal(out, d->name, value_of(m, d->name, selector));
}

/* For all requests, then for each tenant. */
static void write_all_measures(const struct scenario *s, const struct measure *m,
                               struct buffer *out)
{
    struct measure_selector all = MEASURE_ALL;
    json_member_open(out, "measures", '{');
    json_member_open(out, "", '{');
    write_measures(m, &all, out);
    json_write_close(out, '}');
    for (uint32_t i = 0; s->tenant_count > 1 && i < s->tenant_count; i++) {
        struct measure_selector one = MEASURE_ALL;
        one.tenant = i;
        open_tenant(out, s->tenants[i].name);
        write_measures(m, &one, out);
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
}

/* The value for each expectation of the scenario, in their order. */
static enum status write_expectations(const struct lab_job *job, const struct scenario *s,
                                      const struct measure *m, struct buffer *out,
                                      struct buffer *error)
{
    json_member_open(out, "expectations", '[');
    for (uint32_t i = 0; i < s->expectation_count; i++) {
        const struct scenario_expectation *e = &s->expectations[i];
        struct measure_selector selector;
        const char *fault;
        char text[1024];
        double value;
        must(select_for(s, e, &selector, &fault)); /* by check_expectations */
        fault = measure_value(m, e->measure, &selector, &value, text, sizeof text);
        if (fault != NULL)
            return buffer_explain(error, STATUS_MALFORMED, "%s:%u: %s", job->file, e->line, fault);
        json_write_decimal(out, value);
    }
    json_write_close(out, ']');
    return STATUS_OK;
}

/* Absent: the demand of the scenario changes, or the run is too short. */
static void write_steadiness(const struct scenario *s, const struct measure *m, struct buffer *out)
{
    const struct statistics_trend trend = steadiness_of(m, s->warm_ns, s->duration_ns);
    if (!steadiness_is_expected(s) || isnan(trend.p))
        return;
    json_member_open(out, "steadiness", '{');
    json_member_decimal(out, "change", trend.change);
    json_member_decimal(out, "p", trend.p);
    json_member_bool(out, "steady", steadiness_holds(&trend));
    json_write_close(out, '}');
}

/* ---- time series ---- */

/* Slots of the measures that make one of the series. */
static size_t slots_together(const struct measure *m)
{
    size_t together = (measure_slots(m) + SERIES_SLOTS_MAX - 1) / SERIES_SLOTS_MAX;
    return together > 0 ? together : 1;
}

/* Where a column has its values from: a member of the measures' slots. */
struct column {
    const struct measure *m;
    const struct measure_selector *selector; /* of requests */
    uint32_t number;                         /* of a table, or of an index */
    size_t at;                               /* of the member, an int64_t */
    int64_t (*value)(const struct column *c, size_t slot);
    bool max; /* of the slots together; otherwise the sum */
};

static int64_t column_member(const struct column *c, const void *point)
{
    int64_t value;
    memcpy(&value, (const char *)point + c->at, sizeof value);
    return value;
}

static int64_t column_of_requests(const struct column *c, size_t slot)
{
    const struct measure_point p = measure_point(c->m, c->selector, slot);
    return column_member(c, &p);
}

static int64_t column_of_states(const struct column *c, size_t slot)
{
    struct measure_state state;
    measure_state_point(c->m, c->number, slot, &state);
    return column_member(c, &state);
}

/* Units that were refused with the index's name. */
static int64_t column_of_index(const struct column *c, size_t slot)
{
    return measure_index_point(c->m, c->number, slot).refused_mcu;
}

static void write_column(const struct column *c, const char *name, struct buffer *out)
{
    const size_t together = slots_together(c->m);
    json_member_open(out, name, '[');
    for (size_t i = 0; i < measure_slots(c->m);) {
        int64_t all = 0;
        for (size_t end = i + together; i < end && i < measure_slots(c->m); i++) {
            const int64_t value = c->value(c, i);
            all = !c->max ? all + value : value > all ? value : all;
        }
        json_write_integer(out, all);
    }
    json_write_close(out, ']');
}

static void write_requests(const struct measure *m, const struct measure_selector *selector,
                           size_t at, const char *name, struct buffer *out)
{
    const struct column c = {.m = m, .selector = selector, .at = at, .value = column_of_requests};
    write_column(&c, name, out);
}

#define POINT(member) offsetof(struct measure_point, member)

static void write_refusals(const struct measure *m, const struct measure_selector *selector,
                           struct buffer *out)
{
    json_member_open(out, "refused", '{');
    for (uint32_t reason = 1; lab_reasons[reason] != NULL; reason++)
        write_requests(m, selector, POINT(refused_mcu) + reason * sizeof(int64_t),
                       lab_reasons[reason], out);
    json_write_close(out, '}');
}

static void write_latencies(const struct measure *m, const struct measure_selector *selector,
                            struct buffer *out)
{
    static const uint32_t parts[] = {1000,  2500,  5000,  10000, 15000, 20000, 25000, 30000,
                                     35000, 40000, 45000, 50000, 55000, 60000, 65000, 70000,
                                     75000, 80000, 85000, 90000, 92500, 95000, 97500, 99000,
                                     99500, 99750, 99900, 99950, 99990, 99995, 99999, 100000};
    struct histogram *h = must_calloc(1, sizeof *h);
    histogram_init(h);
    measure_latency(m, selector, h);
    json_member_open(out, "latency", '[');
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_write_open(out, '[');
        json_write_integer(out, parts[i]);
        json_write_integer(out, histogram_percentile(h, parts[i]));
        json_write_close(out, ']');
    }
    json_write_close(out, ']');
    free(h);
}

static void write_selected(const struct measure *m, const struct measure_selector *selector,
                           struct buffer *out)
{
    write_requests(m, selector, POINT(offered_mcu), "offered", out);
    write_requests(m, selector, POINT(admitted_mcu), "admitted", out);
    write_requests(m, selector, POINT(fair_mcu), "fair", out);
    write_requests(m, selector, POINT(false_mcu), "false", out);
    write_refusals(m, selector, out);
    write_latencies(m, selector, out);
}

/* ---- global indexes ---- */

/* The greatest of each slot of the series. */
static void write_states(const struct measure *m, uint32_t table, size_t at, const char *name,
                         struct buffer *out)
{
    const struct column c = {
        .m = m, .number = table, .at = at, .value = column_of_states, .max = true};
    write_column(&c, name, out);
}

#define STATE(member) offsetof(struct measure_state, member)

static void write_indexes_of(const struct scenario *s, uint32_t place, uint32_t copy,
                             const struct measure *m, struct buffer *out)
{
    const struct indexes_options *o = &s->tables[place].indexes;
    char name[SCENARIO_NAME_SIZE_MAX + 16];
    demand_table_name(&s->tables[place], copy, name, sizeof name);
    json_member_open(out, name, '{');
    write_states(m, scaling_number(s, place, copy), STATE(behind_ns), "lag_ns", out);
    write_states(m, scaling_number(s, place, copy), STATE(backlog_bytes), "backlog_bytes", out);
    json_member_open(out, "refused", '{');
    for (uint32_t i = 0; i < o->count && copy == 0; i++) { /* of all copies together */
        const struct column c = {
            .m = m, .number = demand_index(s, place, i), .value = column_of_index};
        write_column(&c, o->at[i].name, out);
    }
    json_write_close(out, '}');
    json_write_close(out, '}');
}

/* Of the first SERIES_INDEXED_MAX tables that have indexes. */
static void write_indexes(const struct scenario *s, const struct measure *m, struct buffer *out)
{
    uint32_t left = SERIES_INDEXED_MAX;
    json_member_open(out, "indexes", '{');
    for (uint32_t place = 0; place < s->table_count; place++) {
        const struct scenario_table *t = &s->tables[place];
        for (uint32_t copy = 0; copy < t->copies && t->indexes.count > 0 && left > 0;
             copy++, left--)
            write_indexes_of(s, place, copy, m, out);
    }
    json_write_close(out, '}');
}

/* ---- shards ---- */

static bool table_has_shards(const struct scenario *s, uint32_t place)
{
    bool has = s->tables[place].key_sharding != NULL;
    for (uint32_t i = 0; i < s->workload_count; i++)
        has |= s->workloads[i].limiter != NULL && s->workloads[i].table_place == place;
    return has;
}

/* Of the first SERIES_INDEXED_MAX tables that have sharded keys or buckets. */
static void write_shards(const struct scenario *s, const struct measure *m, struct buffer *out)
{
    uint32_t left = SERIES_INDEXED_MAX;
    json_member_open(out, "shards", '{');
    for (uint32_t place = 0; place < s->table_count; place++) {
        const struct scenario_table *t = &s->tables[place];
        for (uint32_t copy = 0; copy < t->copies && table_has_shards(s, place) && left > 0;
             copy++, left--) {
            char name[SCENARIO_NAME_SIZE_MAX + 16];
            demand_table_name(t, copy, name, sizeof name);
            write_states(m, scaling_number(s, place, copy), STATE(shards), name, out);
        }
    }
    json_write_close(out, '}');
}

/* The tenant's limit in mcu a second, if all its requests are for one bucket of the rate
 * limiter. */
static void write_limit(const struct scenario *s, uint32_t tenant, struct buffer *out)
{
    const struct scenario_workload *of = NULL;
    uint32_t workloads = 0;
    for (uint32_t i = 0; i < s->workload_count; i++) {
        if (demand_tenant(s, &s->workloads[i]) != tenant)
            continue;
        of = &s->workloads[i];
        workloads++;
    }
    if (workloads == 1 && of->limiter != NULL && scenario_limit_entity(of).size > 0)
        json_member_integer(out, "limit",
                            scenario_limit_rate_mcu(&s->limits[scenario_limit_of_workload(s, of)]));
}

/* Columns of mcu a slot. With the samples of lab/fidelity/admission/sample.c, a result of a run
 * stays below 4 MiB. */
static void write_series(const struct scenario *s, const struct measure *m, struct buffer *out)
{
    struct measure_selector all = MEASURE_ALL;
    json_member_open(out, "series", '{');
    size_t together = slots_together(m);
    json_member_integer(out, "slot_ns", measure_slot_ns(m) * (int64_t)together);
    json_member_integer(out, "slots", (int64_t)((measure_slots(m) + together - 1) / together));
    json_member_open(out, "tenants", '{');
    json_member_open(out, "", '{');
    write_selected(m, &all, out);
    json_write_close(out, '}');
    for (uint32_t i = 0; s->tenant_count > 1 && i < s->tenant_count && i < SERIES_TENANTS_MAX;
         i++) {
        struct measure_selector one = MEASURE_ALL;
        one.tenant = i;
        open_tenant(out, s->tenants[i].name);
        write_selected(m, &one, out);
        write_limit(s, i, out);
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
    write_indexes(s, m, out);
    write_shards(s, m, out);
    json_write_close(out, '}');
}

/* A run: what runs it, and what it has built. */
struct lab_running {
    const struct lab_runner *runner;
    void *context;
};

static void write_events(const struct lab_running *r, struct buffer *out)
{
    struct buffer text = {0};
    r->runner->events(r->context, &text);
    json_member_string(out, "events", buffer_slice(&text));
    buffer_deinit(&text);
}

static void write_head(const struct lab_job *job, const struct scenario *s,
                       const struct lab_running *r, struct buffer *out)
{
    const struct lab_counts c = r->runner->counts(r->context);
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)r->runner->hash(r->context));
    json_member_text(out, "scenario", s->name);
    json_member_text(out, "policy", s->policies[job->policy].name);
    json_member_text(out, "point", job->point);
    json_member_integer(out, "seed", (int64_t)job->seed);
    json_member_text(out, "fidelity", lab_fidelity_names[job->fidelity]);
    json_member_text(out, "hash", hash);
    json_member_integer(out, "requests", (int64_t)c.requests);
    json_member_integer(out, "messages", (int64_t)c.messages);
    json_member_integer(out, "decisions", (int64_t)c.decisions);
    json_member_integer(out, "partitions", c.partitions);
}

/* ---- running ---- */

struct job_rows {
    struct request_rows requests;
    struct window_rows windows;
};

static struct measure *measure_for(const struct scenario *s, const struct lab_runner *runner,
                                   struct job_rows *rows)
{
    const int64_t windows = (NS_PER_S + s->window_ns - 1) / s->window_ns; /* in a slot */
    const struct measure_options options = {.window_ns = s->window_ns,
                                            .slot_ns = windows * s->window_ns,
                                            .objective_ns = s->objective_ns,
                                            .begin_ns = s->warm_ns,
                                            .no_optimum = !runner->optimum,
                                            .row = rows == NULL ? NULL : request_rows_add,
                                            .context = rows == NULL ? NULL : &rows->requests,
                                            .solved = rows == NULL ? NULL : window_rows_add,
                                            .solved_context = rows == NULL ? NULL : &rows->windows};
    return measure_create(&options);
}

static enum status run_through(const struct lab_job *job, const struct scenario *s,
                               const struct lab_running *r, struct buffer *error)
{
    for (int i = 1; i <= STEPS; i++) {
        int64_t until_ns = i == STEPS ? s->duration_ns : s->duration_ns / STEPS * i;
        if (!r->runner->run(r->context, until_ns, error))
            return STATUS_MALFORMED;
        if (job->progress != NULL && !job->progress(job->context, until_ns, s->duration_ns))
            return STATUS_PENDING;
    }
    return STATUS_OK;
}

static enum status run_measured(const struct lab_job *job, const struct scenario *s,
                                const struct lab_runner *runner, struct measure *measure,
                                struct buffer *json, struct buffer *error)
{
    struct policy_calls calls;
    policy_calls_begin(&calls, s);
    const struct lab_running r = {runner, runner->create(s, job->seed, measure, error)};
    if (r.context == NULL)
        return STATUS_MALFORMED;
    bool samples = job->series && runner->keep_samples != NULL;
    if (samples)
        runner->keep_samples(r.context);
    enum status status = run_through(job, s, &r, error);
    if (status == STATUS_OK) {
        measure_end(measure, s->duration_ns);
        json_write_open(json, '{');
        write_head(job, s, &r, json);
        if (job->fidelity != LAB_REAL) /* there the processes of the cluster call them */
            policy_calls_write_uncalled(&calls, json);
        write_all_measures(s, measure, json);
        status = write_expectations(job, s, measure, json, error);
        write_steadiness(s, measure, json);
        if (samples) {
            json_write_key(json, "samples");
            runner->write_samples(r.context, json);
        }
        if (job->series) {
            write_series(s, measure, json);
            write_events(&r, json);
        }
        json_write_close(json, '}');
    }
    runner->destroy(r.context);
    return status;
}

enum status lab_run(const struct lab_job *job, struct buffer *json, struct buffer *error)
{
    struct scenario *s = must_calloc(1, sizeof *s);
    struct document d = {0};
    enum status status = lab_job_read(job, &d, s, error);
    struct lab_traces *traces = must_calloc(1, sizeof *traces);
    if (status == STATUS_OK)
        status = lab_traces_open(traces, s, error);
    if (status == STATUS_OK) {
        const struct lab_runner *runner = runner_of(job, s);
        struct job_rows rows;
        if (job->rows != NULL) {
            request_rows_begin(&rows.requests, job, s);
            window_rows_begin(&rows.windows, job, s);
        }
        struct measure *measure = measure_for(s, runner, job->rows == NULL ? NULL : &rows);
        status = run_measured(job, s, runner, measure, json, error);
        measure_destroy(measure);
        if (job->rows != NULL) {
            request_rows_end(&rows.requests);
            window_rows_end(&rows.windows);
        }
    }
    if (status == STATUS_OK)
        status = lab_traces_error(traces, error);
    lab_traces_close(traces);
    free(traces);
    document_deinit(&d);
    free(s);
    return status;
}
