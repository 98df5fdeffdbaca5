/* What all kinds of simulated clients share: searching answers, and pauses after refusals. */
#include "tests/check.h"

#include "sim/work/work_clients.h"

static const char answer[] =
    "{\"Item\":{\"k\":{\"S\":\"a7\"},\"v\":{\"N\":\"42\"}},\"Next\":\"abc\",\"open\":\"cut";

TEST(the_text_behind_a_name_ends_at_the_next_quotation_mark)
{
    const struct slice body = slice_of(answer);
    assert_true(slice_is(dynamo_text(body, "\"Next\":\""), "abc"));
    assert_true(slice_is(dynamo_text(body, "\"k\":{\"S\":\""), "a7"));
    assert_int_equal(dynamo_text(body, "\"open\":\"").size, 0);
    assert_int_equal(dynamo_text(body, "\"absent\":\"").size, 0);
    assert_int_equal(dynamo_text(slice_make(NULL, 0), "\"Next\":\"").size, 0);
}

TEST(the_number_behind_a_name_is_0_if_there_is_none)
{
    const struct slice body = slice_of(answer);
    assert_int_equal(dynamo_number(body, "\"v\":{\"N\":\""), 42);
    assert_int_equal(dynamo_number(body, "\"k\":{\"S\":\""), 0);
    assert_int_equal(dynamo_number(body, "\"absent\":"), 0);
}

TEST(what_follows_a_text_may_be_nothing)
{
    const struct slice body = slice_of(answer);
    assert_non_null(dynamo_behind(body, "cut").data);
    assert_int_equal(dynamo_behind(body, "cut").size, 0);
    assert_null(dynamo_behind(body, "cuts").data);
    assert_true(dynamo_contains(body, "{\"Item\""));
}

TEST(every_eighth_pause_after_refusals_is_long_and_doubles_up_to_a_bound)
{
    enum {
        MS = 50,
        DOUBLINGS = 2
    };
    for (uint32_t nth = 1; nth <= 40; nth++) {
        const uint32_t rounds = nth / 8;
        const int64_t times = nth % 8 != 0 ? 1 : rounds < DOUBLINGS ? 2 : 4;
        assert_int_equal(work_client_pause_ns(nth, MS, DOUBLINGS), times * MS * NS_PER_MS);
    }
}
