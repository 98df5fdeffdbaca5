/* seen_items_test.c - the set of the items that a page has. */
#include "router/plan/seen_items.h"
#include "tests/check.h"

#include <stdio.h>

static struct slice key_of(struct arena *arena, int number)
{
    char text[16];
    const int size = snprintf(text, sizeof text, "key-%d", number);
    return arena_copy(arena, slice_make(text, (size_t)size));
}

TEST(each_item_is_new_once)
{
    struct arena arena = {0};
    struct seen_items seen = {0};
    (void)state;
    for (int i = 0; i < 5000; i++)
        assert_true(seen_items_add(&seen, &arena, key_of(&arena, i)));
    for (int i = 0; i < 5000; i++)
        assert_false(seen_items_add(&seen, &arena, key_of(&arena, i)));
    assert_true(seen_items_add(&seen, &arena, key_of(&arena, 5000)));
    assert_int_equal(seen.count, 5001);
    arena_deinit(&arena);
}
