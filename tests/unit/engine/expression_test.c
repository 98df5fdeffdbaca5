/* expression_test.c - conditions: what holds over an item, and which bytes are programs. */
#include "engine/expression/compare.h"
#include "engine/expression/program.h"
#include "router/expression/names.h"
#include "router/json/value.h"
#include "tests/check.h"

static const char ITEM[] =
    "{\"n\":{\"N\":\"5\"},\"s\":{\"S\":\"hello\"},\"t\":{\"S\":\"ell\"},\"b\":{\"B\":\"AAEC\"},"
    "\"yes\":{\"BOOL\":true},\"nil\":{\"NULL\":true},\"ss\":{\"SS\":[\"y\",\"x\"]},"
    "\"ns\":{\"NS\":[\"2\",\"4\",\"7\"]},\"l\":{\"L\":[{\"N\":\"1\"},{\"M\":{\"k\":{\"S\":\"v\"}}},"
    "{\"NS\":[\"1\",\"2\"]}]},\"m\":{\"M\":{\"x\":{\"N\":\"1\"},\"y\":{\"L\":[{\"N\":\"-1\"},{"
    "\"N\":"
    "\"2\"}]}}},\"and\":{\"S\":\"reserved\"}}";
static const char NAMES[] = "{\"#and\":\"and\",\"#gone\":\"gone\"}";
static const char VALUES[] =
    "{\":four\":{\"N\":\"4\"},\":five\":{\"N\":\"5.0\"},\":six\":{\"N\":\"6\"},\":hel\":{\"S\":"
    "\"hel\"},\":hello\":{\"S\":\"hello\"},\":b\":{\"B\":\"AQ==\"},\":xy\":{\"SS\":[\"x\",\"y\"]},"
    "\":xz\":{\"SS\":[\"x\",\"z\"]},\":two\":{\"N\":\"2\"},\":map\":{\"M\":{\"y\":{\"L\":[{\"N\":"
    "\"-1\"},{\"N\":\"2\"}]},\"x\":{\"N\":\"1.0\"}}},\":set\":{\"NS\":[\"2\",\"1\"]},\":S\":{"
    "\"S\":\"S\"},\":L\":{\"S\":\"L\"},\":true\":{\"BOOL\":true},\":empty\":{\"S\":\"\"}}";

struct scene {
    struct json_parser *json;
    struct arena arena;
    struct buffer bytes;
    struct buffer program;
    struct expression_names names;
    struct fault fault;
    struct slice item;
};

static struct json_value scene_parse(struct scene *s, const char *text)
{
    struct json_value root;
    size_t size = strlen(text);
    char *padded = arena_zalloc(&s->arena, size + JSON_PADDING);
    memcpy(padded, text, size);
    assert_int_equal(json_parse(s->json, slice_make(padded, size), &root), STATUS_OK);
    return root;
}

static void scene_init(struct scene *s)
{
    struct span item;
    struct expression_names values;
    const struct json_value absent = {0};
    *s = (struct scene){.json = json_parser_create()};
    struct json_value root = scene_parse(s, ITEM);
    assert_true(value_read_item(&s->bytes, &s->arena, &root, &item, &s->fault));
    s->item = span_in(&s->bytes, item);
    root = scene_parse(s, NAMES);
    assert_true(expression_names_read(&s->names, &s->arena, &root, &absent, &s->fault));
    root = scene_parse(s, VALUES);
    assert_true(expression_names_read(&values, &s->arena, &absent, &root, &s->fault));
    s->names.values = values.values;
    s->names.value_count = values.value_count;
}

static void scene_deinit(struct scene *s)
{
    json_parser_destroy(s->json);
    arena_deinit(&s->arena);
    buffer_deinit(&s->bytes);
    buffer_deinit(&s->program);
    fault_deinit(&s->fault);
}

static struct slice scene_program(struct scene *s, const char *text)
{
    struct expression_fault fault;
    const struct condition *c = condition_parse(slice_of(text), &s->names, &s->arena, &fault);
    if (c == NULL)
        fail_msg("%s: error %d", text, fault.error);
    buffer_clear(&s->program);
    program_encode(&s->program, c);
    assert_int_equal(program_check(buffer_slice(&s->program)), STATUS_OK);
    return buffer_slice(&s->program);
}

