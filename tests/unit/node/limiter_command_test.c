/* limiter_command_test.c - commands on buckets: requests, bytes, and the mistakes that rate
 * limiters which divide their buckets are known for. How shards come and go:
 * limiter_shards_test.c. */
#include "tests/check.h"
#include "tests/support/limiter_fixture.h"

enum {
    MINUTE_MS = 60 * 1000,
    HOUR_MS = 60 * MINUTE_MS,
    DAY_MS = 24 * HOUR_MS,
};
#define NOW_MS INT64_C(1755500000000)

/* Takes single requests from all shards in turn, until no shard has one. A second later each time,
 * so that the hidden limit never refuses. */
static int64_t drain_bucket(struct limiter_fixture *s)
{
    int64_t admitted = 0;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t shard = 0; shard < s->shard_map.count; shard++) {
            if (s->items[shard].size == 0)
                limiter_fixture_create_shard(s, shard);
            const enum limiter_refusal refusal = limiter_fixture_take(s, shard, 1000);
            assert_true(refusal == LIMITER_DONE || refusal == LIMITER_TOO_FEW_TOKENS ||
                        refusal == LIMITER_TOO_FEW_WRITES);
            admitted += refusal == LIMITER_DONE;
            any |= refusal == LIMITER_DONE;
        }
    }
    return admitted;
}

/* ---- known failures ---- */

TEST(three_growths_admit_no_more_than_the_capacity_of_a_day)
{
    struct limiter_fixture s;
    int64_t admitted;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    for (int i = 0; i < 3; i++) {
        limiter_fixture_grow(&s);
        assert_int_equal(limiter_fixture_tokens(&s), 999000);
    }
    admitted = 1;
    for (int second = 0; second < 5; second++, s.now_ms += 1000)
        admitted += drain_bucket(&s);
    assert_int_equal(s.shard_map.count, 8);
    /* 125 divide by 2 without a rest no more: of a token that is in two shards nobody has it. */
    assert_true(admitted <= 1000);
    assert_true(admitted > 1000 - 8);
    assert_true(limiter_fixture_tokens(&s) < 8000);
    limiter_fixture_deinit(&s);
}

TEST(drained_shards_refill_all_by_themselves)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    limiter_fixture_grow(&s);
    for (uint32_t shard = 1; shard < 4; shard++)
        limiter_fixture_create_shard(&s, shard);
    for (uint32_t shard = 0; shard < 4; shard++)
        limiter_fixture_assert_takes(&s, shard, 249);
    s.now_ms += DAY_MS / 2;
    for (uint32_t shard = 0; shard < 4; shard++) {
        limiter_fixture_assert_takes(&s, shard, 124);
        limiter_fixture_assert_too_few(&s, shard, 2);
    }
    s.now_ms += DAY_MS;
    for (uint32_t shard = 0; shard < 4; shard++)
        limiter_fixture_assert_takes(&s, shard, 250);
    limiter_fixture_deinit(&s);
}

TEST(the_hidden_limit_refills_so_that_growth_ends)
{
    struct limiter_fixture s;
    int admitted = 0;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "rps", 1000000, 1000000, 1000);
    while (limiter_fixture_take(&s, 0, 1000) == LIMITER_DONE)
        admitted++;
    assert_int_equal(admitted, 1000);
    assert_int_equal(limiter_fixture_take(&s, 0, 1000), LIMITER_TOO_FEW_WRITES);
    s.now_ms += 10;
    for (int i = 0; i < 10; i++)
        limiter_fixture_assert_takes(&s, 0, 1);
    assert_int_equal(limiter_fixture_take(&s, 0, 1000), LIMITER_TOO_FEW_WRITES);
    s.now_ms += 1000;
    limiter_fixture_assert_takes(&s, 0, 1);
    assert_int_equal(limiter_fixture_bucket(&s, 0).write_balance.tokens,
                     LIMITER_WRITES_MWCU - 1000);
    limiter_fixture_deinit(&s);
}

