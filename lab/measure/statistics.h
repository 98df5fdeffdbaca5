/* statistics.h - what runs over several seeds say together.
 *
 * Promises: deterministic on one machine; no state. Floating point: results only, never a
 * decision of a run. Samples are arrays that the caller keeps.
 *
 * Not here: percentiles of requests (base/histogram.h). */
#pragma once

#include <stddef.h>

struct statistics_summary {
    size_t count;
    double mean;
    double deviation; /* of the sample: divides by count - 1; 0 for fewer than two */
    double low, high; /* the 95 % interval of the mean, by Student's t; the mean itself for one
                         sample, NAN for none */
    double min, max;
};

struct statistics_summary statistics_summarize(const double *samples, size_t count);

/* The summary of a[i] - b[i]: two policies over common seeds. The policies differ significantly if
 * 0 is outside [low, high]. */
struct statistics_summary statistics_paired(const double *a, const double *b, size_t count);

/* The quantile of Student's t distribution: P(T <= result) = probability, 0 < probability < 1,
 * freedom >= 1. Relative error below 1e-9. */
double statistics_t_quantile(double probability, double freedom);

/* Jain's index (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has all. 1 for none, and if
 * all are zero. Source: Jain, Chiu, Hawe, DEC-TR-301, 1984. */
double statistics_jain(const double *shares, size_t count);

/* The least share by the greatest: 1 if all are equal, 0 if one has nothing. Shares are already
 * divided by what they ought to be, their weights. 1 for none, and if all are zero. */
double statistics_min_max_ratio(const double *shares, size_t count);

struct statistics_line {
    double slope, intercept;
    double rise; /* how much the line rises from the least x to the greatest, as a share of its
                    value at the least: 0.05 is 5 % */
};

/* The line of least squares through (x[i], y[i]). With fewer than two distinct x it is level. */
struct statistics_line statistics_fit(const double *x, const double *y, size_t count);
