/* update_test.c - updates: what they make of an item, which do not fit it, which texts are none,
 * and which bytes are programs. */
#include "engine/expression/projection.h"
#include "engine/expression/update_program.h"
#include "tests/check.h"
#include "tests/support/expression_fixture.h"

static const char ITEM[] =
    "{\"k\":{\"S\":\"key\"},\"n\":{\"N\":\"5\"},\"s\":{\"S\":\"text\"},"
    "\"ss\":{\"SS\":[\"a\",\"b\"]},\"ns\":{\"NS\":[\"1\",\"2\"]},"
    "\"l\":{\"L\":[{\"N\":\"10\"},{\"N\":\"11\"},{\"N\":\"12\"}]},"
    "\"m\":{\"M\":{\"x\":{\"N\":\"1\"},\"l\":{\"L\":[{\"M\":{\"y\":{\"S\":\"deep\"}}}]}}}}";
static const char NAMES[] = "{\"#n\":\"n\",\"#l\":\"l\",\"#m\":\"m\",\"#d\":\"[3]\",\"#c\":\"c\"}";
static const char VALUES[] =
    "{\":one\":{\"N\":\"1\"},\":two\":{\"N\":\"2\"},\":s\":{\"S\":\"new\"},"
    "\":ab\":{\"SS\":[\"a\",\"b\"]},\":bc\":{\"SS\":[\"b\",\"c\"]},\":n23\":{\"NS\":[\"2\",\"3\"]},"
    "\":list\":{\"L\":[{\"S\":\"p\"}]},\":map\":{\"M\":{\"z\":{\"BOOL\":true}}},"
    "\":null\":{\"NULL\":true},\":true\":{\"BOOL\":true},\":b\":{\"B\":\"YQ==\"},"
    "\":bs\":{\"BS\":[\"YQ==\"]},\":big\":{\"N\":\"9.9E125\"},\":tiny\":{\"N\":\"1.1E-130\"},"
    "\":tiny2\":{\"N\":\"1E-130\"},\":e50\":{\"N\":\"1E50\"},\":half\":{\"N\":\"0.5\"}}";

struct scene {
    struct expression_fixture expressions;
    struct buffer program;
    struct buffer result;
};

static void scene_init(struct scene *s)
{
    *s = (struct scene){0};
    expression_fixture_init(&s->expressions, NAMES, VALUES);
}

static void scene_deinit(struct scene *s)
{
    expression_fixture_deinit(&s->expressions);
    buffer_deinit(&s->program);
    buffer_deinit(&s->result);
}

static const struct update *scene_parse(struct scene *s, const char *text)
{
    struct expression_fault fault;
    const struct update *u =
        update_parse(slice_of(text), &s->expressions.names, &s->expressions.arena, &fault);
    if (u == NULL)
        fail_msg("%s: %s", text,
                 expression_fixture_text(&s->expressions, "UpdateExpression", &fault));
    return u;
}

static enum update_fault scene_apply(struct scene *s, const char *text, struct slice item,
                                     bool exists)
{
    buffer_clear(&s->program);
    buffer_clear(&s->result);
    update_program_encode(&s->program, scene_parse(s, text));
    assert_int_equal(update_program_check(buffer_slice(&s->program)), STATUS_OK);
    enum update_fault fault =
        update_apply(buffer_slice(&s->program), item, exists, &(struct steps){0}, &s->result);
    if (fault == UPDATE_OK)
        assert_int_equal(item_check(buffer_slice(&s->result)), STATUS_OK);
    else
        assert_int_equal(s->result.size, 0);
    return fault;
}

/* Applies the text to `item`, and compares with the JSON of the result. */
static void scene_expect(struct scene *s, const char *item, const char *text, const char *result)
{
    struct slice old = expression_fixture_item(&s->expressions, item);
    enum update_fault fault = scene_apply(s, text, old, true);
    if (fault != UPDATE_OK)
        fail_msg("%s: fault %d", text, fault);
    const char *made = expression_fixture_json(&s->expressions, buffer_slice(&s->result));
    if (strcmp(made, result) != 0)
        fail_msg("%s makes %s, not %s", text, made, result);
}

