/* result.c - reads results of runs, and judges them together. */
#include "lab/run/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/run/result_internal.h"

/* ---- reading ---- */

static double number_of(const struct json_value *v)
{
    if (v->type == JSON_INTEGER)
        return (double)json_integer(v);
    if (v->type == JSON_DECIMAL)
        return json_decimal(v);
    if (json_is_text(v, "inf"))
        return INFINITY;
    return json_is_text(v, "-inf") ? -INFINITY : NAN;
}

static void read_values(struct lab_result *r, struct json_value *measures, const char *tenant,
                        double *out)
{
    struct json_value values = json_find(measures, tenant);
    for (size_t i = 0; i < r->measures; i++) {
        struct json_value v = json_find(&values, measure_definition_at(i)->name);
        out[i] = number_of(&v);
    }
}

/* 16 hexadecimal digits. */
static uint64_t read_hash(struct slice text)
{
    char digits[17] = "";
    if (text.size == sizeof digits - 1)
        memcpy(digits, text.data, text.size);
    return strtoull(digits, NULL, 16);
}

static void read_steadiness(const struct json_value *root, struct lab_run_values *run)
{
    struct json_value steadiness = json_find(root, "steadiness");
    if (steadiness.type != JSON_OBJECT)
        return;
    const struct json_value change = json_find(&steadiness, "change"),
                            steady = json_find(&steadiness, "steady");
    run->steadiness_checked = true;
    run->steady = steady.type == JSON_BOOL && json_bool(&steady);
    run->change = number_of(&change);
}

/* The list of texts as lines. */
static struct slice read_lines(struct lab_result *r, const struct json_value *list)
{
    struct buffer lines = {0};
    struct json_value text;
    if (list->type != JSON_LIST)
        return slice_make(NULL, 0);
    struct json_cursor c = json_elements(list);
    while (json_next_element(&c, &text)) {
        buffer_append_slice(&lines, json_text(&text));
        buffer_append_u8(&lines, '\n');
    }
    const struct slice kept = arena_copy(&r->arena, buffer_slice(&lines));
    buffer_deinit(&lines);
    return kept;
}

static void read_run(struct lab_result *r, const struct json_value *root,
                     struct lab_run_values *run)
{
    const struct scenario *s = r->scenario;
    const struct json_value hash = json_find(root, "hash"), uncalled = json_find(root, "uncalled");
    struct json_value measures = json_find(root, "measures");
    run->hash = read_hash(json_text(&hash));
    run->uncalled = read_lines(r, &uncalled);
    struct json_value expectations = json_find(root, "expectations"), v;
    run->values = must_calloc(r->selections * r->measures + 1, sizeof run->values[0]);
    run->expected = must_calloc(s->expectation_count + 1, sizeof run->expected[0]);
    read_values(r, &measures, "", run->values);
    for (uint32_t i = 1; i < r->selections; i++)
        read_values(r, &measures, s->tenants[i - 1].name, run->values + i * r->measures);
    read_steadiness(root, run);
    if (expectations.type != JSON_LIST)
        return;
    struct json_cursor c = json_elements(&expectations);
    for (uint32_t i = 0; i < s->expectation_count && json_next_element(&c, &v); i++)
        run->expected[i] = number_of(&v);
}

static void run_deinit(struct lab_run_values *run)
{
    free(run->values);
    free(run->expected);
}

static void put_run(struct lab_result *r, const struct lab_run_values *run)
{
    for (uint32_t i = 0; i < r->run_count; i++) {
        struct lab_run_values *old = &r->runs[i];
        if (old->policy != run->policy || old->seed != run->seed || old->point != run->point)
            continue;
        run_deinit(old);
        *old = *run;
        return;
    }
    r->runs = must_grow(r->runs, r->run_count, &r->run_capacity, sizeof r->runs[0]);
    r->runs[r->run_count++] = *run;
}

static uint32_t point_of(struct lab_result *r, struct slice name)
{
    for (uint32_t i = 0; i < r->point_count; i++) {
        if (slice_compare(r->points[i], name) == 0)
            return i;
    }
    r->points = must_grow(r->points, r->point_count, &r->point_capacity, sizeof r->points[0]);
    r->points[r->point_count] = arena_copy(&r->arena, name);
    return r->point_count++;
}

