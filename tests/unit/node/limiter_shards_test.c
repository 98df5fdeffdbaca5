/* limiter_shards_test.c - how shards of a bucket come and go. */
#include "tests/check.h"
#include "tests/support/limiter_fixture.h"

enum {
    HOUR_MS = 3600 * 1000,
    DAY_MS = 24 * HOUR_MS,
};
#define NOW_MS INT64_C(1755500000000)

TEST(dividing_and_merging_conserve_tokens)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "odd", 1001, 7, 999983);
    assert_int_equal(limiter_fixture_take(&s, 0, 333337), LIMITER_DONE);
    const int64_t tokens = limiter_fixture_tokens(&s);
    for (int i = 0; i < 7; i++) {
        limiter_fixture_grow(&s);
        assert_int_equal(limiter_fixture_tokens(&s), tokens);
    }
    for (uint32_t shard = 1; shard < 128; shard += 3) {
        limiter_fixture_create_shard(&s, shard);
        assert_int_equal(limiter_fixture_tokens(&s), tokens);
    }
    for (int i = 0; i < 7; i++) {
        limiter_fixture_merge(&s);
        assert_int_equal(limiter_fixture_tokens(&s), tokens);
    }
    assert_int_equal(limiter_fixture_bucket(&s, 0).shards, 1);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, tokens);
    limiter_fixture_deinit(&s);
}

TEST(debt_is_divided_too)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1000);
    assert_int_equal(limiter_fixture_adjust(&s, 0, 1001), LIMITER_DONE);
    limiter_fixture_grow(&s);
    const struct limiter_bucket b = limiter_fixture_bucket(&s, 0);
    assert_int_equal(b.balances[0].tokens, -501);
    assert_int_equal(b.reserved[0].balances[0].tokens, -500);
    limiter_fixture_deinit(&s);
}

TEST(a_shard_is_created_once_in_an_epoch)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    assert_int_equal(limiter_fixture_take(&s, 1, 1000), LIMITER_ABSENT);
    limiter_fixture_create_shard(&s, 1);
    limiter_fixture_assert_takes(&s, 1, 400);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_CREATE_CHILD, 1);
    m.reserved_share = limiter_fixture_bucket(&s, 0).reserved[0];
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_fixture_assert_too_few(&s, 1, 100);
    limiter_fixture_deinit(&s);
}

TEST(a_shard_divides_when_it_adopts_the_growth)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_grow(&s);
    limiter_fixture_assert_takes(&s, 1, 1);
    const struct limiter_bucket b = limiter_fixture_bucket(&s, 1);
    assert_int_equal(b.shards, 8);
    assert_int_equal(b.reserved_count, 2);
    assert_int_equal(b.reserved[0].child, 3);
    assert_int_equal(b.reserved[0].epoch, s.shard_map.grown[2]);
    assert_int_equal(b.reserved[1].child, 5);
    assert_int_equal(b.epoch, s.shard_map.epoch);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_RESERVE_CHILD, 1);
    m.child = 3;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_fixture_deinit(&s);
}

/* LIMITER-7: the sender has read shard 0 long ago. */
TEST(a_shard_does_not_go_back_to_an_older_map)
{
    struct limiter_fixture s;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    const struct limiter_shard_map older = s.shard_map;
    limiter_fixture_grow(&s);
    limiter_fixture_assert_takes(&s, 1, 1);
    const uint64_t epoch = s.shard_map.epoch;
    assert_true(limiter_fixture_bucket(&s, 1).epoch == epoch);
    s.shard_map = older;
    limiter_fixture_assert_takes(&s, 1, 1);
    const struct limiter_bucket b = limiter_fixture_bucket(&s, 1);
    assert_true(b.epoch == epoch);
    assert_int_equal(b.shards, 4);
    assert_int_equal(b.reserved_count, 1);
    limiter_fixture_deinit(&s);
}

/* Its sealed item has expired, and a late command brings the reserved share of the growth before
 * the merging. */
TEST(a_shard_is_not_created_of_the_reserved_share_of_a_former_growth)
{
    struct limiter_fixture s;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    const struct limiter_reserved_share reserved = limiter_fixture_bucket(&s, 0).reserved[0];
    limiter_fixture_merge(&s);
    limiter_fixture_grow(&s);
    buffer_clear(&s.items[1]);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_CREATE_CHILD, 1);
    m.reserved_share = reserved;
    assert_true(s.shard_map.grown[1] > reserved.epoch);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    m.reserved_share = limiter_fixture_bucket(&s, 0).reserved[0];
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    limiter_fixture_deinit(&s);
}

