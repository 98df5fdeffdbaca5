/* result_write.c - results as a table for people, as JSON, CSV and JUnit. */
#include <math.h>
#include <stdlib.h>

#include "lab/run/csv.h"
#include "lab/run/junit.h"
#include "lab/run/result_internal.h"
#include "router/json/json_writer.h"

/* ---- texts ---- */

/* Six digits are enough for people. */
static void append_number(struct buffer *out, double value)
{
    if (isnan(value))
        buffer_append_text(out, "-");
    else
        buffer_append_format(out, "%.6g", value);
}

static void append_bounds(struct buffer *out, const struct scenario_expectation *e)
{
    if (e->at_least != -HUGE_VAL)
        buffer_append_format(out, "at least %.6g", e->at_least);
    if (e->at_least != -HUGE_VAL && e->at_most != HUGE_VAL)
        buffer_append_text(out, ", ");
    if (e->at_most != HUGE_VAL)
        buffer_append_format(out, "at most %.6g", e->at_most);
}

void lab_result_append_subject(struct buffer *out, const struct lab_result *r,
                               const struct lab_evaluated *j)
{
    const struct scenario_expectation *e = &r->scenario->expectations[j->expectation];
    buffer_append_format(out, "%s: %s", r->scenario->policies[j->policy].name, e->measure);
    if (e->tenant != NULL)
        buffer_append_format(out, " of %s", e->tenant);
    if (e->table != NULL)
        buffer_append_format(out, " on %s", e->table);
    if (e->reason != NULL)
        buffer_append_format(out, " for %s", e->reason);
    if (e->from_ns >= 0 || e->to_ns != INT64_MAX)
        buffer_append_format(out, " from %.6g s", e->from_ns < 0 ? 0 : (double)e->from_ns / 1e9);
    if (e->to_ns != INT64_MAX)
        buffer_append_format(out, " to %.6g s", (double)e->to_ns / 1e9);
    if (e->versus != NULL)
        buffer_append_format(out, ", divided by %s's", e->versus);
    if (r->points[j->point].size > 0)
        buffer_append_format(out, " [%.*s]", (int)r->points[j->point].size,
                             (const char *)r->points[j->point].data);
}

void lab_result_append_value(struct buffer *out, const struct statistics_summary *v)
{
    append_number(out, v->mean);
    if (v->count == 1)
        buffer_append_text(out, " (one run: no interval)");
    else if (statistics_are_equal(v))
        buffer_append_format(out, " in all %zu runs", v->count);
    else if (v->count > 1)
        buffer_append_format(out, " (%.6g to %.6g, %zu runs)", v->low, v->high, v->count);
}

static void append_judgement(struct buffer *out, const struct lab_result *r,
                             const struct lab_evaluated *j)
{
    const struct scenario_expectation *e = &r->scenario->expectations[j->expectation];
    lab_result_append_subject(out, r, j);
    buffer_append_text(out, " is ");
    lab_result_append_value(out, &j->value);
    if (j->equal_zeros > 0)
        buffer_append_format(out, " (both values are 0 in %u of %zu runs, and 0 / 0 counts as 1)",
                             j->equal_zeros, j->value.count);
    buffer_append_text(out, ", must be ");
    append_bounds(out, e);
}

static const char *const verdict_names[] = {
    [STATISTICS_HOLDS] = "holds", [STATISTICS_FAILS] = "fails", [STATISTICS_UNSURE] = "unsure"};

static void append_unsure(struct buffer *out, const struct lab_evaluated *j)
{
    buffer_append_format(out,
                         "cannot be told with %zu runs: mean within, interval beyond; "
                         "run more seeds",
                         j->value.count);
}

void lab_result_print_expectation(const struct lab_result *r, uint32_t expectation,
                                  struct buffer *out)
{
    const struct lab_evaluated j = {.expectation = expectation};
    lab_result_append_subject(out, r, &j);
    buffer_append_text(out, " must be ");
    append_bounds(out, &r->scenario->expectations[expectation]);
}

