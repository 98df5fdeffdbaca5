/* How much a store can still take (engine/store/space.h). */
#include "tests/check.h"

#include "engine/store/space.h"

enum {
    MIB = 1 << 20,
    ITEM = 1000,
};

/* SPACE-1, SPACE-2 */
TEST(the_last_tenth_is_for_what_does_not_grow)
{
    (void)state;
    const struct space below = {.total_bytes = 100 * MIB, .file_bytes = 80 * MIB};
    const struct space above = {.total_bytes = 100 * MIB, .file_bytes = 90 * MIB};
    const struct space at_its_end = {.total_bytes = 100 * MIB, .file_bytes = 100 * MIB};
    assert_int_equal(space_for_growth(&below, 0, ITEM), SPACE_THERE);
    assert_int_equal(space_for_growth(&above, 0, ITEM), SPACE_FULL);
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
    assert_int_equal(space_for_growth(&unknown, UINT64_MAX / 2, ITEM), SPACE_THERE);
    assert_int_equal(space_for_change(&unknown, UINT64_MAX / 2, ITEM), SPACE_THERE);
    assert_true(space_checkpoint_cost(&unknown) == UINT64_MAX);
}

/* A checkpoint that is not written costs space, and may show that there is more. */
TEST(what_no_checkpoint_has_written_takes_space)
{
    (void)state;
    const struct space s = {.total_bytes = 100 * MIB, .file_bytes = 80 * MIB};
    assert_int_equal(space_for_growth(&s, 9 * MIB, ITEM), SPACE_THERE);
    assert_int_equal(space_for_growth(&s, 10 * MIB, ITEM), SPACE_WAITS);
    assert_int_equal(space_for_change(&s, 10 * MIB, ITEM), SPACE_WAITS);
    assert_true(space_checkpoint_cost(&s) > 2 * MIB && space_checkpoint_cost(&s) < 3 * MIB);
    assert_int_equal(space_cost(&s, 10, 320), 10 * SPACE_PAGE + 330);
    assert_int_equal(space_cost(&s, 1 << 30, 320), 80 * MIB + 650); /* each page at most once */
}

/* Clients that write without a pause would take each byte that a checkpoint frees. */
TEST(a_part_of_each_checkpoint_stays_for_deletions)
{
    (void)state;
    const struct space s = {.total_bytes = 100 * MIB, .file_bytes = 80 * MIB};
    assert_int_equal(space_for_write(&s, 0, 9 * MIB), SPACE_THERE); /* nothing else can be waited
                                                                       for */
    assert_int_equal(space_for_write(&s, 7 * MIB, ITEM), SPACE_THERE);
    assert_int_equal(space_for_write(&s, 8 * MIB, ITEM), SPACE_WAITS);
    assert_int_equal(space_for_change(&s, 8 * MIB, ITEM), SPACE_THERE);
    const struct space apart = {.total_bytes = 100 * MIB,
                                .file_bytes = 100 * MIB,
                                .free_bytes = 80 * MIB,
                                .run_bytes = SPACE_PAGE};
    assert_int_equal(space_for_write(&apart, MIB, ITEM), SPACE_THERE);
}

TEST(free_pages_count_wherever_they_lie)
{
    const struct space s = {.total_bytes = 100 * MIB,
                            .file_bytes = 100 * MIB,
                            .free_bytes = 30 * MIB,
                            .run_bytes = SPACE_PAGE};
    (void)state;
    assert_true(space_is_scarce(&s));
    assert_int_equal(space_used_bytes(&s), 70 * MIB);
    assert_int_equal(space_for_growth(&s, 0, 15 * MIB), SPACE_THERE);
    assert_int_equal(space_for_growth(&s, 0, 25 * MIB), SPACE_FULL);
}

/* LMDB needs pages that lie side by side for the list of what a checkpoint frees. */
TEST(checkpoints_are_small_where_free_pages_lie_apart)
{
    struct space s = {.total_bytes = 100 * MIB,
                      .file_bytes = 100 * MIB,
                      .free_bytes = 40 * MIB,
                      .run_bytes = SPACE_PAGE};
    (void)state;
    assert_true(space_checkpoint_cost(&s) <= 2 * MIB + 1);
    assert_int_equal(space_for_change(&s, 4 * MIB, ITEM), SPACE_WAITS);
    assert_int_equal(space_for_change(&s, ITEM, 2 * MIB), SPACE_WAITS);
    assert_int_equal(space_for_change(&s, 0, 2 * MIB), SPACE_THERE);
    s.run_bytes = 4 * SPACE_PAGE;
    assert_true(space_checkpoint_cost(&s) > 3 * MIB);
    assert_int_equal(space_for_change(&s, 4 * MIB, ITEM), SPACE_THERE);
    s.run_bytes = SPACE_PAGE;
    s.file_bytes = 99 * MIB; /* behind it there is a run */
    assert_true(space_checkpoint_cost(&s) > 5 * MIB);
}

/* A deletion changes the pages that name the parts, too. */
TEST(a_record_costs_more_where_values_have_parts)
{
    const struct space s = {.total_bytes = 100 * MIB, .file_bytes = 80 * MIB, .has_parts = true};
    (void)state;
    assert_int_equal(space_cost(&s, 10, 0), 30 * SPACE_PAGE);
}

TEST(free_pages_are_counted_only_near_the_end)
{
    (void)state;
    assert_false(
        space_is_scarce(&(struct space){.total_bytes = 100 * MIB, .file_bytes = 50 * MIB}));
    assert_true(
        space_is_scarce(&(struct space){.total_bytes = 100 * MIB, .file_bytes = 50 * MIB + 1}));
}
