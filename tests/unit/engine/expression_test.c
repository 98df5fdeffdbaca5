/* expression_test.c - what cases of expressions (expression_cases_test.c) cannot say: sets of any
 * size, and bytes from outside that no text becomes. */
#include "engine/expression/compare.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "tests/check.h"
#include "tests/support/expression_fixture.h"

/* {s: (e0, e1, ..)} with the elements in one order or the other. */
static struct attr set_of(struct buffer *out, uint32_t count, bool reversed, const char *last)
{
    struct item_writer w;
    struct attr set;
    char text[16];
    item_begin(&w, out);
    item_name(&w, slice_of("s"));
    item_open(&w, ATTR_STRING_SET);
    for (uint32_t i = 0; i < count; i++) {
        int size = snprintf(text, sizeof text, "e%u", 10000 + (reversed ? count - 1 - i : i));
        item_string(&w, slice_make(text, (size_t)size));
    }
    item_string(&w, slice_of(last));
    item_close(&w);
    item_end(&w);
    assert_true(item_find(buffer_slice(out), slice_of("s"), &set));
    return set;
}

TEST(sets_are_equal_in_any_order_and_large_ones_too)
{
    for (uint32_t count = 1; count <= 20000; count = count * 3 + 1) {
        struct buffer bytes[3] = {{0}, {0}, {0}};
        struct attr a = set_of(&bytes[0], count, false, "last"),
                    b = set_of(&bytes[1], count, true, "last"),
                    c = set_of(&bytes[2], count, true, "lost");
        assert_true(attr_equal(&a, &b, &(struct steps){0}));
        assert_true(attr_equal(&b, &a, &(struct steps){0}));
        assert_false(attr_equal(&a, &c, &(struct steps){0}));
        assert_false(attr_equal(&c, &a, &(struct steps){0}));
        assert_int_equal(attr_digest(&a), attr_digest(&b)); /* EQUAL-1 */
        assert_int_not_equal(attr_digest(&a), attr_digest(&c));
        assert_true(
            item_equal(buffer_slice(&bytes[0]), buffer_slice(&bytes[1]), &(struct steps){0}));
        assert_false(
            item_equal(buffer_slice(&bytes[0]), buffer_slice(&bytes[2]), &(struct steps){0}));
        assert_int_equal(item_digest(buffer_slice(&bytes[0])),
                         item_digest(buffer_slice(&bytes[1])));
        for (int i = 0; i < 3; i++)
            buffer_deinit(&bytes[i]);
    }
}

/* ---- bytes from outside ---- */

TEST(a_program_nests_no_deeper_than_an_expression)
{
    enum {
        NOT = 3,
        EXISTS = 12
    };
    static const uint8_t PATH[] = {EXISTS, 1, 0, 1, 1, 0, 0, 0, 'a'};
    struct buffer program = {0};
    for (int levels = 0; levels < 100000; levels = levels == 299 ? 99999 : levels + 1) {
        buffer_clear(&program);
        for (int i = 0; i < levels; i++)
            buffer_append_u8(&program, NOT);
        buffer_append(&program, PATH, sizeof PATH);
        assert_int_equal(program_check(buffer_slice(&program)),
                         levels < EXPRESSION_OPERATORS_MAX ? STATUS_OK : STATUS_MALFORMED);
    }
    buffer_clear(&program); /* chains of one: AND 1 */
    for (uint32_t i = 0; i < 50000; i++) {
        buffer_append(&program, "\2\1\0", 3);
        buffer_append_u32(&program, (uint32_t)sizeof PATH + (49999 - i) * 7);
    }
    buffer_append(&program, PATH, sizeof PATH);
    assert_int_equal(program_check(buffer_slice(&program)), STATUS_MALFORMED);
    buffer_deinit(&program);
}

/* A text with such paths is refused; bytes are not. No bytes at all change nothing. */
TEST(paths_that_overlap_make_an_item_too)
{
    struct expression_fixture e;
    struct buffer program = {0}, made = {0};
    struct path_part index = {.indexed = true};
    struct path_part list = {.name = slice_of("l")},
                     element = {.name = slice_of("l"), .next = &index};
    struct path_part other = {.name = slice_of("new")};
    struct path_part *const paths[] = {&list, &element, &list, &other, &element, &other};
    struct update_value value = {.kind = UPDATE_VALUE};
    struct update_action actions[COUNT_OF(paths)];
    expression_fixture_init(&e, NULL, NULL);
    const struct slice item = expression_fixture_item(
        &e, "{\"n\":{\"N\":\"5\"},\"l\":{\"L\":[{\"N\":\"10\"},{\"N\":\"11\"}]}}");
    assert_true(item_find(item, slice_of("n"), &value.value));
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        actions[i] = (struct update_action){UPDATE_SET, paths[i], &value,
                                            i + 1 < COUNT_OF(paths) ? &actions[i + 1] : NULL};
    for (uint32_t count = 0; count <= COUNT_OF(paths); count += COUNT_OF(paths)) {
        buffer_clear(&program);
        buffer_clear(&made);
        if (count > 0)
            update_program_encode(&program, &(struct update){actions, count});
        const struct slice bytes = buffer_slice(&program);
        assert_int_equal(update_program_check(bytes), STATUS_OK);
        assert_int_equal(update_apply(bytes, item, count > 0, &(struct steps){0}, &made),
                         UPDATE_OK);
        assert_int_equal(item_check(buffer_slice(&made)), STATUS_OK);
        assert_int_equal(item_count(buffer_slice(&made)), item_count(item) + (count > 0));
        assert_true(count > 0 || slice_equal(buffer_slice(&made), item));
    }
    buffer_deinit(&program);
    buffer_deinit(&made);
    expression_fixture_deinit(&e);
}