#define N(number) "{\"N\":\"" number "\"}"

TEST(updates_change_what_they_name_and_nothing_else)
{
    static const char *const ALL[][3] = {
        {"{\"a\":" N("1") "}", "SET b = :one", "{\"a\":" N("1") ",\"b\":" N("1") "}"},
        {"{\"a\":" N("1") ",\"b\":" N("2") "}", "set a = b, b = a",
         "{\"a\":" N("2") ",\"b\":" N("1") "}"},
        {"{\"a\":" N("1") ",\"b\":" N("2") "}", "REMOVE a SET c = a",
         "{\"b\":" N("2") ",\"c\":" N("1") "}"},
        {"{\"a\":" N("1") "}", "REMOVE b, a", "{}"},
        {"{\"a\":" N("1") "}", "SET a = a + :two", "{\"a\":" N("3") "}"},
        {"{\"a\":" N("1") "}", "SET a = :two - a", "{\"a\":" N("1") "}"},
        {"{\"a\":" N("1") "}", "SET a = (a - :two)", "{\"a\":" N("-1") "}"},
        {"{\"a\":" N("1") "}", "SET a = ((a)-(:half))", "{\"a\":" N("0.5") "}"},
        {"{\"a\":" N("1") "}", "SET b = if_not_exists(b, :two) + a",
         "{\"a\":" N("1") ",\"b\":" N("3") "}"},
        {"{\"a\":" N("1") "}", "SET a = if_not_exists(a, :two)", "{\"a\":" N("1") "}"},
        {"{\"a\":" N("1") "}", "SET b = if_not_exists(x, if_not_exists(a, :two))",
         "{\"a\":" N("1") ",\"b\":" N("1") "}"},
        {"{\"a\":" N("1") "}", "SET b = if_not_exists(x, if_not_exists(y, :two))",
         "{\"a\":" N("1") ",\"b\":" N("2") "}"},
        {"{\"a\":" N("1") "}", "ADD a :one, b :two", "{\"a\":" N("2") ",\"b\":" N("2") "}"},
        {"{\"l\":{\"L\":[" N("1") "," N("2") "]}}", "SET l = list_append(l, :list)",
         "{\"l\":{\"L\":[" N("1") "," N("2") ",{\"S\":\"p\"}]}}"},
        {"{\"l\":{\"L\":[" N("1") "]}}", "SET l = list_append(:list, l)",
         "{\"l\":{\"L\":[{\"S\":\"p\"}," N("1") "]}}"},
        {"{\"l\":{\"L\":[" N("1") "]}}", "SET a = list_append(if_not_exists(a, :list), l)",
         "{\"l\":{\"L\":[" N("1") "]},\"a\":{\"L\":[{\"S\":\"p\"}," N("1") "]}}"},
        {"{\"l\":{\"L\":[" N("2") "," N("3") "," N("4") "," N("5") "," N("6") "," N("7") "]}}",
         "REMOVE l[1] SET l[3] = :one",
         "{\"l\":{\"L\":[" N("2") "," N("4") "," N("1") "," N("6") "," N("7") "]}}"},
        {"{\"l\":{\"L\":[" N("7") "]}}", "SET l[84] = :two, l[17] = :one, l[50] = :s",
         "{\"l\":{\"L\":[" N("7") "," N("1") ",{\"S\":\"new\"}," N("2") "]}}"},
        {"{\"l\":{\"L\":[" N("7") "]}}", "REMOVE l[0]", "{\"l\":{\"L\":[]}}"},
        {"{\"l\":{\"L\":[" N("7") "]}}", "REMOVE l[9]", "{\"l\":{\"L\":[" N("7") "]}}"},
        {"{\"l\":{\"L\":[" N("7") "]}}", "ADD l[0] :one, l[5] :two",
         "{\"l\":{\"L\":[" N("8") "," N("2") "]}}"},
        {"{\"m\":{\"M\":{\"x\":" N("1") "}}}", "REMOVE m.x", "{\"m\":{\"M\":{}}}"},
        {"{\"m\":{\"M\":{\"x\":" N("1") "}}}", "REMOVE m.y", "{\"m\":{\"M\":{\"x\":" N("1") "}}}"},
        {"{\"m\":{\"M\":{\"l\":{\"L\":[{\"M\":{\"y\":" N("1") "}},{\"S\":\"z\"}]}}}}",
         "SET m.l[0].y = :two, m.a = :s REMOVE m.l[1]",
         "{\"m\":{\"M\":{\"l\":{\"L\":[{\"M\":{\"y\":" N("2") "}}]},\"a\":{\"S\":\"new\"}}}}"},
        {"{\"ss\":{\"SS\":[\"a\",\"b\"]}}", "ADD ss :bc", "{\"ss\":{\"SS\":[\"a\",\"b\",\"c\"]}}"},
        {"{\"ss\":{\"SS\":[\"a\",\"b\"]}}", "DELETE ss :bc", "{\"ss\":{\"SS\":[\"a\"]}}"},
        {"{\"ss\":{\"SS\":[\"a\",\"b\"]}}", "DELETE ss :ab", "{}"},
        {"{\"l\":{\"L\":[{\"SS\":[\"a\"]}," N("1") "]}}", "DELETE l[0] :ab, l[7] :ab",
         "{\"l\":{\"L\":[" N("1") "]}}"},
        {"{\"a\":" N("1") "}", "DELETE b :ab", "{\"a\":" N("1") "}"},
        {"{\"a\":" N("1") "}", "ADD b :ab", "{\"a\":" N("1") ",\"b\":{\"SS\":[\"a\",\"b\"]}}"},
        {"{\"n\":" N("1") "}", " sEt\t#n=:two ", "{\"n\":" N("2") "}"},
        {"{}", "SET a=:one,b=:one,c=:one,d=:one,e=:one,f=:one,g=:one,h=:one,i=:one",
         "{\"a\":" N("1") ",\"b\":" N("1") ",\"c\":" N("1") ",\"d\":" N("1") ",\"e\":" N(
             "1") ",\"f\":" N("1") ",\"g\":" N("1") ",\"h\":" N("1") ",\"i\":" N("1") "}"},
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    for (size_t i = 0; i < COUNT_OF(ALL); i++)
        scene_expect(&s, ALL[i][0], ALL[i][1], ALL[i][2]);
    scene_deinit(&s);
}

TEST(sets_of_any_size_are_united_and_subtracted)
{
    struct buffer program = {0}, item = {0}, made = {0};
    for (uint32_t count = 1; count < 3000; count = count * 4 + 1) {
        struct item_writer w;
        struct attr old, all;
        char text[16];
        buffer_clear(&item);
        item_begin(&w, &item); /* s: 0 .. count - 1; more: count / 2 .. 2 * count - 1 */
        for (int which = 0; which < 2; which++) {
            item_name(&w, slice_of(which == 0 ? "s" : "more"));
            item_open(&w, ATTR_STRING_SET);
            for (uint32_t i = which == 0 ? 0 : count / 2; i < count * (which == 0 ? 1 : 2); i++) {
                snprintf(text, sizeof text, "%u", i);
                item_string(&w, slice_of(text));
            }
            item_close(&w);
        }
        item_end(&w);
        assert_true(item_find(buffer_slice(&item), slice_of("s"), &old));
        assert_true(item_find(buffer_slice(&item), slice_of("more"), &all));
        for (enum update_verb verb = UPDATE_ADD; verb <= UPDATE_DELETE; verb++) {
            struct path_part path = {.name = slice_of("s")};
            struct update_value value = {.kind = UPDATE_VALUE, .value = all};
            struct update_action action = {.verb = verb, .path = &path, .value = &value};
            struct update update = {&action, 1};
            struct slice name;
            uint32_t found = 0;
            struct attr element;
            buffer_clear(&program);
            buffer_clear(&made);
            update_program_encode(&program, &update);
            assert_int_equal(update_apply(buffer_slice(&program), buffer_slice(&item), true,
                                          &(struct steps){0}, &made),
                             UPDATE_OK);
            assert_int_equal(item_check(buffer_slice(&made)), STATUS_OK);
            if (item_find(buffer_slice(&made), slice_of("s"), &old)) {
                for (struct attr_cursor c = attr_elements(&old); attr_next(&c, &name, &element);)
                    found++;
            }
            assert_int_equal(found, verb == UPDATE_ADD ? 2 * count : count / 2);
        }
    }
    buffer_deinit(&program);
    buffer_deinit(&item);
    buffer_deinit(&made);
}

TEST(an_update_that_does_not_fit_the_item_says_why)
{
    static const struct {
        const char *text;
        enum update_fault fault;
    } ALL[] = {
        {"SET a = gone", UPDATE_NO_ATTRIBUTE},
        {"SET a = m.gone", UPDATE_NO_ATTRIBUTE},
        {"SET a = l[3]", UPDATE_NO_ATTRIBUTE},
        {"SET a = gone + :one", UPDATE_NO_ATTRIBUTE},
        {"SET a = list_append(:list, gone)", UPDATE_NO_ATTRIBUTE},
        {"SET x = :one, a = x", UPDATE_NO_ATTRIBUTE}, /* x is read from the old item */
        {"SET a = s + :one", UPDATE_OPERAND_TYPE},
        {"SET a = :one - l", UPDATE_OPERAND_TYPE},
        {"SET a = list_append(n, :list)", UPDATE_OPERAND_TYPE},
        {"SET a = list_append(ss, if_not_exists(f, :list))", UPDATE_OPERAND_TYPE},
        {"ADD s :one", UPDATE_OPERAND_TYPE},
        {"ADD ss :one", UPDATE_OPERAND_TYPE},
        {"ADD ss :n23", UPDATE_OPERAND_TYPE},
        {"DELETE ss :n23", UPDATE_OPERAND_TYPE},
        {"DELETE m :ab", UPDATE_OPERAND_TYPE},
        {"SET gone.a = :one", UPDATE_PATH_INVALID},
        {"SET n.a = :one", UPDATE_PATH_INVALID},
        {"SET n[0] = :one", UPDATE_PATH_INVALID},
        {"SET m[0] = :one", UPDATE_PATH_INVALID},
        {"SET l.a = :one", UPDATE_PATH_INVALID},
        {"REMOVE gone.a", UPDATE_PATH_INVALID},
        {"REMOVE gone[0]", UPDATE_PATH_INVALID},
        {"REMOVE l.a", UPDATE_PATH_INVALID},
        {"ADD m.gone.x :one", UPDATE_PATH_INVALID},
        {"DELETE l[7].x :ab", UPDATE_PATH_INVALID},
        {"SET gone.a = :one, b = gone", UPDATE_NO_ATTRIBUTE}, /* values come first */
        {"ADD s :one REMOVE gone.a", UPDATE_OPERAND_TYPE},    /* then paths, in order */
        {"REMOVE gone.a ADD s :one", UPDATE_PATH_INVALID},
        {"SET a = :big + :big", UPDATE_NUMBER_RANGE},
        {"SET a = :e50 + :one", UPDATE_NUMBER_RANGE},
        {"SET a = :tiny - :tiny2", UPDATE_NUMBER_SMALL},
        {"ADD n :e50", UPDATE_NUMBER_RANGE},
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    const struct slice item = expression_fixture_item(&s.expressions, ITEM);
    for (size_t i = 0; i < COUNT_OF(ALL); i++) {
        enum update_fault fault = scene_apply(&s, ALL[i].text, item, true);
        if (fault != ALL[i].fault)
            fail_msg("%s: %d, not %d", ALL[i].text, fault, ALL[i].fault);
    }
    scene_deinit(&s);
}

TEST(of_no_item_nested_attributes_can_be_removed_but_not_set)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    const struct slice key = expression_fixture_item(&s.expressions, "{\"k\":{\"S\":\"key\"}}");
    assert_int_equal(scene_apply(&s, "REMOVE x.y, z[0]", key, false), UPDATE_OK);
    assert_true(slice_equal(buffer_slice(&s.result), key));
    assert_int_equal(scene_apply(&s, "SET x.y = :one", key, false), UPDATE_PATH_INVALID);
    assert_int_equal(scene_apply(&s, "SET x = k", key, false), UPDATE_OK);
    assert_int_equal(scene_apply(&s, "SET x = gone", key, false), UPDATE_NO_ATTRIBUTE);
    buffer_clear(&s.result); /* no bytes at all change nothing */
    assert_int_equal(update_program_check(slice_make(NULL, 0)), STATUS_OK);
    assert_int_equal(update_apply(slice_make(NULL, 0), key, false, &(struct steps){0}, &s.result),
                     UPDATE_OK);
    assert_true(slice_equal(buffer_slice(&s.result), key));
    scene_deinit(&s);
}

/* An item with the string s of so many bytes, and m: maps nested so deep. */
static void large_item(struct buffer *out, size_t size, uint32_t levels)
{
    struct item_writer w;
    char *text = must_calloc(size, 1);
    item_begin(&w, out);
    item_name(&w, slice_of("s"));
    item_string(&w, slice_make(text, size));
    item_name(&w, slice_of("m"));
    for (uint32_t i = 0; i < levels; i++) {
        item_open(&w, ATTR_MAP);
        item_name(&w, slice_of("m"));
    }
    item_null(&w);
    for (uint32_t i = 0; i < levels; i++)
        item_close(&w);
    item_end(&w);
    free(text);
}

TEST(an_item_that_would_be_too_large_is_not_made)
{
    struct scene s;
    struct buffer item = {0};
    (void)state;
    scene_init(&s);
    large_item(&item, ITEM_SIZE_MAX - 1 - 2 - 4, 0); /* s, m: null; room for 4 bytes */
    assert_int_equal(item_size(buffer_slice(&item)), ITEM_SIZE_MAX - 4);
    assert_int_equal(scene_apply(&s, "SET a = :s", buffer_slice(&item), true), UPDATE_OK);
    assert_int_equal(item_size(buffer_slice(&s.result)), ITEM_SIZE_MAX);
    assert_int_equal(scene_apply(&s, "SET ab = :s", buffer_slice(&item), true), UPDATE_TOO_LARGE);
    assert_int_equal(scene_apply(&s, "SET ab = :s REMOVE m", buffer_slice(&item), true), UPDATE_OK);
    assert_int_equal(
        scene_apply(&s, "SET a = s, b = s, c = s, d = s, e = s", buffer_slice(&item), true),
        UPDATE_TOO_LARGE);
    assert_true(s.result.capacity < 3 * ITEM_SIZE_MAX); /* it stopped */
    buffer_deinit(&item);
    scene_deinit(&s);
}

TEST(an_item_that_would_nest_too_deep_is_not_made)
{
    struct scene s;
    struct buffer item = {0};
    char map[2 * NESTING_MAX + 20], set[sizeof map]; /* SET m.m..m = : */
    (void)state;
    scene_init(&s);
    large_item(&item, 1, NESTING_MAX);
    size_t size = (size_t)snprintf(map, sizeof map, "SET m");
    for (int i = 1; i < NESTING_MAX; i++)
        size += (size_t)snprintf(map + size, sizeof map - size, ".m");
    memcpy(set, map, size);
    snprintf(map + size, sizeof map - size, ".m = :map"); /* in the innermost map */
    snprintf(set + size, sizeof set - size, ".m = :ab");  /* a set is no level */
    assert_int_equal(scene_apply(&s, map, buffer_slice(&item), true), UPDATE_TOO_DEEP);
    assert_int_equal(scene_apply(&s, set, buffer_slice(&item), true), UPDATE_OK);
    assert_int_equal(scene_apply(&s, "SET n = m", buffer_slice(&item), true), UPDATE_OK);
    assert_int_equal(scene_apply(&s, "SET m.n = m", buffer_slice(&item), true), UPDATE_TOO_DEEP);
    assert_int_equal(scene_apply(&s, "SET m.n = m.m", buffer_slice(&item), true), UPDATE_OK);
    buffer_deinit(&item);
    scene_deinit(&s);
}

/* ---- texts ---- */

#define SYNTAX(token, near) "Syntax error; token: \"" token "\", near: \"" near "\""
#define OVERLAP                                                                               \
    "Two document paths overlap with each other; must remove or rewrite one of these paths; " \
    "path one: "
#define CONFLICT                                                                               \
    "Two document paths conflict with each other; must remove or rewrite one of these paths; " \
    "path one: "
#define OPERAND_TYPE "Incorrect operand type for operator or function; operator or function: "
#define NOT_DEFINED  "An expression attribute value used in expression is not defined; "

static const char *const REFUSED[][2] = {
    {"", "The expression can not be empty;"},
    {"whatever", SYNTAX("whatever", "whatever")},
    {"HELLO b = :one", SYNTAX("HELLO", "HELLO b")},
    {"set a", SYNTAX("<EOF>", "a")},
    {"set a=set", SYNTAX("set", "=set")},
    {"remove a = b", SYNTAX("=", "a = b")},
    {"add a = b", SYNTAX("=", "a = b")},
    {"add abort b", SYNTAX("b", "abort b")},
    {"delete a if_not_exist(b)", SYNTAX("if_not_exist", "a if_not_exist(")},
    {"set :a = b", SYNTAX(":a", "set :a =")},
    {"remove :a", SYNTAX(":a", "remove :a")},
    {"set a = b / c", SYNTAX("/", "b / c")},
    {"set a[1] = 1", SYNTAX("1", "= 1")},
    {"set a[:x] = :one", SYNTAX(":x", "[:x]")},
    {"SET if_not_exists(a, b) = a", SYNTAX("(", "if_not_exists(a")},
    {"SET _a = :one", SYNTAX("_", "SET _a")},
    {"set (a = (b + c))", SYNTAX("(", "set (a")},
    {"set a = (b.c).d + e", SYNTAX(".", ").d")},
    {"set a = b + c + d", SYNTAX("+", "c + d")},
    {"set a = if_not_exists(b, :one + :two)", SYNTAX("+", ":one + :two")},
    {"set a = if_not_exists(b, (c + d))", SYNTAX("+", "c + d")},
    {"set a = b + (c - d)", SYNTAX("-", "c - d")},
    {"set a = set(b)", SYNTAX("set", "= set(")},
    {"set a = b,", SYNTAX("<EOF>", ",")},
    {"set a = :one set b = :two,", SYNTAX("<EOF>", ",")},
    {" set #x = :c set abOrt = true ",
     "Attribute name is a reserved keyword; reserved keyword: abOrt"},
    {"set a[4294967296] = :one",
     "List index is not within the allowable range; index: [4294967296]"},
    {"set #x = if_not_exist(:x) set c = d", "Invalid function name; function: if_not_exist"},
    {"set a = f(b, :two)", "Invalid function name; function: f"},
    {"set a = size(b)", "The function is not allowed in an update expression; function: size"},
    {"set a = list_append(list_append(:list, :list), :list)",
     "The function is not allowed to be used this way in an expression; function: list_append"},
    {"set a = #x set c = :x", "The \"SET\" section can only be used once in an update expression;"},
    {"delete #x :e set a = b Delete #e :f",
     "The \"DELETE\" section can only be used once in an update expression;"},
    {"set #x = if_not_exists(:x)",
     "An expression attribute name used in the document path is not defined; attribute name: #x"},
    {"set #n = if_not_exists(:x)", NOT_DEFINED "attribute value: :x"},
    {"set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", OVERLAP "[c, [1], a], path two: "
                                                                         "[c]"},
    {"set a = b remove a, #c, #d", OVERLAP "[a], path two: [a]"},
    {"set #c[3].#d = a, #c[3] = a", OVERLAP "[c, [3], [3]], path two: [c, [3]]"},
    {"remove #n, n", OVERLAP "[n], path two: [n]"},
    {"remove a.#c set a[1] = #d", CONFLICT "[a, c], path two: [a, [1]]"},
    {"set #c[3].#d = a, #c.#d[3] = if_not_exists(a)",
     CONFLICT "[c, [3], [3]], path two: [c, [3], [3]]"},
    {"set b = list_append(:s, a), c = if_not_exists(a) add a.b :s",
     "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
     "typeSet: ALLOWED_FOR_ADD_OPERAND"},
    {"delete a.b :one", "Incorrect operand type for operator or function; operator: DELETE, "
                        "operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"},
    {"set a = if_not_exists(c)", "Incorrect number of operands for operator or function; operator "
                                 "or function: if_not_exists, number of operands: 1"},
    {"set a = list_append(b, c, d)", "Incorrect number of operands for operator or function; "
                                     "operator or function: list_append, number of operands: 3"},
    {"set a = if_not_exists(:one, c)", "Operator or function requires a document path; operator "
                                       "or function: if_not_exists"},
    {"set a = if_not_exists(if_not_exists(a, b), c)",
     "Operator or function requires a document path; operator or function: if_not_exists"},
    {"set a = list_append(:s, a)", OPERAND_TYPE "list_append, operand type: S"},
    {"set a = :s + :b", OPERAND_TYPE "+, operand type: S"},
    {"set a = a - :list", OPERAND_TYPE "-, operand type: L"},
    {"set a = ((b))", "The expression has redundant parentheses;"},
    {"set a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.a.b.c.d.e.f.g = :one",
     "The document path has too many nesting levels; nesting levels: 33"},
};

TEST(texts_that_are_no_updates_are_refused_as_the_service_does)
{
    struct scene s;
    char said[400];
    (void)state;
    scene_init(&s);
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++) {
        struct expression_fault fault;
        const char *text = REFUSED[i][0];
        if (update_parse(slice_of(text), &s.expressions.names, &s.expressions.arena, &fault))
            fail_msg("taken: %s", text);
        snprintf(said, sizeof said, "Invalid UpdateExpression: %s", REFUSED[i][1]);
        const char *told = expression_fixture_text(&s.expressions, "UpdateExpression", &fault);
        if (strcmp(told, said) != 0)
            fail_msg("%s\n%s\nnot %s", text, told, said);
    }
    scene_deinit(&s);
}

