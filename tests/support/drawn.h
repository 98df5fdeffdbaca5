/* drawn.h - numbers and texts that properties draw. Ends of bounds, and what formats escape, come
 * more often than what lies between. */
#pragma once

#include "base/prng.h"
#include "base/slice.h"

/* From least to most; one of the ends, or a neighbour of one, most of the time. */
int64_t drawn_number(struct prng *p, int64_t min, int64_t max);

/* Any number; ends of signed and unsigned numbers most of the time. */
uint64_t drawn_bits(struct prng *p);

enum drawn_alphabet {
    DRAWN_LETTERS,
    DRAWN_TEXT,  /* UTF-8 with all that formats escape */
    DRAWN_MIXED, /* the same, and bytes between that are no UTF-8; no byte is 0 */
    DRAWN_BYTES, /* anything */
    DRAWN_ALPHABETS
};

/* `size` bytes, or up to three fewer: characters stay whole. Lends from `out`. */
struct slice drawn_text(struct prng *p, enum drawn_alphabet a, size_t size, uint8_t *out);
