/* steadiness.h - whether a run has left its initial transient when the warm-up ends.
 *
 * A check of Geweke's kind: the admitted units of the seconds after the warm-up, first half against
 * second half, by the means of batches (statistics_halves). Only a scenario with a constant demand
 * is checked: steps, faults and autoscaling change the admitted rate on purpose.
 * Source: Geweke, Evaluating the accuracy of sampling-based approaches to the calculation of
 * posterior moments, Bayesian Statistics 4, 1992; batch means: Law, Simulation Modeling and
 * Analysis, chapter 9. */
#pragma once

#include "lab/measure/measure.h"
#include "lab/measure/statistics.h"
#include "lab/scenario/scenario.h"

/* Both must be exceeded: a change that is no accident, and that matters. */
#define STEADINESS_P      0.01
#define STEADINESS_CHANGE 0.01

/* Whether nothing in the scenario changes the demand, or what can be served, after the warm-up. */
bool steadiness_is_expected(const struct scenario *s);

/* Of the seconds from `from_ns` to `to_ns`; p is NAN if there are fewer than 8. After
 * measure_end. */
struct statistics_trend steadiness_of(const struct measure *m, int64_t from_ns, int64_t to_ns);

bool steadiness_holds(const struct statistics_trend *t);
