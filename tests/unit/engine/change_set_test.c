/* The payload of a write's log entry. */
#include "base/prng.h"
#include "engine/store/change_set.h"
#include "tests/check.h"

static struct slice text(const char *t)
{
    return slice_of(t);
}

static void check_change(struct change_set *set, const struct change *expected)
{
    struct change c;
    assert_true(change_set_next(set, &c));
    assert_int_equal(c.space, expected->space);
    assert_int_equal(c.old_size, expected->old_size);
    assert_true(slice_equal(c.key, expected->key));
    assert_true(slice_equal(c.value, expected->value));
    assert_int_equal(c.value.data == NULL, expected->value.data == NULL);
    assert_int_equal(c.derived, expected->derived);
    assert_int_equal(c.old.data == NULL, expected->old.data == NULL);
    assert_true(slice_equal(c.old, expected->old));
}

TEST(changes_are_read_as_they_were_written_in_order)
{
    const struct change changes[] = {
        {SPACE_COLLECTIONS, text("row"), text("16 bytes"), false, -1, {NULL, 0}},
        {SPACE_LOCAL_ROWS, text("derived"), {NULL, 0}, true, 9, {NULL, 0}},
        {SPACE_ITEMS, text("gone"), {NULL, 0}, false, 17, {NULL, 0}},
        {SPACE_ITEMS, text("key"), text("new"), false, 5, text("old")},
    };
    struct buffer out = {0};
    struct change_set set;
    struct change c;
    (void)state;
    change_set_begin(&out, 3000, 2);
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        change_set_append(&out, &changes[i]);
    assert_true(change_set_open(buffer_slice(&out), &set));
    assert_int_equal(set.cost_mcu, 3000);
    assert_int_equal(set.burst, 2);
    assert_int_equal(set.count, COUNT_OF(changes));
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        check_change(&set, &changes[i]);
    assert_false(change_set_next(&set, &c));
    buffer_deinit(&out);
}

TEST(one_item_takes_32_bytes_beside_its_key_and_value)
{
    const struct change put = {SPACE_ITEMS, text("key"), text("value"), false, -1, {NULL, 0}};
    struct buffer out = {0};
    struct change_set set;
    (void)state;
    change_set_begin(&out, 1000, 0);
    change_set_append_last(&out, &put);
    assert_int_equal(out.size, 32 + 3);
    assert_false(change_set_open(buffer_slice(&out), &set));
    buffer_append_text(&out, "value");
    assert_true(change_set_open(buffer_slice(&out), &set));
    check_change(&set, &put);
    buffer_deinit(&out);
}

/* Any byte changed: it is refused, or it says something else, but is never read beyond its end. */
TEST(damaged_sets_are_refused_or_read_within_their_bytes)
{
    const struct change changes[] = {
        {SPACE_ITEMS, text("key"), text("new"), false, 5, text("old")},
        {SPACE_ITEMS, text("gone"), {NULL, 0}, false, 17, {NULL, 0}},
    };
    struct buffer out = {0};
    struct prng prng = prng_seeded(3);
    (void)state;
    change_set_begin(&out, 3000, 2);
    for (int i = 0; i < 2; i++)
        change_set_append(&out, &changes[i]);
    for (size_t size = 0; size < out.size; size++) {
        struct change_set set;
        assert_false(change_set_open(slice_make(out.data, size), &set));
    }
    for (int round = 0; round < 10000; round++) {
        size_t at = (size_t)prng_below(&prng, out.size);
        uint8_t *copy = malloc(out.size); /* of its own, so that a sanitizer sees its end */
        struct change_set set;
        struct change c;
        memcpy(copy, out.data, out.size);
        copy[at] ^= (uint8_t)(1 << prng_below(&prng, 8));
        if (change_set_open(slice_make(copy, out.size), &set)) {
            while (change_set_next(&set, &c))
                assert_true(c.key.size + c.value.size + c.old.size < out.size);
        }
        free(copy);
    }
    buffer_deinit(&out);
}
