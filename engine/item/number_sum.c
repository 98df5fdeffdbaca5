/* number_sum.c - exact sums and differences of numbers.
 *
 * A sum is made digit by digit in a row of decimal places. The row has a place for every digit that
 * a number may have, and one for the carry. So the sum in the row is exact. Only the result is
 * checked against the limits of numbers. */
#include "base/must.h"
#include "engine/item/number.h"

enum {
    /* The exponents of the last digit that a number may have, and of a carry. */
    PLACE_MIN = NUMBER_EXPONENT_MIN - NUMBER_DIGITS_MAX + 1,
    PLACE_MAX = NUMBER_EXPONENT_MAX + 1,
    PLACES = PLACE_MAX - PLACE_MIN + 1,
};

/* Place i has the digit of 10^(PLACE_MIN + i). Places outside [low, high] are 0. */
struct sum_row {
    int8_t places[PLACES];
    int low;
    int high;
};

static int sum_place(const struct number *n, int digit)
{
    return n->exponent - digit - PLACE_MIN;
}

/* Compares magnitudes: < 0, 0 or > 0. */
static int sum_compare(const struct number *a, const struct number *b)
{
    if (a->count == 0 || b->count == 0)
        return (a->count != 0) - (b->count != 0);
    if (a->exponent != b->exponent)
        return a->exponent - b->exponent;
    const int common = MIN(a->count, b->count);
    const int order = memcmp(a->digits, b->digits, (size_t)common);
    return order != 0 ? order : a->count - b->count;
}

/* Makes the row |big| + sign * |small|. Neither is zero, and |big| >= |small|. */
static void sum_make(struct sum_row *row, const struct number *big, const struct number *small,
                     int sign)
{
    const int ends[] = {sum_place(big, big->count - 1), sum_place(small, small->count - 1)};
    row->low = MIN(ends[0], ends[1]);
    row->high = sum_place(big, 0) + 1;
    memset(row->places + row->low, 0, (size_t)(row->high - row->low + 1));
    for (int i = 0; i < big->count; i++)
        row->places[sum_place(big, i)] = (int8_t)big->digits[i];
    for (int i = 0; i < small->count; i++)
        row->places[sum_place(small, i)] += (int8_t)(sign * small->digits[i]);
    int carry = 0;
    for (int i = row->low; i <= row->high; i++) {
        const int digit = row->places[i] + carry;
        carry = digit > 9 ? 1 : digit < 0 ? -1 : 0;
        row->places[i] = (int8_t)(digit - 10 * carry);
    }
    must(carry == 0);
}

static enum number_error sum_finish(struct sum_row *row, bool negative, struct number *out)
{
    while (row->high >= row->low && row->places[row->high] == 0)
        row->high--;
    *out = (struct number){0};
    if (row->high < row->low)
        return NUMBER_OK;
    while (row->places[row->low] == 0)
        row->low++;
    const int exponent = row->high + PLACE_MIN;
    if (exponent > NUMBER_EXPONENT_MAX)
        return NUMBER_OVERFLOW;
    if (exponent < NUMBER_EXPONENT_MIN)
        return NUMBER_UNDERFLOW;
    if (row->high - row->low >= NUMBER_DIGITS_MAX)
        return NUMBER_TOO_MANY_DIGITS;
    out->negative = negative;
    out->exponent = (int16_t)exponent;
    for (int i = row->high; i >= row->low; i--)
        out->digits[out->count++] = (uint8_t)row->places[i];
    return NUMBER_OK;
}

enum number_error number_add(const struct number *a, const struct number *b, struct number *out)
{
    struct sum_row row;
    const bool swap = sum_compare(a, b) < 0;
    const struct number *big = swap ? b : a, *small = swap ? a : b;
    if (small->count == 0) {
        *out = *big;
        return NUMBER_OK;
    }
    const bool negative = big->negative;
    sum_make(&row, big, small, a->negative == b->negative ? 1 : -1);
    return sum_finish(&row, negative, out);
}

enum number_error number_subtract(const struct number *a, const struct number *b,
                                  struct number *out)
{
    struct number minus = *b;
    minus.negative = b->count != 0 && !b->negative;
    return number_add(a, &minus, out);
}
