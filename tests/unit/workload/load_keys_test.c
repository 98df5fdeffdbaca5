/* load_keys_test.c - which keys a workload asks for. */
#include "tests/check.h"

#include <math.h>
#include <stdlib.h>

#include "base/instant.h"
#include "workload/load_keys.h"

static struct load_keys keys_of(const char *text, uint64_t count)
{
    struct load_keys k = {.count = count};
    assert_null(load_keys_parse(&k, text));
    assert_null(load_keys_check(&k));
    load_keys_start(&k);
    return k;
}

/* Pearson's test: the counts of `classes` classes against what is expected, small classes taken
 * together. Five standard deviations of chi-square: an honest run fails once in a million. */
static void assert_expected(const int64_t *counts, const double *expected, int classes)
{
    double sum = 0, rest_expected = 0, rest_count = 0;
    int degrees = -1;
    for (int i = 0; i < classes; i++) {
        rest_expected += expected[i];
        rest_count += (double)counts[i];
        if (rest_expected < 10)
            continue;
        sum += (rest_count - rest_expected) * (rest_count - rest_expected) / rest_expected;
        rest_expected = rest_count = 0;
        degrees++;
    }
    assert_true(degrees > 0);
    if (!(sum < degrees + 5 * sqrt(2.0 * degrees) + 10))
        fail_msg("chi-square %g with %d degrees of freedom", sum, degrees);
}

TEST(zipf_keys_have_the_frequencies_of_their_formula)
{
    enum {
        KEYS = 3000,
        DRAWS = 3000000 /* so many that even runs in place of their ranks would show */
    };
    static const double thetas[] = {0.05, 0.5, 0.99, 1.0, 1.2, 2.0, 10};
    static int64_t counts[KEYS];
    static double expected[KEYS];
    struct prng random = prng_seeded(5);
    for (size_t t = 0; t < COUNT_OF(thetas); t++) {
        char text[32];
        double whole = 0;
        snprintf(text, sizeof text, "zipf:%g", thetas[t]);
        struct load_keys k = keys_of(text, KEYS);
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < DRAWS; i++)
            counts[load_keys_next(&k, &random, 0)]++;
        for (int i = 0; i < KEYS; i++)
            whole += expected[i] = pow(i + 1, -thetas[t]);
        for (int i = 0; i < KEYS; i++)
            expected[i] *= DRAWS / whole;
        assert_expected(counts, expected, KEYS);
        load_keys_stop(&k);
    }
}

TEST(zipf_reaches_every_rank_of_any_count_and_nothing_beyond)
{
    struct prng random = prng_seeded(8);
    for (uint64_t count = 1; count < 200; count++) {
        bool seen[200] = {0};
        struct load_keys k = keys_of("zipf:0.01", count);
        for (uint64_t i = 0, found = 0; found < count; i++) {
            uint64_t key = load_keys_next(&k, &random, 0);
            assert_true(key < count && i < 100000);
            found += !seen[key];
            seen[key] = true;
        }
        load_keys_stop(&k);
    }
    struct load_keys k = keys_of("zipf:0.5", UINT64_C(1000000000000));
    uint64_t upper_half = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t key = load_keys_next(&k, &random, 0);
        assert_true(key < k.count);
        upper_half += key >= k.count / 2;
    }
    /* The integral of x^-0.5: 1 - sqrt(1/2) of the keys lie in the upper half. */
    assert_in_range(upper_half, 29289 - 720, 29289 + 720);
    load_keys_stop(&k);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

TEST(scrambled_zipf_scatters_the_ranks_and_keeps_their_frequencies)
{
    enum {
        KEYS = 1000,
        DRAWS = 400000
    };
    struct load_keys k = keys_of("scrambled-zipf:0.99", KEYS);
    struct prng random = prng_seeded(5), same = prng_seeded(5);
    uint64_t key_of_rank[KEYS];
    bool taken[KEYS] = {0};
    int64_t counts[KEYS] = {0};
    double expected[KEYS], whole = 0;
    memset(key_of_rank, 0xFF, sizeof key_of_rank);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t key = load_keys_next(&k, &random, 0), rank = zipf_next(&k.zipf, &same);
        assert_true(key < KEYS);
        if (key_of_rank[rank] == UINT64_MAX) {
            assert_false(taken[key]);
            taken[key] = true;
            key_of_rank[rank] = key;
        }
        assert_int_equal(key_of_rank[rank], key);
        counts[key]++;
    }
    /* The ten hottest keys do not lie together. */
    uint64_t min = KEYS, max = 0;
    for (int rank = 0; rank < 10; rank++) {
        min = key_of_rank[rank] < min ? key_of_rank[rank] : min;
        max = key_of_rank[rank] > max ? key_of_rank[rank] : max;
    }
    assert_true(max - min > KEYS / 2);
    for (int i = 0; i < KEYS; i++)
        whole += expected[i] = pow(i + 1, -0.99);
    for (int i = 0; i < KEYS; i++)
        expected[i] *= DRAWS / whole;
    qsort(counts, KEYS, sizeof counts[0], by_size);
    for (int i = 0; i < 10; i++)
        assert_true(fabs((double)counts[i] - expected[i]) < 6 * sqrt(expected[i]));
    load_keys_stop(&k);
}