enum status lab_result_add(struct lab_result *r, struct slice json, struct buffer *error)
{
    static const uint8_t padding[JSON_PADDING];
    struct buffer padded = {0};
    struct json_value root;
    struct lab_run_values run = {0};
    buffer_append_slice(&padded, json);
    buffer_append(&padded, padding, sizeof padding);
    enum status status = json_parse(r->parser, slice_make(padded.data, json.size), &root);
    if (status == STATUS_OK) {
        struct json_value scenario = json_find(&root, "scenario"), seed = json_find(&root, "seed"),
                          policy = json_find(&root, "policy"), point = json_find(&root, "point");
        const struct scenario_policy *policies = r->scenario->policies;
        run.policy = (uint32_t)name_place(json_text(&policy), &policies->name,
                                          r->scenario->policy_count, sizeof *policies);
        if (!json_is_text(&scenario, r->scenario->name) || seed.type != JSON_INTEGER ||
            run.policy == r->scenario->policy_count) {
            status =
                buffer_explain(error, STATUS_MALFORMED,
                               "this is not a run of a policy of scenario %s", r->scenario->name);
        } else {
            run.seed = (uint64_t)json_integer(&seed);
            run.point = point_of(r, json_text(&point));
            read_run(r, &root, &run);
            put_run(r, &run);
        }
    } else {
        buffer_append_text(error, "not the JSON of a run");
    }
    buffer_deinit(&padded);
    return status;
}

/* ---- life ---- */

struct lab_result *lab_result_create(const struct scenario *s, enum lab_fidelity fidelity)
{
    struct lab_result *r = must_calloc(1, sizeof *r);
    r->scenario = s;
    r->fidelity = fidelity;
    r->parser = json_parser_create();
    r->selections = s->tenant_count > 1 ? s->tenant_count + 1 : 1;
    while (measure_definition_at(r->measures) != NULL)
        r->measures++;
    return r;
}

void lab_result_destroy(struct lab_result *r)
{
    for (uint32_t i = 0; i < r->run_count; i++)
        run_deinit(&r->runs[i]);
    free(r->runs);
    free(r->points);
    free(r->evaluated);
    arena_deinit(&r->arena);
    buffer_deinit(&r->inputs);
    json_parser_destroy(r->parser);
    free(r);
}

void lab_result_set_inputs(struct lab_result *r, struct slice members)
{
    buffer_set(&r->inputs, members);
}

uint32_t lab_result_runs(const struct lab_result *r)
{
    return r->run_count;
}

/* ---- samples ---- */

static int compare_runs(const void *a, const void *b)
{
    const struct lab_run_values *x = a, *y = b;
    if (x->policy != y->policy)
        return x->policy < y->policy ? -1 : 1;
    if (x->point != y->point)
        return x->point < y->point ? -1 : 1;
    return x->seed < y->seed ? -1 : x->seed > y->seed;
}

static const struct lab_run_values *find_run(const struct lab_result *r, uint32_t policy,
                                             uint32_t point, uint64_t seed)
{
    for (uint32_t i = 0; i < r->run_count; i++) {
        const struct lab_run_values *run = &r->runs[i];
        if (run->policy == policy && run->point == point && run->seed == seed)
            return run;
    }
    return NULL;
}

static bool policies_are_equal(const struct lab_result *r, uint32_t policy, uint32_t other,
                               uint32_t point)
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < r->run_count; i++) {
        const struct lab_run_values *run = &r->runs[i];
        if (run->policy != policy || run->point != point)
            continue;
        const struct lab_run_values *same = find_run(r, other, point, run->seed);
        if (run->hash == 0 || same == NULL || same->hash != run->hash)
            return false;
        runs++;
    }
    return runs > 0;
}

uint32_t lab_result_twin(const struct lab_result *r, uint32_t policy, uint32_t point)
{
    uint32_t other = 0;
    while (other < policy && !policies_are_equal(r, policy, other, point))
        other++;
    return other;
}

static double value_at(const struct lab_run_values *run, const struct lab_sample *what)
{
    return what->expectation ? run->expected[what->place] : run->values[what->place];
}

size_t lab_samples(const struct lab_result *r, const struct lab_sample *what, uint32_t other,
                   double *a, double *b)
{
    size_t count = 0;
    for (uint32_t i = 0; i < r->run_count; i++) {
        const struct lab_run_values *run = &r->runs[i];
        if (run->policy != what->policy || run->point != what->point)
            continue;
        const struct lab_run_values *pair =
            b == NULL ? run : find_run(r, other, what->point, run->seed);
        double x = value_at(run, what), y = pair == NULL ? NAN : value_at(pair, what);
        if (isnan(x) || isnan(y))
            continue;
        if (b != NULL)
            b[count] = y;
        a[count++] = x;
    }
    return count;
}

bool lab_result_ran(const struct lab_result *r, uint32_t policy, uint32_t point)
{
    for (uint32_t i = 0; i < r->run_count; i++) {
        if (r->runs[i].policy == policy && r->runs[i].point == point)
            return true;
    }
    return false;
}

size_t lab_result_place(const char *measure)
{
    const struct measure_definition *d;
    size_t i = 0;
    while ((d = measure_definition_at(i)) != NULL && strcmp(d->name, measure) != 0)
        i++;
    return i;
}

