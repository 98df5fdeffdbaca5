/* projection_test.c - projections: which texts are none, and what the paths show of an item. */
#include "engine/expression/projection.h"
#include "tests/check.h"
#include "tests/support/expression_fixture.h"

#define N(digits) "{\"N\":\"" digits "\"}"
#define S(text)   "{\"S\":\"" text "\"}"

/* clang-format off */
static const char ITEM[] =
    "{\"p\":" S("key") ",\"n\":" N("5") ",\"ss\":{\"SS\":[\"b\",\"a\"]},"
    "\"l\":{\"L\":[" N("10") "," N("11")
        ",{\"M\":{\"x\":" S("in l") ",\"y\":{\"L\":[" N("1") "," N("2") "]}}}," N("13") "]},"
    "\"m\":{\"M\":{\"a\":" N("1") ",\"b\":{\"M\":{\"c\":" S("deep") ",\"d\":{\"NULL\":true}}},"
        "\"l\":{\"L\":[" S("zero") "," S("one") "]}}},"
    "\"e\":{\"M\":{}},\"el\":{\"L\":[]},\"a.b\":{\"BOOL\":true},\"name\":" S("reserved") "}";
/* clang-format on */
static const char NAMES[] =
    "{\"#odd\":\"a.b\",\"#name\":\"name\",\"#l\":\"l\",\"#m\":\"m\",\"#one\":\"[1]\"}";

static const struct projection *scene_parse(struct expression_fixture *s, const char *text)
{
    struct expression_fault fault;
    const struct projection *p = projection_parse(slice_of(text), &s->names, &s->arena, &fault);
    if (p == NULL)
        fail_msg("%s: %s", text, expression_fixture_text(s, "ProjectionExpression", &fault));
    assert_int_equal(fault.error, EXPRESSION_OK);
    return p;
}

static const char *scene_shown(struct expression_fixture *s, const char *text, struct slice item)
{
    struct buffer shown = {0};
    projection_append(&shown, scene_parse(s, text), item);
    assert_int_equal(item_check(buffer_slice(&shown)), STATUS_OK);
    const char *json = expression_fixture_json(s, buffer_slice(&shown));
    buffer_deinit(&shown);
    return json;
}

/* Attributes come in the order of the item, not of the text. */
static const char *const SHOWN[][2] = {
    {"n", "{\"n\":" N("5") "}"},
    {"n, p", "{\"p\":" S("key") ",\"n\":" N("5") "}"},
    {" p\t,\r\nn ", "{\"p\":" S("key") ",\"n\":" N("5") "}"},
    {"ss", "{\"ss\":{\"SS\":[\"b\",\"a\"]}}"},
    {"e, el", "{\"e\":{\"M\":{}},\"el\":{\"L\":[]}}"},
    {"#odd, #name", "{\"a.b\":{\"BOOL\":true},\"name\":" S("reserved") "}"},
    /* nested */
    {"m.a", "{\"m\":{\"M\":{\"a\":" N("1") "}}}"},
    {"m.b.c", "{\"m\":{\"M\":{\"b\":{\"M\":{\"c\":" S("deep") "}}}}}"},
    {"m.b", "{\"m\":{\"M\":{\"b\":{\"M\":{\"c\":" S("deep") ",\"d\":{\"NULL\":true}}}}}}"},
    {"#m.b.d, m.a, #m.l[1]",
     "{\"m\":{\"M\":{\"a\":" N("1") ",\"b\":{\"M\":{\"d\":{\"NULL\":true}}},"
                                    "\"l\":{\"L\":[" S("one") "]}}}}"},
    /* list elements are gathered, in the order of their indexes */
    {"l[1]", "{\"l\":{\"L\":[" N("11") "]}}"},
    {"l[3], #l[0]", "{\"l\":{\"L\":[" N("10") "," N("13") "]}}"},
    {"l[0], l[9], l[3]", "{\"l\":{\"L\":[" N("10") "," N("13") "]}}"},
    {"l[2].y[1], l[0], l[2].x",
     "{\"l\":{\"L\":[" N("10") ",{\"M\":{\"x\":" S("in l") ",\"y\":{\"L\":[" N("2") "]}}}]}}"},
    /* what is missing is not shown, nor what would hold it */
    {"q", "{}"},
    {"q.a, n", "{\"n\":" N("5") "}"},
    {"m.q, m.b.q, l[9], l[2].q", "{}"},
    {"m.a, m.b.q", "{\"m\":{\"M\":{\"a\":" N("1") "}}}"},
    {"e.a, el[0]", "{}"},
    {"l[2147483647]", "{}"},
    /* a step that does not fit the value */
    {"n.a, ss[0], p[1].b", "{}"},
    {"l.a, m[0]", "{}"},
    {"m.#one", "{}"},
};