/* ---- for people ---- */

enum {
    COLUMNS_MAX = 80
};

static struct statistics_summary summary_of(const struct lab_result *r, uint32_t policy,
                                            uint32_t point, size_t place, double *samples)
{
    const struct lab_sample what = {.policy = policy, .point = point, .place = place};
    return lab_result_summarize(r, &what, samples);
}

/* The columns of the printed table, each the mean over the seeds. */
static const struct {
    const char *measure, *title, *meaning;
} printed_columns[] = {
    {"admitted_rate", "admitted/s", "capacity units that were admitted, per second"},
    {"throttle_fraction", "throttled", "part of the offered units that was refused"},
    {"false_throttle", "false",
     "part of the offered units within the limits that was refused, though a fair share had room"},
    {"over_admission_1s", "over 1 s",
     "units admitted beyond rate and bank in the worst second / units of the rate in a second"},
    {"goodput_ratio", "goodput", "units served in time / units that a fair optimum admits"},
    {"latency_p99", "p99 ms", "latency that 99 of 100 admitted requests do not exceed"},
};
enum {
    PRINTED_COLUMNS = sizeof printed_columns / sizeof printed_columns[0]
};

static void print_legend(struct buffer *out)
{
    buffer_append_text(out, "\n");
    for (size_t c = 0; c < PRINTED_COLUMNS; c++)
        buffer_append_format(out, "%-11s %s (%s)\n", printed_columns[c].title,
                             printed_columns[c].meaning, printed_columns[c].measure);
}

static void print_policies(const struct lab_result *r, uint32_t point, struct buffer *out)
{
    double *samples = must_calloc((size_t)r->run_count + 1, sizeof *samples);
    buffer_append_format(out, "%-22s", "policy");
    for (size_t c = 0; c < PRINTED_COLUMNS; c++)
        buffer_append_format(out, " %12s", printed_columns[c].title);
    buffer_append_text(out, "\n");
    for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
        if (!lab_result_ran(r, p, point))
            continue;
        buffer_append_format(out, "%-22s", r->scenario->policies[p].name);
        for (size_t c = 0; c < PRINTED_COLUMNS; c++) {
            double mean =
                summary_of(r, p, point, lab_result_place(printed_columns[c].measure), samples).mean;
            if (isnan(mean))
                buffer_append_format(out, " %12s", "-");
            else
                buffer_append_format(out, " %12.5g", mean);
        }
        buffer_append_text(out, "\n");
    }
    free(samples);
}

/* A row that compares nothing. */
static void print_twins(const struct lab_result *r, uint32_t point, struct buffer *out)
{
    const struct scenario_policy *policies = r->scenario->policies;
    for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
        const uint32_t other = lab_result_twin(r, p, point);
        if (other != p)
            buffer_append_format(out,
                                 "%s changes nothing here: each of its runs is equal to that of %s "
                                 "with the same seed\n",
                                 policies[p].name, policies[other].name);
    }
}

/* Breaks lines at blanks, so that none has more than 80 columns, unless a word is longer. The text
 * goes on after `column` columns, and further lines begin there. */
static void append_wrapped(struct buffer *out, struct slice text, size_t column)
{
    size_t at = column;
    for (bool first = true; text.size > 0; first = false) {
        const struct slice word = slice_cut(&text, ' ');
        if (!first && at + 1 + word.size > COLUMNS_MAX) {
            buffer_append_format(out, "\n%*s", (int)column, "");
            at = column;
        } else if (!first) {
            buffer_append_u8(out, ' ');
            at++;
        }
        buffer_append_slice(out, word);
        at += word.size;
    }
    buffer_append_u8(out, '\n');
}