TEST(latest_keys_follow_what_was_inserted)
{
    struct load_keys k = keys_of("latest:0.99", 100);
    struct prng random = prng_seeded(2);
    int64_t newest = 0, oldest = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t key = load_keys_next(&k, &random, 0);
        assert_true(key < 100);
        newest += key == 99;
        oldest += key == 0;
    }
    assert_in_range(newest, 1800, 2050); /* 1 / 5.29: the sum of the hundred weights */
    assert_true(oldest < 60);
    assert_int_equal(load_keys_insert(&k), 100);
    assert_int_equal(load_keys_insert(&k), 101);
    newest = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t key = load_keys_next(&k, &random, 0);
        assert_true(key >= 2 && key < 102);
        newest += key == 101;
    }
    assert_in_range(newest, 1800, 2050);
    load_keys_stop(&k);
}

TEST(a_hotspot_gets_its_fraction_and_the_other_keys_the_rest)
{
    struct load_keys k = keys_of("hotspot:0.9:10", 1000);
    struct prng random = prng_seeded(6);
    int hot = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t key = load_keys_next(&k, &random, 0);
        assert_true(key < 1000);
        hot += key < 10;
    }
    assert_in_range(hot, 89500, 90500);
}

TEST(a_shifting_hotspot_moves_on_time_and_visits_every_range)
{
    struct load_keys k = keys_of("shifting:0.6:10", 6400);
    struct prng random = prng_seeded(7);
    bool visited[64] = {0};
    uint64_t before = UINT64_MAX;
    for (int64_t turn = 0; turn < 64; turn++) {
        uint64_t first, end, first_late, end_late;
        int hot = 0;
        load_keys_hot_range(&k, turn * 10 * NS_PER_S, &first, &end);
        load_keys_hot_range(&k, (turn + 1) * 10 * NS_PER_S - 1, &first_late, &end_late);
        assert_true(first == first_late && end == end_late && end - first == 100);
        assert_int_not_equal(first, before);
        before = first;
        assert_false(visited[first / 100]);
        visited[first / 100] = true;
        for (int i = 0; i < 10000; i++) {
            uint64_t key = load_keys_next(&k, &random, turn * 10 * NS_PER_S + 5);
            assert_true(key < 6400);
            hot += key >= first && key < end;
        }
        /* 0.6 and a 64th of the rest: 6062. */
        assert_in_range(hot, 6062 - 250, 6062 + 250);
    }
    struct load_keys uneven = keys_of("shifting:1:0.5:7", 10);
    uint64_t whole = 0;
    for (int64_t turn = 0; turn < 7; turn++) {
        uint64_t first, end;
        load_keys_hot_range(&uneven, turn * NS_PER_S / 2, &first, &end);
        assert_true(first < end && end <= 10);
        whole += end - first;
    }
    assert_int_equal(whole, 10);
}

TEST(sequential_keys_come_in_order_and_begin_again)
{
    struct load_keys k = keys_of("sequential", 3), append = keys_of("append:log", 3);
    struct prng random = prng_seeded(1);
    for (uint64_t i = 0; i < 7; i++) {
        assert_int_equal(load_keys_next(&k, &random, 0), i % 3);
        assert_int_equal(load_keys_next(&append, &random, 0), i % 3);
    }
    assert_true(load_keys_share_one(&append) && !load_keys_share_one(&k));
}

TEST(malformed_distributions_are_refused)
{
    static const char *const wrong[] = {
        "",          "zipf",           "zipf:",          "zipf:0",          "zipf:x",
        "zipf:nan",  "zipf:1:2",       "zipfel:1",       "hotspot:0.5",     "hotspot:2:1",
        "single",    "hotspot:0.5:0",  "single:",        "single:a\"b",     "uniform:1",
        "latest:11", "hotspot:0.5:-1", "shifting:0.5",   "shifting:1.1:10", "shifting:0.5:0",
        "latest",    "hotspot:0.5:1:", "shifting:1:1:0", "shifting:1:1:1.5"};
    struct load_keys k = {.count = 10};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (load_keys_parse(&k, wrong[i]) == NULL)
            fail_msg("`%s` was taken", wrong[i]);
    assert_null(load_keys_parse(&k, "hotspot:0.5:11"));
    assert_non_null(load_keys_check(&k));
    assert_null(load_keys_parse(&k, "shifting:0.5:1:11"));
    assert_non_null(load_keys_check(&k));
}

/* Whether a character is signed differs by the processor. */
TEST(a_key_may_have_any_characters_but_those_that_json_escapes)
{
    static const char *const wrong[] = {"single:a\x1f", "single:\n",          "single:a\x7f",
                                        "single:a\\",   "single:\xff",        "single:\xc3",
                                        "append:\xe4",  "single:\xed\xa0\x80"};
    struct load_keys k = {.count = 10};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (load_keys_parse(&k, wrong[i]) == NULL)
            fail_msg("`%s` was taken", wrong[i]);
    assert_null(load_keys_parse(&k, "single:schl\xc3\xbcssel \xf0\x9f\x98\x80"));
    assert_string_equal(k.single, "schl\xc3\xbcssel \xf0\x9f\x98\x80");
    assert_null(load_keys_parse(&k, "append:\xc2\x80"));
}
