/* How much a store can still take (engine/store/space.h). */
#include "tests/check.h"

#include "engine/store/space.h"

enum {
    MIB = 1 << 20,
    ITEM = 1000,
    LARGE = 25 * SPACE_PAGE - 100,
};

/* SPACE-1, SPACE-2 */
TEST(the_last_tenth_is_for_what_does_not_grow)
{
    (void)state;
    const struct space below = {.total_bytes = 100 * MIB, .file_bytes = 80 * MIB};
    const struct space above = {.total_bytes = 100 * MIB, .file_bytes = 90 * MIB};
    const struct space at_its_end = {.total_bytes = 100 * MIB, .file_bytes = 100 * MIB};
    assert_int_equal(space_for_growth(&below, 0, ITEM, ITEM), SPACE_THERE);
    assert_int_equal(space_for_growth(&above, 0, ITEM, ITEM), SPACE_FULL);
    assert_int_equal(space_for_change(&above, 0, ITEM), SPACE_THERE);
    assert_int_equal(space_for_change(&at_its_end, 0, ITEM), SPACE_FULL);
    assert_int_equal(space_for_change(&at_its_end, ITEM, ITEM), SPACE_WAITS);
}

TEST(a_small_total_has_a_larger_reserve)
{
    (void)state;
    assert_int_equal(space_growth_max_bytes(&(struct space){.total_bytes = 100 * MIB}), 90 * MIB);
    assert_int_equal(space_growth_max_bytes(&(struct space){.total_bytes = 10 * MIB}), 8 * MIB);
    assert_int_equal(space_growth_max_bytes(&(struct space){.total_bytes = 4 * MIB}), 3 * MIB);
}

TEST(what_is_not_measured_refuses_nothing)
{
    (void)state;
    const struct space unknown = {0};
    assert_int_equal(space_for_growth(&unknown, UINT64_MAX / 2, ITEM, ITEM), SPACE_THERE);
    assert_int_equal(space_for_change(&unknown, UINT64_MAX / 2, ITEM), SPACE_THERE);
    assert_true(space_checkpoint_cost(&unknown) == UINT64_MAX);
}

/* A checkpoint that is not written costs space, and may show that there is more. */
TEST(what_no_checkpoint_has_written_takes_space)
{
    (void)state;
    const struct space s = {.total_bytes = 100 * MIB, .file_bytes = 80 * MIB};
    assert_int_equal(space_for_growth(&s, 9 * MIB, ITEM, ITEM), SPACE_THERE);
    assert_int_equal(space_for_growth(&s, 10 * MIB, ITEM, ITEM), SPACE_WAITS);
    assert_int_equal(space_for_change(&s, 10 * MIB, ITEM), SPACE_WAITS);
    assert_true(space_checkpoint_cost(&s) > 2 * MIB && space_checkpoint_cost(&s) < 3 * MIB);
    assert_int_equal(space_cost(&s, 10, 100), 10 * SPACE_PAGE + 100);
    assert_int_equal(space_cost(&s, 1 << 30, 100), 80 * MIB + 200); /* each page at most once */
}

TEST(free_pages_count_for_large_values_as_far_as_they_lie_together)
{
    struct space s = {.total_bytes = 100 * MIB, .file_bytes = 95 * MIB};
    (void)state;
    assert_true(space_is_scarce(&s));
    for (int i = 0; i < 1000; i++)
        space_add_run(&s, 24);
    assert_int_equal(space_used_bytes(&s), 95 * MIB - 24000 * SPACE_PAGE);
    assert_int_equal(space_for_growth(&s, 0, ITEM, ITEM), SPACE_THERE);
    assert_int_equal(space_for_growth(&s, 0, LARGE, LARGE), SPACE_FULL);
    assert_int_equal(space_for_growth(&s, 0, LARGE, ITEM), SPACE_THERE); /* many small values */
    for (int i = 0; i < 1000; i++)
        space_add_run(&s, 25);
    assert_int_equal(space_for_growth(&s, 0, LARGE, LARGE), SPACE_THERE);
}

TEST(a_long_run_takes_many_large_values)
{
    struct space s = {.total_bytes = 100 * MIB, .file_bytes = 95 * MIB};
    (void)state;
    space_add_run(&s, 10 * MIB / SPACE_PAGE);
    assert_int_equal(space_for_growth(&s, 0, LARGE, LARGE), SPACE_THERE);
    assert_int_equal(space_for_growth(&s, 5 * MIB, LARGE, LARGE), SPACE_WAITS);
}

TEST(free_pages_are_counted_only_near_the_end)
{
    (void)state;
    assert_false(
        space_is_scarce(&(struct space){.total_bytes = 100 * MIB, .file_bytes = 50 * MIB}));
    assert_true(
        space_is_scarce(&(struct space){.total_bytes = 100 * MIB, .file_bytes = 50 * MIB + 1}));
}
