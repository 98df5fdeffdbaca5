/* statistics.c - means, intervals, tests, shares and lines. */
#include "lab/measure/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/must.h"

/* The continued fraction of the incomplete beta function, by Lentz's method. It converges fast for
 * x < (a + 1) / (a + b + 2). Source: NIST Digital Library of Mathematical Functions, 8.17.22. */
static double beta_fraction(double a, double b, double x)
{
    const double min = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < min ? min : d);
    double result = d;
    for (int m = 1; m < 10000; m++) {
        double terms[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                           -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double change = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < min ? min : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < min ? min : c;
            change = c * d;
            result *= change;
        }
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return result;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_regularized(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    int sign;
    double log_front = lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                       a * log(x) + b * log1p(-x);
    if (x < (a + 1) / (a + b + 2))
        return exp(log_front) * beta_fraction(a, b, x) / a;
    return 1 - exp(log_front) * beta_fraction(b, a, 1 - x) / b;
}

/* P(T > t), t >= 0. */
static double t_tail(double t, double freedom)
{
    return beta_regularized(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
}

double statistics_t_quantile(double probability, double freedom)
{
    must(probability > 0 && probability < 1);
    must(freedom >= 1);
    if (probability == 0.5)
        return 0;
    double tail = probability < 0.5 ? probability : 1 - probability;
    double low = 0, high = 1;
    while (t_tail(high, freedom) > tail)
        high *= 2;
    for (int i = 0; i < 100 && low < high; i++) {
        double middle = low + (high - low) / 2;
        if (t_tail(middle, freedom) > tail)
            low = middle;
        else
            high = middle;
    }
    return probability < 0.5 ? -high : high;
}

struct statistics_summary statistics_summarize(const double *samples, size_t count)
{
    struct statistics_summary s = {.count = count, .low = NAN, .high = NAN, .mean = NAN};
    if (count == 0)
        return s;
    double sum = 0, squares = 0;
    s.min = s.max = samples[0];
    for (size_t i = 0; i < count; i++) {
        sum += samples[i];
        s.min = fmin(s.min, samples[i]);
        s.max = fmax(s.max, samples[i]);
    }
    /* Equal samples have their value: the division may round to another one. */
    s.mean = s.low = s.high = s.min == s.max && !isnan(sum) ? s.min : sum / (double)count;
    if (s.min == s.max || isnan(sum))
        return s;
    if (!isfinite(sum)) {
        s.deviation = INFINITY;
        s.low = s.min;
        s.high = s.max;
        return s;
    }
    for (size_t i = 0; i < count; i++)
        squares += (samples[i] - s.mean) * (samples[i] - s.mean);
    s.deviation = sqrt(squares / (double)(count - 1));
    double half =
        statistics_t_quantile(0.975, (double)(count - 1)) * s.deviation / sqrt((double)count);
    s.low = s.mean - half;
    s.high = s.mean + half;
    return s;
}

struct statistics_summary statistics_paired(const double *a, const double *b, size_t count)
{
    double *differences = must_calloc(count + 1, sizeof *differences);
    for (size_t i = 0; i < count; i++)
        differences[i] = a[i] - b[i];
    struct statistics_summary s = statistics_summarize(differences, count);
    free(differences);
    return s;
}

struct statistics_summary statistics_within(const struct statistics_summary *s,
                                            struct statistics_bounds bounds)
{
    struct statistics_summary cut = *s;
    if (isnan(s->mean))
        return cut;
    cut.low = fmin(fmax(s->low, bounds.low), s->mean);
    cut.high = fmax(fmin(s->high, bounds.high), s->mean);
    return cut;
}

bool statistics_are_equal(const struct statistics_summary *s)
{
    return s->count > 1 && s->min == s->max;
}

enum statistics_verdict statistics_check(const struct statistics_summary *s, double at_least,
                                         double at_most)
{
    if (!(s->mean >= at_least && s->mean <= at_most)) /* also if it is NAN */
        return STATISTICS_FAILS;
    return s->low >= at_least && s->high <= at_most ? STATISTICS_HOLDS : STATISTICS_UNSURE;
}

bool statistics_is_precise(const struct statistics_summary *s, double relative, double floor)
{
    if (s->count < 2 || s->min == s->max)
        return s->count >= 2;
    const double half = fmax(s->high - s->mean, s->mean - s->low);
    return isfinite(s->mean) && half <= fmax(relative * fabs(s->mean), floor);
}

size_t statistics_next_analysis(size_t count, size_t max)
{
    const size_t next = count < STATISTICS_SAMPLES_MIN ? STATISTICS_SAMPLES_MIN : count + count / 3;
    return next < max ? next : max;
}

/* ---- differences ---- */

double statistics_p_value(const struct statistics_summary *s)
{
    if (s->count < 2 || !isfinite(s->mean))
        return NAN;
    if (s->min == s->max)
        return s->min == 0 ? 1 : 0;
    const double t = fabs(s->mean) / (s->deviation / sqrt((double)s->count));
    return 2 * t_tail(t, (double)(s->count - 1));
}

struct ranked_p {
    double p;
    size_t place;
};

static int ranked_p_compare(const void *a, const void *b)
{
    const struct ranked_p *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void statistics_holm(double *p, size_t count)
{
    struct ranked_p *ranked = must_calloc(count + 1, sizeof *ranked);
    size_t tests = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(p[i]))
            ranked[tests++] = (struct ranked_p){p[i], i};
    }
    qsort(ranked, tests, sizeof *ranked, ranked_p_compare);
    double adjusted = 0; /* a greater p value is never adjusted to a smaller one */
    for (size_t i = 0; i < tests; i++) {
        adjusted = fmax(adjusted, fmin(1, (double)(tests - i) * ranked[i].p));
        p[ranked[i].place] = adjusted;
    }
    free(ranked);
}

enum {
    BATCHES_MAX = 10, /* of a half */
    BATCHES_MIN = 4
};

static struct statistics_summary batch_means(const double *values, size_t batches, size_t size)
{
    double means[BATCHES_MAX];
    for (size_t b = 0; b < batches; b++)
        means[b] = statistics_summarize(values + b * size, size).mean;
    return statistics_summarize(means, batches);
}

/* The p value of a difference of two means of `batches` values with this deviation. */
static double p_by_spread(double difference, double deviation, size_t batches)
{
    if (difference == 0)
        return 1;
    const double error = deviation * sqrt(2 / (double)batches);
    return error > 0 ? 2 * t_tail(fabs(difference) / error, (double)(batches - 1)) : 0;
}

struct statistics_trend statistics_halves(const double *values, size_t count)
{
    const size_t half = count / 2, batches = half < BATCHES_MAX ? half : BATCHES_MAX;
    if (batches < BATCHES_MIN)
        return (struct statistics_trend){0, NAN};
    const size_t size = half / batches;
    const struct statistics_summary a = batch_means(values, batches, size),
                                    b = batch_means(values + count - batches * size, batches, size);
    const double difference = b.mean - a.mean, mean = fabs(a.mean + b.mean) / 2;
    const double p = fmin(p_by_spread(difference, a.deviation, batches),
                          p_by_spread(difference, b.deviation, batches));
    return (struct statistics_trend){mean > 0 ? difference / mean : 0, fmin(1, 2 * p)};
}

/* ---- shares and lines ---- */

double statistics_jain(const double *shares, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += shares[i];
        squares += shares[i] * shares[i];
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 1;
}

double statistics_min_max_ratio(const double *shares, size_t count)
{
    double min = INFINITY, max = 0;
    for (size_t i = 0; i < count; i++) {
        min = fmin(min, shares[i]);
        max = fmax(max, shares[i]);
    }
    return max > 0 ? min / max : 1;
}

struct statistics_line statistics_fit(const double *x, const double *y, size_t count)
{
    struct statistics_line line = {0};
    if (count == 0)
        return line;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        mean_x += x[i] / (double)count;
        mean_y += y[i] / (double)count;
        min = fmin(min, x[i]);
        max = fmax(max, x[i]);
    }
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    line.slope = min < max ? xy / xx : 0;
    line.intercept = mean_y - line.slope * mean_x;
    double start = line.intercept + line.slope * min;
    line.rise = start != 0 ? line.slope * (max - min) / fabs(start) : 0;
    return line;
}
