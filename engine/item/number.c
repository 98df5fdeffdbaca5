/* number.c - DynamoDB numbers as text and as ordered bytes.
 *
 * Encoding: zero is the byte 02. Every other number is
 *   - a sign byte: 01 negative, 03 positive;
 *   - the exponent + 130, one byte;
 *   - the digits in pairs, one byte each: pair + 2. A single last digit makes a pair with 0;
 *   - a final 01.
 * All bytes of a negative number but the sign are complemented.
 *
 * Why this keeps the order: the sign decides first, then the exponent of the first digit, then the
 * digits as a fraction. The final 01 is less than any pair: of two positive numbers with the same
 * first digits, the shorter comes first. The complement reverses all this for negative numbers.
 * Why pairs are never 00: a storage key needs two bytes for a byte 00. Only an exponent can be 00:
 * -130 of a positive number, 125 of a negative number.
 *
 * Invariants:
 *   NUMBER-1  one value has one encoding: no leading or trailing zero digit, no negative zero.
 *   NUMBER-2  no encoding is a prefix of another.
 *
 * Not here: arithmetic (number_sum.c). */
#include "engine/item/number.h"

#include "base/must.h"

enum {
    SIGN_NEGATIVE = 1,
    SIGN_ZERO = 2,
    SIGN_POSITIVE = 3,
    PAIR_BASE = 2, /* is added to a pair of digits */
    PAIR_MAX = PAIR_BASE + 99,
    ENCODING_END = 1,
    PAIRS_MAX = NUMBER_DIGITS_MAX / 2,
};

_Static_assert(NUMBER_EXPONENT_MAX - NUMBER_EXPONENT_MIN <= 255, "an exponent is one byte");
_Static_assert(1 + 1 + PAIRS_MAX + 1 <= NUMBER_ENCODED_MAX, "sign, exponent, pairs, end");
_Static_assert(1 + 2 - NUMBER_EXPONENT_MIN - 1 + NUMBER_DIGITS_MAX + 1 <= NUMBER_TEXT_MAX,
               "-0.000..digits and NUL");

static void number_check(const struct number *n)
{
    must(n->count <= NUMBER_DIGITS_MAX);
    if (n->count == 0) {
        must(!n->negative); /* NUMBER-1 */
        must(n->exponent == 0);
        return;
    }
    must(n->exponent >= NUMBER_EXPONENT_MIN);
    must(n->exponent <= NUMBER_EXPONENT_MAX);
    must(n->digits[0] != 0);            /* NUMBER-1 */
    must(n->digits[n->count - 1] != 0); /* NUMBER-1 */
}

/* ---- text ---- */

struct mantissa {
    int64_t digits;         /* all digits so far, zeros included */
    int64_t integer_digits; /* digits before the point */
    int64_t first;          /* index of the first digit that is not 0 */
    int64_t zeros;          /* zeros since the last digit that is not 0 */
    bool too_many;
};

static void mantissa_digit(struct mantissa *m, struct number *out, uint8_t digit)
{
    int64_t at = m->digits++;
    if (digit == 0) {
        m->zeros += out->count != 0;
        return;
    }
    if (out->count == 0)
        m->first = at;
    if (m->too_many || m->zeros >= NUMBER_DIGITS_MAX - out->count) {
        m->too_many = true;
        return;
    }
    for (; m->zeros > 0; m->zeros--)
        out->digits[out->count++] = 0;
    out->digits[out->count++] = digit;
}

/* Reads digits with at most one point. Returns the number of bytes read. */
static size_t mantissa_scan(struct slice text, struct mantissa *m, struct number *out)
{
    bool point = false;
    size_t at = 0;
    for (; at < text.size; at++) {
        uint8_t c = text.data[at];
        if (c == '.' && !point) {
            point = true;
            m->integer_digits = m->digits;
        } else if (c >= '0' && c <= '9') {
            mantissa_digit(m, out, (uint8_t)(c - '0'));
        } else {
            break;
        }
    }
    if (!point)
        m->integer_digits = m->digits;
    return at;
}

/* Reads all of `text` as e, sign, digits. Empty: exponent 0. False also for more than 64 bits.
 * Saturates far outside the range. */
static bool exponent_scan(struct slice text, int64_t *out)
{
    *out = 0;
    if (text.size == 0)
        return true;
    if (text.data[0] != 'e' && text.data[0] != 'E')
        return false;
    size_t at = 1;
    bool negative = at < text.size && text.data[at] == '-';
    if (at < text.size && (text.data[at] == '-' || text.data[at] == '+'))
        at++;
    if (at == text.size)
        return false;
    for (; at < text.size; at++) {
        uint8_t c = text.data[at];
        if (c < '0' || c > '9')
            return false;
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, c - '0', out))
            return false;
    }
    if (*out > INT64_MAX / 1000)
        *out = INT64_MAX / 1000;
    if (negative)
        *out = -*out;
    return true;
}

