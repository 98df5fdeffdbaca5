/* window_rows.c - see window_rows.h. */
#include "lab/run/window_rows.h"

#include "lab/run/csv.h"

/* The columns of a kind of row follow those of the others. */
static const char *const columns =
    "row,at_ns,problem,flow,resource,resource_kind,capacity,rate,depth,tenant,table,kind,weight,"
    "demand_mcu,fair_mcu,admitted_mcu,refused_mcu,refused_min_mcu,coefficient,bound_mcu,"
    "policy_mcu\n";

static const char *const problem_names[] = {
    [MEASURE_MAX_MIN] = "max-min", [MEASURE_LIMITS] = "limits", [MEASURE_IN_TIME] = "in-time"};
_Static_assert(COUNT_OF(problem_names) == MEASURE_SOLVED, "each problem has a name");

void window_rows_begin(struct window_rows *w, const struct lab_job *job, const struct scenario *s)
{
    row_text_begin(&w->rows, LAB_ROWS_WINDOWS, job, s);
    buffer_append_text(&w->rows.text, columns);
}

void window_rows_end(struct window_rows *w)
{
    row_text_end(&w->rows);
}

static void append_begin(struct window_rows *w, const char *row, const struct measure_problem *p)
{
    buffer_append_format(&w->rows.text, "%s,%lld,%s,", row, (long long)p->at_ns,
                         problem_names[p->kind]);
}

static void append_resource(struct window_rows *w, const struct measure *m,
                            const struct measure_problem *p, uint32_t i)
{
    static const char *const kinds[] = {[MEASURE_TABLE] = "table",
                                        [MEASURE_PARTITION] = "partition",
                                        [MEASURE_NODE] = "node",
                                        [MEASURE_PROCESSORS] = "processors",
                                        [MEASURE_OTHER] = "nodes"};
    const struct measure_resource_state s = measure_resource_state(m, p->resources[i]);
    struct buffer *out = &w->rows.text;
    append_begin(w, "resource", p);
    buffer_append_format(out, ",%u,%s,", p->resources[i], kinds[s.kind]);
    if (p->problem->capacities[i] != OPTIMUM_UNLIMITED)
        buffer_append_format(out, "%lld", (long long)p->problem->capacities[i]);
    buffer_append_format(out, ",%lld,%lld,,,,,,,,,,,,\n", (long long)s.rate_mcu,
                         (long long)s.depth_mcu);
}

static void append_flow(struct window_rows *w, const struct measure *m,
                        const struct measure_problem *p, uint32_t i)
{
    static const char *const kinds[MEASURE_KINDS] = {"read", "write"};
    const struct measure_flow_state s = measure_flow_state(m, p->flows[i]);
    const struct optimum_flow *f = &p->problem->flows[i];
    struct buffer *out = &w->rows.text;
    append_begin(w, "flow", p);
    buffer_append_format(out, "%u,,,,,,", p->flows[i]);
    csv_append_text(out, slice_of(w->rows.scenario->tenants[s.tenant].name));
    buffer_append_u8(out, ',');
    row_text_table(&w->rows, s.table);
    buffer_append_format(out, ",%s,%lld,%lld,", kinds[s.kind], (long long)f->weight,
                         (long long)f->demand_mcu);
    buffer_append_format(out, "%lld,%lld,%lld,%lld,,,\n", (long long)p->fair_mcu[i],
                         (long long)s.admitted_mcu, (long long)s.refused_mcu,
                         (long long)s.refused_min_mcu);
}

/* `max-min` has all rows. The totals have the same flows, which debit the same but for
 * processors. */
static bool is_written(const struct measure *m, const struct measure_problem *p, uint32_t resource)
{
    const bool processors =
        measure_resource_state(m, p->resources[resource]).kind == MEASURE_PROCESSORS;
    return p->kind == MEASURE_MAX_MIN || processors == (p->kind == MEASURE_IN_TIME);
}

static void append_debits(struct window_rows *w, const struct measure *m,
                          const struct measure_problem *p, uint32_t i)
{
    const struct optimum_flow *f = &p->problem->flows[i];
    for (uint32_t k = 0; k < f->count; k++) {
        if (!is_written(m, p, f->resources[k]))
            continue;
        append_begin(w, "debit", p);
        buffer_append_format(&w->rows.text, "%u,%u,,,,,,,,,,,,,,%u,,\n", p->flows[i],
                             p->resources[f->resources[k]],
                             f->coefficients[k] == 0 ? 1 : f->coefficients[k]);
    }
}

void window_rows_add(void *context, const struct measure *m, const struct measure_problem *p)
{
    struct window_rows *w = context;
    if (p->kind != MEASURE_MAX_MIN) {
        append_begin(w, "total", p);
        buffer_append_format(&w->rows.text, ",,,,,,,,,,,,,,,,%lld,%lld\n", (long long)p->bound_mcu,
                             (long long)p->policy_mcu);
    }
    for (uint32_t i = 0; i < p->problem->resource_count; i++)
        if (is_written(m, p, i))
            append_resource(w, m, p, i);
    for (uint32_t i = 0; i < p->problem->flow_count && p->kind == MEASURE_MAX_MIN; i++)
        append_flow(w, m, p, i);
    for (uint32_t i = 0; i < p->problem->flow_count && p->kind != MEASURE_LIMITS; i++)
        append_debits(w, m, p, i);
    row_text_pack(&w->rows);
}
