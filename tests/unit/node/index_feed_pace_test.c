/* index_feed_pace_test.c - PACE-1: how many changes may wait for an index that refuses rows. */
#include "engine/node/index/index_feed_pace.h"

#include "tests/check.h"

enum {
    WINDOW_MS = 1000,
    WAIT_MS = 3000
};

static struct instant at(int64_t ms)
{
    return (struct instant){ms * NS_PER_MS};
}

static void refuse(struct index_feed_pace *p, int64_t ms)
{
    index_feed_pace_refused(p, at(ms), at(ms + 1));
}

static uint32_t room(struct index_feed_pace *p, int64_t ms)
{
    return index_feed_pace_room(p, at(ms));
}

static void begin(struct index_feed_pace *p, bool held, uint32_t changes)
{
    index_feed_pace_begin(p, at(0), duration_ms(WINDOW_MS), duration_ms(WAIT_MS), held, changes);
}

/* The index takes a change each so many ms, and refuses others. */
static void serve(struct index_feed_pace *p, int64_t from_ms, int64_t to_ms, int64_t each_ms)
{
    for (int64_t ms = from_ms; ms < to_ms; ms += each_ms) {
        refuse(p, ms);
        index_feed_pace_done(p, at(ms));
    }
}

TEST(nothing_waits_while_no_index_refuses)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    index_feed_pace_done(&p, at(10));
    assert_int_equal(room(&p, 5000), UINT32_MAX);
}

TEST(as_many_changes_wait_as_are_done_in_the_time_that_they_may_wait)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    serve(&p, 0, 30000, 10); /* 100 a second */
    assert_in_range(room(&p, 30000), 295, 305);
    assert_int_equal(room(&p, 29991 + WINDOW_MS), UINT32_MAX); /* none is refused any more */
}

/* It may be late for once. */
TEST(while_an_index_takes_nothing_few_changes_wait)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    for (int ms = 0; ms < 5000; ms += 50)
        index_feed_pace_refused(&p, at(ms), at(ms + 50));
    assert_int_equal(room(&p, 5000), 15);
}

TEST(a_refusal_after_a_while_without_one_begins_anew)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    serve(&p, 0, 30000, 10);
    refuse(&p, 40000);
    assert_int_equal(room(&p, 40000), 15);
}

TEST(a_feed_that_begins_held_up_keeps_its_room_and_goes_on_from_there)
{
    struct index_feed_pace p;
    begin(&p, true, 50);
    assert_int_equal(room(&p, 1), 50);
    refuse(&p, 100);
    assert_int_equal(room(&p, 101), 50);
    serve(&p, 100, WINDOW_MS, 10);
    assert_in_range(room(&p, WINDOW_MS), 50 + 13, 50 + 18);
}

TEST(an_index_that_is_away_has_the_rate_that_it_had)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    serve(&p, 0, 30000, 10);
    refuse(&p, 30000);
    assert_in_range(room(&p, 30500), 345, 355);
    assert_in_range(room(&p, 39000), 445, 455); /* but not for ever */
    serve(&p, 40000, 41000, 10);
    assert_in_range(room(&p, 41000), 425, 440);
}

/* It refuses rows, and tells when they may come again. */
TEST(an_index_that_takes_little_is_not_away)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    serve(&p, 0, 30000, 10);
    for (int ms = 30000; ms < 60000; ms += 500) { /* 2 a second */
        index_feed_pace_done(&p, at(ms));
        index_feed_pace_refused(&p, at(ms + 1), at(ms + 500));
    }
    assert_in_range(room(&p, 60000), 1, 10);
}

/* An index of so few rows a second, under 50 times as many writes. What it refuses comes again as
 * told, and up to a quarter later. */
static void slow_index(int64_t rate)
{
    enum {
        END_MS = 200000,
        SPAN_MS = 5000
    };
    struct index_feed_pace p;
    int64_t waiting = 0, accepted = 0, until = 0, level = 1000; /* in a thousandth of a row */
    begin(&p, false, 0);
    for (int64_t ms = 0; ms < END_MS; ms++) {
        level = level + rate > 2000 * rate ? 2000 * rate : level + rate;
        for (; ms >= until && waiting > 0 && level >= 1000; level -= 1000, waiting--)
            index_feed_pace_done(&p, at(ms));
        if (ms >= until && waiting > 0) {
            const int64_t wait_ms = (1000 - level) / rate + 1;
            until = ms + wait_ms + ms % (wait_ms / 4 + 1);
            index_feed_pace_refused(&p, at(ms), at(until));
        }
        if (ms % (20 / rate) == 0 && waiting < room(&p, ms)) {
            waiting++;
            accepted++;
        }
        if (ms % SPAN_MS != SPAN_MS - 1)
            continue;
        if (ms > 10000)
            assert_in_range(accepted * 10, 6 * rate * 5, 14 * rate * 5);
        accepted = 0;
    }
}

