/* result_internal.h - what result.c and result_write.c share. */
#pragma once

#include "base/arena.h"
#include "lab/run/result.h"
#include "router/json/json.h"

/* The values of one run: selection by selection, in the order of the measures. The first selection
 * is of all requests, the others are of tenants. */
struct lab_run_values {
    uint32_t policy;
    uint32_t point;
    uint64_t seed;
    uint64_t hash;         /* of all that happened; 0: not told */
    struct slice uncalled; /* lines, each a policy that no decision called; lends from the arena */
    bool steadiness_checked, steady; /* lab/run/steadiness.h */
    double change;                   /* of the admitted rate, first half to second half */
    double *values;                  /* owns */
    double *expected;                /* owns */
};

struct lab_evaluated {
    uint32_t expectation, point, policy;
    struct statistics_summary value;
    uint32_t equal_zeros; /* `versus`: runs with 0 / 0, which counts as 1 */
    enum statistics_verdict verdict;
};

struct lab_result {
    const struct scenario *scenario; /* borrows */
    enum lab_fidelity fidelity;
    struct json_parser *parser; /* owns */
    struct arena arena;
    uint32_t evaluated_as; /* the runs of this policy stand for those of the first; 0: its own */
    uint32_t selections;
    size_t measures;
    uint32_t run_count;
    size_t run_capacity;
    struct lab_run_values *runs; /* owns */
    uint32_t point_count;
    size_t point_capacity;
    struct slice *points; /* owns; texts in the arena */
    uint32_t evaluated_count;
    struct lab_evaluated *evaluated; /* owns */
    struct buffer inputs;            /* lab_result_set_inputs */
    struct lab_until until;
};

/* Whether the fidelity of the runs has what the expectation asks for. */
bool lab_result_can_evaluate(const struct lab_result *r, const struct scenario_expectation *e);

/* Subject and bounds of an expectation, as one line without its end. At least one run is there. */
void lab_result_print_expectation(const struct lab_result *r, uint32_t expectation,
                                  struct buffer *out);

/* Judges the expectations of the first policy by the runs of this one, and no others. Call
 * lab_result_evaluate afterwards. */
void lab_result_evaluate_as(struct lab_result *r, uint32_t policy);

/* Of result_uncalled.c: the first policy of a plug-in that no run of the row called; no bytes: all
 * were called. Lines, and a member of an object in JSON, for all of them. */
struct slice lab_result_uncalled(const struct lab_result *r, uint32_t policy, uint32_t point);
void lab_result_print_uncalled(const struct lab_result *r, uint32_t policy, struct buffer *out);
void lab_result_write_uncalled(const struct lab_result *r, struct buffer *out);

/* The place of a measure among those of a selection; behind the last: there is none. */
size_t lab_result_place(const char *measure);

/* Whether a policy has runs at a point. */
bool lab_result_ran(const struct lab_result *r, uint32_t policy, uint32_t point);

/* Of result_limits.c: lines, and a member of an object in JSON, for policies that exceed a limit or
 * the optimum. */
void lab_result_print_limits(const struct lab_result *r, uint32_t point, struct buffer *out);
void lab_result_write_limits(const struct lab_result *r, struct buffer *out);

/* The first policy before this one that each run of this one at the point is equal to; the policy
 * itself: none. */
uint32_t lab_result_twin(const struct lab_result *r, uint32_t policy, uint32_t point);

/* One value of each run of a policy at a point. */
struct lab_sample {
    uint32_t policy, point;
    bool expectation; /* `place` is an expectation's; otherwise among the values */
    size_t place;
};

/* The values over the seeds, without those that are no number. `b`: not NULL: the values of policy
 * `other` of the same seeds. Returns how many. */
size_t lab_samples(const struct lab_result *r, const struct lab_sample *what, uint32_t other,
                   double *a, double *b);

/* The mean of a measure, and its interval within the measure's bounds. `samples`: room for a value
 * of each run. */
struct statistics_summary lab_result_summarize(const struct lab_result *r,
                                               const struct lab_sample *what, double *samples);

/* ---- texts, of result_write.c ---- */

/* "weir: throttle_fraction of victims, divided by alone's" */
void lab_result_append_subject(struct buffer *out, const struct lab_result *r,
                               const struct lab_evaluated *j);
/* "0.01 (0.008 to 0.012, 10 runs)" */
void lab_result_append_value(struct buffer *out, const struct statistics_summary *v);

/* ---- of result_until.c: a line or more, and a member of an object in JSON ---- */

void lab_result_print_until(const struct lab_result *r, struct buffer *out);
void lab_result_write_until(const struct lab_result *r, struct buffer *out);

/* ---- of result_steadiness.c: lines, and members of an object in JSON ---- */

void lab_result_print_steadiness(const struct lab_result *r, uint32_t point, struct buffer *out);
void lab_result_write_steadiness(const struct lab_result *r, struct buffer *out);

/* ---- of result_compare.c ---- */

/* A measure of a policy minus that of another, paired by seed. */
struct lab_difference {
    struct statistics_summary summary;
    double p, adjusted; /* by Holm, over all differences that are shown together; NAN: no test */
};

/* From the first policy: by points, then policies, then places of values. The caller frees. */
struct lab_difference *lab_result_differences(const struct lab_result *r);