static void print_evaluated(const struct lab_result *r, const struct lab_evaluated *j,
                            struct buffer *out)
{
    static const char *const labels[] = {[STATISTICS_HOLDS] = "  holds  ",
                                         [STATISTICS_FAILS] = "  FAILS  ",
                                         [STATISTICS_UNSURE] = "  UNSURE "};
    const char *why = r->scenario->expectations[j->expectation].why;
    struct buffer text = {0};
    append_judgement(&text, r, j);
    buffer_append_format(&text, "%s%s", why[0] == '\0' ? "" : ": ", why);
    buffer_append_text(out, labels[j->verdict]);
    append_wrapped(out, buffer_slice(&text), strlen(labels[j->verdict]));
    if (j->verdict == STATISTICS_UNSURE) {
        buffer_clear(&text);
        append_unsure(&text, j);
        buffer_append_format(out, "%*s", (int)strlen(labels[j->verdict]), "");
        append_wrapped(out, buffer_slice(&text), strlen(labels[j->verdict]));
    }
    buffer_deinit(&text);
}

static bool ran_anywhere(const struct lab_result *r, const char *policy)
{
    for (uint32_t i = 0; i < r->run_count; i++) {
        if (policy == NULL ? r->runs[i].policy == 0
                           : strcmp(r->scenario->policies[r->runs[i].policy].name, policy) == 0)
            return true;
    }
    return false;
}

/* Expectations of policies that did not run, as with --only. */
static void print_not_run(const struct lab_result *r, struct buffer *out)
{
    uint32_t lacking = 0;
    for (uint32_t i = 0; i < r->scenario->expectation_count; i++) {
        const struct scenario_expectation *e = &r->scenario->expectations[i];
        lacking +=
            lab_result_can_evaluate(r, e) &&
            (!ran_anywhere(r, e->policy) || (e->versus != NULL && !ran_anywhere(r, e->versus)));
    }
    if (lacking > 0 && r->run_count > 0)
        buffer_append_format(out,
                             "  not judged: %u of %u expectations, whose policies have no runs\n",
                             lacking, r->scenario->expectation_count);
}

void lab_result_print(const struct lab_result *r, struct buffer *out)
{
    for (uint32_t point = 0; point < r->point_count; point++) {
        if (r->points[point].size > 0)
            buffer_append_format(out, "%s%.*s\n", point == 0 ? "" : "\n",
                                 (int)r->points[point].size, (const char *)r->points[point].data);
        print_policies(r, point, out);
        print_twins(r, point, out);
        lab_result_print_limits(r, point, out);
        lab_result_print_steadiness(r, point, out);
    }
    for (uint32_t p = 0; p < r->scenario->policy_count; p++)
        lab_result_print_uncalled(r, p, out);
    print_legend(out);
    if (r->evaluated_count > 0)
        buffer_append_text(out, "\n");
    for (uint32_t i = 0; i < r->evaluated_count; i++)
        print_evaluated(r, &r->evaluated[i], out);
    for (uint32_t i = 0; i < r->scenario->expectation_count; i++) {
        const struct scenario_expectation *e = &r->scenario->expectations[i];
        if (!lab_result_can_evaluate(r, e))
            buffer_append_format(out,
                                 "  not judged: %s needs the optimum, which the fidelity %s "
                                 "does not compute\n",
                                 e->measure, lab_fidelity_names[r->fidelity]);
    }
    print_not_run(r, out);
    lab_result_print_until(r, out);
}

/* ---- JSON ---- */

static void write_summary(struct buffer *out, const struct statistics_summary *v)
{
    json_member_bool(out, "equal", statistics_are_equal(v));
    json_member_decimal(out, "mean", v->mean);
    json_member_decimal(out, "low", v->low);
    json_member_decimal(out, "high", v->high);
    json_member_integer(out, "runs", (int64_t)v->count);
}

static void write_difference(const struct lab_difference *d, struct buffer *out)
{
    json_member_open(out, "difference", '{');
    write_summary(out, &d->summary);
    json_write_key(out, "p");
    json_write_decimal(out, d->p);
    json_write_key(out, "p_adjusted");
    json_write_decimal(out, d->adjusted);
    json_write_close(out, '}');
}

static const char *selection_name(const struct lab_result *r, uint32_t selection)
{
    return selection == 0 ? "" : r->scenario->tenants[selection - 1].name;
}

