/* For how long more has been asked for than a partition may serve. */
#include "engine/heat/excess.h"
#include "tests/check.h"

enum {
    MAXIMUM = 1000, /* units a second */
    RESET_MS = 100,
    GAP_MS = 1000
};

struct scene {
    struct excess excess;
    struct instant now;
    int64_t longest_ms;
};

static void add_demand(struct scene *s, int64_t units)
{
    static const struct excess_rule rule = {
        .max_mcu = MAXIMUM * 1000, .reset_ms = RESET_MS, .gap_tolerance_ms = GAP_MS};
    excess_add(&s->excess, s->now, units * 1000, &rule);
    int64_t ms = excess_ms(&s->excess, s->now);
    s->longest_ms = ms > s->longest_ms ? ms : s->longest_ms;
}

/* Units a second, one at a time, evenly or by chance. */
static void load(struct scene *s, int64_t rate, int64_t ms, struct prng *chance)
{
    struct instant end = {s->now.ns + ms * NS_PER_MS};
    while (s->now.ns < end.ns) {
        add_demand(s, 1);
        int64_t step = NS_PER_S / rate;
        s->now.ns += chance == NULL ? step : (int64_t)prng_below(chance, (uint64_t)(2 * step));
    }
    s->now = end;
}

TEST(a_load_above_the_maximum_lasts_from_its_first_request_on)
{
    struct scene s = {.now = {7 * NS_PER_S}};
    assert_int_equal(excess_ms(&s.excess, s.now), 0);
    load(&s, MAXIMUM / 2, 5000, NULL);
    assert_int_equal(s.longest_ms, 0);
    load(&s, MAXIMUM * 3 / 2, 3000, NULL);
    assert_in_range(excess_ms(&s.excess, s.now), 2900, 3000);
}

TEST(it_ends_within_the_reset_time_whatever_the_demand)
{
    struct scene s = {.now = {7 * NS_PER_S}};
    load(&s, MAXIMUM * 10, 2000, NULL);
    s.now.ns += (RESET_MS - 10) * NS_PER_MS;
    assert_true(excess_ms(&s.excess, s.now) > 0);
    s.now.ns += 20 * NS_PER_MS;
    assert_int_equal(excess_ms(&s.excess, s.now), 0);
    s.now.ns += GAP_MS * NS_PER_MS;
    load(&s, MAXIMUM * 2, 500, NULL); /* begins anew */
    assert_in_range(excess_ms(&s.excess, s.now), 490, 500);
    load(&s, MAXIMUM / 2, 1000, NULL);
    assert_int_equal(excess_ms(&s.excess, s.now), 0);
}

/* What was due while a machine halted comes at once, or a little later. */
TEST(a_gap_that_is_made_up_for_is_none)
{
    struct scene s = {.now = {7 * NS_PER_S}};
    load(&s, MAXIMUM * 3 / 2, 1500, NULL);
    s.now.ns += 700 * NS_PER_MS;
    for (int i = 0; i < MAXIMUM * 3 / 2 * 7 / 10; i++)
        add_demand(&s, 1);
    load(&s, MAXIMUM * 3 / 2, 300, NULL);
    assert_in_range(excess_ms(&s.excess, s.now), 2490, 2500);
    s.now.ns += 700 * NS_PER_MS;
    load(&s, MAXIMUM * 3, 300, NULL); /* at twice the pace */
    assert_in_range(excess_ms(&s.excess, s.now), 3490, 3500);
}

TEST(a_gap_that_is_too_long_or_is_not_made_up_for_ends_it)
{
    struct scene s = {.now = {7 * NS_PER_S}};
    load(&s, MAXIMUM * 3, 2000, NULL);
    s.now.ns += (RESET_MS + GAP_MS + 1) * NS_PER_MS;
    load(&s, MAXIMUM * 3, 500, NULL);
    assert_in_range(excess_ms(&s.excess, s.now), 490, 500);
    s.now.ns += (RESET_MS + 610) * NS_PER_MS; /* longer than the excess itself */
    load(&s, MAXIMUM * 5, 400, NULL);
    assert_in_range(excess_ms(&s.excess, s.now), 390, 400);
    load(&s, MAXIMUM * 3, 1600, NULL);
    s.longest_ms = 0;
    load(&s, MAXIMUM / 2, 3000, NULL); /* goes on below it: the first moments are still above */
    assert_true(s.longest_ms < 2500);
    load(&s, MAXIMUM * 3, 1000, NULL);
    assert_in_range(excess_ms(&s.excess, s.now), 990, 1020);
}

/* Of a load in the background that is not itself a reason for a split. */
TEST(a_spike_above_another_load_lasts_hardly_longer_than_it_is)
{
    for (int percent = 10; percent <= 70; percent += 10) {
        struct prng prng = prng_seeded((uint64_t)percent);
        struct scene s = {.now = {7 * NS_PER_S}};
        for (int i = 0; i < 100; i++) {
            load(&s, MAXIMUM * percent / 100, 5000, &prng);
            load(&s, MAXIMUM * 4, 2000, &prng);
        }
        printf("    two seconds above %d %%: %lld ms at most\n", percent, (long long)s.longest_ms);
        assert_in_range(s.longest_ms, 2000, 2500 - 1);
    }
}

TEST(costly_requests_below_the_maximum_do_not_add_up)
{
    struct scene s = {.now = {7 * NS_PER_S}};
    for (int i = 0; i < 100; i++) {
        add_demand(&s, 400);
        s.now.ns += 500 * NS_PER_MS;
    }
    assert_true(s.longest_ms <= RESET_MS);
}

TEST(chance_makes_no_excess_of_a_load_below_nor_breaks_one_above)
{
    struct prng prng = prng_seeded(3);
    struct scene s = {.now = {7 * NS_PER_S}};
    load(&s, MAXIMUM * 8 / 10, 600000, &prng);
    assert_true(s.longest_ms < 1000);
    load(&s, MAXIMUM * 12 / 10, 60000, &prng);
    assert_true(excess_ms(&s.excess, s.now) > 59000);
}
