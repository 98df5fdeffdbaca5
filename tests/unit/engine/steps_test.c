/* steps_test.c - what evaluating costs: it is counted, bounded, and linear in the item. */
#include "engine/expression/compare.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "engine/store/memtable.h"
#include "tests/check.h"
#include "tests/support/expression_fixture.h"

enum {
    MANY = 60000 /* elements of a set of 3 letters: as many as fit twice */
};

static struct slice short_text(uint32_t i, bool reversed, uint32_t count, char text[4])
{
    uint32_t n = reversed ? count - 1 - i : i;
    for (int at = 0; at < 3; at++, n /= 60)
        text[at] = (char)('@' + n % 60);
    return slice_make(text, 3);
}

static void set_write(struct item_writer *w, const char *name, uint32_t count, bool reversed)
{
    char text[4];
    item_name(w, slice_of(name));
    item_open(w, ATTR_STRING_SET);
    for (uint32_t i = 0; i < count; i++)
        item_string(w, short_text(i, reversed, count, text));
    item_close(w);
}

/* {a, b: the same set, in two orders} */
static struct slice two_sets(struct buffer *out, uint32_t count)
{
    struct item_writer w;
    item_begin(&w, out);
    set_write(&w, "a", count, false);
    set_write(&w, "b", count, true);
    assert_true(item_end(&w) <= ITEM_SIZE_MAX);
    return buffer_slice(out);
}

/* {nulls of `count` names}, in one order or the other. */
static struct slice many_names(struct buffer *out, uint32_t count, bool reversed)
{
    struct item_writer w;
    char text[4];
    item_begin(&w, out);
    for (uint32_t i = 0; i < count; i++) {
        item_name(&w, short_text(i, reversed, count, text));
        item_null(&w);
    }
    assert_true(item_end(&w) <= ITEM_SIZE_MAX);
    return buffer_slice(out);
}

static struct slice program_of(struct expression_fixture *s, const char *text, struct buffer *out)
{
    struct expression_fault fault;
    const struct condition *c = condition_parse(slice_of(text), &s->names, &s->arena, &fault);
    assert_non_null(c);
    assert_true(program_encode(out, c));
    return buffer_slice(out);
}

TEST(the_largest_sets_are_compared_once_and_not_a_hundred_times)
{
    struct expression_fixture s = {0};
    struct buffer item = {0}, once = {0}, often = {0}, text = {0};
    struct steps steps = {.seed = 3};
    expression_fixture_init(&s, "{\"#a\":\"a\"}", "{\":v\":{\"S\":\"v\"}}");
    const struct slice sets = two_sets(&item, MANY);
    assert_true(program_holds(program_of(&s, "a = b", &once), sets, &steps));
    assert_false(steps_are_spent(&steps));
    for (int i = 0; i < 150; i++)
        buffer_append_text(&text, i == 0 ? "a = b" : " AND a = b");
    buffer_append_u8(&text, 0);
    steps = (struct steps){.seed = 3};
    program_holds(program_of(&s, (const char *)text.data, &often), sets, &steps);
    assert_true(steps_are_spent(&steps));
    assert_true(steps.taken < STEPS_ITEM_MAX + STEPS_ONE_MAX);
    buffer_deinit(&item);
    buffer_deinit(&once);
    buffer_deinit(&often);
    buffer_deinit(&text);
    expression_fixture_deinit(&s);
}

TEST(an_update_of_many_attributes_costs_little_for_each)
{
    struct buffer item = {0}, program = {0}, made = {0};
    struct steps steps = {.seed = 3};
    const uint32_t count = 40000;
    static struct update_action actions[40000];
    static struct path_part paths[40000];
    static char names[40000][4];
    const struct slice old = many_names(&item, count, false);
    for (uint32_t i = 0; i < count; i++) {
        paths[i] = (struct path_part){.name = short_text(i, true, count, names[i])};
        actions[i] = (struct update_action){.verb = UPDATE_REMOVE,
                                            .path = &paths[i],
                                            .next = i + 1 < count ? &actions[i + 1] : NULL};
    }
    assert_true(update_program_encode(&program, &(struct update){actions, count}));
    assert_int_equal(update_program_check(buffer_slice(&program)), STATUS_OK);
    assert_int_equal(update_apply(buffer_slice(&program), old, true, &steps, &made), UPDATE_OK);
    assert_int_equal(item_count(buffer_slice(&made)), 0);
    assert_true(steps.taken < 64 * count);
    buffer_deinit(&item);
    buffer_deinit(&program);
    buffer_deinit(&made);
}

TEST(items_with_many_names_are_compared_in_any_order)
{
    struct buffer a = {0}, b = {0};
    struct steps steps = {.seed = 3};
    const uint32_t count = 80000;
    assert_true(item_equal(many_names(&a, count, false), many_names(&b, count, true), &steps));
    assert_true(steps.taken < 64 * count);
    buffer_clear(&b);
    assert_false(item_equal(buffer_slice(&a), many_names(&b, count - 1, true), &steps));
    buffer_deinit(&a);
    buffer_deinit(&b);
}

/* A short part is searched for by a method of its own: compare it with memmem. */
TEST(parts_are_found_where_they_are)
{
    struct prng p = prng_seeded(5);
    for (int round = 0; round < 20000; round++) {
        uint8_t whole[64], part[12];
        const size_t size = prng_below(&p, sizeof whole), part_size = prng_below(&p, sizeof part);
        for (size_t i = 0; i < size; i++)
            whole[i] = (uint8_t)('a' + prng_below(&p, 2));
        for (size_t i = 0; i < part_size; i++)
            part[i] = (uint8_t)('a' + prng_below(&p, 2));
        const struct attr in = {ATTR_BINARY, slice_make(whole, size)},
                          of = {ATTR_BINARY, slice_make(part, part_size)};
        struct steps steps = {0};
        assert_true(attr_contains(&in, &of, &steps) ==
                    (part_size == 0 || memmem(whole, size, part, part_size) != NULL));
    }
}

TEST(the_size_of_a_string_counts_utf_16_units_and_of_a_binary_bytes)
{
    static const struct {
        const char *text;
        uint32_t length;
    } ALL[] = {
        {"", 0}, {"abc", 3}, {"\xc3\xa9", 1}, {"\xe2\x82\xac", 1}, {"\xc3\xa9\xf0\x9d\x84\x9e", 3}};
    for (size_t i = 0; i < COUNT_OF(ALL); i++) {
        struct steps steps = {0};
        uint32_t length = 0;
        const struct attr text = {ATTR_STRING, slice_of(ALL[i].text)},
                          bytes = {ATTR_BINARY, slice_of(ALL[i].text)};
        assert_true(attr_length(&text, &length, &steps));
        assert_int_equal(length, ALL[i].length);
        assert_true(attr_length(&bytes, &length, &steps));
        assert_int_equal(length, strlen(ALL[i].text));
    }
}

/* Without the seed a client could choose keys of one slot, or of one level of the skip list. */
TEST(hashes_of_keys_depend_on_the_seed)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < 100; i++) {
        char text[4];
        const struct slice key = short_text(i, false, 100, text);
        same += memtable_hash(1, key) % 16 == memtable_hash(2, key) % 16;
    }
    assert_true(same < 50);
}
