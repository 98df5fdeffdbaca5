/* limiter_shards_test.c - how shards of a bucket come and go. */
#include "tests/check.h"
#include "tests/support/limiter_scene.h"

enum {
    HOUR_MS = 3600 * 1000,
    DAY_MS = 24 * HOUR_MS,
};
#define NOW_MS INT64_C(1755500000000)

TEST(dividing_and_merging_conserve_tokens)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init(&s, NOW_MS);
    limiter_scene_limit(&s, "odd", 1001, 7, 999983);
    assert_int_equal(limiter_scene_take(&s, 0, 333337), LIMITER_DONE);
    const int64_t tokens = limiter_scene_tokens(&s);
    for (int i = 0; i < 7; i++) {
        limiter_scene_double(&s);
        assert_int_equal(limiter_scene_tokens(&s), tokens);
    }
    for (uint32_t shard = 1; shard < 128; shard += 3) {
        limiter_scene_open(&s, shard);
        assert_int_equal(limiter_scene_tokens(&s), tokens);
    }
    for (int i = 0; i < 7; i++) {
        limiter_scene_halve(&s);
        assert_int_equal(limiter_scene_tokens(&s), tokens);
    }
    assert_int_equal(limiter_scene_bucket(&s, 0).shards, 1);
    assert_int_equal(limiter_scene_bucket(&s, 0).levels[0].tokens, tokens);
    limiter_scene_deinit(&s);
}

TEST(debt_is_divided_too)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1000);
    assert_int_equal(limiter_scene_adjust(&s, 0, 1001), LIMITER_DONE);
    limiter_scene_double(&s);
    const struct limiter_bucket b = limiter_scene_bucket(&s, 0);
    assert_int_equal(b.levels[0].tokens, -501);
    assert_int_equal(b.gifts[0].levels[0].tokens, -500);
    limiter_scene_deinit(&s);
}

TEST(a_shard_is_made_once_in_an_epoch)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    assert_int_equal(limiter_scene_take(&s, 1, 1000), LIMITER_ABSENT);
    limiter_scene_open(&s, 1);
    limiter_scene_assert_takes(&s, 1, 400);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_OPEN, 1);
    m.gift = limiter_scene_bucket(&s, 0).gifts[0];
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_scene_assert_short(&s, 1, 100);
    limiter_scene_deinit(&s);
}

TEST(a_shard_divides_when_it_hears_of_the_growth)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 1);
    limiter_scene_double(&s);
    limiter_scene_double(&s);
    limiter_scene_assert_takes(&s, 1, 1);
    const struct limiter_bucket b = limiter_scene_bucket(&s, 1);
    assert_int_equal(b.shards, 8);
    assert_int_equal(b.gift_count, 2);
    assert_int_equal(b.gifts[0].child, 3);
    assert_int_equal(b.gifts[0].epoch, s.known.grown[2]);
    assert_int_equal(b.gifts[1].child, 5);
    assert_int_equal(b.epoch, s.known.epoch);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_GIVE, 1);
    m.child = 3;
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_scene_deinit(&s);
}

/* LIMITER-7: who tells it has read shard 0 long ago. */
TEST(a_shard_does_not_go_back_to_what_an_older_sender_knows)
{
    struct limiter_scene s;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 1);
    const struct limiter_shards older = s.known;
    limiter_scene_double(&s);
    limiter_scene_assert_takes(&s, 1, 1);
    const uint64_t epoch = s.known.epoch;
    assert_true(limiter_scene_bucket(&s, 1).epoch == epoch);
    s.known = older;
    limiter_scene_assert_takes(&s, 1, 1);
    const struct limiter_bucket b = limiter_scene_bucket(&s, 1);
    assert_true(b.epoch == epoch);
    assert_int_equal(b.shards, 4);
    assert_int_equal(b.gift_count, 1);
    limiter_scene_deinit(&s);
}

/* Its closed item has expired, and a late command brings the gift of the growth before the merging.
 * */
TEST(a_shard_is_not_made_of_the_gift_of_a_former_growth)
{
    struct limiter_scene s;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    const struct limiter_gift gift = limiter_scene_bucket(&s, 0).gifts[0];
    limiter_scene_halve(&s);
    limiter_scene_double(&s);
    buffer_clear(&s.items[1]);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_OPEN, 1);
    m.gift = gift;
    assert_true(s.known.grown[1] > gift.epoch);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    m.gift = limiter_scene_bucket(&s, 0).gifts[0];
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_DONE);
    limiter_scene_deinit(&s);
}