TEST(a_new_shard_has_a_hidden_limit_of_its_own)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "rps", 1000000, 1000000, 1000);
    while (limiter_fixture_take(&s, 0, 1000) == LIMITER_DONE)
        continue;
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    for (int i = 0; i < 900; i++)
        limiter_fixture_assert_takes(&s, 1, 1);
    limiter_fixture_deinit(&s);
}

TEST(a_limit_change_reaches_every_shard_that_is_used)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 400);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    s.limits.version = 2;
    s.limits.at[0].capacity = 100000;
    s.limits.at[0].amount = 100000;
    for (uint32_t shard = 0; shard < 2; shard++) { /* 300 each, 50 of them stay */
        limiter_fixture_assert_too_few(&s, shard, 51);
        limiter_fixture_assert_takes(&s, shard, 50);
        assert_int_equal(limiter_fixture_bucket(&s, shard).limits.version, 2);
        limiter_fixture_assert_too_few(&s, shard, 1);
    }
    s.now_ms += DAY_MS;
    for (uint32_t shard = 0; shard < 2; shard++) {
        limiter_fixture_assert_too_few(&s, shard, 51);
        limiter_fixture_assert_takes(&s, shard, 50);
    }
    limiter_fixture_deinit(&s);
}

TEST(a_limit_change_reaches_shards_that_are_not_made_yet)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_grow(&s);
    s.limits.version = 2;
    s.limits.at[0].capacity = s.limits.at[0].amount = 100000;
    const struct limiter_command m = limiter_fixture_command(&s, LIMITER_CONFIGURE, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_fixture_create_shard(&s, 1);
    limiter_fixture_assert_too_few(&s, 1, 51);
    limiter_fixture_assert_takes(&s, 1, 50);
    limiter_fixture_deinit(&s);
}

TEST(a_limit_change_keeps_tokens_totals_and_the_fraction)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "rpm", 60, 1, 60000); /* one mtok each 60 ms */
    limiter_fixture_limit(&s, "rpd", 500, 500, DAY_MS);
    limiter_fixture_assert_takes(&s, 0, 40);
    s.now_ms += 60 * 7 + 30;
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_CONFIGURE, 0);
    m.limits.version = 2; /* rpd is gone, rph is new, rpm has another period */
    m.limits.at[1] = m.limits.at[0];
    m.limits.at[1].period_ms = 600000;
    m.limits.at[1].capacity = 20000;
    m.limits.at[0].name = slice_of("rph");
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    struct limiter_bucket b = limiter_fixture_bucket(&s, 0);
    assert_int_equal(b.balances[0].tokens, 60000);
    assert_int_equal(b.taken[0], 0);
    assert_int_equal(b.balances[1].tokens, 20000); /* and not 20007 */
    assert_int_equal(b.taken[1], 40000);
    assert_int_equal(b.balances[1].fraction, 300000); /* half of a mtok */
    limiter_fixture_deinit(&s);
}

/* LIMITER-5 */
TEST(a_slow_limit_is_not_starved_by_frequent_requests)
{
    struct limiter_fixture s;
    struct limiter_command m;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "rps", 100, 100, 1000);
    limiter_fixture_limit(&s, "rpd", 24, 24, DAY_MS); /* one mtok each 3.6 s */
    m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.amounts[0] = 1000;
    m.amounts[1] = 24000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    m.amounts[1] = 0;
    for (int i = 0; i < 3600 * 2; i++, s.now_ms += 500)
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    m.amounts[1] = 1001;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_TOO_FEW_TOKENS);
    m.amounts[1] = 1000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    limiter_fixture_deinit(&s);
}

/* ---- requests ---- */

TEST(the_first_request_makes_a_full_bucket)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    s.shard_map = (struct limiter_shard_map){.epoch = NOW_MS + 77, .count = 1, .grown = {5}};
    limiter_fixture_assert_takes(&s, 0, 10);
    const struct limiter_bucket b = limiter_fixture_bucket(&s, 0);
    assert_int_equal(b.balances[0].tokens, 990000);
    assert_int_equal(b.taken[0], 10000);
    assert_int_equal(b.admitted, 1);
    assert_int_equal(b.epoch, NOW_MS + 78); /* later than any epoch before */
    assert_int_equal(b.shard_map.epoch, b.epoch);
    assert_int_equal(b.shard_map.count, 1);
    assert_int_equal(b.shard_map.grown[0], b.epoch);
    assert_int_equal(b.write_balance.tokens, LIMITER_WRITES_MWCU - 1000);
    limiter_fixture_deinit(&s);
}

