/* rate_curve_test.c - rates over time, and when requests are due. */
#include "tests/check.h"

#include <math.h>

#include "base/instant.h"
#include "base/slice.h"
#include "workload/rate_curve.h"

static struct rate_curve curve_of(const char *text)
{
    struct rate_curve c;
    assert_null(rate_curve_parse(&c, text));
    return c;
}

static int64_t seconds(double s)
{
    return (int64_t)(s * 1e9);
}

TEST(curves_have_the_rates_of_their_texts)
{
    static const struct {
        const char *text;
        double at_s, rate;
    } cases[] = {
        {"2.5k", 0, 2500},
        {"2.5k", 1e6, 2500},
        {"ramp:100:300:10", 0, 100},
        {"ramp:100:300:10", 5, 200},
        {"ramp:100:300:10", 10, 300},
        {"ramp:100:300:10", 99, 300},
        {"steps:10:20:40:60", 59.9, 10},
        {"steps:10:20:40:60", 60, 20},
        {"steps:10:20:40:60", 120, 40},
        {"steps:10:20:40:60", 1e6, 40},
        {"spike:100:5k:60:30", 59.9, 100},
        {"spike:100:5k:60:30", 60, 5000},
        {"spike:100:5k:60:30", 90, 100},
        {"spike:100:5k:0:30", 0, 5000},
        {"on-off:7:2:3", 1.9, 7},
        {"on-off:7:2:3", 2, 0},
        {"on-off:7:2:3", 5, 7},
        {"on-off:7:2:3", 5002.1, 0},
        /* mean 1000, peak / trough 3: 500 and 1500 */
        {"diurnal:1000:3:96", 0, 500},
        {"diurnal:1000:3:96", 24, 1000},
        {"diurnal:1000:3:96", 48, 1500},
        {"diurnal:1000:3:96", 96 * 1000 + 48, 1500},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rate_curve c = curve_of(cases[i].text);
        double rate = rate_curve_at(&c, seconds(cases[i].at_s));
        if (fabs(rate - cases[i].rate) > 1e-6)
            fail_msg("%s at %g s: %g", cases[i].text, cases[i].at_s, rate);
    }
    struct rate_curve c = curve_of("diurnal:1000:4:60");
    assert_true(fabs(rate_curve_peak(&c) - 1600) < 1e-9);
}