TEST(a_share_is_reserved_when_it_is_asked_for)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    limiter_fixture_grow(&s);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_RESERVE_CHILD, 1);
    m.child = 3;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    m.child = 5; /* the bucket has no shard 5 */
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    m = limiter_fixture_command(&s, LIMITER_RESERVE_CHILD, 2);
    m.child = 6;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_ABSENT);
    limiter_fixture_deinit(&s);
}

TEST(a_bucket_grows_once_for_all_who_ask_at_a_time)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_read_map(&s);
    const struct limiter_command m = limiter_fixture_command(&s, LIMITER_GROW, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).shard_map.count, 2);
    limiter_fixture_deinit(&s);
}

TEST(no_bucket_has_more_shards_than_its_limits_allow)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "few", 3, 1000, 1000);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_GROW, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    m.limits.version = 2;
    m.limits.at[0].capacity = 1000000;
    for (int count = 2; count < 128; count *= 2) {
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
        m.sender_map = limiter_fixture_bucket(&s, 0).shard_map;
    }
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_fixture_deinit(&s);
}

TEST(a_sealed_shard_takes_nothing_and_is_not_created_by_late_commands)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    const struct limiter_shard_map before = s.shard_map;
    struct limiter_command late = limiter_fixture_command(&s, LIMITER_CREATE_CHILD, 1);
    late.reserved_share = limiter_fixture_bucket(&s, 0).reserved[0];
    limiter_fixture_merge(&s);
    const struct limiter_shard_map after = s.shard_map;
    assert_int_equal(limiter_fixture_run(&s, &late), LIMITER_NO_CHANGE);
    s.shard_map = before;
    assert_int_equal(limiter_fixture_take(&s, 1, 1000), LIMITER_SEALED);
    assert_int_equal(limiter_fixture_adjust(&s, 1, 1000), LIMITER_SEALED);
    s.shard_map = after;
    limiter_fixture_grow(&s);
    assert_int_equal(limiter_fixture_take(&s, 1, 1000), LIMITER_ABSENT);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_CREATE_CHILD, 1);
    m.reserved_share = late.reserved_share; /* of the former growth */
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    m.reserved_share = limiter_fixture_bucket(&s, 0).reserved[0];
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    limiter_fixture_assert_takes(&s, 1, 499);
    limiter_fixture_deinit(&s);
}

TEST(late_and_doubled_commands_of_a_merging_do_nothing)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    limiter_fixture_read_map(&s);
    const struct limiter_command begin = limiter_fixture_command(&s, LIMITER_MERGE_BEGIN, 0);
    assert_int_equal(limiter_fixture_run(&s, &begin), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &begin), LIMITER_NO_CHANGE);
    limiter_fixture_read_map(&s);
    const struct limiter_command commit = limiter_fixture_command(&s, LIMITER_MERGE_COMMIT, 0);
    assert_int_equal(limiter_fixture_run(&s, &commit), LIMITER_NO_CHANGE); /* not merged in yet */
    const struct limiter_command close = limiter_fixture_command(&s, LIMITER_SEAL, 1);
    assert_int_equal(limiter_fixture_run(&s, &close), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &close), LIMITER_NO_CHANGE);
    struct limiter_command merge_in = limiter_fixture_command(&s, LIMITER_MERGE_IN, 0);
    merge_in.created = true;
    merge_in.reserved_share.child = 1;
    merge_in.reserved_share.epoch = s.shard_map.epoch - 1; /* what a former merging has sealed */
    assert_int_equal(limiter_fixture_run(&s, &merge_in), LIMITER_NO_CHANGE);
    merge_in.reserved_share.epoch = s.shard_map.epoch;
    merge_in.reserved_share.balances[0] = limiter_fixture_bucket(&s, 1).balances[0];
    assert_int_equal(limiter_fixture_run(&s, &merge_in), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &merge_in), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_run(&s, &commit), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &commit), LIMITER_NO_CHANGE);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    assert_int_equal(limiter_fixture_run(&s, &close), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_run(&s, &merge_in), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_run(&s, &commit), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_run(&s, &begin), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_tokens(&s), 999000);
    limiter_fixture_deinit(&s);
}

