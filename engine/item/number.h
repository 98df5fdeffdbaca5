/* number.h - DynamoDB numbers: up to 38 significant digits, magnitude 1E-130 to 9.99...E+125.
 *
 * The byte order of encodings is the order of the numbers. An encoding tells where it ends, and can
 * stand inside a storage key. Equal numbers have the same encoding: 1, 1.0 and 10E-1 do.
 * Source: DynamoDB developer guide, "Supported data types and naming rules", Number. */
#pragma once

#include "base/slice.h"
#include "base/status.h"

enum {
    NUMBER_DIGITS_MAX = 38,
    NUMBER_EXPONENT_MIN = -130, /* of the first digit */
    NUMBER_EXPONENT_MAX = 125,
    NUMBER_ENCODED_MAX = 24, /* bytes */
    NUMBER_TEXT_MAX = 176,   /* bytes with the final NUL */
};

/* value = (negative ? -1 : 1) * d0.d1d2... * 10^exponent. The first and the last digit are not 0.
 * Zero has no digits and exponent 0. */
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

/* The whole number. */
struct number number_from_i64(int64_t value);
/* False: the number is not whole, or outside of int64_t. */
bool number_to_i64(const struct number *n, int64_t *out);

/* Writes plain digits without an exponent, as the service does: 100 for 1E+2, 0.001 for 1E-3.
 * Returns the length without the final NUL. */
size_t number_format(const struct number *n, char out[NUMBER_TEXT_MAX]);

/* Returns the number of bytes written. */
size_t number_encode(const struct number *n, uint8_t out[NUMBER_ENCODED_MAX]);

/* Decodes the number at the start of `bytes`; `used` gets the size of the encoding.
 * STATUS_MALFORMED: number_encode does not write these bytes. */
enum status number_decode(struct slice bytes, struct number *out, size_t *used);

/* Without the digits in between, for items that are read often. `bytes` is the whole encoding of
 * one number; false if number_encode does not write it. */

/* number_to_i64 of the number. */
bool number_read_i64(struct slice bytes, int64_t *out);
/* number_size of the number. */
bool number_measure(struct slice bytes, uint32_t *size);

/* The exact sum or difference. TOO_MANY_DIGITS, OVERFLOW, UNDERFLOW: no number has this value. */
enum number_error number_add(const struct number *a, const struct number *b, struct number *out);
enum number_error number_subtract(const struct number *a, const struct number *b,
                                  struct number *out);

/* The bytes that the service counts for the number in an item's size. */
uint32_t number_size(const struct number *n);