/* SET a = f(f(..)) with so many functions, or a sum in each of so many actions. */
static bool many_are_taken(struct scene *s, int count, bool nested)
{
    struct buffer text = {0};
    struct expression_fault fault;
    buffer_append_text(&text, "SET ");
    for (int i = 0; i < count; i++) {
        if (nested)
            buffer_append_text(&text, i == 0 ? "a=if_not_exists(a," : "if_not_exists(a,");
        else
            buffer_append_format(&text, "%sz%d=n+n", i == 0 ? "" : ",", i);
    }
    if (nested)
        buffer_append_text(&text, "n");
    for (int i = 0; nested && i < count; i++)
        buffer_append_text(&text, ")");
    bool taken = update_parse(buffer_slice(&text), &s->expressions.names, &s->expressions.arena,
                              &fault) != NULL;
    assert_true(taken || fault.error == EXPRESSION_TOO_MANY_OPERATORS ||
                fault.error == EXPRESSION_TOO_LONG);
    buffer_deinit(&text);
    return taken;
}

TEST(an_update_has_at_most_300_operators)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    assert_true(many_are_taken(&s, 300, false));
    assert_false(many_are_taken(&s, 301, false));
    assert_true(many_are_taken(&s, 230, true)); /* as many as 4 KB hold */
    scene_deinit(&s);
}

