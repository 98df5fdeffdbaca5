#include "base/histogram.h"
#include "tests/check.h"

static struct histogram a;

TEST(small_values_are_exact)
{
    histogram_init(&a);
    for (int64_t v = 1; v <= 100; v++)
        histogram_record(&a, v);
    assert_int_equal(histogram_percentile(&a, 0), 1);
    assert_int_equal(histogram_percentile(&a, 50000), 50);
    assert_int_equal(histogram_percentile(&a, 99000), 99);
    assert_int_equal(histogram_percentile(&a, 99001), 100);
    assert_int_equal(histogram_percentile(&a, 100000), 100);
    assert_int_equal(histogram_mean(&a), 50);
}

TEST(an_empty_histogram_reports_zero)
{
    histogram_init(&a);
    assert_int_equal(histogram_percentile(&a, 99999), 0);
    assert_int_equal(histogram_mean(&a), 0);
}

TEST(a_value_is_reported_never_low_and_at_most_a_128th_high)
{
    struct prng p = prng_seeded(78);
    for (int i = 0; i < 2000; i++) {
        int64_t value = (int64_t)(prng_next(&p) >> (1 + prng_below(&p, 63)));
        histogram_init(&a);
        histogram_record(&a, value);
        histogram_record(&a, INT64_MAX); /* so that the maximum does not correct the bucket */
        int64_t seen = histogram_percentile(&a, 50000);
        assert_true(seen >= value);
        assert_true(seen - value <= value / 128);
    }
}

TEST(the_greatest_value_has_a_bucket)
{
    histogram_init(&a);
    histogram_record(&a, INT64_MAX);
    assert_true(histogram_percentile(&a, 50000) == INT64_MAX);
    assert_true(a.counts[HISTOGRAM_BUCKETS - 1] == 1);
}

TEST(histograms_add_up_exactly)
{
    static struct histogram b, both;
    struct prng p = prng_seeded(5);
    histogram_init(&a);
    histogram_init(&b);
    histogram_init(&both);
    for (int i = 0; i < 1000; i++) {
        int64_t value = prng_between(&p, 3, 1000000);
        histogram_record(i % 3 == 0 ? &a : &b, value);
        histogram_record(&both, value);
    }
    histogram_add(&a, &b);
    assert_memory_equal(&a, &both, sizeof a);
    histogram_init(&b);
    histogram_add(&a, &b); /* none */
    assert_memory_equal(&a, &both, sizeof a);
    histogram_add(&b, &a); /* to none */
    assert_memory_equal(&b, &both, sizeof a);
}

TEST(one_in_a_hundred_thousand_shows_at_p99999)
{
    histogram_init(&a);
    histogram_record_many(&a, 10, 99998);
    histogram_record_many(&a, 127, 2);
    assert_int_equal(histogram_percentile(&a, 99998), 10);
    assert_int_equal(histogram_percentile(&a, 99999), 127);
}
