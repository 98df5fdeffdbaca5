#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/prng.h"

static void slices_order_as_bytes_and_shorter_first(void **state)
{
    (void)state;
    assert_true(slice_compare(slice_of("a"), slice_of("b")) < 0);
    assert_true(slice_compare(slice_of("a"), slice_of("aa")) < 0);
    assert_int_equal(slice_compare(slice_of(""), slice_of("")), 0);
}

static void utf8_refuses_overlong_forms_surrogates_and_cut_sequences(void **state)
{
    (void)state;
    assert_true(slice_is_utf8(slice_of("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8c\x8a")));
    assert_false(slice_is_utf8(slice_of("\xc0\xaf")));
    assert_false(slice_is_utf8(slice_of("\xed\xa0\x80")));
    assert_false(slice_is_utf8(slice_of("\xe2\x82")));
    assert_false(slice_is_utf8(slice_of("\xf5\x80\x80\x80")));
}

static void a_reader_that_ran_short_stays_failed(void **state)
{
    (void)state;
    struct reader r = {slice_of("\x05\x00\x00\x00"
                                "abc"),
                       false};
    struct slice s = reader_sized(&r);
    assert_true(r.failed);
    assert_int_equal(s.size, 0);
    assert_int_equal(reader_u8(&r), 0);
}

static void an_arena_hands_out_aligned_memory_and_keeps_its_first_chunk(void **state)
{
    (void)state;
    struct arena a = {0};
    void *first = arena_alloc(&a, 1);
    for (size_t size = 1; size < 100000; size *= 3)
        assert_int_equal((uintptr_t)arena_alloc(&a, size) % 16, 0);
    arena_reset(&a);
    assert_ptr_equal(arena_alloc(&a, 1), first);
    arena_deinit(&a);
}

static void the_prng_replays_from_its_seed(void **state)
{
    (void)state;
    struct prng a = prng_seeded(78), b = prng_seeded(78), c = prng_seeded(79);
    assert_true(prng_next(&a) == prng_next(&b));
    assert_true(prng_next(&a) != prng_next(&c));
    for (int i = 0; i < 1000; i++) {
        int64_t x = prng_between(&a, -3, 3);
        assert_true(x >= -3 && x <= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_order_as_bytes_and_shorter_first),
        cmocka_unit_test(utf8_refuses_overlong_forms_surrogates_and_cut_sequences),
        cmocka_unit_test(a_reader_that_ran_short_stays_failed),
        cmocka_unit_test(an_arena_hands_out_aligned_memory_and_keeps_its_first_chunk),
        cmocka_unit_test(the_prng_replays_from_its_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