TEST(the_paths_of_an_update_are_a_projection)
{
    struct scene s;
    struct buffer shown = {0};
    (void)state;
    scene_init(&s);
    const struct update *u = scene_parse(&s, "SET m.x = :one, l[9] = :one REMOVE l[0] ADD n :one");
    const struct slice item = expression_fixture_item(&s.expressions, ITEM);
    const struct projection *paths = update_paths(u, &s.expressions.arena);
    assert_int_equal(paths->count, 4);
    projection_append(&shown, paths, item);
    assert_string_equal(
        expression_fixture_json(&s.expressions, buffer_slice(&shown)),
        "{\"n\":" N("5") ",\"l\":{\"L\":[" N("10") "]},\"m\":{\"M\":{\"x\":" N("1") "}}}");
    buffer_deinit(&shown);
    scene_deinit(&s);
}

/* ---- bytes from outside ---- */

TEST(an_update_program_cut_or_followed_by_more_is_none)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    update_program_encode(
        &s.program,
        scene_parse(&s, "SET a = if_not_exists(m.l[0].y, :s), b = n + :one, c = list_append(l, l) "
                        "REMOVE m.x, l[1] ADD n :one, ns :n23 DELETE ss :ab"));
    assert_int_equal(update_program_check(buffer_slice(&s.program)), STATUS_OK);
    for (size_t size = 1; size < s.program.size; size++)
        assert_int_equal(update_program_check(slice_make(s.program.data, size)), STATUS_MALFORMED);
    buffer_append_u8(&s.program, 0);
    assert_int_equal(update_program_check(buffer_slice(&s.program)), STATUS_MALFORMED);
    scene_deinit(&s);
}