TEST(paths_show_what_they_lead_to)
{
    struct expression_fixture s;
    (void)state;
    expression_fixture_init(&s, NAMES, NULL);
    const struct slice item = expression_fixture_item(&s, ITEM);
    for (size_t i = 0; i < COUNT_OF(SHOWN); i++) {
        const char *shown = scene_shown(&s, SHOWN[i][0], item);
        if (strcmp(shown, SHOWN[i][1]) != 0)
            fail_msg("%s\n%s\nnot %s", SHOWN[i][0], shown, SHOWN[i][1]);
    }
    expression_fixture_deinit(&s);
}

TEST(all_attributes_together_are_the_item)
{
    struct expression_fixture s;
    (void)state;
    expression_fixture_init(&s, NAMES, NULL);
    const struct slice item = expression_fixture_item(&s, ITEM);
    assert_string_equal(scene_shown(&s, "#name, #odd, el, e, m, l, ss, n, p", item), ITEM);
    expression_fixture_deinit(&s);
}

TEST(an_empty_item_shows_nothing)
{
    struct expression_fixture s;
    (void)state;
    expression_fixture_init(&s, NULL, NULL);
    assert_string_equal(scene_shown(&s, "a, b.c, d[0]", expression_fixture_item(&s, "{}")), "{}");
    expression_fixture_deinit(&s);
}

TEST(what_is_shown_follows_what_the_buffer_has)
{
    struct expression_fixture s;
    struct buffer out = {0};
    (void)state;
    expression_fixture_init(&s, NULL, NULL);
    const struct slice item = expression_fixture_item(&s, ITEM);
    buffer_append_text(&out, "before");
    projection_append(&out, scene_parse(&s, "n"), item);
    assert_memory_equal(out.data, "before", 6);
    assert_string_equal(expression_fixture_json(&s, slice_make(out.data + 6, out.size - 6)),
                        "{\"n\":" N("5") "}");
    buffer_deinit(&out);
    expression_fixture_deinit(&s);
}

/* A list of 1,000 elements, of which each tenth is named, from the last to the first. */
TEST(many_elements_of_a_list_keep_their_order)
{
    enum {
        ELEMENTS = 1000,
        STEP = 10
    };
    struct expression_fixture s;
    struct buffer json = {0}, text = {0}, wanted = {0};
    (void)state;
    expression_fixture_init(&s, NULL, NULL);
    for (int i = 0; i < ELEMENTS; i++)
        buffer_append_format(&json, "%s{\"N\":\"%d\"}", i == 0 ? "{\"l\":{\"L\":[" : ",", i);
    buffer_append(&json, "]}}", 4);
    for (int i = ELEMENTS - STEP; i >= 0; i -= STEP)
        buffer_append_format(&text, "%sl[%d]", text.size == 0 ? "" : ",", i);
    buffer_append_u8(&text, 0);
    for (int i = 0; i < ELEMENTS; i += STEP)
        buffer_append_format(&wanted, "%s{\"N\":\"%d\"}", i == 0 ? "{\"l\":{\"L\":[" : ",", i);
    buffer_append(&wanted, "]}}", 4);
    const struct slice item = expression_fixture_item(&s, (const char *)json.data);
    assert_string_equal(scene_shown(&s, (const char *)text.data, item), (const char *)wanted.data);
    buffer_deinit(&json);
    buffer_deinit(&text);
    buffer_deinit(&wanted);
    expression_fixture_deinit(&s);
}

/* ---- texts ---- */

#define SYNTAX(token, near) "Syntax error; token: \"" token "\", near: \"" near "\""
#define TWO_PATHS(how, one, two)                                                              \
    "Two document paths " how " with each other; must remove or rewrite one of these paths; " \
    "path one: " one ", path two: " two
#define B32 ".b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b"

