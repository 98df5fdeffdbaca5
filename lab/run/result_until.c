/* result_until.c - which results are not as precise as `--until` asks. */
#include <stdlib.h>

#include "lab/run/result_internal.h"
#include "router/json/json_writer.h"

#define PPM         1e6
#define RATIO_FLOOR 0.0001 /* of a quotient of two policies' values */

void lab_result_set_until(struct lab_result *r, const struct lab_until *until)
{
    r->until = *until;
}

/* Called for each value that is not precise, and where no run has a value: its count is 0. */
struct until_visitor {
    void (*visit)(void *context, struct slice subject, const struct statistics_summary *v);
    void *context;
};

static void visit_value(const struct lab_result *r, const struct lab_evaluated *j, double floor,
                        struct slice subject, const struct until_visitor *to)
{
    if (!statistics_is_precise(&j->value, (double)r->until.ppm / PPM, floor))
        to->visit(to->context, subject, &j->value);
}

static double expectation_floor(const struct scenario_expectation *e)
{
    const struct measure_definition *d = measure_definition_at(lab_result_place(e->measure));
    return d == NULL || e->versus != NULL ? RATIO_FLOOR : d->floor;
}

static void visit_expectations(const struct lab_result *r, const struct until_visitor *to)
{
    for (uint32_t i = 0; i < r->evaluated_count; i++) {
        const struct lab_evaluated *j = &r->evaluated[i];
        const struct scenario_expectation *e = &r->scenario->expectations[j->expectation];
        struct buffer subject = {0};
        lab_result_append_subject(&subject, r, j);
        visit_value(r, j, expectation_floor(e), buffer_slice(&subject), to);
        buffer_deinit(&subject);
    }
}

/* A measure of all requests, of each policy at each point. */
static void visit_measure(const struct lab_result *r, size_t place, const struct until_visitor *to)
{
    const struct measure_definition *d = measure_definition_at(place);
    double *samples = must_calloc((size_t)r->run_count + 1, sizeof *samples);
    struct lab_sample what = {.place = place};
    for (what.point = 0; what.point < r->point_count; what.point++) {
        for (what.policy = 0; what.policy < r->scenario->policy_count; what.policy++) {
            if (!lab_result_ran(r, what.policy, what.point))
                continue;
            const struct lab_evaluated j = {.value = lab_result_summarize(r, &what, samples)};
            struct buffer subject = {0};
            buffer_append_format(&subject, "%s: %s", r->scenario->policies[what.policy].name,
                                 d->name);
            if (r->points[what.point].size > 0)
                buffer_append_format(&subject, " [%.*s]", TEXT_OF(r->points[what.point]));
            visit_value(r, &j, d->floor, buffer_slice(&subject), to);
            buffer_deinit(&subject);
        }
    }
    free(samples);
}

static void visit_all(const struct lab_result *r, const struct until_visitor *to)
{
    struct slice left = r->until.measures;
    if (left.size == 0)
        visit_expectations(r, to);
    while (left.size > 0) {
        const struct slice name = slice_trimmed(slice_cut(&left, ','));
        for (size_t place = 0; place < r->measures; place++) {
            if (slice_is(name, measure_definition_at(place)->name))
                visit_measure(r, place, to);
        }
    }
}

static void count_value(void *context, struct slice subject, const struct statistics_summary *v)
{
    (void)subject;
    *(uint32_t *)context += v->count > 0; /* further seeds give no value to what has none */
}

static uint32_t count_imprecise(const struct lab_result *r)
{
    uint32_t count = 0;
    visit_all(r, &(struct until_visitor){count_value, &count});
    return count;
}

bool lab_result_is_precise(const struct lab_result *r)
{
    return count_imprecise(r) == 0;
}

/* The most runs that a policy has at a point. */
static size_t count_seeds(const struct lab_result *r)
{
    size_t most = 0, count = 0;
    for (uint32_t i = 0; i < r->run_count; i++) { /* they are sorted */
        const bool same = i > 0 && r->runs[i].policy == r->runs[i - 1].policy &&
                          r->runs[i].point == r->runs[i - 1].point;
        count = same ? count + 1 : 1;
        most = count > most ? count : most;
    }
    return most;
}

static void print_value(void *context, struct slice subject, const struct statistics_summary *v)
{
    struct buffer *out = context;
    if (v->count == 0) {
        buffer_append_format(out, "  %.*s has no value in these runs\n", TEXT_OF(subject));
        return;
    }
    buffer_append_format(out, "  %.*s is ", TEXT_OF(subject));
    lab_result_append_value(out, v);
    buffer_append_text(out, "\n");
}

void lab_result_print_until(const struct lab_result *r, struct buffer *out)
{
    const double percent = (double)r->until.ppm / PPM * 100;
    if (r->until.ppm == 0)
        return;
    buffer_append_format(out, "\nprecision: %s after %zu seeds: ",
                         lab_result_is_precise(r) ? "reached" : "NOT REACHED", count_seeds(r));
    if (lab_result_is_precise(r))
        buffer_append_format(out, "all half widths are at most %g %% of the mean\n", percent);
    else
        buffer_append_format(out, "wider than %g %% of the mean are\n", percent);
    visit_all(r, &(struct until_visitor){print_value, out});
}

static void write_value(void *context, struct slice subject, const struct statistics_summary *v)
{
    if (v->count > 0)
        json_write_string(context, subject);
}

void lab_result_write_until(const struct lab_result *r, struct buffer *out)
{
    if (r->until.ppm == 0)
        return;
    json_member_open(out, "until", '{');
    json_write_key(out, "relative_half_width");
    json_write_decimal(out, (double)r->until.ppm / PPM);
    json_member_integer(out, "seeds", (int64_t)count_seeds(r));
    json_member_bool(out, "reached", lab_result_is_precise(r));
    json_member_open(out, "wider", '[');
    visit_all(r, &(struct until_visitor){write_value, out});
    json_write_close(out, ']');
    json_write_close(out, '}');
}
