/* result_compare.c - policies compared by their paired differences.
 *
 * Many differences are tested at once: 61 measures, times policies, points and tenants. Without a
 * correction, one of 20 tests finds a difference where there is none. So p values are adjusted by
 * Holm's method over all differences of one table or file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run/result_internal.h"

#define SIGNIFICANT 0.05
#define P_SHOWN_MIN 1e-6

/* The difference of two values within the same bounds. */
static struct statistics_bounds difference_bounds(const struct lab_result *r, size_t place)
{
    const struct statistics_bounds b = measure_definition_at(place % r->measures)->bounds;
    return (struct statistics_bounds){b.low - b.high, b.high - b.low};
}

/* `what` minus the same of `other`. `a`: room for two values of each run. */
static struct lab_difference difference_of(const struct lab_result *r,
                                           const struct lab_sample *what, uint32_t other, double *a)
{
    const size_t count = lab_samples(r, what, other, a, a + r->run_count);
    const struct statistics_summary all = statistics_paired(a, a + r->run_count, count);
    return (struct lab_difference){.summary =
                                       statistics_within(&all, difference_bounds(r, what->place)),
                                   .p = statistics_p_value(&all)};
}

static void differences_adjust(struct lab_difference *all, size_t count)
{
    double *p = must_calloc(count + 1, sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = all[i].p;
    statistics_holm(p, count);
    for (size_t i = 0; i < count; i++)
        all[i].adjusted = p[i];
    free(p);
}

struct lab_difference *lab_result_differences(const struct lab_result *r)
{
    const size_t places = r->selections * r->measures;
    struct lab_difference *all =
        must_calloc((size_t)r->point_count * r->scenario->policy_count * places + 1, sizeof *all);
    double *a = must_calloc(2 * (size_t)r->run_count + 1, sizeof *a);
    struct lab_sample what = {0};
    size_t count = 0;
    for (what.point = 0; what.point < r->point_count; what.point++) {
        for (what.policy = 0; what.policy < r->scenario->policy_count; what.policy++) {
            for (what.place = 0; what.place < places; what.place++) {
                all[count] = (struct lab_difference){.p = NAN};
                if (what.policy != 0)
                    all[count] = difference_of(r, &what, 0, a);
                count++;
            }
        }
    }
    differences_adjust(all, count);
    free(a);
    return all;
}

/* ---- the table ---- */

/* Policies of `weir lab compare`: the first one with each of the others. */
struct comparison {
    const struct lab_result *r;
    uint32_t policy, count;
    uint32_t others[SCENARIO_POLICIES_MAX];
    struct lab_difference *all; /* owns: by points, then others, then measures */
};

static bool policy_find(const struct scenario *s, struct slice name, uint32_t *out)
{
    for (*out = 0; *out < s->policy_count; ++*out) {
        if (slice_is(name, s->policies[*out].name))
            return true;
    }
    return false;
}

/* A policy has no differences from itself. A second table of a pair would count as more tests. */
static bool comparison_names(const struct comparison *c, uint32_t policy)
{
    bool found = policy == c->policy;
    for (uint32_t i = 0; i < c->count; i++)
        found |= policy == c->others[i];
    return found;
}

static enum status comparison_read(struct comparison *c, const char *policy, struct slice others)
{
    const struct scenario *s = c->r->scenario;
    if (!policy_find(s, slice_of(policy), &c->policy))
        return STATUS_NOT_FOUND;
    while (others.size > 0) {
        uint32_t other;
        if (!policy_find(s, slice_cut(&others, ','), &other))
            return STATUS_NOT_FOUND;
        if (comparison_names(c, other))
            return STATUS_MALFORMED;
        c->others[c->count++] = other;
    }
    return c->count > 0 ? STATUS_OK : STATUS_NOT_FOUND;
}

static void comparison_test(struct comparison *c)
{
    const struct lab_result *r = c->r;
    double *a = must_calloc(2 * (size_t)r->run_count + 1, sizeof *a);
    struct lab_sample what = {.policy = c->policy};
    size_t count = 0;
    c->all = must_calloc((size_t)r->point_count * c->count * r->measures + 1, sizeof *c->all);
    for (what.point = 0; what.point < r->point_count; what.point++) {
        for (uint32_t i = 0; i < c->count; i++) {
            for (what.place = 0; what.place < r->measures; what.place++)
                c->all[count++] = difference_of(r, &what, c->others[i], a);
        }
    }
    differences_adjust(c->all, count);
    free(a);
}

/* A run in which something never ends has infinity: then no difference is known. */
static void append_difference(struct buffer *out, const struct lab_difference *d)
{
    const struct statistics_summary *v = &d->summary;
    if (!isfinite(v->mean)) {
        buffer_append_format(out, " %9s %7s\n", "-", "-");
        return;
    }
    buffer_append_format(out, " %9.3g", v->mean);
    if (isnan(d->p)) {
        buffer_append_format(out, " %7s\n", "-");
        return;
    }
    if (d->adjusted < P_SHOWN_MIN)
        buffer_append_format(out, " %7s", "<1e-06");
    else
        buffer_append_format(out, " %7.2g", d->adjusted);
    buffer_append_format(out, "%s  %.3g to %.3g\n", d->adjusted < SIGNIFICANT ? "*" : " ", v->low,
                         v->high);
}

static int measure_name_width(const struct lab_result *r)
{
    size_t most = 0;
    for (size_t place = 0; place < r->measures; place++) {
        size_t size = strlen(measure_definition_at(place)->name);
        most = size > most ? size : most;
    }
    return (int)most;
}

/* Means over the seeds that both policies have. */
static void compare_at(const struct comparison *c, uint32_t other, uint32_t point,
                       const struct lab_difference *d, struct buffer *out)
{
    const struct lab_result *r = c->r;
    double *a = must_calloc(2 * (size_t)r->run_count + 1, sizeof *a), *b = a + r->run_count;
    const int width = measure_name_width(r);
    buffer_append_format(out, "a: %s, b: %s\n", r->scenario->policies[c->policy].name,
                         r->scenario->policies[other].name);
    buffer_append_format(out, "%-*s %9s %9s %9s %7s   %s\n", width, "measure", "a", "b", "a - b",
                         "p", "95 % interval");
    for (size_t place = 0; place < r->measures; place++) {
        const struct lab_sample what = {.policy = c->policy, .point = point, .place = place};
        const size_t count = lab_samples(r, &what, other, a, b);
        if (count == 0)
            continue;
        buffer_append_format(out, "%-*s %9.5g %9.5g", width, measure_definition_at(place)->name,
                             statistics_summarize(a, count).mean,
                             statistics_summarize(b, count).mean);
        append_difference(out, &d[place]);
    }
    free(a);
}

/* Returns the number of tables. */
static uint32_t comparison_print(const struct comparison *c, struct buffer *out)
{
    const struct lab_result *r = c->r;
    uint32_t tables = 0;
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t i = 0; i < c->count; i++) {
            if (!lab_result_ran(r, c->policy, point) || !lab_result_ran(r, c->others[i], point))
                continue;
            buffer_append_text(out, tables++ > 0 ? "\n" : "");
            if (r->points[point].size > 0)
                buffer_append_format(out, "%.*s\n", TEXT_OF(r->points[point]));
            compare_at(c, c->others[i], point,
                       c->all + ((size_t)point * c->count + i) * r->measures, out);
        }
    }
    return tables;
}

