/* Which items are in a node's memory: against a list that is searched from its front. */
#include "lab/fidelity/admission/resident.h"

#include <string.h>

#include "tests/check.h"

TEST(the_item_that_was_not_used_for_longest_goes_first)
{
    struct resident r;
    resident_init(&r, 2);
    assert_false(resident_use(&r, 1, 10));
    assert_false(resident_use(&r, 1, 11));
    assert_true(resident_use(&r, 1, 10));
    assert_false(resident_use(&r, 1, 12)); /* 11 goes */
    assert_true(resident_use(&r, 1, 10));
    assert_false(resident_use(&r, 1, 11));
    resident_deinit(&r);
}

TEST(tables_have_items_of_their_own)
{
    struct resident r;
    resident_init(&r, 10);
    assert_false(resident_use(&r, 1, 0));
    assert_false(resident_use(&r, 2, 0));
    assert_true(resident_use(&r, 1, 0));
    resident_clear(&r);
    assert_false(resident_use(&r, 1, 0));
    resident_deinit(&r);
}

TEST(without_a_bound_everything_is_in_memory)
{
    struct resident r;
    resident_init(&r, 0);
    assert_true(resident_use(&r, 1, 0));
    resident_deinit(&r);
}

enum {
    MAX = 37,
    KEYS = 60
};

static void uses_and_compares(struct prng *random)
{
    struct resident r;
    uint64_t list[MAX];
    size_t count = 0;
    resident_init(&r, MAX);
    for (int step = 0; step < 20000; step++) {
        uint64_t key = prng_below(random, KEYS);
        size_t at = 0;
        while (at < count && list[at] != key)
            at++;
        const bool there = at < count;
        if (!there && count < MAX)
            count++;
        if (!there)
            at = count - 1;
        memmove(list + 1, list, at * sizeof list[0]);
        list[0] = key;
        assert_int_equal(resident_use(&r, 7, key), there);
    }
    resident_deinit(&r);
}

TEST(it_agrees_with_a_list_that_is_searched)
{
    check_seeds(3, uses_and_compares);
}