/* Shard 0 has the reserved share for shard 1 still. */
TEST(a_doubled_merge_in_does_not_take_the_next_reserved_share_too)
{
    struct limiter_fixture s;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 2);
    limiter_fixture_read_map(&s);
    const struct limiter_command begin = limiter_fixture_command(&s, LIMITER_MERGE_BEGIN, 0);
    assert_int_equal(limiter_fixture_run(&s, &begin), LIMITER_DONE);
    limiter_fixture_read_map(&s);
    const struct limiter_command close = limiter_fixture_command(&s, LIMITER_SEAL, 2);
    assert_int_equal(limiter_fixture_run(&s, &close), LIMITER_DONE);
    struct limiter_command merge_in = limiter_fixture_command(&s, LIMITER_MERGE_IN, 0);
    merge_in.created = true;
    merge_in.reserved_share.child = 2;
    merge_in.reserved_share.epoch = s.shard_map.epoch;
    merge_in.reserved_share.balances[0] = limiter_fixture_bucket(&s, 2).balances[0];
    assert_int_equal(limiter_fixture_run(&s, &merge_in), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).reserved_count, 1);
    assert_int_equal(limiter_fixture_run(&s, &merge_in), LIMITER_NO_CHANGE);
    assert_int_equal(limiter_fixture_tokens(&s), 999000);
    limiter_fixture_deinit(&s);
}

TEST(a_merging_begins_only_when_no_other_runs)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_read_map(&s);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_MERGE_BEGIN, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE); /* one shard is the minimum */
    limiter_fixture_grow(&s);
    limiter_fixture_grow(&s);
    m = limiter_fixture_command(&s, LIMITER_MERGE_BEGIN, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    limiter_fixture_read_map(&s);
    m = limiter_fixture_command(&s, LIMITER_MERGE_BEGIN, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    m.verb = LIMITER_GROW;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_fixture_deinit(&s);
}

/* Shard 1 does not exist while 4 shards become 2. A late command makes it, and an old one lets it
 * divide once more; the reserved share for shard 3 can go nowhere. */
static void divided_by_old_commands(struct limiter_fixture *s)
{
    limiter_fixture_init_daily(s, NOW_MS);
    limiter_fixture_assert_takes(s, 0, 1);
    limiter_fixture_grow(s);
    struct limiter_command open = limiter_fixture_command(s, LIMITER_CREATE_CHILD, 1);
    open.reserved_share = limiter_fixture_bucket(s, 0).reserved[0];
    limiter_fixture_grow(s);
    const struct limiter_shard_map old = s->shard_map;
    limiter_fixture_merge(s);
    assert_int_equal(limiter_fixture_run(s, &open), LIMITER_DONE);
    struct limiter_command take = limiter_fixture_command(s, LIMITER_TAKE, 1);
    take.sender_map = old;
    assert_int_equal(limiter_fixture_run(s, &take), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(s, 1).shards, 4);
}

TEST(a_shard_that_missed_a_merging_takes_its_reserved_share_back)
{
    struct limiter_fixture s;
    (void)state;
    divided_by_old_commands(&s);
    limiter_fixture_assert_takes(&s, 1, 499);
    assert_int_equal(limiter_fixture_bucket(&s, 1).shards, 2);
    assert_int_equal(limiter_fixture_tokens(&s), 500000);
    limiter_fixture_deinit(&s);
}

TEST(a_shard_that_missed_a_merging_divides_anew)
{
    struct limiter_fixture s;
    (void)state;
    divided_by_old_commands(&s);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 3);
    assert_int_equal(limiter_fixture_bucket(&s, 1).reserved[0].epoch, s.shard_map.grown[2]);
    assert_int_equal(limiter_fixture_tokens(&s), 999000);
    limiter_fixture_assert_takes(&s, 3, 249);
    limiter_fixture_deinit(&s);
}

TEST(a_shard_that_expired_comes_back_as_its_reserved_share_has_become)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1000);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    s.now_ms += DAY_MS + HOUR_MS;
    buffer_deinit(&s.items[1]);
    limiter_fixture_create_shard(&s, 1);
    limiter_fixture_assert_takes(&s, 1, 500);
    limiter_fixture_deinit(&s);
}
