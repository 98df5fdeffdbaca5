/* check.h - cmocka with what it needs before it, and what most of our tests share. */
#ifndef WEIR_TESTS_CHECK_H
#define WEIR_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/prng.h"
#include "base/slice.h"

/* The slice and a text hold the same bytes; shows both if not. */
#define assert_slice_is(actual, text)                               \
    do {                                                            \
        struct slice checked_slice = (actual);                      \
        if (!slice_is(checked_slice, text))                         \
            fail_msg("'%.*s' is not '%s'", (int)checked_slice.size, \
                     (const char *)checked_slice.data, text);       \
    } while (0)

/* A property's seed: SEED=n replays one, otherwise it is fixed, so that a run that passed passes
 * again; the long run gives many. */
static inline uint64_t check_seed(const char *test)
{
    const char *text = getenv("SEED");
    uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    printf("%s: SEED=%llu\n", test, (unsigned long long)seed);
    return seed;
}

#endif
