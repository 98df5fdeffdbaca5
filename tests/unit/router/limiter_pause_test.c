/* How long a router leaves a shard alone that it found empty: KNOWN-3. */
#include "router/limiter/buckets.h"

#include <stdlib.h>

#include "router/router_internal.h"
#include "tests/check.h"

enum {
    SHARE = 1000000, /* mtok */
    ONE = 1000,
    FILL_MS = 1600
};

static struct router *r;
static struct known_bucket b;
static const int64_t amounts[LIMITER_LIMITS_MAX] = {ONE};

/* A bucket of one shard, which was empty when it was asked now. */
static int start(void **state)
{
    (void)state;
    r = must_calloc(1, sizeof *r);
    r->now = (struct instant){NS_PER_S};
    b = (struct known_bucket){
        .limits = {.count = 1, .at = {{.capacity = SHARE, .amount = SHARE, .period_ms = FILL_MS}}}};
    struct known_shard *k = bucket_shard(&b, 0);
    *k = (struct known_shard){.heard = true, .sure = true, .shards = 1, .asked = r->now};
    return 0;
}

static int stop(void **state)
{
    (void)state;
    free(b.at);
    free(r);
    return 0;
}

FIXTURE(start, stop)

static int64_t paused_ms(void)
{
    return instant_since(b.at[0].paused_until, r->now).ns / NS_PER_MS;
}

static void ask(bool done)
{
    bucket_learn_pause(r, &b, 0, amounts, r->now, done);
}

static void pass_pause(void)
{
    r->now = b.at[0].paused_until;
}

TEST(each_request_in_vain_doubles_the_pause_up_to_an_eighth_of_the_refill)
{
    int64_t last_ms = 0;
    for (int i = 0; i < 12; i++) {
        ask(false);
        assert_true(paused_ms() >= 2 * last_ms || paused_ms() == FILL_MS / 8);
        last_ms = paused_ms();
        pass_pause();
    }
    assert_int_equal(last_ms, FILL_MS / 8);
}

TEST(what_was_sent_before_the_pause_does_not_count)
{
    ask(false);
    const struct instant sent = r->now, until = b.at[0].paused_until;
    bucket_learn_pause(r, &b, 0, amounts, sent, false);
    bucket_learn_pause(r, &b, 0, amounts, sent, true);
    assert_int_equal(b.at[0].paused_until.ns, until.ns);
}

TEST(a_request_that_is_done_after_the_pause_shortens_the_next_one)
{
    for (int i = 0; i < 6; i++, pass_pause())
        ask(false);
    const int64_t before_ms = b.at[0].pause_ms;
    ask(true);
    assert_in_range(paused_ms(), before_ms * 3 / 4, before_ms - 1);
    for (int i = 0; i < 100; i++, pass_pause())
        ask(true);
    assert_int_equal(b.at[0].pause_ms, 0); /* nobody else takes anything */
}

TEST(a_shard_with_tokens_is_not_left_alone)
{
    ask(false);
    pass_pause();
    b.at[0].levels[0].tokens = ONE;
    ask(true);
    assert_int_equal(b.at[0].paused_until.ns, 0);
}

TEST(no_refill_is_reckoned_in_the_pause_and_all_of_it_afterwards)
{
    for (int i = 0; i < 6; i++, pass_pause())
        ask(false);
    b.at[0].asked = r->now;
    ask(false);
    const int64_t pause_ms = paused_ms();
    assert_in_range(bucket_wait_ms(r, &b, 0, ONE), pause_ms, pause_ms + 1);
    r->now = instant_add_ms(r->now, pause_ms - 1);
    assert_int_equal(bucket_possible(r, &b, 0, 0), 0);
    r->now = instant_add_ms(r->now, 1);
    assert_true(bucket_possible(r, &b, 0, 0) >= pause_ms * SHARE / FILL_MS);
}
