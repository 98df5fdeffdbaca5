/* What seeds say together, against published and hand-computed figures. */
#include "lab/measure/statistics.h"

#include <math.h>

#include "tests/check.h"

#define assert_near(actual, expected, relative)                                \
    do {                                                                       \
        double near_a = (actual), near_e = (expected);                         \
        if (!(fabs(near_a - near_e) <= (relative)*fmax(fabs(near_e), 1e-300))) \
            fail_msg("%.17g is not %.17g", near_a, near_e);                    \
    } while (0)

/* The quantiles for 1, 2 and 4 degrees of freedom have closed forms; the others are of the table of
 * the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, to its three digits. */
TEST(quantiles_of_t_are_those_of_the_tables)
{
    assert_near(statistics_t_quantile(0.975, 1), tan(M_PI * 0.475), 1e-9);
    assert_near(statistics_t_quantile(0.9, 1), tan(M_PI * 0.4), 1e-9);
    for (double p = 0.001; p < 0.5; p += 0.0371) {
        double a = 4 * p * (1 - p);
        assert_near(statistics_t_quantile(p, 2), (2 * p - 1) * sqrt(2 / a), 1e-9);
        double q = cos(acos(sqrt(a)) / 3) / sqrt(a);
        assert_near(statistics_t_quantile(1 - p, 4), 2 * sqrt(q - 1), 1e-9);
        assert_near(statistics_t_quantile(p, 4), -2 * sqrt(q - 1), 1e-9);
    }
    static const struct {
        double p, freedom, expected;
    } table[] = {{0.975, 3, 3.182},  {0.975, 5, 2.571},   {0.975, 9, 2.262},   {0.975, 19, 2.093},
                 {0.975, 29, 2.045}, {0.975, 100, 1.984}, {0.95, 10, 1.812},   {0.99, 10, 2.764},
                 {0.995, 7, 3.499},  {0.999, 30, 3.385},  {0.975, 1e7, 1.960}, {0.9, 60, 1.296}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_true(fabs(statistics_t_quantile(table[i].p, table[i].freedom) - table[i].expected) <=
                    0.0005001);
    assert_true(statistics_t_quantile(0.5, 7) == 0);
}

TEST(a_mean_has_the_interval_of_its_sample)
{
    const double samples[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct statistics_summary s = statistics_summarize(samples, 8);
    assert_near(s.mean, 5, 1e-15);
    assert_near(s.deviation, sqrt(32.0 / 7), 1e-15);
    double half = 2.364624251592784 * sqrt(32.0 / 7 / 8); /* t of 7 degrees of freedom */
    assert_near(s.high - s.mean, half, 1e-9);
    assert_near(s.mean - s.low, half, 1e-9);
    assert_true(s.min == 2 && s.max == 9 && s.count == 8);
}

TEST(one_sample_is_its_own_interval_and_none_has_no_mean)
{
    const double one = 3;
    struct statistics_summary s = statistics_summarize(&one, 1);
    assert_true(s.mean == 3 && s.low == 3 && s.high == 3 && s.deviation == 0);
    s = statistics_summarize(&one, 0);
    assert_true(isnan(s.mean) && isnan(s.low) && isnan(s.high));
}

/* Seeds differ much more than policies: only pairing sees the difference. */
TEST(pairs_over_common_seeds_see_small_differences)
{
    const double a[] = {10.1, 20.2, 30.1, 40.2}, b[] = {10, 20, 30, 40};
    struct statistics_summary s = statistics_paired(a, b, 4);
    assert_near(s.mean, 0.15, 1e-9);
    assert_true(s.low > 0);
    struct statistics_summary sa = statistics_summarize(a, 4), sb = statistics_summarize(b, 4);
    assert_true(sa.low < sb.high); /* unpaired: the intervals overlap */
}

TEST(equal_shares_are_fair_and_one_that_takes_all_is_not)
{
    const double equal[] = {3, 3, 3, 3}, one[] = {0, 8, 0, 0}, some[] = {1, 2, 3, 4};
    assert_near(statistics_jain(equal, 4), 1, 1e-15);
    assert_near(statistics_jain(one, 4), 0.25, 1e-15);
    assert_near(statistics_jain(some, 4), 100.0 / 120, 1e-15);
    assert_near(statistics_min_max_ratio(some, 4), 0.25, 1e-15);
    assert_true(statistics_min_max_ratio(one, 4) == 0 && statistics_min_max_ratio(equal, 4) == 1);
    assert_true(statistics_jain(one, 0) == 1 && statistics_min_max_ratio(one, 0) == 1);
    assert_true(statistics_jain(one, 1) == 1 && statistics_min_max_ratio(one, 1) == 1);
}

TEST(a_line_of_least_squares_has_the_rise)
{
    const double x[] = {1, 2, 3, 4}, y[] = {6, 5, 7, 10};
    struct statistics_line line = statistics_fit(x, y, 4);
    assert_near(line.slope, 1.4, 1e-12);
    assert_near(line.intercept, 3.5, 1e-12);
    assert_near(line.rise, 4.2 / 4.9, 1e-12);
    const double same[] = {2, 2, 2, 2};
    line = statistics_fit(same, y, 4);
    assert_true(line.slope == 0 && line.rise == 0 && line.intercept == 7);
}