struct statistics_summary lab_result_summarize(const struct lab_result *r,
                                               const struct lab_sample *what, double *samples)
{
    const struct statistics_summary all =
        statistics_summarize(samples, lab_samples(r, what, 0, samples, NULL));
    return statistics_within(&all, measure_definition_at(what->place % r->measures)->bounds);
}

/* ---- judging ---- */

static uint32_t policy_named(const struct scenario *s, const char *name)
{
    return name == NULL ? 0 : (uint32_t)NAME_PLACE(name, s->policies, s->policy_count);
}

/* Of a quotient of two values that are never below 0: neither is it. */
static struct statistics_bounds expectation_bounds(const struct scenario_expectation *e)
{
    const struct measure_definition *d = measure_definition_at(lab_result_place(e->measure));
    const double low = d != NULL ? d->bounds.low : -HUGE_VAL; /* NULL: a policy changes the name */
    if (d != NULL && e->versus == NULL)
        return d->bounds;
    return (struct statistics_bounds){low >= 0 ? 0 : -HUGE_VAL, HUGE_VAL};
}

/* The policy by whose runs the expectation is judged. */
static uint32_t evaluated_policy(const struct lab_result *r, const struct scenario_expectation *e)
{
    const uint32_t policy = policy_named(r->scenario, e->policy);
    return policy == 0 ? r->evaluated_as : policy;
}

static void evaluate_one(struct lab_result *r, uint32_t expectation, uint32_t point,
                         struct lab_evaluated *out, double *a, double *b)
{
    const struct scenario_expectation *e = &r->scenario->expectations[expectation];
    const struct lab_sample what = {.policy = evaluated_policy(r, e),
                                    .point = point,
                                    .expectation = true,
                                    .place = expectation};
    size_t count = lab_samples(r, &what, policy_named(r->scenario, e->versus), a,
                               e->versus == NULL ? NULL : b);
    uint32_t equal_zeros = 0;
    for (size_t i = 0; i < count && e->versus != NULL; i++) {
        equal_zeros += a[i] == 0 && b[i] == 0;
        a[i] = b[i] == a[i] ? 1 : a[i] / b[i];
    }
    const struct statistics_summary value = statistics_summarize(a, count);
    *out = (struct lab_evaluated){.expectation = expectation,
                                  .point = point,
                                  .policy = what.policy,
                                  .value = statistics_within(&value, expectation_bounds(e)),
                                  .equal_zeros = equal_zeros};
    out->verdict = statistics_check(&out->value, e->at_least, e->at_most);
}

bool lab_result_can_evaluate(const struct lab_result *r, const struct scenario_expectation *e)
{
    return r->fidelity == LAB_ADMISSION || !measure_needs_optimum(e->measure);
}

/* Whether the runs at the point decide about the expectation. */
static bool is_evaluated(const struct lab_result *r, const struct scenario_expectation *e,
                         uint32_t point)
{
    const struct scenario *s = r->scenario;
    if (r->evaluated_as != 0 && policy_named(s, e->policy) != 0)
        return false;
    return lab_result_can_evaluate(r, e) && lab_result_ran(r, evaluated_policy(r, e), point) &&
           (e->versus == NULL || lab_result_ran(r, policy_named(s, e->versus), point));
}

void lab_result_evaluate_as(struct lab_result *r, uint32_t policy)
{
    must(policy < r->scenario->policy_count);
    r->evaluated_as = policy;
}

bool lab_result_evaluate(struct lab_result *r)
{
    const struct scenario *s = r->scenario;
    double *a = must_calloc(2 * (size_t)r->run_count + 1, sizeof *a);
    bool all = true;
    if (r->run_count > 0)
        qsort(r->runs, r->run_count, sizeof r->runs[0], compare_runs);
    free(r->evaluated);
    r->evaluated =
        must_calloc((size_t)r->point_count * s->expectation_count + 1, sizeof *r->evaluated);
    r->evaluated_count = 0;
    for (uint32_t point = 0; point < r->point_count; point++) {
        for (uint32_t e = 0; e < s->expectation_count; e++) {
            if (!is_evaluated(r, &s->expectations[e], point))
                continue;
            struct lab_evaluated *j = &r->evaluated[r->evaluated_count++];
            evaluate_one(r, e, point, j, a, a + r->run_count);
            all &= j->verdict == STATISTICS_HOLDS;
        }
    }
    free(a);
    return all;
}

static uint32_t count_verdicts(const struct lab_result *r, enum statistics_verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->evaluated_count; i++)
        count += r->evaluated[i].verdict == verdict;
    return count;
}

uint32_t lab_result_evaluated(const struct lab_result *r, uint32_t *failed)
{
    *failed = count_verdicts(r, STATISTICS_FAILS);
    return r->evaluated_count;
}

uint32_t lab_result_unsure(const struct lab_result *r)
{
    return count_verdicts(r, STATISTICS_UNSURE);
}