TEST(a_gift_is_set_aside_when_it_is_asked_for)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 1);
    limiter_scene_double(&s);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_GIVE, 1);
    m.child = 3;
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    m.child = 5; /* the bucket has no shard 5 */
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    m = limiter_scene_command(&s, LIMITER_GIVE, 2);
    m.child = 6;
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_ABSENT);
    limiter_scene_deinit(&s);
}

TEST(a_bucket_doubles_once_for_all_who_ask_at_a_time)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_learn(&s);
    const struct limiter_command m = limiter_scene_command(&s, LIMITER_DOUBLE, 0);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_bucket(&s, 0).truth.count, 2);
    limiter_scene_deinit(&s);
}

TEST(no_bucket_has_more_shards_than_its_limits_allow)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init(&s, NOW_MS);
    limiter_scene_limit(&s, "few", 3, 1000, 1000);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_DOUBLE, 0);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    m.limits.version = 2;
    m.limits.at[0].capacity = 1000000;
    for (int count = 2; count < 128; count *= 2) {
        assert_int_equal(limiter_scene_run(&s, &m), LIMITER_DONE);
        m.known = limiter_scene_bucket(&s, 0).truth;
    }
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_scene_deinit(&s);
}

TEST(a_closed_shard_takes_nothing_and_is_not_opened_by_late_commands)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    const struct limiter_shards before = s.known;
    struct limiter_command late = limiter_scene_command(&s, LIMITER_OPEN, 1);
    late.gift = limiter_scene_bucket(&s, 0).gifts[0];
    limiter_scene_halve(&s);
    const struct limiter_shards after = s.known;
    assert_int_equal(limiter_scene_run(&s, &late), LIMITER_NO_CHANGE);
    s.known = before;
    assert_int_equal(limiter_scene_take(&s, 1, 1000), LIMITER_CLOSED);
    assert_int_equal(limiter_scene_adjust(&s, 1, 1000), LIMITER_CLOSED);
    s.known = after;
    limiter_scene_double(&s);
    assert_int_equal(limiter_scene_take(&s, 1, 1000), LIMITER_ABSENT);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_OPEN, 1);
    m.gift = late.gift; /* of the former growth */
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    m.gift = limiter_scene_bucket(&s, 0).gifts[0];
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_DONE);
    limiter_scene_assert_takes(&s, 1, 499);
    limiter_scene_deinit(&s);
}

TEST(late_and_doubled_commands_of_a_merging_do_nothing)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 1);
    limiter_scene_learn(&s);
    const struct limiter_command halve = limiter_scene_command(&s, LIMITER_HALVE, 0);
    assert_int_equal(limiter_scene_run(&s, &halve), LIMITER_DONE);
    assert_int_equal(limiter_scene_run(&s, &halve), LIMITER_NO_CHANGE);
    limiter_scene_learn(&s);
    const struct limiter_command halved = limiter_scene_command(&s, LIMITER_HALVED, 0);
    assert_int_equal(limiter_scene_run(&s, &halved), LIMITER_NO_CHANGE); /* not absorbed yet */
    const struct limiter_command close = limiter_scene_command(&s, LIMITER_CLOSE, 1);
    assert_int_equal(limiter_scene_run(&s, &close), LIMITER_DONE);
    assert_int_equal(limiter_scene_run(&s, &close), LIMITER_NO_CHANGE);
    struct limiter_command absorb = limiter_scene_command(&s, LIMITER_ABSORB, 0);
    absorb.opened = true;
    absorb.gift.child = 1;
    absorb.gift.epoch = s.known.epoch - 1; /* what a former merging has closed */
    assert_int_equal(limiter_scene_run(&s, &absorb), LIMITER_NO_CHANGE);
    absorb.gift.epoch = s.known.epoch;
    absorb.gift.levels[0] = limiter_scene_bucket(&s, 1).levels[0];
    assert_int_equal(limiter_scene_run(&s, &absorb), LIMITER_DONE);
    assert_int_equal(limiter_scene_run(&s, &absorb), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_run(&s, &halved), LIMITER_DONE);
    assert_int_equal(limiter_scene_run(&s, &halved), LIMITER_NO_CHANGE);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 1);
    assert_int_equal(limiter_scene_run(&s, &close), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_run(&s, &absorb), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_run(&s, &halved), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_run(&s, &halve), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_tokens(&s), 999000);
    limiter_scene_deinit(&s);
}