static void write_value(const struct lab_result *r, const struct lab_sample *what,
                        const struct statistics_summary *v, const struct lab_difference *d,
                        struct buffer *out)
{
    json_write_open(out, '{');
    json_member_string(out, "point", r->points[what->point]);
    json_member_text(out, "policy", r->scenario->policies[what->policy].name);
    json_member_text(out, "tenant", selection_name(r, (uint32_t)(what->place / r->measures)));
    json_member_text(out, "measure", measure_definition_at(what->place % r->measures)->name);
    write_summary(out, v);
    if (what->policy != 0 && lab_result_ran(r, 0, what->point))
        write_difference(d, out);
    json_write_close(out, '}');
}

/* Differences are from the first policy, at the same point. */
static void write_values(const struct lab_result *r, struct buffer *out)
{
    double *samples = must_calloc((size_t)r->run_count + 1, sizeof *samples);
    struct lab_difference *differences = lab_result_differences(r);
    struct lab_sample what = {0};
    size_t at = 0;
    json_member_open(out, "values", '[');
    for (what.point = 0; what.point < r->point_count; what.point++) {
        for (what.policy = 0; what.policy < r->scenario->policy_count; what.policy++) {
            for (what.place = 0; what.place < r->selections * r->measures; what.place++, at++) {
                const struct statistics_summary v = lab_result_summarize(r, &what, samples);
                if (v.count > 0)
                    write_value(r, &what, &v, &differences[at], out);
            }
        }
    }
    json_write_close(out, ']');
    free(differences);
    free(samples);
}

/* Policies whose runs at a point are equal to another's. */
static void write_twins(const struct lab_result *r, struct buffer *out)
{
    json_member_open(out, "equal", '[');
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
            const uint32_t other = lab_result_twin(r, p, point);
            if (other == p)
                continue;
            json_write_open(out, '{');
            json_member_string(out, "point", r->points[point]);
            json_member_text(out, "policy", r->scenario->policies[p].name);
            json_member_text(out, "to", r->scenario->policies[other].name);
            json_write_close(out, '}');
        }
    }
    json_write_close(out, ']');
}