TEST(a_feed_of_a_slow_index_takes_changes_evenly)
{
    slow_index(1);
    slow_index(2);
    slow_index(5);
}

TEST(a_rate_is_kept_for_some_seconds_without_a_refusal)
{
    struct index_feed_pace p;
    begin(&p, false, 0);
    serve(&p, 0, 30000, 10);
    assert_int_equal(room(&p, 35000), UINT32_MAX);
    refuse(&p, 35000);
    assert_in_range(room(&p, 35000), 295, 305);
}

/* As long as a row must wait, so slow is the index at least. */
TEST(until_a_rate_is_known_as_many_wait_as_the_index_returns)
{
    static const struct {
        int64_t retry_after_ms;
        uint32_t room;
    } CASES[] = {{1, 15}, {200, 15}, {500, 6}, {1000, 3}, {2000, 3}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct index_feed_pace p;
        begin(&p, false, 0);
        index_feed_pace_refused(&p, at(0), at(CASES[i].retry_after_ms));
        assert_int_equal(room(&p, 0), CASES[i].room);
    }
}

/* ---- feeds that share an index ---- */

enum {
    SHARED_RATE = 100, /* of the index */
    SHARED_OFFER = 700,
    SHARED_SPLIT_S = 20,
    SHARED_AWAY_S = 40,       /* a feed has no leader from then on */
    SHARED_INDEX_AWAY_S = 60, /* and so has the index */
    SHARED_AWAY_MS = 1500,
    SHARED_END_S = 90,
};

struct shared {
    struct index_feed_pace pace[2];
    uint32_t waiting[2];
    uint32_t feeds;
    int64_t ms;
    int accepted;
    int taken; /* by the index, in a thousandth of a change */
};

static bool shared_is_away(const struct shared *s, uint32_t feed)
{
    const int64_t away_ms = s->ms - SHARED_AWAY_S * 1000;
    return feed == 1 && away_ms >= 0 && away_ms < SHARED_AWAY_MS;
}

static void shared_begin(struct shared *s, uint32_t feed)
{
    index_feed_pace_begin(&s->pace[feed], at(s->ms), duration_ms(WINDOW_MS), duration_ms(WAIT_MS),
                          true, s->waiting[feed]);
}

static void shared_change_leaders(struct shared *s)
{
    if (s->ms == SHARED_SPLIT_S * 1000) {
        s->waiting[0] = s->waiting[1] = s->waiting[0] / 2;
        s->feeds = 2;
        shared_begin(s, 0);
        shared_begin(s, 1);
    }
    if (s->ms == SHARED_AWAY_S * 1000 + SHARED_AWAY_MS)
        shared_begin(s, 1);
}

/* The index takes a change of each feed in turn. */
static void shared_take(struct shared *s)
{
    const int64_t away_ms = s->ms - SHARED_INDEX_AWAY_S * 1000;
    if (away_ms >= 0 && away_ms < SHARED_AWAY_MS)
        return;
    for (s->taken += SHARED_RATE; s->taken >= 1000; s->taken -= 1000) {
        uint32_t feed = (uint32_t)(s->ms / 10) % s->feeds;
        if (shared_is_away(s, feed))
            feed = 0;
        if (s->waiting[feed] == 0)
            continue;
        s->waiting[feed]--;
        index_feed_pace_done(&s->pace[feed], at(s->ms));
    }
    for (uint32_t i = 0; i < s->feeds; i++) {
        if (!shared_is_away(s, i) && s->waiting[i] > 0)
            refuse(&s->pace[i], s->ms);
    }
}

static void shared_offer(struct shared *s)
{
    const uint32_t feed = (uint32_t)s->ms % s->feeds;
    if (s->ms % 1000 * SHARED_OFFER / 1000 == (s->ms % 1000 + 1) * SHARED_OFFER / 1000 ||
        shared_is_away(s, feed) ||
        s->waiting[feed] >= index_feed_pace_room(&s->pace[feed], at(s->ms)))
        return;
    s->waiting[feed]++;
    s->accepted++;
}

/* PACE-1: through a split, and while one of the pieces or the index has no leader. */
TEST(feeds_of_one_index_take_what_it_takes_in_every_second)
{
    struct shared s = {.feeds = 1};
    begin(&s.pace[0], false, 0);
    for (int second = 0; second < SHARED_END_S; second++) {
        for (s.accepted = 0; s.ms < (second + 1) * 1000; s.ms++) {
            shared_change_leaders(&s);
            shared_take(&s);
            shared_offer(&s);
        }
        if (second >= 5)
            assert_in_range(s.accepted, SHARED_RATE * 8 / 10, SHARED_RATE * 13 / 10);
        assert_true(s.waiting[0] + s.waiting[1] <= SHARED_RATE * 5);
    }
}
