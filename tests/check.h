/* check.h - cmocka with what it needs before it, and what most of our tests share. */
#pragma once

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

/* Where seeds begin: SEED or FIRST_SEED, or what is usual; printed, so that it can be replayed. */
static inline uint64_t check_first_seed(uint64_t usual)
{
    const char *one = getenv("SEED"), *first = getenv("FIRST_SEED");
    const char *text = one != NULL ? one : first;
    uint64_t seed = text == NULL ? usual : strtoull(text, NULL, 10);
    printf("SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

/* Runs a property under `runs` seeds, each printed before it is used, from 1 on: what passed passes
 * again. FIRST_SEED=n begins at n, SEEDS=n runs n of them, SEED=n replays one. */
static inline void check_seeds(uint64_t runs, void (*property)(struct prng *p))
{
    const char *one = getenv("SEED"), *first = getenv("FIRST_SEED"), *many = getenv("SEEDS");
    const char *text = one != NULL ? one : first;
    uint64_t begin = text == NULL ? 1 : strtoull(text, NULL, 10);
    if (one != NULL)
        runs = 1;
    else if (many != NULL)
        runs = strtoull(many, NULL, 10);
    assert_true(runs > 0);
    for (uint64_t seed = begin; seed < begin + runs; seed++) {
        printf("SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
        struct prng p = prng_seeded(seed);
        property(&p);
    }
}
