/* limit_text_test.c - limits as they are written on command lines. */
#include "cmd/limit_text.h"

#include "tests/check.h"

TEST(a_limit_has_a_name_a_capacity_and_a_period)
{
    static const struct {
        const char *text, *name;
        int64_t capacity, refill, period_ms;
    } cases[] = {
        {"rpm=100/60s", "rpm", 100000, 100000, 60000},
        {"tpm=10000/1m:5000", "tpm", 10000000, 5000000, 60000},
        {"a=0.001/1ms:0.5", "a", 1, 500, 1},
        {"b=1.5/2h", "b", 1500, 1500, 7200000},
        {"c=1.25/366d:2.125", "c", 1250, 2125, INT64_C(31622400000)},
        {"d=1000000000000/1s", "d", INT64_C(1000000000000000), INT64_C(1000000000000000), 1000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct limit_text limit;
        assert_true(limit_text_read(cases[i].text, &limit));
        assert_true(slice_is(limit.name, cases[i].name));
        assert_int_equal(limit.capacity, cases[i].capacity);
        assert_int_equal(limit.refill, cases[i].refill);
        assert_int_equal(limit.period_ms, cases[i].period_ms);
    }
}

TEST(limits_that_no_server_takes_are_refused_by_what_is_wrong)
{
    static const struct {
        const char *text, *allowed;
    } cases[] = {
        {"rpm=1/1ms", NULL},
        {"r.p_m-9=1000000000000/366d:1", NULL},
        {"a b=1/1s", "a NAME of 1 to 64 letters, digits, _, . and -"},
        {"rpm=0/1s", "a CAPACITY from 1 to 1000000000000 tokens"},
        {"rpm=0.999/1s", "a CAPACITY from 1 to 1000000000000 tokens"},
        {"rpm=1000000000001/1s", "a CAPACITY from 1 to 1000000000000 tokens"},
        {"rpm=1/1m:0", "a REFILL from 1 to 1000000000000 tokens"},
        {"rpm=1/0s", "a PERIOD from 1ms to 366d"},
        {"rpm=1/367d", "a PERIOD from 1ms to 366d"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct limit_text limit;
        assert_true(limit_text_read(cases[i].text, &limit));
        const char *allowed = limit_text_check(&limit);
        assert_int_equal(allowed == NULL, cases[i].allowed == NULL);
        if (allowed != NULL)
            assert_string_equal(allowed, cases[i].allowed);
    }
}

TEST(other_texts_are_no_limits)
{
    static const char *const texts[] = {
        "",
        "rpm",
        "=1/1s",
        "rpm=",
        "rpm=1",
        "rpm=1/",
        "rpm=/1s",
        "rpm=1/s",
        "rpm=1/1",
        "rpm=1/1w",
        "rpm=-1/1s",
        "rpm=1./1s",
        "rpm=.5/1s",
        "rpm=1.0001/1s",
        "rpm=1.-1/1s",
        "rpm=1/1s:",
        "rpm=1/1s:x",
        "rpm=1/1s:2:3",
        "rpm=1e3/1s",
        "rpm=1/1.5s",
        "rpm= 1/1s",
        "rpm=1/1s ",
        "rpm=99999999999999999/1s",
        "rpm=1/999999999999999999d",
        "rpm=1/-1s",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct limit_text limit;
        if (limit_text_read(texts[i], &limit))
            fail_msg("taken: %s", texts[i]);
    }
}

TEST(numbers_are_written_as_they_are_read)
{
    static const struct {
        int64_t thousandths;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "0.001"},
        {20, "0.02"},
        {500, "0.5"},
        {1000, "1"},
        {1250, "1.25"},
        {100000, "100"},
        {-2125, "-2.125"},
        {-1, "-0.001"},
        {-1000, "-1"},
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    (void)state;
    struct buffer out = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t again = 0;
        buffer_clear(&out);
        limit_text_write(&out, cases[i].thousandths);
        if (!slice_is(buffer_slice(&out), cases[i].text))
            fail_msg("%lld became %.*s", (long long)cases[i].thousandths, TEXT_OF(out));
        if (cases[i].thousandths < 0 || cases[i].thousandths == INT64_MAX)
            continue;
        assert_true(limit_text_thousandths(buffer_slice(&out), &again));
        assert_int_equal(again, cases[i].thousandths);
    }
    buffer_deinit(&out);
}
