/* drawn.c - see drawn.h. */
#include "tests/support/drawn.h"

int64_t drawn_number(struct prng *p, int64_t min, int64_t max)
{
    switch (prng_below(p, 5)) {
    case 0:
        return min;
    case 1:
        return max;
    case 2:
        return min < max ? min + 1 : min;
    case 3:
        return min < max ? max - 1 : max;
    default:
        return (int64_t)((uint64_t)min + prng_below(p, (uint64_t)max - (uint64_t)min + 1));
    }
}

uint64_t drawn_bits(struct prng *p)
{
    static const uint64_t ends[] = {
        0, 1, (UINT64_C(1) << 53) + 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    const uint64_t which = prng_below(p, COUNT_OF(ends) + 1);
    return which < COUNT_OF(ends) ? ends[which] : prng_next(p);
}

static const char *const odd[] = {" ",
                                  "%",
                                  "\n",
                                  "\r",
                                  "\t",
                                  "\"",
                                  "\\",
                                  "\x01",
                                  "\x1b",
                                  "\x7f",
                                  "/",
                                  "#",
                                  "# ",
                                  ":",
                                  ": ",
                                  ",",
                                  ", ",
                                  "- ",
                                  "'",
                                  "{",
                                  "\xc2\x80",
                                  "\xc2\x85",
                                  "\xe2\x80\xa8",
                                  "\xef\xbb\xbf",
                                  "\xef\xbf\xbf",
                                  "\xf0\x9f\x98\x80",
                                  "%00",
                                  "|1|"};

struct slice drawn_text(struct prng *p, enum drawn_alphabet a, size_t size, uint8_t *out)
{
    size_t at = 0;
    while (at < size) {
        const char *part = odd[prng_below(p, COUNT_OF(odd))];
        const size_t part_size = strlen(part);
        if (a == DRAWN_BYTES) {
            out[at++] = (uint8_t)prng_below(p, 256);
        } else if (a == DRAWN_MIXED && prng_below(p, 4) == 0) {
            out[at++] = (uint8_t)(1 + prng_below(p, 255));
        } else if (a != DRAWN_LETTERS && prng_below(p, 3) == 0) {
            if (at + part_size > size)
                break;
            memcpy(out + at, part, part_size);
            at += part_size;
        } else {
            out[at++] = (uint8_t)('a' + prng_below(p, 26));
        }
    }
    return slice_make(out, at);
}
