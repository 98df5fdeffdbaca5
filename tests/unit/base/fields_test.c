/* fields_test.c - rows of tables: conversions, bounds, and the texts of what is allowed. */
#include "base/fields.h"

#include "base/instant.h"
#include "base/limits.h"
#include "tests/check.h"

struct values {
    bool flag;
    uint16_t small;
    int32_t clients;
    int64_t integer, count_s, size_bytes, span_ns, duration_ns;
    double real;
    const char *text, *any_text;
    char name[5], word[5];
    enum {
        LOW,
        HIGH
    } choice;
    int64_t even;
};

static const char *parse_even(void *member, const char *text)
{
    const bool taken = field_parse_integer(text, 0, 8, member);
    return taken && *(int64_t *)member % 2 == 0 ? NULL : "an even number up to 8";
}

static bool is_of_x(struct slice value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] != 'x')
            return false;
    return true;
}

#define MEMBER(member) FIELD_MEMBER(struct values, member)

static const struct field fields[] = {
    {"flag", FIELD_FLAG, MEMBER(flag)},
    {"small", FIELD_INTEGER, MEMBER(small), .max = 65535},
    {"clients", FIELD_INTEGER, MEMBER(clients), .max = 16, .zero = -1},
    {"integer", FIELD_INTEGER, MEMBER(integer), .min = -9, .max = INT64_MAX, .former = "whole"},
    {"count_s", FIELD_COUNT, MEMBER(count_s), .max = 5000 * KIB},
    {"size_bytes", FIELD_COUNT, MEMBER(size_bytes), .min = 64 * KIB, .max = GIB},
    {"span", FIELD_SPAN, MEMBER(span_ns), .min = 1},
    {"duration", FIELD_DURATION, MEMBER(duration_ns), .max = 400 * 86400 * NS_PER_S},
    {"real", FIELD_REAL, MEMBER(real), .min = -1, .max = 5000},
    {"text", FIELD_TEXT, MEMBER(text)},
    {"any_text", FIELD_ANY_TEXT, MEMBER(any_text), .valid = is_of_x, .expected = "some x"},
    {"name", FIELD_NAME, MEMBER(name), .min = 2},
    {"word", FIELD_NAME, MEMBER(word), .valid = is_of_x, .expected = "up to 4 x"},
    {"choice", FIELD_CHOICE, MEMBER(choice), .choices = (const char *const[]){"low", "high", NULL}},
    {"even", FIELD_PARSED, MEMBER(even), .parse = parse_even},
};

static struct values values;
static struct buffer printed;

static const struct field *field_of(const char *name)
{
    const struct field *f = field_find(fields, COUNT_OF(fields), slice_of(name));
    assert_non_null(f);
    return f;
}

static bool set(const char *name, const char *text)
{
    buffer_clear(&printed);
    return field_set(field_of(name), &values, text, &printed);
}

static void expect_written(const char *name, const char *text, const char *value)
{
    if (!set(name, text))
        fail_msg("%s: `%s` was refused", name, text);
    assert_int_equal(printed.size, 0);
    field_append_value(field_of(name), &values, &printed);
    if (!slice_is(buffer_slice(&printed), value))
        fail_msg("%s: `%s` became `%.*s`", name, text, TEXT_OF(printed));
}