static const char *const TRUE_OF_ITEM[] = {
    "n = :five",
    "n <> :four",
    "n > :four AND n < :six",
    "n >= :five AND n <= :five",
    ":six > n",
    "s = :hello",
    "s <> :five", /* other types */
    "gone <> :five",
    "gone <> #gone[0]", /* both lead to nothing */
    "NOT gone = n",
    "NOT gone < :five",
    "NOT yes < :four",
    "n BETWEEN :four AND :six",
    "NOT n BETWEEN :six AND :six",
    "n IN (:four, :five)",
    "NOT n IN (:four, s, gone)",
    "n IN (m.y[1], l[0], :five)",
    "ss = :xy",
    "ss <> :xz",
    "m = :map",
    "l[2] = :set",
    "attribute_exists(m.y[1])",
    "attribute_not_exists(m.y[2])",
    "attribute_not_exists(m.z)",
    "attribute_not_exists(n.z)",
    "attribute_not_exists(s[0])",
    "attribute_not_exists(l.k)",
    "attribute_exists(l[1].k)",
    "attribute_exists(#and)",
    "attribute_type(s, :S)",
    "NOT attribute_type(s, :L)",
    "NOT attribute_type(gone, :L)",
    "attribute_type(m.y, :L)",
    "begins_with(s, :hel)",
    "NOT begins_with(t, s)",
    "NOT begins_with(n, :hel)",
    "NOT begins_with(:hel, s)",
    "contains(s, t)",
    "contains(s, :empty)",
    "contains(b, :b)",
    "NOT contains(s, :b)",
    "contains(ss, m.z) OR contains(ns, :two)",
    "contains(l, :set)",
    "NOT contains(m, :two)",
    "NOT contains(n, :two)",
    "size(s) = :five",
    "size(b) < :four",
    "size(ss) = :two",
    "size(l) < :four AND size(m) = :two",
    "NOT size(n) = n",
    "size(n) <> n",
    "size(:hello) = n",
    "m.x < m.y[1]",
    "NOT (m.x < m.y[0])",
    /* NOT binds more than AND, AND more than OR */
    "NOT n = :four AND n = :five OR n = :six",
    "n = :five OR n = :six AND n = :four",
    "NOT (n = :five AND (n = :six OR n = :four))",
};

TEST(conditions_hold_of_an_item_or_do_not)
{
    struct scene s;
    char text[200];
    scene_init(&s);
    for (size_t i = 0; i < sizeof TRUE_OF_ITEM / sizeof TRUE_OF_ITEM[0]; i++) {
        if (!program_holds(scene_program(&s, TRUE_OF_ITEM[i]), s.item, &(struct steps){0}))
            fail_msg("it does not hold: %s", TRUE_OF_ITEM[i]);
        snprintf(text, sizeof text, "NOT (%s)", TRUE_OF_ITEM[i]);
        assert_false(program_holds(scene_program(&s, text), s.item, &(struct steps){0}));
    }
    scene_deinit(&s);
}

TEST(of_no_item_every_path_leads_to_nothing)
{
    struct scene s;
    scene_init(&s);
    const struct slice none = {NULL, 0};
    assert_true(
        program_holds(scene_program(&s, "attribute_not_exists(n)"), none, &(struct steps){0}));
    assert_false(
        program_holds(scene_program(&s, "n = :five OR size(n) < :five"), none, &(struct steps){0}));
    assert_true(program_holds(scene_program(&s, "n <> :five AND :five IN (:five)"), none,
                              &(struct steps){0}));
    scene_deinit(&s);
}

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

TEST(a_program_cut_or_followed_by_more_is_none)
{
    struct scene s;
    scene_init(&s);
    scene_program(&s, "(n = :five OR NOT size(m.y[1]) IN (:two, s)) AND attribute_exists(l[1].k) "
                      "AND attribute_type(b, :S) AND n BETWEEN :four AND :six");
    for (size_t size = 0; size < s.program.size; size++)
        assert_int_equal(program_check(slice_make(s.program.data, size)), STATUS_MALFORMED);
    buffer_append_u8(&s.program, 0);
    assert_int_equal(program_check(buffer_slice(&s.program)), STATUS_MALFORMED);
    scene_deinit(&s);
}

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