static void write_policies(const struct lab_result *r, struct buffer *out)
{
    json_member_open(out, "policies", '[');
    for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
        json_write_open(out, '{');
        json_member_text(out, "name", r->scenario->policies[p].name);
        json_member_text(out, "about", r->scenario->policies[p].about);
        json_member_bool(out, "ablation", r->scenario->policies[p].ablation);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static void write_evaluated(const struct lab_result *r, struct buffer *out)
{
    json_member_open(out, "expectations", '[');
    for (uint32_t i = 0; i < r->evaluated_count; i++) {
        const struct lab_evaluated *j = &r->evaluated[i];
        const struct scenario_expectation *e = &r->scenario->expectations[j->expectation];
        struct buffer subject = {0};
        lab_result_append_subject(&subject, r, j);
        json_write_open(out, '{');
        json_member_string(out, "subject", buffer_slice(&subject));
        json_member_text(out, "why", e->why);
        json_member_decimal(out, "at_least", e->at_least == -HUGE_VAL ? NAN : e->at_least);
        json_member_decimal(out, "at_most", e->at_most == HUGE_VAL ? NAN : e->at_most);
        write_summary(out, &j->value);
        json_member_bool(out, "holds", j->verdict == STATISTICS_HOLDS);
        json_member_text(out, "verdict", verdict_names[j->verdict]);
        json_write_close(out, '}');
        buffer_deinit(&subject);
    }
    json_write_close(out, ']');
}

static void write_definitions(struct buffer *out)
{
    static const char *const better[] = {"lower", "higher", "neither"};
    const struct measure_definition *d;
    json_member_open(out, "measures", '[');
    for (size_t i = 0; (d = measure_definition_at(i)) != NULL; i++) {
        json_write_open(out, '{');
        json_member_text(out, "name", d->name);
        json_member_text(out, "unit", d->unit);
        json_member_text(out, "definition", d->definition);
        json_member_text(out, "better", better[d->better]);
        json_member_decimal(out, "target", d->target);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

void lab_result_json(const struct lab_result *r, struct buffer *out)
{
    uint32_t failed, evaluated = lab_result_evaluated(r, &failed);
    json_write_open(out, '{');
    json_member_text(out, "scenario", r->scenario->name);
    json_member_text(out, "about", r->scenario->about);
    json_member_text(out, "fidelity", lab_fidelity_names[r->fidelity]);
    if (r->inputs.size > 0) {
        buffer_append_u8(out, ',');
        buffer_append_slice(out, buffer_slice(&r->inputs));
    }
    json_member_integer(out, "duration_ns", r->scenario->duration_ns);
    json_member_integer(out, "runs", r->run_count);
    json_member_integer(out, "expected", evaluated);
    json_member_integer(out, "failed", failed);
    json_member_integer(out, "unsure", lab_result_unsure(r));
    write_policies(r, out);
    write_twins(r, out);
    lab_result_write_limits(r, out);
    lab_result_write_steadiness(r, out);
    lab_result_write_uncalled(r, out);
    write_definitions(out);
    write_evaluated(r, out);
    lab_result_write_until(r, out);
    write_values(r, out);
    json_write_close(out, '}');
    buffer_append_text(out, "\n");
}

/* ---- CSV and JUnit ---- */

static void append_cell(struct buffer *out, struct slice text)
{
    csv_append_text(out, text);
    buffer_append_u8(out, ',');
}

static void csv_policy(const struct lab_result *r, uint32_t policy, uint32_t point, double *samples,
                       struct buffer *out)
{
    for (size_t place = 0; place < r->selections * r->measures; place++) {
        struct statistics_summary v = summary_of(r, policy, point, place, samples);
        if (v.count == 0)
            continue;
        append_cell(out, slice_of(r->scenario->name));
        append_cell(out, r->points[point]);
        append_cell(out, slice_of(r->scenario->policies[policy].name));
        append_cell(out, slice_of(selection_name(r, (uint32_t)(place / r->measures))));
        append_cell(out, slice_of(measure_definition_at(place % r->measures)->name));
        buffer_append_format(out, "%zu,%.17g,%.17g,%.17g\n", v.count, v.mean, v.low, v.high);
    }
}

void lab_result_csv(const struct lab_result *r, struct buffer *out)
{
    double *samples = must_calloc((size_t)r->run_count + 1, sizeof *samples);
    buffer_append_text(out, "scenario,point,policy,tenant,measure,runs,mean,low,high\n");
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t p = 0; p < r->scenario->policy_count; p++)
            csv_policy(r, p, point, samples, out);
    }
    free(samples);
}

static void junit_evaluated(const struct lab_result *r, const struct lab_evaluated *j,
                            struct buffer *out)
{
    struct buffer name = {0}, fault = {0};
    lab_result_append_subject(&name, r, j);
    if (j->verdict != STATISTICS_HOLDS)
        append_judgement(&fault, r, j);
    if (j->verdict == STATISTICS_UNSURE) {
        buffer_append_text(&fault, ": ");
        append_unsure(&fault, j);
    }
    junit_append_case(out, r->scenario->name, buffer_slice(&name), verdict_names[j->verdict],
                      buffer_slice(&fault));
    buffer_deinit(&name);
    buffer_deinit(&fault);
}

/* What cannot be told does not hold: it counts as a failure here. */
void lab_result_junit(const struct lab_result *r, struct buffer *out)
{
    struct buffer cases = {0};
    uint32_t failed, evaluated = lab_result_evaluated(r, &failed);
    for (uint32_t i = 0; i < r->evaluated_count; i++)
        junit_evaluated(r, &r->evaluated[i], &cases);
    junit_append_suite(out, r->scenario->name, evaluated, failed + lab_result_unsure(r),
                       buffer_slice(&cases));
    buffer_deinit(&cases);
}
