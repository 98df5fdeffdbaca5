/* check.h - cmocka with what it needs before it, tests that register themselves, and what most
 * tests share.
 *
 *     TEST(a_full_bucket_gives_no_token_twice)
 *     {
 *         assert_int_equal(..);
 *     }
 *
 * Promises: a test runs under the name FILE/TEST, in the order of the file, in a program with the
 * main function of tests/main.c. FIXTURE(set_up, tear_down) names what runs before and after each
 * test of a file; TEST_WITH does so for one test. FILE_FIXTURE runs once around all tests of a
 * file. `state` is what a fixture left. A fixture without one of the two functions says NULL. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/prng.h"
#include "base/slice.h"

/* Owned by main.c: a list of all tests of a program. */
struct check_file {
    const char *path;
    CMFixtureFunction set_up, tear_down; /* of each test that has none of its own */
    CMFixtureFunction set_up_once, tear_down_once;
    struct check_test *first, **last; /* tests in the order of the file */
    struct check_file *next;
};

struct check_test {
    const char *name;
    CMUnitTestFunction run;
    bool own_fixture;
    CMFixtureFunction set_up, tear_down;
    struct check_test *next;
};

void check_register(struct check_file *file, struct check_test *test);

/* Whether case files are to be written anew: --rewrite. */
bool check_rewrites(void);

/* Prints the command that replays the test of this file with the seed. Call it before the seed is
 * used. */
void check_seed_used(uint64_t seed);

static struct check_file check_file __attribute__((unused)) = {.path = __BASE_FILE__};

#define CHECK_TEST(test, ...)                                            \
    static void test(void **state);                                      \
    __attribute__((constructor)) static void check_register_##test(void) \
    {                                                                    \
        static struct check_test entry;                                  \
        entry = (struct check_test){#test, test, __VA_ARGS__, NULL};     \
        check_register(&check_file, &entry);                             \
    }                                                                    \
    static void test(__attribute__((unused)) void **state)

#define TEST(name)                         CHECK_TEST(name, false, NULL, NULL)
#define TEST_WITH(name, set_up, tear_down) CHECK_TEST(name, true, set_up, tear_down)

#define FIXTURE(set_up_function, tear_down_function)             \
    __attribute__((constructor)) static void check_fixture(void) \
    {                                                            \
        check_file.set_up = set_up_function;                     \
        check_file.tear_down = tear_down_function;               \
    }

#define FILE_FIXTURE(set_up_function, tear_down_function)             \
    __attribute__((constructor)) static void check_file_fixture(void) \
    {                                                                 \
        check_file.set_up_once = set_up_function;                     \
        check_file.tear_down_once = tear_down_function;               \
    }

/* The slice and a text hold the same bytes; shows both if not. */
#define assert_slice_is(actual, text)                               \
    do {                                                            \
        struct slice checked_slice = (actual);                      \
        if (!slice_is(checked_slice, text))                         \
            fail_msg("'%.*s' is not '%s'", (int)checked_slice.size, \
                     (const char *)checked_slice.data, text);       \
    } while (0)

/* A whole number of the environment; `usual` if there is none. Anything else fails the test. */
static inline uint64_t check_number(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    if (text == NULL)
        return usual;
    char *end;
    errno = 0;
    const uint64_t number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        fail_msg("%s=%s is not a whole number below 2^64", name, text);
    return number;
}

/* Where seeds begin: SEED or FIRST_SEED, or what is usual; printed, so that it can be replayed. */
static inline uint64_t check_first_seed(uint64_t usual)
{
    const uint64_t seed = check_number("SEED", check_number("FIRST_SEED", usual));
    check_seed_used(seed);
    return seed;
}

/* Runs a property under `runs` seeds, each printed before it is used, from 1 on: what passed passes
 * again. FIRST_SEED=n begins at n, SEEDS=n runs n of them, SEED=n replays one. */
static inline void check_seeds(uint64_t runs, void (*property)(struct prng *p))
{
    const uint64_t begin = check_number("SEED", check_number("FIRST_SEED", 1));
    runs = getenv("SEED") != NULL ? 1 : check_number("SEEDS", runs);
    assert_true(runs > 0);
    for (uint64_t i = 0; i < runs; i++) {
        const uint64_t seed = begin + i;
        check_seed_used(seed);
        struct prng p = prng_seeded(seed);
        property(&p);
    }
}
