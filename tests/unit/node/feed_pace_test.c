/* feed_pace_test.c - PACE-1: how long a change waits for an index that refuses rows. */
#include "engine/node/feed_pace.h"

#include "tests/check.h"

enum {
    WINDOW_MS = 1000
};

static struct instant at(int64_t ms)
{
    return (struct instant){ms * NS_PER_MS};
}

static int64_t wait_ms(struct feed_pace *p, int64_t ms, uint32_t items)
{
    const int64_t ns = feed_pace_wait(p, at(ms), items).ns;
    return ns == INT64_MAX ? -1 : ns / NS_PER_MS;
}

static void begin(struct feed_pace *p, bool held, uint32_t items)
{
    feed_pace_begin(p, at(0), duration_ms(WINDOW_MS), held, items);
}

TEST(nothing_waits_while_no_index_refuses)
{
    struct feed_pace p;
    begin(&p, false, 0);
    feed_pace_done(&p, at(10));
    assert_int_equal(wait_ms(&p, 5000, 1000000), 0);
}

TEST(a_change_waits_for_those_before_it_at_the_pace_of_the_last_window)
{
    struct feed_pace p;
    begin(&p, false, 0);
    for (int ms = 0; ms < 3000; ms += 10) { /* 100 a second */
        feed_pace_refused(&p, at(ms));
        feed_pace_done(&p, at(ms));
    }
    assert_in_range(wait_ms(&p, 3000, 400), 3950, 4050);
    assert_in_range(wait_ms(&p, 3000 + WINDOW_MS - 11, 400), 6000,
                    9000);                                   /* none is done any more */
    assert_int_equal(wait_ms(&p, 3000 + WINDOW_MS, 400), 0); /* and none is refused */
}

TEST(an_index_that_takes_nothing_has_everything_wait)
{
    struct feed_pace p;
    begin(&p, false, 0);
    for (int ms = 0; ms < 5000; ms += 500)
        feed_pace_refused(&p, at(ms));
    assert_true(wait_ms(&p, 5000, 10) >= 10 * WINDOW_MS);
}

TEST(a_refusal_after_a_while_without_one_begins_anew)
{
    struct feed_pace p;
    begin(&p, false, 0);
    feed_pace_refused(&p, at(0));
    feed_pace_refused(&p, at(5000));
    assert_int_equal(wait_ms(&p, 5000 + WINDOW_MS / 2 - 1, 1000), 0); /* nobody knows yet */
    assert_true(wait_ms(&p, 5000 + WINDOW_MS / 2, 1000) > 0);
}

TEST(a_feed_that_begins_held_up_gets_no_longer_until_its_pace_is_known)
{
    struct feed_pace p;
    begin(&p, true, 50);
    assert_int_equal(wait_ms(&p, 1, 50), 0);
    assert_int_equal(wait_ms(&p, 1, 51), -1);
    feed_pace_refused(&p, at(100));
    assert_int_equal(wait_ms(&p, 101, 51), -1);
    for (int ms = 100; ms < WINDOW_MS / 2; ms += 10)
        feed_pace_done(&p, at(ms));
    assert_in_range(wait_ms(&p, WINDOW_MS / 2, 51), 500, 700);
}
