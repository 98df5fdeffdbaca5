#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/big_endian.h"
#include "base/buffer.h"
#include "base/id_map.h"
#include "base/must.h"
#include "base/prng.h"
#include "base/square_root.h"
#include "tests/check.h"

TEST(slices_order_as_bytes_and_shorter_first)
{
    assert_true(slice_compare(slice_of("a"), slice_of("b")) < 0);
    assert_true(slice_compare(slice_of("a"), slice_of("aa")) < 0);
    assert_int_equal(slice_compare(slice_of(""), slice_of("")), 0);
}

TEST(utf8_refuses_overlong_forms_surrogates_and_cut_sequences)
{
    assert_true(slice_is_utf8(slice_of("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8c\x8a")));
    assert_false(slice_is_utf8(slice_of("\xc0\xaf")));
    assert_false(slice_is_utf8(slice_of("\xed\xa0\x80")));
    assert_false(slice_is_utf8(slice_of("\xe2\x82")));
    assert_false(slice_is_utf8(slice_of("\xf5\x80\x80\x80")));
}

TEST(a_reader_that_ran_short_stays_failed)
{
    struct reader r = {slice_of("\x05\x00\x00\x00"
                                "abc"),
                       false};
    struct slice s = reader_sized(&r);
    assert_true(r.failed);
    assert_int_equal(s.size, 0);
    assert_int_equal(reader_u8(&r), 0);
}

TEST(an_arena_hands_out_aligned_memory_and_keeps_its_first_chunk)
{
    struct arena a = {0};
    void *first = arena_alloc(&a, 1);
    for (size_t size = 1; size < 100000; size *= 3)
        assert_int_equal((uintptr_t)arena_alloc(&a, size) % 16, 0);
    arena_reset(&a);
    assert_ptr_equal(arena_alloc(&a, 1), first);
    arena_deinit(&a);
}

TEST(the_prng_replays_from_its_seed)
{
    struct prng a = prng_seeded(78), b = prng_seeded(78), c = prng_seeded(79);
    assert_true(prng_next(&a) == prng_next(&b));
    assert_true(prng_next(&a) != prng_next(&c));
    for (int i = 0; i < 1000; i++) {
        int64_t x = prng_between(&a, -3, 3);
        assert_true(x >= -3 && x <= 3);
    }
}

TEST(big_endian_numbers_compare_as_their_bytes)
{
    uint8_t bytes[12];
    static const uint8_t expected[12] = {0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4};
    assert_ptr_equal(be64_put(be32_put(bytes, 0x102), 0x304), bytes + 12);
    assert_memory_equal(bytes, expected, sizeof bytes);
    assert_int_equal(be32_get(bytes), 0x102);
    assert_int_equal(be64_get(bytes + 4), 0x304);
    struct buffer b = {0};
    buffer_append_be32(&b, 0x102);
    buffer_append_be64(&b, 0x304);
    assert_memory_equal(b.data, expected, sizeof expected);
    buffer_deinit(&b);
}

TEST(a_square_root_is_the_greatest_number_whose_square_fits)
{
    struct prng random = prng_seeded(1);
    assert_int_equal(square_root(0), 0);
    assert_int_equal(square_root(3), 1);
    assert_true(square_root(~(unsigned __int128)0) == UINT64_MAX);
    for (int i = 0; i < 10000; i++) {
        uint64_t root = prng_next(&random) >> prng_below(&random, 63);
        unsigned __int128 square = (unsigned __int128)root * root;
        assert_true(square_root(square) == root);
        assert_true(square == 0 || square_root(square - 1) == root - 1);
        assert_true(square_root(square + root) == root);
    }
}

static bool is_odd(void *context, void *value)
{
    int *calls = context;
    (*calls)++;
    return *(const uint64_t *)value % 2 == 1;
}

TEST(an_id_map_loses_all_values_that_are_gone_and_no_other)
{
    static uint64_t ids[1000];
    struct id_map m = {0};
    int calls = 0;
    size_t at = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        ids[i] = i + 1;
        id_map_add(&m, i + 1, &ids[i]);
    }
    id_map_remove_if(&m, is_odd, &calls);
    assert_true(calls >= 1000);
    assert_int_equal(m.count, 500);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_true((id_map_find(&m, i) != NULL) == (i % 2 == 0));
    for (int i = 0; i < 500; i++)
        assert_non_null(id_map_next(&m, &at));
    assert_null(id_map_next(&m, &at));
    id_map_deinit(&m);
}

/* ---- checks ---- */

enum {
#ifdef WEIR_PROBES
    MUST_IN_TESTS_IS_ON = 1
#else
    MUST_IN_TESTS_IS_ON = 0
#endif
};

TEST(a_check_for_tests_is_evaluated_only_in_builds_with_probes)
{
    int evaluated = 0;
    must_in_tests(++evaluated == 1);
    assert_int_equal(evaluated, MUST_IN_TESTS_IS_ON);
}

TEST(a_check_for_tests_that_fails_ends_the_process)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        must_in_tests(child != 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, MUST_IN_TESTS_IS_ON);
}