TEST(a_refused_request_leaves_no_bucket)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_too_few(&s, 0, 1001);
    assert_int_equal(s.items[0].size, 0);
    assert_int_equal(limiter_fixture_take(&s, 3, 1000), LIMITER_ABSENT);
    assert_int_equal(limiter_fixture_adjust(&s, 0, 1000), LIMITER_ABSENT);
    limiter_fixture_deinit(&s);
}

TEST(a_request_takes_from_all_limits_or_from_none)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.amounts[0] = 1000;
    m.amounts[1] = 60000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_TOO_FEW_TOKENS);
    struct limiter_bucket b = limiter_fixture_bucket(&s, 0);
    assert_int_equal(b.balances[0].tokens, 999000);
    assert_int_equal(b.balances[1].tokens, 40000);
    m.amounts[1] = 40000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    b = limiter_fixture_bucket(&s, 0);
    assert_int_equal(b.balances[0].tokens, 998000);
    assert_int_equal(b.balances[1].tokens, 0);
    limiter_fixture_deinit(&s);
}

TEST(a_limit_in_debt_refuses_only_requests_that_want_it)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.amounts[0] = 1000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    m.verb = LIMITER_ADJUST;
    m.amounts[0] = 0;
    m.amounts[1] = 150000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    m.verb = LIMITER_TAKE;
    m.amounts[0] = 1000;
    m.amounts[1] = 1;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_TOO_FEW_TOKENS);
    m.amounts[1] = 0;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    limiter_fixture_deinit(&s);
}

TEST(amounts_go_by_the_names_of_limits)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_CONFIGURE, 0);
    m.limits.version = 2; /* tpm comes first now, rpd is gone */
    m.limits.count = 1;
    m.limits.at[0] = s.limits.at[1];
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.amounts[1] = 30000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, 70000);
    m.amounts[0] = 1000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_LIMIT);
    m.verb = LIMITER_ADJUST; /* what was taken from a limit that is gone is nobody's */
    m.amounts[1] = -30000;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, 100000);
    limiter_fixture_deinit(&s);
}

TEST(an_expired_request_is_refused)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.expires_ms = NOW_MS + 1;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    s.now_ms++;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_EXPIRED);
    limiter_fixture_deinit(&s);
}

TEST(a_request_whose_token_has_an_owner_is_done_there_only)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.token_has_owner = true;
    m.owner_key = 0xabcd7;
    assert_int_equal(limiter_fixture_run(&s, &m),
                     LIMITER_DONE); /* the only shard owns each token */
    limiter_fixture_grow(&s);
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 3);
    for (uint32_t shard = 0; shard < 4; shard++) {
        if (s.items[shard].size == 0)
            continue;
        m = limiter_fixture_command(&s, LIMITER_TAKE, shard);
        m.token_has_owner = true;
        m.owner_key = 0xabcd7;
        assert_int_equal(limiter_fixture_run(&s, &m),
                         shard == 3 ? LIMITER_DONE : LIMITER_NOT_OWNER);
    }
    limiter_fixture_deinit(&s);
}

/* The token was done in shard 1 when there were two, and its sender has an older map. Shard 0
 * owns it again, and does not know it. */
TEST(a_request_whose_token_has_an_owner_is_refused_if_its_sender_has_an_older_map)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    limiter_fixture_read_map(&s);
    const struct limiter_shard_map first = s.shard_map;
    limiter_fixture_grow(&s);
    limiter_fixture_create_shard(&s, 1);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_TAKE, 1);
    m.token_has_owner = true;
    m.owner_key = 0xabcd7;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    limiter_fixture_merge(&s);
    m.shard = 0;
    for (int verb = LIMITER_TAKE; verb <= LIMITER_ADJUST; verb++) {
        m.verb = (uint8_t)verb;
        m.sender_map = first;
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NOT_OWNER);
        m.sender_map = s.shard_map; /* its map is new, and it has asked the former owners */
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    }
    limiter_fixture_deinit(&s);
}

