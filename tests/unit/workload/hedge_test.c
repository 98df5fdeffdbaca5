/* hedge_test.c - when clients hedge: the texts, the running percentile, the budget (HEDGE-1). */
#include "workload/hedge.h"

#include "base/instant.h"
#include "tests/check.h"

static struct hedge_options options_of(const char *text)
{
    struct hedge_options o;
    const char *fault = hedge_parse(&o, text);
    if (fault != NULL)
        fail_msg("%s: %s", text, fault);
    return o;
}

TEST(texts_are_times_or_percentiles_with_a_budget)
{
    assert_false(options_of("none").on);
    struct hedge_options o = options_of("2500us");
    assert_true(o.on && o.after_ns == 2500 * NS_PER_US && o.percent == 0);
    assert_int_equal(o.budget_ppm, 50000);
    o = options_of("p95:0.2");
    assert_true(o.on && o.percent == 95);
    assert_int_equal(o.budget_ppm, 200000);
    assert_int_equal(options_of("1.5s:1").budget_ppm, 1000000);
    static const char *const wrong[] = {"",      "5",     "p0",   "p100",  "p9.5",
                                        "10ns",  "61s",   "5ms:", "5ms:0", "5ms:1.1",
                                        "p95:x", "nones", "-5ms", "nanms", "5ms:0.1:1"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        if (hedge_parse(&o, wrong[i]) == NULL)
            fail_msg("'%s' was taken", wrong[i]);
    }
}

TEST(a_percentile_is_of_the_latencies_and_at_most_an_eighth_too_high)
{
    const struct hedge_options o = options_of("p95");
    struct hedge h = {0};
    struct prng random = prng_seeded(check_first_seed(1));
    for (int i = 0; i < HEDGE_MIN_KNOWN; i++) {
        assert_true(hedge_begin(&h, &o) < 0); /* too little is known */
        hedge_learn(&h, prng_between(&random, 0, 10 * NS_PER_MS));
    }
    for (int i = 0; i < 50000; i++)
        hedge_learn(&h, prng_between(&random, 0, 10 * NS_PER_MS));
    int64_t ns = hedge_begin(&h, &o);
    assert_true(ns >= 9300 * NS_PER_US && ns <= 9700 * NS_PER_US * 9 / 8);
    for (int i = 0; i < 50000; i++) /* it follows the latency, up and down */
        hedge_learn(&h, prng_between(&random, 0, 100 * NS_PER_MS));
    ns = hedge_begin(&h, &o);
    assert_true(ns >= 93 * NS_PER_MS && ns <= 97 * NS_PER_MS * 9 / 8);
    hedge_learn(&h, INT64_MAX);
    hedge_learn(&h, 0);
}

/* HEDGE-1, whatever the client wants. What is saved up in a quiet time is bounded. */
TEST(a_client_hedges_at_most_the_fraction_of_its_requests)
{
    const struct hedge_options o = options_of("1ms:0.05");
    struct hedge h = {0};
    struct prng random = prng_seeded(check_first_seed(1));
    int64_t hedges = 0;
    for (int64_t requests = 1; requests <= 100000; requests++) {
        assert_int_equal(hedge_begin(&h, &o), NS_PER_MS);
        if (prng_below(&random, 3) == 0)
            hedges += hedge_take(&h);
        assert_true(hedges * 20 <= requests);
    }
    assert_true(hedges > 4990);
    for (int i = 0; i < 100000; i++)
        hedge_begin(&h, &o);
    int saved = 0;
    while (hedge_take(&h))
        saved++;
    assert_int_equal(saved, 6); /* of 100 requests, and one */
}

TEST(a_fraction_of_one_hedges_every_request)
{
    const struct hedge_options o = options_of("1ms:1");
    struct hedge h = {0};
    for (int i = 0; i < 1000; i++) {
        hedge_begin(&h, &o);
        assert_true(hedge_take(&h));
    }
}