static const char *const REFUSED[][2] = {
    {"", "The expression can not be empty;"},
    {"a,", SYNTAX("<EOF>", ",")},
    {",a", SYNTAX(",", ",a")},
    {"a b", SYNTAX("b", "a b")},
    {"a..b", SYNTAX(".", "..b")},
    {"a.[0]", SYNTAX("[", ".[0")},
    {"a[]", SYNTAX("]", "[]")},
    {"a[-1]", SYNTAX("-", "[-1")},
    {"a[b]", SYNTAX("b", "[b]")},
    {"a.0", SYNTAX("0", ".0")},
    {"(a)", SYNTAX("(", "(a")},
    {":v", SYNTAX(":v", ":v")},
    {"size(a)", SYNTAX("(", "size(a")},
    {"a, name", "Attribute name is a reserved keyword; reserved keyword: name"},
    {"#q",
     "An expression attribute name used in the document path is not defined; attribute name: #q"},
    {"a[2147483648]", "List index is not within the allowable range; index: [2147483648]"},
    {"a" B32, "The document path has too many nesting levels; nesting levels: 33"},
    /* paths that overlap: one leads to the other, or to a part of it */
    {"a, a", TWO_PATHS("overlap", "[a]", "[a]")},
    {"#m, b, m", TWO_PATHS("overlap", "[m]", "[m]")},
    {"a, b, a.c", TWO_PATHS("overlap", "[a]", "[a, c]")},
    {"a[1].b, a[1]", TWO_PATHS("overlap", "[a, [1], b]", "[a, [1]]")},
    {"a.b.c, a.b.c[0]", TWO_PATHS("overlap", "[a, b, c]", "[a, b, c, [0]]")},
    /* paths that conflict: no value is both a map and a list */
    {"a.b, a[0]", TWO_PATHS("conflict", "[a, b]", "[a, [0]]")},
    {"a[0][1], a[0].c", TWO_PATHS("conflict", "[a, [0], [1]]", "[a, [0], c]")},
    {"a.#one, a[1]", TWO_PATHS("conflict", "[a, [1]]", "[a, [1]]")}, /* #one is a name */
    /* of two faults, the service tells the reserved word, then the name, then the overlap */
    {"a, a, name", "Attribute name is a reserved keyword; reserved keyword: name"},
    {"#q, name", "Attribute name is a reserved keyword; reserved keyword: name"},
    {"a, a, #q",
     "An expression attribute name used in the document path is not defined; attribute name: #q"},
    {"a.b, a[0], c, c", TWO_PATHS("overlap", "[c]", "[c]")},
};

TEST(texts_that_are_no_projections_are_refused_as_the_service_does)
{
    struct expression_fixture s;
    char said[400];
    (void)state;
    expression_fixture_init(&s, NAMES, NULL);
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++) {
        struct expression_fault fault;
        const char *text = REFUSED[i][0];
        if (projection_parse(slice_of(text), &s.names, &s.arena, &fault) != NULL)
            fail_msg("taken: %s", text);
        snprintf(said, sizeof said, "Invalid ProjectionExpression: %s", REFUSED[i][1]);
        const char *told = expression_fixture_text(&s, "ProjectionExpression", &fault);
        if (strcmp(told, said) != 0)
            fail_msg("%s\n%s\nnot %s", text, told, said);
    }
    expression_fixture_deinit(&s);
}

TEST(paths_side_by_side_are_taken)
{
    static const char *const TAKEN[] = {"a.b, a.c",   "a[0], a[1]", "a[0].b, a[0].c", "a, b, c",
                                        "a.b, b.a",   "a.a, b",     "a[0][1], a[1]",  "a, A",
                                        "m.l[0], #l", "a.a.a"};
    struct expression_fixture s;
    (void)state;
    expression_fixture_init(&s, NAMES, NULL);
    for (size_t i = 0; i < COUNT_OF(TAKEN); i++)
        assert_true(scene_parse(&s, TAKEN[i])->count > 0);
    assert_int_equal(scene_parse(&s, "a.b, a.c, b[7]")->count, 3);
    expression_fixture_deinit(&s);
}

TEST(only_the_names_of_the_text_are_marked_as_used)
{
    struct expression_fixture s;
    (void)state;
    expression_fixture_init(&s, NAMES, NULL);
    scene_parse(&s, "#odd, #m.#one");
    for (size_t i = 0; i < s.names.name_count; i++) {
        const struct slice key = s.names.names[i].key;
        assert_int_equal(s.names.names[i].used,
                         slice_is(key, "#odd") || slice_is(key, "#m") || slice_is(key, "#one"));
    }
    expression_fixture_deinit(&s);
}

TEST(a_projection_has_at_most_4_kb_and_32_steps)
{
    struct expression_fixture s;
    struct expression_fault fault;
    char text[EXPRESSION_SIZE_MAX + 1];
    (void)state;
    expression_fixture_init(&s, NULL, NULL);
    memset(text, ' ', sizeof text);
    text[0] = 'a';
    assert_non_null(
        projection_parse(slice_make(text, EXPRESSION_SIZE_MAX), &s.names, &s.arena, &fault));
    assert_null(projection_parse(slice_make(text, sizeof text), &s.names, &s.arena, &fault));
    assert_int_equal(fault.error, EXPRESSION_TOO_LONG);
    assert_int_equal(fault.count, sizeof text);
    assert_int_equal(scene_parse(&s, "a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b"
                                     ".b.b")
                         ->count,
                     1);
    expression_fixture_deinit(&s);
}
