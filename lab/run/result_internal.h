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
    double *values;        /* owns */
    double *expected;      /* owns */
};

struct lab_evaluated {
    uint32_t expectation, point, policy;
    struct statistics_summary value;
    uint32_t equal_zeros; /* `versus`: runs with 0 / 0, which counts as 1 */
    bool holds;
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

/* The place of a measure among those of a selection. */
size_t lab_result_place(const char *measure);

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
