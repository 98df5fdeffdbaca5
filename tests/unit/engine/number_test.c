#include "engine/item/number.h"
#include "tests/check.h"

static struct number parsed(const char *text)
{
    struct number n;
    enum number_error error = number_parse(slice_of(text), &n);
    if (error != NUMBER_OK)
        fail_msg("'%s' is refused: %d", text, error);
    return n;
}

TEST(text_comes_back_in_plain_digits)
{
    static const char *const pairs[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"0.000", "0"},
        {"0e125", "0"},
        {"0e-130", "0"},
        {"1", "1"},
        {"+3", "3"},
        {"00042", "42"},
        {"1.0", "1"},
        {"1E+2", "100"},
        {"1e+5", "100000"},
        {"1.5E2", "150"},
        {"10E-1", "1"},
        {".123", "0.123"},
        {"5.", "5"},
        {"0001.23", "1.23"},
        {"-7.1234", "-7.1234"},
        {"1E-3", "0.001"},
        {"-17e5", "-1700000"},
        {"120", "120"},
        {"12.50", "12.5"},
        {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
        {"1.00000000000000007629769841092E+50",
         "100000000000000007629769841092000000000000000000000"},
        {"0.00000000000000000000000000000000000000000000000000001",
         "0.00000000000000000000000000000000000000000000000000001"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct number n = parsed(pairs[i][0]);
        char text[NUMBER_TEXT_MAX];
        size_t size = number_format(&n, text);
        assert_string_equal(text, pairs[i][1]);
        assert_int_equal(size, strlen(pairs[i][1]));
    }
}

TEST(the_ends_of_the_range_are_plain_digits_too)
{
    char text[NUMBER_TEXT_MAX];
    struct number n = parsed("-9.9999999999999999999999999999999999999E+125");
    assert_int_equal(number_format(&n, text), 127);
    assert_int_equal(n.count, 38);
    assert_memory_equal(text, "-99999999999999999999999999999999999999000", 42);

    n = parsed("-1.2345678901234567890123456789012345678E-130");
    assert_int_equal(number_format(&n, text), 1 + 2 + 129 + 38);
    assert_memory_equal(text, "-0.000", 6);
    assert_string_equal(text + 1 + 2 + 129, "12345678901234567890123456789012345678");
}

TEST(what_is_not_a_number_is_refused_with_its_reason)
{
    static const struct {
        const char *text;
        enum number_error error;
    } cases[] = {
        {"", NUMBER_NOT_NUMERIC},
        {"-", NUMBER_NOT_NUMERIC},
        {".", NUMBER_NOT_NUMERIC},
        {"1.2.3", NUMBER_NOT_NUMERIC},
        {"1e", NUMBER_NOT_NUMERIC},
        {"1e+", NUMBER_NOT_NUMERIC},
        {"e5", NUMBER_NOT_NUMERIC},
        {"1e5.0", NUMBER_NOT_NUMERIC},
        {" 1", NUMBER_NOT_NUMERIC},
        {"1 ", NUMBER_NOT_NUMERIC},
        {"--1", NUMBER_NOT_NUMERIC},
        {"0x10", NUMBER_NOT_NUMERIC},
        {"NaN", NUMBER_NOT_NUMERIC},
        {"Infinity", NUMBER_NOT_NUMERIC},
        {"123456789012345678901234567890123456789", NUMBER_TOO_MANY_DIGITS},
        {"1.00000000000000000000000000000000000001", NUMBER_TOO_MANY_DIGITS},
        {"314159265358979323846264338327950288419e300", NUMBER_TOO_MANY_DIGITS},
        {"1e126", NUMBER_OVERFLOW},
        {"-11e125", NUMBER_OVERFLOW},
        {"0e126", NUMBER_OVERFLOW},
        {"1e9223372036854775807", NUMBER_OVERFLOW},
        {"1e9223372036854775808", NUMBER_NOT_NUMERIC},
        {"0e-131", NUMBER_UNDERFLOW},
        {"1e-131", NUMBER_UNDERFLOW},
        {"0.9e-130", NUMBER_UNDERFLOW},
        {"-1e-9223372036854775807", NUMBER_UNDERFLOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct number n;
        enum number_error error = number_parse(slice_of(cases[i].text), &n);
        if (error != cases[i].error)
            fail_msg("'%s': %d, not %d", cases[i].text, error, cases[i].error);
    }
}

TEST(zeros_at_the_ends_count_as_no_digits)
{
    char long_text[400];
    memset(long_text, '0', sizeof long_text);
    long_text[100] = '7';
    long_text[101] = '.';
    struct number n;
    assert_int_equal(number_parse(slice_make(long_text, sizeof long_text), &n), NUMBER_OK);
    assert_int_equal(n.count, 1);
    assert_int_equal(n.exponent, 0);
    n = parsed("12345678901234567890123456789012345678000");
    assert_int_equal(n.count, 38);
}

TEST(encodings_order_as_the_numbers_do)
{
    static const char *const ascending[] = {
        "-9.9e125", "-1e125",  "-100.5", "-100",   "-99",  "-12.5", "-12", "-1.1", "-1",
        "-0.1",     "-1e-130", "0",      "1e-130", "0.01", "0.1",   "1",   "1.01", "1.1",
        "2",        "9",       "10",     "10.5",   "11",   "12",    "99",  "100",  "9.9e125",
    };
    uint8_t before[NUMBER_ENCODED_MAX] = {0};
    size_t before_size = 0;
    for (size_t i = 0; i < sizeof ascending / sizeof ascending[0]; i++) {
        struct number n = parsed(ascending[i]);
        uint8_t bytes[NUMBER_ENCODED_MAX];
        size_t size = number_encode(&n, bytes);
        if (slice_compare(slice_make(before, before_size), slice_make(bytes, size)) >= 0)
            fail_msg("%s does not come after its predecessor", ascending[i]);
        memcpy(before, bytes, size);
        before_size = size;
    }
}

TEST(equal_numbers_have_one_encoding) /* NUMBER-1 */
{
    uint8_t a[NUMBER_ENCODED_MAX], b[NUMBER_ENCODED_MAX];
    struct number one = parsed("1"), same = parsed("10E-1");
    size_t size = number_encode(&one, a);
    assert_int_equal(number_encode(&same, b), size);
    assert_memory_equal(a, b, size);
}

TEST(decoding_refuses_what_encoding_does_not_write)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"", 0},
        {"\x04", 1},
        {"\x03", 1},
        {"\x03\x82", 2},
        {"\x03\x82\x01", 3},         /* no digits */
        {"\x03\x82\x0c", 3},         /* no end */
        {"\x03\x82\x03\x01", 4},     /* first digit 0 */
        {"\x03\x82\x0c\x02\x01", 5}, /* last pair 00 */
        {"\x03\x82\x66\x01", 4},     /* pair above 99 */
        {"\x03\x82\x0c\x00\x01", 5}, /* pair below 00 */
        {"\x01\x7d\xf3\x01", 4},     /* a negative number's end is not complemented */
        {"\x03\x82\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d\x0d"
         "\x01",
         23}, /* 40 digits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct number n;
        size_t used;
        if (number_decode(slice_make(cases[i].bytes, cases[i].size), &n, &used) != STATUS_MALFORMED)
            fail_msg("case %zu is accepted", i);
    }
}

TEST(decoding_leaves_what_follows_the_number)
{
    uint8_t bytes[NUMBER_ENCODED_MAX + 3];
    struct number n = parsed("-12.5"), back;
    size_t size = number_encode(&n, bytes), used;
    memcpy(bytes + size, "abc", 3);
    assert_int_equal(number_decode(slice_make(bytes, size + 3), &back, &used), STATUS_OK);
    assert_int_equal(used, size);
    char text[NUMBER_TEXT_MAX];
    number_format(&back, text);
    assert_string_equal(text, "-12.5");
}

TEST(a_number_counts_a_byte_for_two_digits_on_either_side_of_the_point)
{
    static const struct {
        const char *text;
        uint32_t size;
    } cases[] = {
        {"0", 1},
        {"1", 2},
        {"12", 2},
        {"123", 3},
        {"1234", 3},
        {"123.45", 4},
        {"1.2", 3},
        {"12.34", 3},
        {"1.234", 4},
        {"-1", 3},
        {"100", 2},
        {"0.05", 2},
        {"1e125", 2},
        {"12345678901234567890123456789012345678", 20},
        {"-12345678901234567890123456789012345678", 21},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct number n = parsed(cases[i].text);
        if (number_size(&n) != cases[i].size)
            fail_msg("%s counts %u bytes, not %u", cases[i].text, number_size(&n), cases[i].size);
    }
}

/* ---- sums ---- */

static struct number number_of(const char *text)
{
    struct number n;
    assert_int_equal(number_parse(slice_of(text), &n), NUMBER_OK);
    return n;
}

/* `sum` NULL: the error. */
static void assert_sum(const char *a, const char *b, bool minus, const char *sum,
                       enum number_error error)
{
    struct number x = number_of(a), y = number_of(b), out;
    char text[NUMBER_TEXT_MAX];
    assert_int_equal(minus ? number_subtract(&x, &y, &out) : number_add(&x, &y, &out), error);
    if (sum != NULL) {
        number_format(&out, text);
        assert_string_equal(text, sum);
    }
}

TEST(sums_are_exact)
{
    static const struct {
        const char *a, *b, *sum, *difference;
    } CASES[] = {
        {"1", "2", "3", "-1"},
        {"0.1", "0.2", "0.3", "-0.1"},
        {"999", "1", "1000", "998"},
        {"1000", "0.001", "1000.001", "999.999"},
        {"-5", "5", "0", "-10"},
        {"0", "7", "7", "-7"},
        {"7", "0", "7", "7"},
        {"-0.5", "-0.25", "-0.75", "-0.25"},
        {"12345678901234567890123456789012345678", "1", "12345678901234567890123456789012345679",
         "12345678901234567890123456789012345677"},
        {"99999999999999999999999999999999999999", "1", "100000000000000000000000000000000000000",
         "99999999999999999999999999999999999998"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        assert_sum(CASES[i].a, CASES[i].b, false, CASES[i].sum, NUMBER_OK);
        assert_sum(CASES[i].b, CASES[i].a, false, CASES[i].sum, NUMBER_OK);
        assert_sum(CASES[i].a, CASES[i].b, true, CASES[i].difference, NUMBER_OK);
    }
}

TEST(sums_that_no_number_holds_are_refused)
{
    assert_sum("1E40", "1", false, NULL, NUMBER_TOO_MANY_DIGITS);
    assert_sum("1E40", "1", true, NULL, NUMBER_TOO_MANY_DIGITS);
    assert_sum("9E125", "9E125", false, NULL, NUMBER_OVERFLOW);
    assert_sum("-9E125", "9E125", true, NULL, NUMBER_OVERFLOW);
    assert_sum("1.1E-130", "1E-130", true, NULL, NUMBER_UNDERFLOW);
    assert_sum("9E125", "9E125", true, "0", NUMBER_OK);
    assert_sum("1E-130", "1E-130", true, "0", NUMBER_OK);
}

TEST(whole_numbers_are_exact_both_ways)
{
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     9,
                                     10,
                                     100,
                                     -1000,
                                     120,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     1755500000000,
                                     1000000000000000000};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)values[i]);
        const struct number expected = parsed(text), n = number_from_i64(values[i]);
        int64_t back;
        assert_memory_equal(&n, &expected, sizeof n);
        assert_true(number_to_i64(&n, &back));
        assert_int_equal(back, values[i]);
    }
}

TEST(numbers_that_no_int64_has_are_refused)
{
    static const char *const texts[] = {"0.5",
                                        "1.25",
                                        "-12.5",
                                        "1E-130",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "9999999999999999999",
                                        "1E19",
                                        "9E125",
                                        "12345678901234567890.5"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct number n = parsed(texts[i]);
        int64_t out;
        assert_false(number_to_i64(&n, &out));
    }
}
