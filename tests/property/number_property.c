/* Numbers: text, bytes and order, against comparing and counting digits the slow way. */
#include "engine/item/number.h"
#include "tests/check.h"

/* Canonical, with exponents and lengths that meet often, so that orders are decided late. */
static struct number any_number(struct prng *p)
{
    struct number n = {0};
    if (prng_below(p, 20) == 0)
        return n;
    bool near = prng_below(p, 2);
    n.negative = prng_below(p, 2);
    n.exponent = (int16_t)(near ? prng_between(p, -2, 2)
                                : prng_between(p, NUMBER_EXPONENT_MIN, NUMBER_EXPONENT_MAX));
    n.count = (uint8_t)prng_between(p, 1, near ? 4 : NUMBER_DIGITS_MAX);
    for (int i = 0; i < n.count; i++)
        n.digits[i] = (uint8_t)prng_below(p, near ? 2 : 10);
    if (n.digits[0] == 0)
        n.digits[0] = 1;
    if (n.digits[n.count - 1] == 0)
        n.digits[n.count - 1] = 9;
    return n;
}

static int magnitude_compare(const struct number *a, const struct number *b)
{
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    for (int i = 0; i < NUMBER_DIGITS_MAX; i++) {
        int x = i < a->count ? a->digits[i] : 0, y = i < b->count ? b->digits[i] : 0;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static int sign_of(const struct number *n)
{
    return n->count == 0 ? 0 : n->negative ? -1 : 1;
}

static int number_compare_slowly(const struct number *a, const struct number *b)
{
    if (sign_of(a) != sign_of(b))
        return sign_of(a) < sign_of(b) ? -1 : 1;
    return sign_of(a) * magnitude_compare(a, b);
}

static void order(struct prng *p)
{
    for (int i = 0; i < 5000; i++) {
        struct number a = any_number(p), b = any_number(p);
        uint8_t x[NUMBER_ENCODED_MAX], y[NUMBER_ENCODED_MAX];
        struct slice xs = slice_make(x, number_encode(&a, x));
        struct slice ys = slice_make(y, number_encode(&b, y));
        int bytes = slice_compare(xs, ys), slow = number_compare_slowly(&a, &b);
        assert_true((bytes > 0) - (bytes < 0) == slow);
        /* NUMBER-2: the bytes that follow in a key cannot change the order. */
        if (slow != 0)
            assert_false(slice_starts_with(xs, ys) || slice_starts_with(ys, xs));
    }
}

TEST(bytes_order_as_numbers_and_none_is_anothers_prefix)
{
    check_seeds(20, order);
}

static bool number_equal(const struct number *a, const struct number *b)
{
    return a->negative == b->negative && a->exponent == b->exponent && a->count == b->count &&
           memcmp(a->digits, b->digits, a->count) == 0;
}

static void round_trip(struct prng *p)
{
    for (int i = 0; i < 5000; i++) {
        struct number n = any_number(p), back;
        uint8_t bytes[NUMBER_ENCODED_MAX];
        char text[NUMBER_TEXT_MAX];
        size_t size = number_encode(&n, bytes), used;
        assert_int_equal(number_decode(slice_make(bytes, size), &back, &used), STATUS_OK);
        assert_int_equal(used, size);
        assert_true(number_equal(&n, &back));
        size = number_format(&n, text);
        assert_int_equal(number_parse(slice_make(text, size), &back), NUMBER_OK);
        assert_true(number_equal(&n, &back));
    }
}

TEST(bytes_and_text_come_back_as_the_number)
{
    check_seeds(20, round_trip);
}

static void check_read_at_once(struct slice bytes)
{
    struct number n;
    size_t used;
    const bool whole = number_decode(bytes, &n, &used) == STATUS_OK && used == bytes.size;
    int64_t expected = 0, value;
    uint32_t size;
    assert_int_equal(number_measure(bytes, &size), whole);
    if (whole)
        assert_int_equal(size, number_size(&n));
    const bool fits = whole && number_to_i64(&n, &expected);
    assert_int_equal(number_read_i64(bytes, &value), fits);
    if (fits)
        assert_int_equal(value, expected);
}

/* Numbers of any kind, whole ones, and bytes of which one was changed. */
static void read_at_once(struct prng *p)
{
    for (int i = 0; i < 5000; i++) {
        const int64_t value = (int64_t)(prng_next(p) >> prng_below(p, 64));
        const struct number any = any_number(p);
        struct number whole = number_from_i64(prng_below(p, 2) ? value : -1 - value);
        if (whole.count > 0 && prng_below(p, 2))
            whole.exponent = (int16_t)(whole.exponent + (int16_t)prng_below(p, 20));
        uint8_t bytes[NUMBER_ENCODED_MAX];
        const size_t size = number_encode(prng_below(p, 2) ? &any : &whole, bytes);
        check_read_at_once(slice_make(bytes, size));
        check_read_at_once(slice_make(bytes, prng_below(p, size)));
        bytes[prng_below(p, size)] = (uint8_t)prng_next(p);
        check_read_at_once(slice_make(bytes, size));
    }
}

TEST(values_and_sizes_read_at_once_are_those_of_the_number)
{
    check_seeds(20, read_at_once);
}

/* The same value written as digits * 10^k, for any k, with zeros around it. */
static void notations(struct prng *p)
{
    for (int i = 0; i < 2000; i++) {
        struct number n = any_number(p), back;
        if (n.count == 0)
            continue;
        char text[200];
        int size = 0, zeros = (int)prng_below(p, 5), point = (int)prng_below(p, n.count + 1u);
        if (n.negative)
            text[size++] = '-';
        for (int z = 0; z < zeros; z++)
            text[size++] = '0';
        for (int d = 0; d < n.count; d++) {
            if (d == point)
                text[size++] = '.';
            text[size++] = (char)('0' + n.digits[d]);
        }
        if (point < n.count) {
            for (int z = 0; z < zeros; z++)
                text[size++] = '0';
        }
        size +=
            snprintf(text + size, 20, prng_below(p, 2) ? "e%d" : "E%+d", n.exponent + 1 - point);
        assert_int_equal(number_parse(slice_make(text, (size_t)size), &back), NUMBER_OK);
        if (!number_equal(&n, &back))
            fail_msg("%.*s", size, text);
    }
}

TEST(every_notation_of_a_value_is_the_same_number)
{
    check_seeds(20, notations);
}

/* The rule by the digits of the plain text: halves on either side of the point, rounded up, zeros
 * at the ends dropped in pairs. */
static void sizes(struct prng *p)
{
    for (int i = 0; i < 2000; i++) {
        struct number n = any_number(p);
        uint32_t bytes = 1 + (n.negative ? 1 : 0), seen = 0;
        for (int position = NUMBER_EXPONENT_MAX + 2; position >= -2 * NUMBER_EXPONENT_MAX;
             position -= 2) {
            bool significant = false;
            for (int at = position; at >= position - 1; at--) {
                int digit = n.exponent - at;
                significant = significant || (digit >= 0 && digit < n.count);
            }
            seen += significant;
        }
        assert_int_equal(number_size(&n), n.count == 0 ? 1 : bytes + seen);
    }
}

TEST(the_size_counts_pairs_of_digits_from_the_point)
{
    _Static_assert((NUMBER_EXPONENT_MAX + 2) % 2 == 1, "a pair is tens and ones");
    check_seeds(20, sizes);
}