TEST(integrals_are_exact)
{
    static const struct {
        const char *text;
        double from_s, to_s, requests;
    } cases[] = {
        {"250", 3, 7, 1000},
        {"ramp:100:300:10", 0, 10, 2000},
        {"ramp:100:300:10", 2.5, 20, 7.5 * 225 + 3000},
        {"steps:10:20:40:60", 30, 130, 300 + 1200 + 400},
        {"spike:100:5k:60:30", 0, 100, 7000 + 150000},
        {"on-off:7:2:3", 1, 11, 7 + 14 + 7},
        {"diurnal:1000:4.3:100", 0, 300, 300000},
        {"diurnal:1000:4.3:100", 100, 150, 50000},
        {"0", 0, 1e9, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rate_curve c = curve_of(cases[i].text);
        double n = rate_curve_requests(&c, seconds(cases[i].from_s), seconds(cases[i].to_s));
        if (fabs(n - cases[i].requests) > 1e-6 * cases[i].requests)
            fail_msg("%s from %g to %g s: %.9g", cases[i].text, cases[i].from_s, cases[i].to_s, n);
    }
}

TEST(noise_keeps_the_mean_and_replays_from_its_seed)
{
    struct rate_curve c = curve_of("diurnal:1000:4.3:100:0.3"), other = c, same = c;
    c.seed = same.seed = 1;
    other.seed = 2;
    int differing = 0;
    for (int64_t i = 0; i < 1000; i++) {
        double rate = rate_curve_at(&c, i * NS_PER_S / 3);
        assert_true(rate > 0 && rate == rate_curve_at(&same, i * NS_PER_S / 3));
        differing += fabs(rate / rate_curve_at(&other, i * NS_PER_S / 3) - 1) > 0.01;
    }
    assert_true(differing > 900);
    /* 3,000 periods of about ten independent values each: the mean is off by less than a percent.
     * */
    double n = rate_curve_requests(&c, 0, 300000 * NS_PER_S);
    assert_true(fabs(n / 300e6 - 1) < 0.01);
    /* Smooth: neighbouring knots (1.04 s) differ by far less than distant ones. */
    double near = 0, far = 0;
    for (int64_t i = 0; i < 2000; i++) {
        double rate = log(rate_curve_at(&c, i * 100 * NS_PER_S));
        near += fabs(log(rate_curve_at(&c, i * 100 * NS_PER_S + seconds(1.0417))) - rate);
        far += fabs(log(rate_curve_at(&c, (i + 7) * 100 * NS_PER_S)) - rate);
    }
    assert_true(near < 0.6 * far);
}

TEST(constant_arrivals_are_due_to_the_nanosecond)
{
    struct rate_curve c = curve_of("3k");
    struct arrivals a;
    struct prng random = prng_seeded(1);
    arrivals_init(&a, ARRIVAL_CONSTANT);
    for (int64_t i = 0; i < 300000; i++)
        assert_int_equal(arrivals_next(&a, &c, &random, INT64_MAX), (i * NS_PER_S + 1500) / 3000);
}

TEST(constant_arrivals_keep_to_the_integral_of_any_curve)
{
    static const char *const texts[] = {"ramp:100:900:30",        "ramp:900:0:30",
                                        "steps:10:0:400:9",       "spike:50:2k:7:3",
                                        "diurnal:500:4.3:20:0.2", "on-off:777:1:2"};
    struct prng random = prng_seeded(1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct rate_curve c = curve_of(texts[i]);
        struct arrivals a;
        int64_t at_ns, last_ns = 0, count = 0, end_ns = 40 * NS_PER_S;
        arrivals_init(&a, ARRIVAL_CONSTANT);
        while ((at_ns = arrivals_next(&a, &c, &random, end_ns)) != INT64_MAX) {
            assert_true(at_ns >= last_ns && at_ns < end_ns);
            assert_true(rate_curve_at(&c, at_ns) > 0);
            double requests = rate_curve_requests(&c, 0, at_ns);
            if (fabs(requests - (double)count) > 1e-4)
                fail_msg("%s: request %lld at %lld ns, where %g are due", texts[i],
                         (long long)count, (long long)at_ns, requests);
            last_ns = at_ns;
            count++;
        }
        assert_true(fabs(rate_curve_requests(&c, 0, end_ns) - (double)count) <= 1);
        assert_int_equal(arrivals_next(&a, &c, &random, end_ns), INT64_MAX);
    }
}

/* Counts in windows of equal expectation are Poisson: their mean and variance are it. */
TEST(poisson_arrivals_have_the_mean_and_the_variance_of_the_integral)
{
    static const char *const texts[] = {"1k", "diurnal:1000:4.3:1", "on-off:2k:0.5:0.5"};
    enum {
        WINDOWS = 4000
    };
    struct prng random = prng_seeded(11);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        static int64_t counts[WINDOWS];
        struct rate_curve c = curve_of(texts[i]);
        struct arrivals a;
        int64_t at_ns;
        double mean = 0, variance = 0;
        memset(counts, 0, sizeof counts);
        arrivals_init(&a, ARRIVAL_POISSON);
        while ((at_ns = arrivals_next(&a, &c, &random, WINDOWS * NS_PER_S)) != INT64_MAX)
            counts[at_ns / NS_PER_S]++;
        for (int w = 0; w < WINDOWS; w++)
            mean += (double)counts[w] / WINDOWS;
        for (int w = 0; w < WINDOWS; w++)
            variance += ((double)counts[w] - mean) * ((double)counts[w] - mean) / WINDOWS;
        assert_true(fabs(mean - 1000) < 5 * sqrt(1000.0 / WINDOWS));
        assert_true(fabs(variance / 1000 - 1) < 5 * sqrt(2.0 / WINDOWS));
    }
}

TEST(a_rate_of_nothing_has_no_requests)
{
    static const char *const texts[] = {"0", "steps:0:0:1", "ramp:0:0:5"};
    struct prng random = prng_seeded(1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct rate_curve c = curve_of(texts[i]);
        struct arrivals a;
        arrivals_init(&a, ARRIVAL_CONSTANT);
        assert_int_equal(arrivals_next(&a, &c, &random, INT64_MAX), INT64_MAX);
    }
}

TEST(malformed_curves_are_refused)
{
    static const char *const wrong[] = {"",
                                        "-1",
                                        "x",
                                        "1:2",
                                        "20M",
                                        "inf",
                                        "ramp",
                                        "ramp:1:2",
                                        "ramp:1:2:0",
                                        "ramp:1:2:3:4",
                                        "ramp:1::3",
                                        "steps:5",
                                        "steps:1:2:0",
                                        "spike:1:2:3",
                                        "spike:1:2:-1:3",
                                        "diurnal:100:0.5:60",
                                        "diurnal:0:2:60",
                                        "diurnal:100:2:60:3",
                                        "on-off:0:1:1",
                                        "on-off:5:1",
                                        "on-off:5:1:1e-9"};
    struct rate_curve c;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (rate_curve_parse(&c, wrong[i]) == NULL)
            fail_msg("`%s` was taken", wrong[i]);
}