TEST(an_adjustment_may_make_debt_and_never_fills_above_the_share)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1000);
    assert_int_equal(limiter_fixture_adjust(&s, 0, 500000), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, -500000);
    assert_int_equal(limiter_fixture_bucket(&s, 0).taken[0], 1500000);
    assert_int_equal(limiter_fixture_adjust(&s, 0, -1499000), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, 999000);
    assert_int_equal(limiter_fixture_adjust(&s, 0, -5000), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, 1000000);
    /* Debt is never cut off: what is more than a bucket holds is refused, and changes nothing. */
    assert_int_equal(limiter_fixture_adjust(&s, 0, LIMITER_MTOK_MAX), LIMITER_DONE);
    assert_int_equal(limiter_fixture_adjust(&s, 0, LIMITER_MTOK_MAX), LIMITER_DEBT_TOO_LARGE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, 1000000 - LIMITER_MTOK_MAX);
    assert_int_equal(limiter_fixture_adjust(&s, 0, 1000000), LIMITER_DONE);
    assert_int_equal(limiter_fixture_adjust(&s, 0, 1), LIMITER_DEBT_TOO_LARGE);
    assert_int_equal(limiter_fixture_adjust(&s, 0, -1), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).balances[0].tokens, 1 - LIMITER_MTOK_MAX);
    assert_int_equal(limiter_fixture_bucket(&s, 0).admitted, 1);
    limiter_fixture_deinit(&s);
}

TEST(requests_that_left_no_trace_are_charged_and_counted)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_assert_takes(&s, 0, 1);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_TAKE, 0);
    m.mwcu = 700000;
    m.unreported_refusals = 699;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).refused, 699);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_TOO_FEW_WRITES);
    m.verb = LIMITER_ADJUST; /* is not refused, but charged */
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).write_balance.tokens, 1000000 - 1000 - 1400000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).write_balance.tokens, -LIMITER_WRITES_MWCU);
    s.now_ms += 2000;
    m.verb = LIMITER_TAKE;
    m.mwcu = INT64_MAX; /* more than the limit has: a full one suffices */
    m.unreported_refusals = INT64_MAX;
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_bucket(&s, 0).refused, INT64_MAX);
    limiter_fixture_deinit(&s);
}

TEST(a_reset_fills_shards_and_reserved_shares)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    struct limiter_command m = limiter_fixture_command(&s, LIMITER_RESET, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_CHANGE);
    limiter_fixture_assert_takes(&s, 0, 1000);
    limiter_fixture_grow(&s);
    assert_int_equal(limiter_fixture_tokens(&s), 0);
    m = limiter_fixture_command(&s, LIMITER_RESET, 0);
    assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_DONE);
    assert_int_equal(limiter_fixture_tokens(&s), 1000000);
    limiter_fixture_deinit(&s);
}

TEST(an_item_that_is_not_of_the_bucket_is_left_alone)
{
    struct limiter_fixture s;
    struct item_writer w;
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    item_begin(&w, &s.items[0]);
    item_name(&w, slice_of("PK"));
    item_string(&w, slice_of("x"));
    item_end(&w);
    for (int verb = LIMITER_TAKE; verb < LIMITER_VERBS; verb++) {
        const struct limiter_command m = limiter_fixture_command(&s, (enum limiter_verb)verb, 0);
        assert_int_equal(limiter_fixture_run(&s, &m), LIMITER_NO_BUCKET);
    }
    buffer_deinit(&s.items[0]);
    limiter_fixture_assert_takes(&s, 0, 1);
    s.items[1] = s.items[0]; /* another shard's item */
    s.items[0] = (struct buffer){0};
    assert_int_equal(limiter_fixture_take(&s, 1, 1000), LIMITER_NO_BUCKET);
    limiter_fixture_deinit(&s);
}