TEST(paths_that_overlap_make_an_item_too)
{
    struct scene s;
    struct path_part index = {.indexed = true};
    struct path_part list = {.name = slice_of("l")},
                     element = {.name = slice_of("l"), .next = &index};
    struct path_part other = {.name = slice_of("new")};
    struct path_part *const paths[] = {&list, &element, &list, &other, &element, &other};
    struct update_value value = {.kind = UPDATE_VALUE};
    struct update_action actions[COUNT_OF(paths)];
    (void)state;
    scene_init(&s);
    const struct slice item = expression_fixture_item(&s.expressions, ITEM);
    assert_true(item_find(item, slice_of("n"), &value.value));
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        actions[i] = (struct update_action){UPDATE_SET, paths[i], &value,
                                            i + 1 < COUNT_OF(paths) ? &actions[i + 1] : NULL};
    update_program_encode(&s.program, &(struct update){actions, COUNT_OF(paths)});
    assert_int_equal(update_program_check(buffer_slice(&s.program)), STATUS_OK);
    assert_int_equal(
        update_apply(buffer_slice(&s.program), item, true, &(struct steps){0}, &s.result),
        UPDATE_OK);
    assert_int_equal(item_check(buffer_slice(&s.result)), STATUS_OK);
    assert_int_equal(item_count(buffer_slice(&s.result)), item_count(item) + 1);
    scene_deinit(&s);
}