/* Shard 0 has the gift for shard 1 still. */
TEST(a_doubled_absorb_does_not_take_the_next_gift_too)
{
    struct limiter_scene s;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_double(&s);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 2);
    limiter_scene_learn(&s);
    const struct limiter_command halve = limiter_scene_command(&s, LIMITER_HALVE, 0);
    assert_int_equal(limiter_scene_run(&s, &halve), LIMITER_DONE);
    limiter_scene_learn(&s);
    const struct limiter_command close = limiter_scene_command(&s, LIMITER_CLOSE, 2);
    assert_int_equal(limiter_scene_run(&s, &close), LIMITER_DONE);
    struct limiter_command absorb = limiter_scene_command(&s, LIMITER_ABSORB, 0);
    absorb.opened = true;
    absorb.gift.child = 2;
    absorb.gift.epoch = s.known.epoch;
    absorb.gift.levels[0] = limiter_scene_bucket(&s, 2).levels[0];
    assert_int_equal(limiter_scene_run(&s, &absorb), LIMITER_DONE);
    assert_int_equal(limiter_scene_bucket(&s, 0).gift_count, 1);
    assert_int_equal(limiter_scene_run(&s, &absorb), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_scene_tokens(&s), 999000);
    limiter_scene_deinit(&s);
}

TEST(merging_needs_an_idle_truth)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1);
    limiter_scene_learn(&s);
    struct limiter_command m = limiter_scene_command(&s, LIMITER_HALVE, 0);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE); /* one shard is the least */
    limiter_scene_double(&s);
    limiter_scene_double(&s);
    m = limiter_scene_command(&s, LIMITER_HALVE, 0);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_DONE);
    limiter_scene_learn(&s);
    m = limiter_scene_command(&s, LIMITER_HALVE, 0);
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    m.verb = LIMITER_DOUBLE;
    assert_int_equal(limiter_scene_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_scene_deinit(&s);
}

/* Shard 1 does not exist while 4 shards become 2. A late command makes it, and an old one lets it divide
 * once more; the gift for shard 3 can go nowhere. */
static void divided_by_old_commands(struct limiter_scene *s)
{
    limiter_scene_init_daily(s, NOW_MS);
    limiter_scene_assert_takes(s, 0, 1);
    limiter_scene_double(s);
    struct limiter_command open = limiter_scene_command(s, LIMITER_OPEN, 1);
    open.gift = limiter_scene_bucket(s, 0).gifts[0];
    limiter_scene_double(s);
    const struct limiter_shards old = s->known;
    limiter_scene_halve(s);
    assert_int_equal(limiter_scene_run(s, &open), LIMITER_DONE);
    struct limiter_command take = limiter_scene_command(s, LIMITER_TAKE, 1);
    take.known = old;
    assert_int_equal(limiter_scene_run(s, &take), LIMITER_DONE);
    assert_int_equal(limiter_scene_bucket(s, 1).shards, 4);
}

TEST(a_shard_that_missed_a_merging_takes_its_gift_back)
{
    struct limiter_scene s;
    (void)state;
    divided_by_old_commands(&s);
    limiter_scene_assert_takes(&s, 1, 499);
    assert_int_equal(limiter_scene_bucket(&s, 1).shards, 2);
    assert_int_equal(limiter_scene_tokens(&s), 500000);
    limiter_scene_deinit(&s);
}

TEST(a_shard_that_missed_a_merging_divides_anew)
{
    struct limiter_scene s;
    (void)state;
    divided_by_old_commands(&s);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 3);
    assert_int_equal(limiter_scene_bucket(&s, 1).gifts[0].epoch, s.known.grown[2]);
    assert_int_equal(limiter_scene_tokens(&s), 999000);
    limiter_scene_assert_takes(&s, 3, 249);
    limiter_scene_deinit(&s);
}

TEST(a_shard_that_expired_comes_back_as_its_gift_has_become)
{
    struct limiter_scene s;
    (void)state;
    limiter_scene_init_daily(&s, NOW_MS);
    limiter_scene_assert_takes(&s, 0, 1000);
    limiter_scene_double(&s);
    limiter_scene_open(&s, 1);
    s.now_ms += DAY_MS + HOUR_MS;
    buffer_deinit(&s.items[1]);
    limiter_scene_open(&s, 1);
    limiter_scene_assert_takes(&s, 1, 500);
    limiter_scene_deinit(&s);
}
