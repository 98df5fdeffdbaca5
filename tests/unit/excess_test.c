/* For how long more has been asked for than a partition may serve. */
#include "engine/heat/excess.h"
#include "tests/check.h"

enum {
    MAXIMUM = 1000, /* units a second */
    LULL_MS = 200
};

struct scene {
    struct excess excess;
    struct instant now;
    int64_t longest_ms;
};

static void ask(struct scene *s, int64_t units)
{
    excess_add(&s->excess, s->now, units * 1000, MAXIMUM * 1000, LULL_MS);
    int64_t ms = excess_ms(&s->excess, s->now);
    s->longest_ms = ms > s->longest_ms ? ms : s->longest_ms;
}

/* Units a second, one at a time, evenly or by chance. */
static void load(struct scene *s, int64_t rate, int64_t ms, struct prng *chance)
{
    struct instant end = {s->now.ns + ms * NS_PER_MS};
    while (s->now.ns < end.ns) {
        ask(s, 1);
        int64_t step = NS_PER_S / rate;
        s->now.ns += chance == NULL ? step : (int64_t)prng_below(chance, (uint64_t)(2 * step));
    }
    s->now = end;
}

static void a_load_above_the_maximum_lasts_from_its_first_request_on(void **state)
{
    (void)state;
    struct scene s = {.now = {7 * NS_PER_S}};
    assert_int_equal(excess_ms(&s.excess, s.now), 0);
    load(&s, MAXIMUM / 2, 5000, NULL);
    assert_int_equal(s.longest_ms, 0);
    load(&s, MAXIMUM * 3 / 2, 3000, NULL);
    assert_in_range(excess_ms(&s.excess, s.now), 2900, 3000);
}

static void it_ends_within_the_lull_whatever_was_asked_for(void **state)
{
    (void)state;
    struct scene s = {.now = {7 * NS_PER_S}};
    load(&s, MAXIMUM * 10, 2000, NULL);
    s.now.ns += (LULL_MS - 10) * NS_PER_MS;
    assert_true(excess_ms(&s.excess, s.now) > 0);
    s.now.ns += 20 * NS_PER_MS;
    assert_int_equal(excess_ms(&s.excess, s.now), 0);
    load(&s, MAXIMUM * 2, 500, NULL); /* begins anew */
    assert_in_range(excess_ms(&s.excess, s.now), 490, 500);
    load(&s, MAXIMUM / 2, 1000, NULL);
    assert_int_equal(excess_ms(&s.excess, s.now), 0);
}

static void dear_requests_below_the_maximum_do_not_add_up(void **state)
{
    (void)state;
    struct scene s = {.now = {7 * NS_PER_S}};
    for (int i = 0; i < 100; i++) {
        ask(&s, 400);
        s.now.ns += 500 * NS_PER_MS;
    }
    assert_true(s.longest_ms <= LULL_MS);
}

static void chance_makes_no_excess_of_a_load_below_nor_breaks_one_above(void **state)
{
    (void)state;
    struct prng prng = prng_seeded(3);
    struct scene s = {.now = {7 * NS_PER_S}};
    load(&s, MAXIMUM * 8 / 10, 600000, &prng);
    assert_true(s.longest_ms < 1000);
    load(&s, MAXIMUM * 12 / 10, 60000, &prng);
    assert_true(excess_ms(&s.excess, s.now) > 59000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_above_the_maximum_lasts_from_its_first_request_on),
        cmocka_unit_test(it_ends_within_the_lull_whatever_was_asked_for),
        cmocka_unit_test(dear_requests_below_the_maximum_do_not_add_up),
        cmocka_unit_test(chance_makes_no_excess_of_a_load_below_nor_breaks_one_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
