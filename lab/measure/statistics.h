/* statistics.h - what runs over several seeds say together.
 *
 * Promises: deterministic on one machine; no state. Floating point: results only, never a
 * decision of a run. Samples are arrays that the caller keeps.
 *
 * Not here: percentiles of requests (base/histogram.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* ---- means and intervals ---- */

struct statistics_summary {
    size_t count;
    double mean;
    double deviation; /* of the sample: divides by count - 1; 0 for fewer than two */
    double low, high; /* the 95 % interval of the mean, by Student's t; the mean itself for one
                         sample and for equal samples; min and max if a sample is infinite; NAN for
                         none */
    double min, max;
};

struct statistics_summary statistics_summarize(const double *samples, size_t count);

/* The summary of a[i] - b[i]: two policies over common seeds. */
struct statistics_summary statistics_paired(const double *a, const double *b, size_t count);

/* The values that a quantity can have: 0 to 1 for a fraction. */
struct statistics_bounds {
    double low, high; /* -HUGE_VAL, HUGE_VAL: no bound */
};

/* The summary with its interval cut at the bounds. The true mean is within the bounds, so the cut
 * interval contains the mean exactly if the whole interval does: the coverage is the same. */
struct statistics_summary statistics_within(const struct statistics_summary *s,
                                            struct statistics_bounds bounds);

/* Several samples, all of one value: their interval has no width. */
bool statistics_are_equal(const struct statistics_summary *s);

/* ---- what an interval says ---- */

enum statistics_verdict {
    STATISTICS_HOLDS,  /* the whole interval is within the bounds */
    STATISTICS_FAILS,  /* the mean is beyond a bound, or there is no mean */
    STATISTICS_UNSURE, /* the mean is within the bounds, an end of the interval is not */
};

/* Whether the mean is at least and at most so much. */
enum statistics_verdict statistics_check(const struct statistics_summary *s, double at_least,
                                         double at_most);

/* Whether the half width of the interval is at most `relative` times the mean, or at most `floor`.
 * A cut interval has the greater of its halves. Fewer than two samples: false. */
bool statistics_is_precise(const struct statistics_summary *s, double relative, double floor);

enum {
    STATISTICS_SAMPLES_MIN = 5 /* before the first interim analysis */
};

/* How many samples the next interim analysis of the precision has, after one with `count`: 5, then
 * a third more each time (6, 8, 10, 13, 17, 22, 29, 38, 50), at most `max`. Few analyses: each is a
 * chance to stop because the spread of the samples is small by accident (docs/measures.md). */
size_t statistics_next_analysis(size_t count, size_t max);

/* ---- differences ---- */

/* The two-sided p value of a mean of 0, by Student's t. Equal samples: 1 if they are 0, otherwise
 * 0. NAN: fewer than two samples, or one is infinite. */
double statistics_p_value(const struct statistics_summary *s);

/* Adjusts p values in place, so that the chance of any false positive is at most the level that
 * they are compared with. NANs are no tests, and stay. Source: Holm, A simple sequentially
 * rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979. */
void statistics_holm(double *p, size_t count);

/* How the second half of a series differs from the first. */
struct statistics_trend {
    double change; /* of the mean of the second half from that of the first / the mean of both */
    double p;      /* two-sided, of equal means; NAN: fewer than 8 values */
};

/* Student's t over the means of 10 batches of each half (each value is a batch if there are fewer
 * than 20). The spread of one half alone is the yardstick: a transient widens the spread of its own
 * half. Both halves are tried, and the smaller p value is doubled (Bonferroni). Values in the
 * middle that make no whole batch are left out. */
struct statistics_trend statistics_halves(const double *values, size_t count);

/* ---- distributions ---- */

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
