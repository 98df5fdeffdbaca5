#include "base/token_bucket.h"
#include "tests/check.h"

static const struct instant start = {1000};

static struct instant after(int64_t ns)
{
    return (struct instant){start.ns + ns};
}

static struct token_bucket bucket(int64_t capacity, int64_t rate, int64_t balance)
{
    struct token_bucket b;
    token_bucket_init(&b, capacity, rate, 500, balance, start);
    return b;
}

TEST(tokens_come_with_time_and_stop_at_the_capacity)
{
    struct token_bucket b = bucket(100, 10, 0); /* BUCKET-1 */
    assert_int_equal(token_bucket_refill(&b, after(NS_PER_S)), 0);
    assert_int_equal(b.balance, 10);
    assert_int_equal(token_bucket_refill(&b, after(20 * NS_PER_S)), 100);
    assert_int_equal(b.balance, 100);
}

TEST(the_fraction_survives_refills_that_bring_no_whole_token)
{
    struct token_bucket b = bucket(100, 3, 0); /* BUCKET-3 */
    for (int i = 1; i <= 10; i++)
        token_bucket_refill(&b, after(i * NS_PER_S / 10));
    assert_int_equal(b.balance, 3);
}

TEST(a_full_bucket_keeps_its_fraction_and_hands_on_every_token)
{
    struct token_bucket b = bucket(5, 3, 5);
    int64_t overflow = 0;
    for (int i = 1; i <= 1000; i++)
        overflow += token_bucket_refill(&b, after(i * NS_PER_S / 7));
    assert_int_equal(overflow, 1000 * 3 / 7);
}

TEST(a_cost_above_the_capacity_passes_a_full_bucket_and_leaves_a_debt)
{
    struct token_bucket b = bucket(100, 10, 99);
    assert_false(token_bucket_has(&b, 400));
    b = bucket(100, 10, 100);
    assert_true(token_bucket_has(&b, 400));
    token_bucket_debit(&b, 400);
    assert_int_equal(b.balance, -300);
    assert_int_equal(token_bucket_wait(&b, 1).ns, 301 * NS_PER_S / 10);
}

TEST(debt_stops_at_its_limit_and_refilling_pays_it_off_first)
{
    struct token_bucket b = bucket(100, 10, 0); /* BUCKET-2 */
    token_bucket_debit(&b, 1000000);
    assert_int_equal(b.balance, -500);
    assert_int_equal(token_bucket_refill(&b, after(50 * NS_PER_S)), 0);
    assert_int_equal(b.balance, 0);
    assert_false(token_bucket_has(&b, 1));
}

TEST(a_bucket_that_holds_nothing_gives_nothing)
{
    struct token_bucket b = bucket(0, 10, 0);
    assert_false(token_bucket_has(&b, 1));
    assert_true(token_bucket_has(&b, 0));
    assert_true(token_bucket_wait(&b, 1).ns == INT64_MAX);
}

TEST(waiting_for_a_bucket_without_a_rate_never_ends)
{
    struct token_bucket b = bucket(10, 0, 3);
    assert_int_equal(token_bucket_wait(&b, 3).ns, 0);
    assert_true(token_bucket_wait(&b, 4).ns == INT64_MAX);
}

TEST(a_new_rate_cuts_the_balance_but_forgives_no_debt)
{
    struct token_bucket b = bucket(100, 10, 80);
    token_bucket_set_rate(&b, 50, 5, 200);
    assert_int_equal(b.balance, 50);
    token_bucket_debit(&b, 240);
    token_bucket_set_rate(&b, 10, 1, 20);
    assert_int_equal(b.balance, -190);
    token_bucket_debit(&b, 1);
    assert_int_equal(b.balance, -190);
}

TEST(a_higher_rate_makes_no_retry_time_later)
{
    struct token_bucket b = bucket(100, 10, 80);
    const struct instant admitted_at = instant_add(b.updated_at, token_bucket_wait(&b, 150));
    assert_false(token_bucket_has(&b, 150));
    token_bucket_change_rate(&b, 200, 20, 500);
    token_bucket_change_rate(&b, 0, 0, 500); /* no cost passes, and nothing is told */
    assert_false(token_bucket_has(&b, 1));
    b = bucket(100, 10, 80);
    token_bucket_change_rate(&b, 200, 20, 500);
    token_bucket_refill(&b, admitted_at);
    assert_true(b.balance < 150);
    assert_true(token_bucket_has(&b, 150));
    token_bucket_debit(&b, 150);
    token_bucket_refill(&b, instant_add_ms(admitted_at, 7000));
    assert_in_range(b.balance, 100, 149);
    assert_false(token_bucket_has(&b, 150)); /* what was told is over */
}

TEST(the_greatest_rates_and_spans_do_not_overflow)
{
    struct token_bucket b;
    token_bucket_init(&b, 100, INT64_MAX, INT64_MAX - 100, 0, (struct instant){0});
    assert_true(token_bucket_refill(&b, (struct instant){INT64_MAX}) == INT64_MAX - 100);
    assert_int_equal(b.balance, 100);
    token_bucket_debit(&b, INT64_MAX);
    assert_true(token_bucket_wait(&b, 0).ns == NS_PER_S);
    token_bucket_init(&b, INT64_MAX, 1, 0, 0, (struct instant){0});
    assert_true(token_bucket_wait(&b, INT64_MAX - 1).ns == INT64_MAX);
}