static uint32_t comparison_tests(const struct comparison *c)
{
    uint32_t tests = 0;
    for (size_t i = 0; i < (size_t)c->r->point_count * c->count * c->r->measures; i++)
        tests += isnan(c->all[i].p) ? 0 : 1;
    return tests;
}

enum status lab_result_compare(const struct lab_result *r, const char *policy, const char *others,
                               struct buffer *out)
{
    struct comparison c = {.r = r};
    const enum status status = comparison_read(&c, policy, slice_of(others));
    if (status != STATUS_OK)
        return status;
    comparison_test(&c);
    const bool some = comparison_print(&c, out) > 0;
    if (some)
        buffer_append_format(out,
                             "\np: Student's t of the paired differences, adjusted by Holm over "
                             "%u tests\n*: significant at %g after the adjustment; the interval "
                             "is not adjusted\n",
                             comparison_tests(&c), SIGNIFICANT);
    free(c.all);
    return some ? STATUS_OK : STATUS_NOT_FOUND;
}

void lab_result_policies(const struct lab_result *r, struct buffer *out)
{
    bool first = true;
    for (uint32_t p = 0; p < r->scenario->policy_count; p++) {
        bool ran = false;
        for (uint32_t point = 0; point < r->point_count; point++)
            ran |= lab_result_ran(r, p, point);
        if (ran)
            buffer_append_format(out, "%s%s", first ? "" : ", ", r->scenario->policies[p].name);
        first &= !ran;
    }
}