enum number_error number_parse(struct slice text, struct number *out)
{
    *out = (struct number){0};
    bool negative = false;
    if (text.size > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        negative = text.data[0] == '-';
        text = slice_make(text.data + 1, text.size - 1);
    }
    struct mantissa m = {0};
    int64_t exponent;
    size_t used = mantissa_scan(text, &m, out);
    if (m.digits == 0)
        return NUMBER_NOT_NUMERIC;
    if (!exponent_scan(slice_make(text.data + used, text.size - used), &exponent))
        return NUMBER_NOT_NUMERIC;
    if (m.too_many)
        return NUMBER_TOO_MANY_DIGITS;
    if (out->count > 0)
        exponent += m.integer_digits - 1 - m.first;
    if (exponent > NUMBER_EXPONENT_MAX)
        return NUMBER_OVERFLOW;
    if (exponent < NUMBER_EXPONENT_MIN)
        return NUMBER_UNDERFLOW;
    if (out->count == 0)
        return NUMBER_OK; /* zero, whose exponent must lie in the range, too */
    out->negative = negative;
    out->exponent = (int16_t)exponent;
    number_check(out);
    return NUMBER_OK;
}

static char *zeros_put(char *p, int count)
{
    for (int i = 0; i < count; i++)
        *p++ = '0';
    return p;
}

size_t number_format(const struct number *n, char out[NUMBER_TEXT_MAX])
{
    number_check(n);
    if (n->count == 0) {
        memcpy(out, "0", 2);
        return 1;
    }
    char *p = out;
    if (n->negative)
        *p++ = '-';
    if (n->exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        p = zeros_put(p, -n->exponent - 1);
    }
    for (int i = 0; i < n->count; i++) {
        if (i > 0 && i == n->exponent + 1)
            *p++ = '.';
        *p++ = (char)('0' + n->digits[i]);
    }
    if (n->exponent >= n->count)
        p = zeros_put(p, n->exponent + 1 - n->count);
    *p = '\0';
    must(p < out + NUMBER_TEXT_MAX);
    return (size_t)(p - out);
}

/* ---- whole numbers ---- */

struct number number_from_i64(int64_t value)
{
    struct number n = {.negative = value < 0};
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint8_t digits[20];
    size_t at = sizeof digits;
    if (left == 0)
        return n;
    for (; left % 10 == 0; left /= 10)
        n.exponent++;
    for (; left > 0; left /= 10)
        digits[--at] = (uint8_t)(left % 10);
    n.count = (uint8_t)(sizeof digits - at);
    n.exponent = (int16_t)(n.exponent + n.count - 1);
    memcpy(n.digits, digits + at, n.count);
    return n;
}

bool number_to_i64(const struct number *n, int64_t *out)
{
    number_check(n);
    if (n->exponent > 18 || n->count > n->exponent + 1)
        return false;
    uint64_t whole = 0; /* below 10^19: it cannot overflow */
    for (int i = 0; i <= n->exponent; i++)
        whole = whole * 10 + (i < n->count ? n->digits[i] : 0);
    if (whole > (uint64_t)INT64_MAX + n->negative)
        return false;
    *out = n->negative ? (int64_t)(0 - whole) : (int64_t)whole;
    return true;
}

/* ---- bytes ---- */

size_t number_encode(const struct number *n, uint8_t out[NUMBER_ENCODED_MAX])
{
    number_check(n);
    if (n->count == 0) {
        out[0] = SIGN_ZERO;
        return 1;
    }
    uint8_t flip = n->negative ? 0xff : 0;
    size_t size = 0;
    out[size++] = n->negative ? SIGN_NEGATIVE : SIGN_POSITIVE;
    out[size++] = (uint8_t)(n->exponent - NUMBER_EXPONENT_MIN) ^ flip;
    for (int i = 0; i < n->count; i += 2) {
        int low = i + 1 < n->count ? n->digits[i + 1] : 0;
        out[size++] = (uint8_t)(n->digits[i] * 10 + low + PAIR_BASE) ^ flip;
    }
    out[size++] = ENCODING_END ^ flip;
    return size;
}