TEST(a_value_is_written_as_it_can_be_read)
{
    static const char *const cases[][3] = {
        {"small", "65535", "65535"},
        {"integer", "-9", "-9"},
        {"integer", "2.5k", "2500"},
        {"integer", "3M", "3000000"},
        {"integer", "9223372036G", "9223372036000000000"},
        {"integer", "9223372036854775807", "9223372036854775807"},
        {"count_s", "5000KiB", "5120000"},
        {"count_s", "5k", "5000"},
        {"size_bytes", "66kB", "66000"},
        {"size_bytes", "1024KiB", "1MiB"},
        {"size_bytes", "1GiB", "1GiB"},
        {"span", "10", "10s"},
        {"span", "1.5s", "1500ms"},
        {"span", "60m", "1h"},
        {"duration", "0", "0s"},
        {"duration", "3ns", "3ns"},
        {"duration", "366d", "8784h"},
        {"real", "-0.5", "-0.5"},
        {"real", ".5", "0.5"},
        {"real", "1e-3", "0.001"},
        {"real", "2k", "2000"},
        {"text", "a b", "a b"},
        {"any_text", "", ""},
        {"name", "abcd", "abcd"},
        {"name", "ab", "ab"},
        {"word", "", ""},
        {"word", "xxxx", "xxxx"},
        {"choice", "high", "high"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_written(cases[i][0], cases[i][1], cases[i][2]);
    assert_int_equal(values.choice, HIGH);
    assert_true(set("even", "6") && values.even == 6);
}

TEST(a_refused_value_stays_as_it_was_and_the_allowed_ones_are_reported)
{
    static const struct {
        const char *name, *allowed, *refused[12];
    } cases[] = {
        {"flag", "true or false", {"", "yes"}},
        {"small",
         "a whole number from 0 to 65535",
         {"", "-1", "65536", "1.5", "80x", "1T", " 80", "+80", "0x50", "8e1", "-0"}},
        {"integer",
         "a whole number from -9 to 9223372036854775807",
         {"-10", "99999999999999999999", "9999999999999G", "k", "1 ", "nan", "- 1", "\t1", "1e3"}},
        {"count_s",
         "a whole number from 0 to 5120000 (suffixes: k, M, G, T are powers of 1000)",
         {"", "-1", " 1", "1.5", "1kB", "0x10"}},
        {"size_bytes",
         "a whole number from 65536 to 1073741824 (suffixes: KiB, MiB, GiB, TiB are powers of "
         "1024; kB, MB, GB, TB of 1000)",
         {"64k", "63KiB", "2GiB", "9999999999TiB"}},
        {"span",
         "a time above 0, such as 30s, 500ms, 2m or 1h",
         {"0", "-1s", "inf", "1e300s", "10000001", "1 s", " 1s", "+1s", "0x1s"}},
        {"duration",
         "a time with its unit (us, ms, s, m, h, d), 0s to 9600h",
         {"1", "s", "-1s", "1 s", "1e300s", "nans", " 1s", "+1s", "0x1s", "-0"}},
        {"real",
         "a number from -1 to 5000",
         {"", "-1.1", "5001", "nan", "1x", "inf", " 1", "+1", "0x1", "-", "."}},
        {"text", "a text that is not empty", {""}},
        {"any_text", "some x", {"xy"}},
        {"name",
         "2 to 4 ASCII characters without blanks, quotes, backslashes or controls",
         {"a", "abcde", "a b", "a\"", "a\\", "\xc3\xa4"}},
        {"word", "up to 4 x", {"xxxxx", "xy"}},
        {"choice", "low or high", {"", "hig", "HIGH"}},
        {"even", "an even number up to 8", {"x", "9"}},
    };
    values = (struct values){.small = 7, .span_ns = 8, .text = "t", .name = "n", .choice = HIGH};
    const struct values before = values;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < COUNT_OF(cases[i].refused) && cases[i].refused[k] != NULL; k++) {
            if (set(cases[i].name, cases[i].refused[k]))
                fail_msg("%s: `%s` was taken", cases[i].name, cases[i].refused[k]);
            assert_slice_is(buffer_slice(&printed), cases[i].allowed);
        }
    values.even = 0; /* its parser has set it */
    assert_memory_equal(&values, &before, sizeof values);
}

TEST(durations_have_units)
{
    int64_t ns;
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"90s", 90000000000},  {"250ms", 250000000},   {"1.5m", 90000000000}, {"0", 0},
                {"2h", 7200000000000}, {"2min", 120000000000}, {"10us", 10000},       {"3ns", 3},
                {"1d", 86400000000000}};
    static const char *const bad[] = {"1", "s", "-1s", "1 s", "1e300s", "", "nans", "0x", "1w"};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(field_parse_duration(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(field_parse_duration(bad[i], &ns));
}

TEST(zero_may_stand_for_another_value)
{
    assert_true(set("clients", "0"));
    assert_int_equal(values.clients, -1);
    assert_true(set("clients", "16"));
    assert_int_equal(values.clients, 16);
    assert_false(set("clients", "-1"));
}

TEST(the_end_of_a_name_is_the_unit_of_a_count)
{
    assert_string_equal(field_unit(field_of("count_s")), "s");
    assert_string_equal(field_unit(field_of("size_bytes")), "bytes");
    assert_string_equal(field_unit(field_of("integer")), "");
    buffer_clear(&printed);
    field_append_bounds(field_of("size_bytes"), &printed);
    assert_slice_is(buffer_slice(&printed), "64KiB to 1GiB");
}

TEST(a_field_is_found_by_its_name_and_its_former_name)
{
    assert_ptr_equal(field_of("whole"), field_of("integer"));
    assert_null(field_find(fields, COUNT_OF(fields), slice_of("integers")));
    const struct field ended[] = {{.name = "a"}, {.name = NULL}};
    assert_ptr_equal(field_find(ended, SIZE_MAX, slice_of("a")), &ended[0]);
    assert_null(field_find(ended, SIZE_MAX, slice_of("b")));
}

TEST(the_nearest_name_is_suggested)
{
    static const struct {
        const char *typed, *text;
    } cases[] = {{"smal", " (did you mean `--small`?)"},
                 {"flga", " (did you mean `--flag`?)"},
                 {"any-txet", ""},
                 {"cli", " (did you mean `--clients`?)"}, /* begins one name */
                 {"s", ""},                               /* begins several */
                 {"a-name-of-more-than-thirty-one-letters", ""}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buffer_clear(&printed);
        nearest_name_suggest(slice_of(cases[i].typed), "--", &fields[0].name, COUNT_OF(fields),
                             sizeof fields[0], &printed);
        assert_slice_is(buffer_slice(&printed), cases[i].text);
    }
}

static int done(void **state)
{
    (void)state;
    buffer_deinit(&printed);
    return 0;
}

FILE_FIXTURE(NULL, done)
