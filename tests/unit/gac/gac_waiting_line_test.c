/* gac_waiting_line_test.c - places in line of refused requests. */
#include "tests/check.h"

#include "gac/waiting_line.h"

static const struct duration min = {100 * NS_PER_MS}, cost = {20 * NS_PER_MS};
static const struct duration step = {20 * NS_PER_MS * WAITING_LINE_PART_DENOMINATOR /
                                     WAITING_LINE_PART_NUMERATOR};

static int64_t wait_ms(struct waiting_line *l, int64_t now_ms, uint64_t request)
{
    return waiting_line_wait(l, instant_add_ms((struct instant){NS_PER_S}, now_ms), request, min,
                             cost)
               .ns /
           NS_PER_MS;
}

/* LINE-1 */
TEST(without_others_a_request_gets_the_least_time)
{
    struct waiting_line l = {0};
    for (int64_t now_ms = 0; now_ms < 10000; now_ms += 100)
        assert_int_equal(wait_ms(&l, now_ms, (uint64_t)now_ms), 100);
}

TEST(a_request_gets_a_place_behind_those_before)
{
    struct waiting_line l = {0};
    const int64_t step_ms = step.ns / NS_PER_MS;
    assert_int_equal(wait_ms(&l, 0, 1), 100);
    assert_int_equal(wait_ms(&l, 1, 2), 99 + step_ms);
    assert_int_equal(wait_ms(&l, 2, 3), 98 + 2 * step_ms);
    assert_int_equal(wait_ms(&l, 1000, 4), 100); /* all have had their time */
}

/* They come again together. */
TEST(parts_of_one_batch_need_no_room_between_them)
{
    struct waiting_line l = {0};
    assert_int_equal(wait_ms(&l, 0, 1), 100);
    assert_int_equal(wait_ms(&l, 0, 2), 100 + cost.ns / NS_PER_MS);
    assert_int_equal(wait_ms(&l, 0, 3), 100 + 2 * cost.ns / NS_PER_MS);
}

/* LINE-2 */
TEST(a_request_that_comes_too_soon_keeps_its_place)
{
    struct waiting_line l = {0};
    const int64_t step_ms = step.ns / NS_PER_MS;
    wait_ms(&l, 0, 1);
    assert_int_equal(wait_ms(&l, 1, 2), 99 + step_ms);
    for (int64_t now_ms = 2; now_ms < 40; now_ms++)
        assert_int_equal(wait_ms(&l, now_ms, 2), 100 + step_ms - now_ms);
    assert_int_equal(wait_ms(&l, 50, 3), 50 + 2 * step_ms);
    assert_int_equal(wait_ms(&l, 149, 2),
                     100); /* what it is told now is sooner than that it can pass */
}

/* LINE-3 */
TEST(no_place_is_later_than_the_longest_line)
{
    struct waiting_line l = {0};
    for (uint64_t request = 1; request < 10000; request++) {
        const int64_t ms = wait_ms(&l, (int64_t)request / 100, request);
        assert_in_range(ms, 99, WAITING_LINE_MAX_S * 1000);
    }
    const struct duration costly = {100 * NS_PER_S};
    assert_int_equal(waiting_line_wait(&l, (struct instant){2 * NS_PER_S}, 0, costly, costly).ns,
                     costly.ns);
}
