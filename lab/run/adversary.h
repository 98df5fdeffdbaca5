/* adversary.h - bad policies in the place of a scenario's first policy.
 *
 * A scenario whose expectations hold under a bad policy shows nothing of the good one. So each
 * adversary (lab/adversaries/adversaries.h) runs as the first policy would, with its own partition
 * policy. What the scenario expects of its first policy is then evaluated by the runs of the
 * adversary: at least one expectation must break. An expectation that divides by another policy
 * (`versus`) divides by that policy's own runs.
 *
 * Beside its partition policy, an adversary other than `delayed` needs settings under which every
 * request comes to a partition: routers keep no limit of a table, and nothing is shed. `delayed`
 * keeps all settings of the first policy. It is left out if that policy's partition policy is not
 * one that lab/adversaries/partition_delayed.c delays.
 *
 * A scenario with limits of the rate limiter has no runs: the rate limiter decides there, and its
 * rules are no policy.
 *
 * Not here: files and what is printed in which command (cmd/lab_adversary.c). */
#pragma once

#include "lab/run/result.h"

enum {
    ADVERSARIES = 4
};

extern const char *const adversary_names[ADVERSARIES];

/* Appends the adversaries as a YAML list of policies. `first`: the scenario as its first policy
 * changes it. */
void adversary_write_policies(const struct scenario *first, struct buffer *out);

/* The first policy of the scenario that has the name of an adversary; NULL: none. */
const char *adversary_name_taken(const struct scenario *s);

/* Whether the policy is an adversary, or one that an expectation of the first policy divides by.
 * `s`: the scenario with the adversaries. */
bool adversary_needs_policy(const struct scenario *s, uint32_t policy);

struct adversary_verdict {
    uint32_t policy;           /* UINT32_MAX: the adversary was left out */
    uint32_t expected, broken; /* expectations of the first policy */
    bool was_called;
    bool breaks[SCENARIO_EXPECTATIONS_MAX]; /* by the expectation's place */
};

struct adversary_report {
    struct adversary_verdict of[ADVERSARIES];
};

/* Evaluates the runs. True: each adversary that ran was called, and broke an expectation. */
bool adversary_evaluate(struct lab_result *r, struct adversary_report *out);

/* Of a table: its head, and the row of a scenario. */
void adversary_print_head(struct buffer *out);
void adversary_print_row(const struct lab_result *r, const struct adversary_report *report,
                         struct buffer *out);
/* Lines about what is wrong; none if nothing is. */
void adversary_print_faults(const struct lab_result *r, const struct adversary_report *report,
                            struct buffer *out);
/* A line for each expectation of the first policy: which adversaries break it. */
void adversary_print_expectations(const struct lab_result *r, const struct adversary_report *report,
                                  struct buffer *out);
void adversary_write_json(const struct lab_result *r, const struct adversary_report *report,
                          struct buffer *out);
/* A test suite: a case for each adversary, which fails if all expectations hold under it. */
void adversary_junit(const struct lab_result *r, const struct adversary_report *report,
                     struct buffer *out);
