/* limit_text.h - a limit of the rate limiter as it is written on a command line.
 *
 *     NAME=CAPACITY/PERIOD[:REFILL]      rpm=100/60s   tpm=10000/1m:5000
 *
 * CAPACITYand REFILL are numbers of tokens with at most three decimals. PERIOD is a number with
 * ms, s, m, h or d. Without REFILL the whole capacity comes in each period. Numbers are exact: no
 * floats.
 * Not here: limits of one level that a server refuses together, such as two with one name. */
#pragma once

#include "base/buffer.h"

enum {
    LIMIT_TEXT_DECIMALS = 3
};

struct limit_text {
    struct slice name;        /* borrows from the text */
    int64_t capacity, refill; /* thousandths of tokens */
    int64_t period_ms;
};

/* False: the text has another form, or a number above INT64_MAX / 1000. */
bool limit_text_read(const char *text, struct limit_text *out);

/* NULL: a server takes such a limit. Otherwise what is allowed. */
const char *limit_text_check(const struct limit_text *limit);

/* A number with at most three decimals, in thousandths. False: not such a number. */
bool limit_text_thousandths(struct slice text, int64_t *out);

/* The number without zeros at its end: 100, 0.5, -2.125. */
void limit_text_write(struct buffer *out, int64_t thousandths);
