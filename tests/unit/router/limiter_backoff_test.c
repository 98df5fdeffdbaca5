/* How long a router backs off from a shard that it found empty: CACHE-3. */
#include "router/limiter/bucket_cache.h"

#include <stdlib.h>

#include "router/core/router_internal.h"
#include "tests/check.h"

enum {
    SHARE = 1000000, /* mtok */
    ONE = 1000,
    FILL_MS = 1600
};

static struct router *r;
static struct cached_bucket b;
static const int64_t amounts[LIMITER_LIMITS_MAX] = {ONE};

/* A bucket of one shard, which was empty when it was charged now. */
static int start(void **state)
{
    (void)state;
    r = must_calloc(1, sizeof *r);
    r->now = (struct instant){NS_PER_S};
    b = (struct cached_bucket){
        .limits = {.count = 1, .at = {{.capacity = SHARE, .amount = SHARE, .period_ms = FILL_MS}}}};
    struct cached_shard *k = bucket_shard(&b, 0);
    *k = (struct cached_shard){.is_valid = true, .shards = 1, .requested_at = r->now};
    return 0;
}

static int stop(void **state)
{
    (void)state;
    free(b.shards);
    free(r);
    return 0;
}

FIXTURE(start, stop)

static int64_t backoff_left_ms(void)
{
    return instant_since(b.shards[0].backoff_until, r->now).ns / NS_PER_MS;
}

static void charge_once(bool done)
{
    bucket_update_backoff(r, &b, 0, amounts, r->now, done);
}

static void pass_backoff(void)
{
    r->now = b.shards[0].backoff_until;
}

TEST(each_refusal_doubles_the_backoff_up_to_an_eighth_of_the_refill)
{
    int64_t last_ms = 0;
    for (int i = 0; i < 12; i++) {
        charge_once(false);
        assert_true(backoff_left_ms() >= 2 * last_ms || backoff_left_ms() == FILL_MS / 8);
        last_ms = backoff_left_ms();
        pass_backoff();
    }
    assert_int_equal(last_ms, FILL_MS / 8);
}

TEST(what_was_sent_before_the_backoff_does_not_count)
{
    charge_once(false);
    const struct instant sent = r->now, until = b.shards[0].backoff_until;
    bucket_update_backoff(r, &b, 0, amounts, sent, false);
    bucket_update_backoff(r, &b, 0, amounts, sent, true);
    assert_int_equal(b.shards[0].backoff_until.ns, until.ns);
}

TEST(a_request_that_is_done_after_the_backoff_shortens_the_next_one)
{
    for (int i = 0; i < 6; i++, pass_backoff())
        charge_once(false);
    const int64_t before_ms = b.shards[0].backoff_ms;
    charge_once(true);
    assert_in_range(backoff_left_ms(), before_ms * 3 / 4, before_ms - 1);
    for (int i = 0; i < 100; i++, pass_backoff())
        charge_once(true);
    assert_int_equal(b.shards[0].backoff_ms, 0); /* no other router takes anything */
}

TEST(there_is_no_backoff_from_a_shard_with_tokens)
{
    charge_once(false);
    pass_backoff();
    b.shards[0].balances[0].tokens = ONE;
    charge_once(true);
    assert_int_equal(b.shards[0].backoff_until.ns, 0);
}

TEST(no_refill_is_counted_during_the_backoff_and_all_of_it_afterwards)
{
    for (int i = 0; i < 6; i++, pass_backoff())
        charge_once(false);
    b.shards[0].requested_at = r->now;
    charge_once(false);
    const int64_t backoff_ms = backoff_left_ms();
    assert_in_range(bucket_wait_ms(r, &b, 0, ONE), backoff_ms, backoff_ms + 1);
    r->now = instant_add_ms(r->now, backoff_ms - 1);
    assert_int_equal(bucket_tokens_max(r, &b, 0, 0), 0);
    r->now = instant_add_ms(r->now, 1);
    assert_true(bucket_tokens_max(r, &b, 0, 0) >= backoff_ms * SHARE / FILL_MS);
}