enum status number_decode(struct slice bytes, struct number *out, size_t *used)
{
    *out = (struct number){0};
    *used = 1;
    if (bytes.size == 0)
        return STATUS_MALFORMED;
    uint8_t sign = bytes.data[0];
    if (sign == SIGN_ZERO)
        return STATUS_OK;
    if ((sign != SIGN_NEGATIVE && sign != SIGN_POSITIVE) || bytes.size < 2)
        return STATUS_MALFORMED;
    uint8_t flip = sign == SIGN_NEGATIVE ? 0xFF : 0;
    out->negative = sign == SIGN_NEGATIVE;
    out->exponent = (int16_t)((bytes.data[1] ^ flip) + NUMBER_EXPONENT_MIN);
    for (size_t at = 2; at < bytes.size; at++) {
        uint8_t byte = bytes.data[at] ^ flip;
        if (byte == ENCODING_END) {
            if (out->count == 0 || out->digits[0] == 0)
                return STATUS_MALFORMED;
            out->count = (uint8_t)(out->count - (out->digits[out->count - 1] == 0));
            *used = at + 1;
            return out->digits[out->count - 1] == 0 ? STATUS_MALFORMED : STATUS_OK;
        }
        if (byte < PAIR_BASE || byte > PAIR_MAX || out->count == NUMBER_DIGITS_MAX)
            return STATUS_MALFORMED;
        out->digits[out->count++] = (uint8_t)((byte - PAIR_BASE) / 10);
        out->digits[out->count++] = (uint8_t)((byte - PAIR_BASE) % 10);
    }
    return STATUS_MALFORMED;
}

/* The size of a number that is not 0. The service keeps numbers in base 100, aligned at the point.
 * Each pair with a significant digit counts one byte: for 123.45 these are ceil(3/2) + ceil(2/2)
 * bytes. Zeros at both ends are free. */
static uint32_t size_of(int exponent, int count, bool negative)
{
    /* Positions are shifted by an even number: halving never meets a negative position. */
    const int first = exponent + 200;
    const int last = first - count + 1;
    must(last >= 0);
    return 1 + (uint32_t)(first / 2 - last / 2 + 1) + (negative ? 1 : 0);
}

uint32_t number_size(const struct number *n)
{
    number_check(n);
    return n->count == 0 ? 1 : size_of(n->exponent, n->count, n->negative);
}

/* ---- bytes, without the digits ---- */

/* An encoding of a number that is not 0: sign, exponent, pairs, end. */
struct encoded {
    const uint8_t *pairs; /* borrows */
    size_t count;         /* of pairs, > 0 */
    uint8_t flip;
    int exponent;
};

static bool encoded_open(struct slice bytes, struct encoded *out)
{
    if (bytes.size < 4 || bytes.size > 3 + PAIRS_MAX ||
        (bytes.data[0] != SIGN_POSITIVE && bytes.data[0] != SIGN_NEGATIVE))
        return false;
    out->flip = bytes.data[0] == SIGN_NEGATIVE ? 0xff : 0;
    out->exponent = (bytes.data[1] ^ out->flip) + NUMBER_EXPONENT_MIN;
    out->pairs = bytes.data + 2;
    out->count = bytes.size - 3;
    return (bytes.data[bytes.size - 1] ^ out->flip) == ENCODING_END;
}

/* Two digits; more than 99: the byte is none of a pair. */
static uint8_t encoded_pair(const struct encoded *e, size_t at)
{
    return (uint8_t)((e->pairs[at] ^ e->flip) - PAIR_BASE);
}

static bool is_zero(struct slice bytes)
{
    return bytes.size == 1 && bytes.data[0] == SIGN_ZERO;
}

bool number_measure(struct slice bytes, uint32_t *size)
{
    struct encoded e;
    *size = 1;
    if (is_zero(bytes))
        return true;
    if (!encoded_open(bytes, &e))
        return false;
    const uint8_t first = encoded_pair(&e, 0), last = encoded_pair(&e, e.count - 1);
    bool whole = first >= 10 && last != 0;
    for (size_t i = 0; i < e.count; i++)
        whole &= encoded_pair(&e, i) <= 99;
    if (whole)
        *size = size_of(e.exponent, 2 * (int)e.count - (last % 10 == 0), e.flip != 0);
    return whole;
}

bool number_read_i64(struct slice bytes, int64_t *out)
{
    struct encoded e;
    *out = 0;
    if (is_zero(bytes))
        return true;
    if (!encoded_open(bytes, &e) || e.exponent > 18 || 2 * (int)e.count > e.exponent + 2)
        return false;
    const size_t end = e.count - 1;
    uint64_t whole = 0; /* below 10^19, as the exponent says: it cannot overflow */
    for (size_t i = 0; i < end; i++) {
        const uint8_t pair = encoded_pair(&e, i);
        if (pair > 99 || (i == 0 && pair < 10))
            return false;
        whole = whole * 100 + pair;
    }
    const uint8_t last = encoded_pair(&e, end);
    if (last > 99 || last == 0 || (end == 0 && last < 10))
        return false;
    const bool odd = last % 10 == 0; /* the last pair has one digit */
    int zeros = e.exponent + 1 - 2 * (int)e.count + odd;
    if (zeros < 0)
        return false;
    whole = odd ? whole * 10 + last / 10 : whole * 100 + last;
    for (; zeros > 0; zeros--)
        whole *= 10;
    if (whole > (uint64_t)INT64_MAX + (e.flip != 0))
        return false;
    *out = e.flip != 0 ? (int64_t)(0 - whole) : (int64_t)whole;
    return true;
}