TEST(a_leader_whose_clock_is_behind_does_not_move_time_back)
{
    struct limiter_fixture s;
    (void)state;
    limiter_fixture_init(&s, NOW_MS);
    limiter_fixture_limit(&s, "rps", 1000, 1000, 1000);
    limiter_fixture_assert_takes(&s, 0, 1000);
    s.now_ms -= 500;
    limiter_fixture_assert_too_few(&s, 0, 1);
    s.now_ms += 501;
    limiter_fixture_assert_takes(&s, 0, 1);
    s.now_ms -= 500;
    assert_int_equal(limiter_fixture_adjust(&s, 0, 0), LIMITER_DONE);
    s.now_ms += 500;
    limiter_fixture_assert_too_few(&s, 0, 1);
    limiter_fixture_deinit(&s);
}

/* ---- bytes ---- */

static struct limiter_command full_command(const struct limiter_fixture *s, enum limiter_verb verb)
{
    const bool ends = verb == LIMITER_SEAL, merges = verb == LIMITER_MERGE_IN;
    const bool opens = verb == LIMITER_CREATE_CHILD;
    struct limiter_command m =
        limiter_fixture_command(s, verb,
                                ends || opens                             ? 3
                                : merges || verb == LIMITER_RESERVE_CHILD ? 1
                                                                          : 0);
    m.sender_map = (struct limiter_shard_map){
        .epoch = 500, .count = 2, .grown = {100, 200, merges || ends ? 300 : 0}};
    m.unreported_refusals = 7;
    m.expires_ms = NOW_MS;
    m.token_has_owner = true;
    m.owner_key = 0x123456789abcdef;
    if (verb == LIMITER_TAKE || verb == LIMITER_ADJUST)
        m.amounts[1] = verb == LIMITER_TAKE ? 5 : -5;
    if (verb == LIMITER_RESERVE_CHILD)
        m.child = 3;
    if (opens || merges) {
        m.reserved_share.child = 3;
        m.reserved_share.epoch = 300;
        for (uint32_t i = 0; i < 2; i++)
            m.reserved_share.balances[i] = (struct limiter_balance){-5, NOW_MS, 17};
        m.created = merges;
    }
    return m;
}

static bool command_read(struct buffer *bytes, struct limiter_command *out)
{
    struct codec c = {.in = &(struct reader){buffer_slice(bytes), false}};
    *out = (struct limiter_command){0};
    limiter_command_walk(&c, out);
    return codec_end(&c) == STATUS_OK;
}

static void command_write(struct buffer *bytes, struct limiter_command m)
{
    buffer_clear(bytes);
    limiter_command_walk(&(struct codec){.out = bytes}, &m);
}

TEST(every_command_comes_back_from_its_bytes)
{
    struct limiter_fixture s;
    struct limiter_command back;
    struct buffer bytes = {0};
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    for (int verb = LIMITER_TAKE; verb < LIMITER_VERBS; verb++) {
        const struct limiter_command m = full_command(&s, (enum limiter_verb)verb);
        command_write(&bytes, m);
        if (!command_read(&bytes, &back))
            fail_msg("verb %d is refused", verb);
        for (uint32_t i = 0; i < 2; i++) {
            assert_true(slice_equal(back.limits.at[i].name, m.limits.at[i].name));
            back.limits.at[i].name = m.limits.at[i].name;
        }
        assert_memory_equal(&back, &m, sizeof m);
        for (size_t size = 0; size < bytes.size; size++) {
            struct buffer cut = {bytes.data, size, size};
            assert_false(command_read(&cut, &back));
        }
    }
    buffer_deinit(&bytes);
    limiter_fixture_deinit(&s);
}

#define BREAK(name, of, change)                              \
    static enum limiter_verb name(struct limiter_command *m) \
    {                                                        \
        if (m != NULL) {                                     \
            change;                                          \
        }                                                    \
        return of;                                           \
    }

