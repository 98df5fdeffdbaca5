/* number_test.c - bytes that are no number. Texts and sums: number_cases_test.c. */
#include "engine/item/number.h"
#include "tests/check.h"

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
