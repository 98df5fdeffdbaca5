/* number.h - DynamoDB numbers: up to 38 significant digits, magnitude 1E-130 .. 9.99..E+125.
 *
 * The encoding orders as the numbers do, byte by byte, and is self-delimiting, so that it can stand
 * inside a storage key. Equal numbers encode equally: 1, 1.0 and 10E-1 are the same bytes.
 * Source: DynamoDB developer guide, "Supported data types and naming rules", Number. */
#ifndef WEIR_ENGINE_ITEM_NUMBER_H
#define WEIR_ENGINE_ITEM_NUMBER_H

#include "base/slice.h"
#include "base/status.h"

enum {
    NUMBER_DIGITS_MAX = 38,
    NUMBER_EXPONENT_MIN = -130, /* of the first digit */
    NUMBER_EXPONENT_MAX = 125,
    NUMBER_ENCODED_MAX = 24, /* bytes */
    NUMBER_TEXT_MAX = 176,   /* bytes with the final NUL */
};

/* value = (negative ? -1 : 1) * d0.d1d2.. * 10^exponent; zero has no digits and exponent 0.
 * Neither first nor last digit is 0. */
struct number {
    bool negative;
    int16_t exponent;
    uint8_t count;
    uint8_t digits[NUMBER_DIGITS_MAX];
};

enum number_error {
    NUMBER_OK = 0,
    NUMBER_NOT_NUMERIC,
    NUMBER_TOO_MANY_DIGITS,
    NUMBER_OVERFLOW,
    NUMBER_UNDERFLOW,
};

enum number_error number_parse(struct slice text, struct number *out);

/* Plain digits at every magnitude, as the service answers: 1E+2 reads 100, 1E-3 reads 0.001.
 * Returns the length; NUL ended. */
size_t number_format(const struct number *n, char out[NUMBER_TEXT_MAX]);

/* Returns the bytes written, at most NUMBER_ENCODED_MAX. */
size_t number_encode(const struct number *n, uint8_t out[NUMBER_ENCODED_MAX]);

/* Decodes the number at the start of `bytes`; `used` gets its length.
 * STATUS_MALFORMED for anything number_encode does not write. */
enum status number_decode(struct slice bytes, struct number *out, size_t *used);

/* Bytes the number counts in an item's size. */
uint32_t number_size(const struct number *n);

#endif
