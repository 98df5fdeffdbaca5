/* result.h - many runs of one scenario together: means, intervals, differences of policies, and
 * whether the expectations hold.
 *
 * Runs are the JSON of lab/run/run.h, added in any order. Intervals are over seeds. Differences of
 * policies are paired by seed: the same seed gives every policy the same demand. */
#pragma once

#include "lab/measure/statistics.h"
#include "lab/run/run.h"
#include "lab/run/until.h"

struct lab_result;

/* Borrows the scenario, without changes of policies. */
struct lab_result *lab_result_create(const struct scenario *s, enum lab_fidelity fidelity);
void lab_result_destroy(struct lab_result *r);

/* STATUS_MALFORMED: not the result of a run of this scenario; `error` tells. A run that is there
 * already (policy, point, seed) is replaced. */
enum status lab_result_add(struct lab_result *r, struct slice json, struct buffer *error);

/* What the runs were made from, as members of an object in JSON: they become members of the
 * result's. */
void lab_result_set_inputs(struct lab_result *r, struct slice members);

/* How precise the results must be; borrows its text. */
void lab_result_set_until(struct lab_result *r, const struct lab_until *until);

/* Sorts the runs and judges the expectations. Call it after the last run was added, and before the
 * functions below. True: all expectations hold. */
bool lab_result_evaluate(struct lab_result *r);

/* Whether no policy exceeds a limit or the optimum, but for those that the scenario says exceed. */
bool lab_result_keeps_limits(const struct lab_result *r);

/* Whether all intervals are as narrow as lab_result_set_until says. */
bool lab_result_is_precise(const struct lab_result *r);

/* How many runs there are. */
uint32_t lab_result_runs(const struct lab_result *r);
/* How many expectations were judged, and how many of them failed. */
uint32_t lab_result_evaluated(const struct lab_result *r, uint32_t *failed);
/* How many of them neither hold nor fail: the interval is too wide. */
uint32_t lab_result_unsure(const struct lab_result *r);

/* For people: a table of the policies, and the expectations. */
void lab_result_print(const struct lab_result *r, struct buffer *out);
void lab_result_json(const struct lab_result *r, struct buffer *out);
/* A line for each policy, point, tenant and measure. */
void lab_result_csv(const struct lab_result *r, struct buffer *out);
/* A test suite: a case for each expectation. */
void lab_result_junit(const struct lab_result *r, struct buffer *out);
/* A policy with each of the others (names with commas between them), measure by measure, at each
 * point of a sweep: the paired difference, its interval and its p value, adjusted over all rows.
 * STATUS_NOT_FOUND: a name is not that of a policy, or at no point both have runs.
 * STATUS_MALFORMED: a policy is named twice. */
enum status lab_result_compare(const struct lab_result *r, const char *policy, const char *others,
                               struct buffer *out);
/* The names of the policies that have runs. */
void lab_result_policies(const struct lab_result *r, struct buffer *out);