BREAK(break_shard, LIMITER_TAKE, m->shard = 128)
BREAK(break_verb, LIMITER_TAKE, m->verb = LIMITER_VERBS)
BREAK(break_epoch, LIMITER_TAKE, m->sender_map.epoch = UINT64_MAX)
BREAK(break_count, LIMITER_TAKE, m->sender_map.count = 3)
BREAK(break_no_count, LIMITER_TAKE, m->sender_map.count = 0)
BREAK(break_many, LIMITER_TAKE, m->sender_map.count = 256)
BREAK(break_grown, LIMITER_TAKE, m->sender_map.grown[1] = 100)
BREAK(break_later, LIMITER_TAKE, m->sender_map.grown[1] = 501)
BREAK(break_limits, LIMITER_TAKE, m->limits.count = 0)
BREAK(break_limit, LIMITER_TAKE, m->limits.at[0].capacity = 1)
BREAK(break_version, LIMITER_TAKE, m->limits.version = UINT64_MAX)
BREAK(break_amount, LIMITER_TAKE, m->amounts[0] = -1)
BREAK(break_amount_large, LIMITER_ADJUST, m->amounts[0] = LIMITER_MTOK_MAX + 1)
BREAK(break_amount_small, LIMITER_ADJUST, m->amounts[0] = -LIMITER_MTOK_MAX - 1)
BREAK(break_mwcu, LIMITER_RESET, m->mwcu = -1)
BREAK(break_attempts, LIMITER_RESET, m->unreported_refusals = -1)
BREAK(break_root, LIMITER_GROW, m->shard = 1)
BREAK(break_unknown, LIMITER_MERGE_BEGIN, m->sender_map.epoch = 0)
BREAK(break_child, LIMITER_RESERVE_CHILD, m->child = 2)
BREAK(break_child_none, LIMITER_RESERVE_CHILD, m->child = 0)
BREAK(break_child_large, LIMITER_RESERVE_CHILD, m->child = 129)
BREAK(break_reserved, LIMITER_CREATE_CHILD, m->reserved_share.child = 2)
BREAK(break_reserved_epoch, LIMITER_CREATE_CHILD, m->reserved_share.epoch = 0)
BREAK(break_reserved_tokens, LIMITER_CREATE_CHILD, m->reserved_share.balances[0].tokens = INT64_MIN)
BREAK(break_reserved_fraction, LIMITER_CREATE_CHILD,
      m->reserved_share.balances[0].fraction = DAY_MS)
BREAK(break_reserved_at, LIMITER_CREATE_CHILD, m->reserved_share.balances[1].at_ms = -1)
BREAK(break_seal, LIMITER_SEAL, m->sender_map.count = 4)
BREAK(break_merge_in, LIMITER_MERGE_IN, m->sender_map.count = 1)
BREAK(break_merge_in_child, LIMITER_MERGE_IN, m->reserved_share.child = 5)
BREAK(break_merge_in_limits, LIMITER_MERGE_IN, m->limits.count = 0)

TEST(commands_that_cannot_be_are_refused)
{
    static enum limiter_verb (*const breaks[])(struct limiter_command *) = {break_shard,
                                                                            break_verb,
                                                                            break_epoch,
                                                                            break_count,
                                                                            break_no_count,
                                                                            break_many,
                                                                            break_grown,
                                                                            break_later,
                                                                            break_limits,
                                                                            break_limit,
                                                                            break_version,
                                                                            break_amount,
                                                                            break_amount_large,
                                                                            break_amount_small,
                                                                            break_mwcu,
                                                                            break_attempts,
                                                                            break_root,
                                                                            break_unknown,
                                                                            break_child,
                                                                            break_child_none,
                                                                            break_child_large,
                                                                            break_reserved,
                                                                            break_reserved_epoch,
                                                                            break_reserved_tokens,
                                                                            break_reserved_fraction,
                                                                            break_reserved_at,
                                                                            break_seal,
                                                                            break_merge_in,
                                                                            break_merge_in_child,
                                                                            break_merge_in_limits};
    struct limiter_fixture s;
    struct buffer bytes = {0};
    (void)state;
    limiter_fixture_init_daily(&s, NOW_MS);
    limiter_fixture_limit(&s, "tpm", 100, 100, MINUTE_MS);
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        struct limiter_command m = full_command(&s, breaks[i](NULL)), back;
        breaks[i](&m);
        command_write(&bytes, m);
        if (command_read(&bytes, &back))
            fail_msg("mistake %zu is taken", i);
    }
    buffer_deinit(&bytes);
    limiter_fixture_deinit(&s);
}
