/* statement_test.c - PartiQL: which trees a text becomes, what is refused, and what a WHERE clause
 * says about keys. */
#include "router/partiql/lexer.h"
#include "router/partiql/where.h"
#include "tests/check.h"

struct scene {
    struct arena arena;
    struct fault fault;
    struct statement s;
    struct buffer shown;
};

static bool scene_parse(struct scene *sc, const char *text)
{
    static const struct attr PARAMETERS[] = {{ATTR_STRING, {(const uint8_t *)"one", 3}},
                                             {ATTR_STRING, {(const uint8_t *)"two", 3}}};
    const struct slice s = slice_of(text);
    uint32_t count = 0;
    for (size_t i = 0; i < s.size; i++)
        count += s.data[i] == '?';
    *sc = (struct scene){0};
    return statement_parse(s, PARAMETERS, count, &sc->arena, &sc->s, &sc->fault);
}

static void scene_deinit(struct scene *sc)
{
    buffer_deinit(&sc->shown);
    fault_deinit(&sc->fault);
    arena_deinit(&sc->arena);
}

/* ---- trees as texts ---- */

static void show_path(struct buffer *out, const struct path_part *path)
{
    for (const struct path_part *p = path; p != NULL; p = p->next) {
        if (p->indexed)
            buffer_append_format(out, "[%u]", p->index);
        else
            buffer_append_format(out, "%s%.*s", p == path ? "" : ".", TEXT_OF(p->name));
    }
}

static void show_value(struct buffer *out, const struct attr *v)
{
    struct number n;
    char digits[NUMBER_TEXT_MAX];
    size_t used;
    if (v->type == ATTR_NUMBER && number_decode(v->body, &n, &used) == STATUS_OK)
        buffer_append(out, digits, number_format(&n, digits));
    else if (v->type == ATTR_STRING)
        buffer_append_format(out, "'%.*s'", TEXT_OF(v->body));
    else
        buffer_append_format(out, "%s", attr_type_name(v->type));
}

static void show_condition(struct buffer *out, const struct condition *c)
{
    static const char *const SIGNS[] = {[TOKEN_EQ] = "=",  [TOKEN_NE] = "<>", [TOKEN_LT] = "<",
                                        [TOKEN_LE] = "<=", [TOKEN_GT] = ">",  [TOKEN_GE] = ">="};
    static const char *const KINDS[] = {[CONDITION_OR] = "or",
                                        [CONDITION_AND] = "and",
                                        [CONDITION_NOT] = "not",
                                        [CONDITION_BETWEEN] = "between",
                                        [CONDITION_IN] = "in"};
    if (c->kind == CONDITION_PATH) {
        show_path(out, c->path);
        return;
    }
    if (c->kind == CONDITION_VALUE) {
        show_value(out, &c->value);
        return;
    }
    buffer_append_u8(out, '(');
    if (c->kind == CONDITION_FUNCTION)
        buffer_append_slice(out, c->name);
    else
        buffer_append_text(out, c->kind == CONDITION_COMPARE ? SIGNS[c->op] : KINDS[c->kind]);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        buffer_append_u8(out, ' ');
        show_condition(out, a);
    }
    buffer_append_u8(out, ')');
}

static void show_update_value(struct buffer *out, const struct update_value *v)
{
    static const char *const NAMES[] = {
        [UPDATE_PLUS] = "+", [UPDATE_MINUS] = "-", [UPDATE_LIST_APPEND] = "append"};
    if (v->kind == UPDATE_PATH) {
        show_path(out, v->path);
    } else if (v->kind == UPDATE_VALUE) {
        show_value(out, &v->value);
    } else {
        buffer_append_format(out, "(%s ", NAMES[v->kind]);
        show_update_value(out, v->left);
        buffer_append_u8(out, ' ');
        show_update_value(out, v->right);
        buffer_append_u8(out, ')');
    }
}

static void show_update(struct buffer *out, const struct update *u)
{
    static const char *const VERBS[] = {[UPDATE_SET] = "set",
                                        [UPDATE_REMOVE] = "remove",
                                        [UPDATE_ADD] = "add",
                                        [UPDATE_DELETE] = "delete"};
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        buffer_append_format(out, "%s ", VERBS[a->verb]);
        show_path(out, a->path);
        if (a->value != NULL) {
            buffer_append_u8(out, ' ');
            show_update_value(out, a->value);
        }
        buffer_append_text(out, a->next != NULL ? "; " : "");
    }
}

/* ---- conditions ---- */

static void expect_where(const char *where, const char *tree)
{
    struct scene sc;
    char text[512];
    snprintf(text, sizeof text, "SELECT * FROM t WHERE %s", where);
    if (!scene_parse(&sc, text))
        fail_msg("%s: %.*s", where, TEXT_OF(sc.fault.text));
    show_condition(&sc.shown, sc.s.where);
    assert_slice_is(buffer_slice(&sc.shown), tree);
    scene_deinit(&sc);
}

TEST(operators_bind_as_in_sql)
{
    expect_where("a = 1 OR b = 2 AND NOT c = 3", "(or (= a 1) (and (= b 2) (not (= c 3))))");
    expect_where("(a = 1 OR b = 2) AND c = 3", "(and (or (= a 1) (= b 2)) (= c 3))");
    expect_where("a = 1 AND b = 2 AND c = 3", "(and (= a 1) (= b 2) (= c 3))");
    expect_where("a = 1 AND (b = 2 AND c = 3)", "(and (= a 1) (and (= b 2) (= c 3)))");
    expect_where("a BETWEEN 1 AND 2 AND b != -1", "(and (between a 1 2) (<> b -1))");
    expect_where("a NOT BETWEEN 1 AND 2", "(not (between a 1 2))");
    expect_where("NOT NOT a.b[2].\"c d\" >= 'x'", "(not (not (>= a.b[2].c d 'x')))");
    expect_where("a IN (1, b) OR a NOT IN [?]", "(or (in a 1 b) (not (in a 'one')))");
    expect_where("a IS MISSING AND b IS NOT MISSING",
                 "(and (attribute_not_exists a) (not (attribute_not_exists b)))");
    expect_where("a IS NULL OR b IS NOT NULL",
                 "(or (attribute_type a 'NULL') (not (attribute_type b 'NULL')))");
    expect_where("a IS string OR b IS NOT Bool",
                 "(or (attribute_type a 'S') (not (attribute_type b 'BOOL')))");
    expect_where("attribute_exists(a) = true AND a = .5e1", "(and (attribute_exists a) (= a 5))");
    expect_where("Begins_With(a, 'x') AND SIZE(b) < size(c)",
                 "(and (begins_with a 'x') (< (size b) (size c)))");
    expect_where("a = - - 1 AND b > + 2", "(and (= a 1) (> b 2))");
    expect_where("a = [1] OR b = {'k': 1} OR c = <<'x'>> OR d = true OR e = NULL",
                 "(or (= a L) (= b M) (= c SS) (= d BOOL) (= e NULL))");
    expect_where("old = 1 AND new = modified", "(and (= old 1) (= new modified))");
}

/* ---- updates ---- */

TEST(clauses_of_an_update_are_its_actions)
{
    struct scene sc;
    (void)state;
    assert_true(scene_parse(
        &sc, "UPDATE t SET a = 1, b.c = b.c - 2 SET d = list_append(d, [1]) REMOVE e, f[0] "
             "SET g = set_add(g, <<1>>), h = set_delete(h, <<'x'>>), i = ? WHERE p = 'x'"));
    show_update(&sc.shown, &sc.s.update);
    assert_slice_is(buffer_slice(&sc.shown),
                    "set a 1; set b.c (- b.c 2); set d (append d L); remove e; remove f[0]; "
                    "add g NS; delete h SS; set i 'one'");
    assert_int_equal(sc.s.update.count, 8);
    scene_deinit(&sc);
}

TEST(what_a_statement_is_about)
{
    struct scene sc;
    (void)state;
    assert_true(scene_parse(&sc, "select \"a\"\"b\", c[1] from \"my-table\".\"idx\" where p = 1 "
                                 "order by p desc, s asc;"));
    assert_int_equal(sc.s.verb, STATEMENT_SELECT);
    assert_slice_is(sc.s.table, "my-table");
    assert_slice_is(sc.s.index, "idx");
    assert_int_equal(sc.s.columns->count, 2);
    statement_column_name(&sc.shown, sc.s.columns->paths->path);
    statement_column_name(&sc.shown, sc.s.columns->paths->next->path);
    assert_slice_is(buffer_slice(&sc.shown), "a\"bc[1]");
    assert_true(sc.s.order->descending && !sc.s.order->next->descending);
    scene_deinit(&sc);
    assert_true(scene_parse(&sc, "DELETE FROM t WHERE p = 1 RETURNING ALL OLD *"));
    assert_int_equal(sc.s.returning, RETURNING_ALL_OLD);
    assert_true(sc.s.verb == STATEMENT_DELETE && statement_writes(&sc.s));
    scene_deinit(&sc);
    assert_true(scene_parse(&sc, "EXISTS(SELECT * FROM t WHERE p = 1 AND x IS MISSING)"));
    assert_true(sc.s.verb == STATEMENT_EXISTS && statement_writes(&sc.s));
    scene_deinit(&sc);
}

TEST(an_inserted_item_is_whole)
{
    struct scene sc;
    struct attr value;
    (void)state;
    assert_true(
        scene_parse(&sc, "INSERT INTO t VALUE {'p': ?, 'n': -1.50, 'l': [1, {'k': <<2, 1>>}]}"));
    assert_int_equal(item_check(sc.s.item), STATUS_OK);
    assert_int_equal(item_count(sc.s.item), 3);
    assert_true(item_find(sc.s.item, slice_of("n"), &value));
    show_value(&sc.shown, &value);
    assert_slice_is(buffer_slice(&sc.shown), "-1.5");
    scene_deinit(&sc);
}

/* ---- refusals ---- */

static void expect_refused(const char *text, const char *message)
{
    struct scene sc;
    assert_false(scene_parse(&sc, text));
    assert_int_equal(sc.fault.kind, FAULT_VALIDATION);
    assert_slice_is(buffer_slice(&sc.fault.text), message);
    scene_deinit(&sc);
}

#define MALFORMED "Statement wasn't well formed, can't be processed: "

TEST(a_syntax_error_is_told_before_what_the_parts_mean)
{
    expect_refused("SELECT * FROM t WHERE a < true AND", MALFORMED "Missing right-hand side "
                                                                   "expression of infix operator");
    expect_refused("SELECT * FROM t x WHERE", MALFORMED "Unexpected term");
    expect_refused(
        "SELECT * FROM t WHERE a < true",
        "Incorrect operand type for operator or function; operator or function: <, operand "
        "type: BOOL");
    expect_refused("INSERT INTO t VALUE {'a': <<>>, 'b': 1e999}", "Empty bags are not supported");
    expect_refused("INSERT INTO t VALUE {'a': 1, 'a': 2}", "Duplicate attribute name in a map");
    expect_refused("INSERT INTO t VALUE {'': 1}",
                   "One or more parameter values were invalid: Empty attribute name");
    expect_refused("UPDATE t SET a = begins_with(a, 'x')",
                   "Invalid function name; function: begins_with");
    expect_refused("UPDATE t SET a = list_append(a, [1]) + 1",
                   "The function is not allowed to be used this way in an expression; function: "
                   "list_append");
    expect_refused("SELECT * FROM t[0]", "A path in the FROM clause has names only");
    expect_refused(
        "SELECT a[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
        "[0][0][0][0][0][0][0][0] FROM t",
        "The document path has too many nesting levels; nesting levels: 33");
    expect_refused("SELECT b, a.c, d, x.c FROM t",
                   "Two columns of the statement have the same name: c");
    expect_refused(
        "UPDATE t SET z = 1, b.c = 2 REMOVE a, b WHERE p = 1",
        "Two document paths overlap with each other; must remove or rewrite one of these "
        "paths; path one: [b, c], path two: [b]");
    expect_refused(
        "UPDATE t SET b[1] = 1, b.c = 2 WHERE p = 1",
        "Two document paths conflict with each other; must remove or rewrite one of these "
        "paths; path one: [b, [1]], path two: [b, c]");
    expect_refused("SELECT * FROM t WHERE a", MALFORMED "Unexpected term");
    expect_refused("SELECT * FROM t WHERE a = 1 AND (NOT 'x')", MALFORMED "Unexpected term");
    expect_refused("SELECT * FROM t WHERE size(a = 1) > 1",
                   "A condition as an operand of another one is not supported by weir yet");
    expect_refused("SELECT * FROM t WHERE a IN [b = 1]",
                   "A condition as an operand of another one is not supported by weir yet");
    expect_refused("SELECT * FROM t WHERE (a = 1 OR b = 2) IS MISSING",
                   "A condition as an operand of another one is not supported by weir yet");
    expect_refused(
        "SELECT * FROM t WHERE size(a)",
        "The function is not allowed to be used this way in an expression; function: size");
}

/* Each of these is refused, and none overflows a stack. */
TEST(nesting_is_bounded)
{
    static const char *const LAYERS[] = {"(",  "NOT ", "[",  "{'a': ", "<<",
                                         "f(", "-",    "- ", "EXISTS("};
    struct buffer text = {0};
    struct scene sc;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(LAYERS); i++) {
        buffer_clear(&text);
        buffer_append_text(&text, "SELECT * FROM t WHERE a = ");
        for (int n = 0; n < 5000; n++)
            buffer_append_text(&text, LAYERS[i]);
        buffer_append_u8(&text, 0);
        assert_false(scene_parse(&sc, (const char *)text.data));
        scene_deinit(&sc);
    }
    buffer_deinit(&text);
}

static void expect_tree_of(int operators, bool good)
{
    struct buffer text = {0};
    struct scene sc;
    buffer_append_text(&text, "SELECT * FROM t WHERE a = 1");
    for (int i = 1; 2 * i < operators; i++)
        buffer_append_text(&text, " AND a = 1");
    buffer_append_u8(&text, 0);
    assert_int_equal(scene_parse(&sc, (const char *)text.data), good);
    scene_deinit(&sc);
    buffer_deinit(&text);
}

TEST(a_clause_has_at_most_as_many_operators_as_a_program)
{
    expect_tree_of(EXPRESSION_OPERATORS_MAX, true);
    expect_tree_of(EXPRESSION_OPERATORS_MAX + 2, false);
}

/* ---- keys ---- */

static const struct table TABLE = {
    .partition_key = {.name = {(const uint8_t *)"p", 1}, .type = ATTR_STRING},
    .sort_key = {.name = {(const uint8_t *)"s", 1}, .type = ATTR_NUMBER}};

/* "p='a' s=1 rest" of the equalities on the key. */
static void expect_key(const char *where, bool in, const char *shown)
{
    struct scene sc;
    struct where_key key;
    char text[256];
    snprintf(text, sizeof text, "SELECT * FROM t WHERE %s", where);
    assert_true(scene_parse(&sc, text));
    where_find_key(sc.s.where, &TABLE, in, &sc.arena, &key);
    for (int i = 0; i < 2; i++) {
        if (key.values[i].type == 0)
            continue;
        buffer_append_format(&sc.shown, "%s=", i == 0 ? "p" : "s");
        show_value(&sc.shown, &key.values[i]);
        buffer_append_u8(&sc.shown, ' ');
    }
    assert_int_equal(key.whole, key.values[0].type != 0 && key.values[1].type != 0);
    if (key.twofold.size > 0)
        buffer_append_format(&sc.shown, "twofold %.*s ", TEXT_OF(key.twofold));
    if (key.rest != NULL)
        show_condition(&sc.shown, key.rest);
    assert_slice_is(buffer_slice(&sc.shown), shown);
    scene_deinit(&sc);
}

TEST(equalities_on_the_key_are_found_below_and)
{
    expect_key("p = 'a' AND s = 1", false, "p='a' s=1 ");
    expect_key("1 = s AND ('a' = p AND x = 2) AND y = 3", false, "p='a' s=1 (and (= x 2) (= y 3))");
    expect_key("p = 'a' AND p = 'a' AND s = 1", false, "p='a' s=1 ");
    expect_key("p = 'a' AND p = 'b' AND s = 1", false, "p='a' s=1 twofold p (= p 'b')");
    expect_key("p = 'a' OR s = 1", false, "(or (= p 'a') (= s 1))");
    expect_key("p = 'a' AND s IN [1]", false, "p='a' (in s 1)");
    expect_key("p = 'a' AND s IN [1]", true, "p='a' s=1 ");
    expect_key("p = 'a' AND s > 1 AND p.x = 1", true, "p='a' (and (> s 1) (= p.x 1))");
}

static void show_range(struct buffer *out, const struct where_range *r)
{
    static const char *const OPS[] = {[KEY_EQUAL] = "=",
                                      [KEY_LESS] = "<",
                                      [KEY_LESS_OR_EQUAL] = "<=",
                                      [KEY_GREATER] = ">",
                                      [KEY_GREATER_OR_EQUAL] = ">=",
                                      [KEY_BETWEEN] = "between",
                                      [KEY_BEGINS_WITH] = "begins"};
    for (uint32_t i = 0; i < r->found.count; i++) {
        const struct key_condition *c = &r->found.of[i];
        buffer_append_format(out, "%.*s%s", TEXT_OF(c->name), OPS[c->op]);
        show_value(out, &c->values[0]);
        buffer_append_u8(out, ' ');
    }
    if (r->also.op != KEY_ANY) {
        buffer_append_text(out, OPS[r->also.op]);
        show_value(out, &r->also.values[0]);
        buffer_append_u8(out, ' ');
    }
    buffer_append_text(out, "| ");
}

/* The ranges, each before a |, then the filter. */
static void expect_ranges(const char *where, const char *shown)
{
    const struct key_schema schema = key_schema_of(&TABLE, NULL);
    struct scene sc;
    struct where_ranges found;
    char text[256];
    snprintf(text, sizeof text, "SELECT * FROM t WHERE %s", where);
    assert_true(scene_parse(&sc, text));
    if (!where_find_ranges(sc.s.where, &schema, &sc.arena, &found, &sc.fault)) {
        buffer_append_slice(&sc.shown, buffer_slice(&sc.fault.text));
    } else {
        for (uint32_t i = 0; i < found.count; i++)
            show_range(&sc.shown, &found.list[i]);
        if (found.filter != NULL)
            show_condition(&sc.shown, found.filter);
    }
    assert_slice_is(buffer_slice(&sc.shown), shown);
    scene_deinit(&sc);
}

TEST(a_clause_becomes_ranges_of_keys_and_a_filter)
{
    expect_ranges("p = 'a'", "p='a' | ");
    expect_ranges("p = 'a' AND 3 > s AND x = 1", "p='a' s<3 | (= x 1)");
    expect_ranges("p = 'a' AND s >= 1 AND s < 5 AND s <> 2", "p='a' s>=1 <5 | (<> s 2)");
    expect_ranges("p = 'a' AND s BETWEEN 1 AND 2", "p='a' sbetween1 | ");
    expect_ranges("p = 'a' AND s = 1 AND s > 0", "p='a' s=1 | (> s 0)");
    expect_ranges("p IN ['a', 'b'] AND s IN [1, 2]",
                  "p='a' s=1 | p='a' s=2 | p='b' s=1 | p='b' s=2 | ");
    expect_ranges("(p = 'a' OR p IN ['b']) AND s > 1", "p='a' s>1 | p='b' s>1 | ");
    expect_ranges("(p = 'a' AND s > 1) OR (p = 'b' AND x = 1)",
                  "p='a' s>1 | p='b' | (or (and (= p 'a') (> s 1)) (and (= p 'b') (= x 1)))");
    expect_ranges("p = 'a' OR x = 1", "(or (= p 'a') (= x 1))");
    expect_ranges("NOT p = 'a'", "(not (= p 'a'))");
    expect_ranges("p > 'a' AND s = 1", "(and (> p 'a') (= s 1))");
    expect_ranges("p = x AND s = 1", "(and (= p x) (= s 1))");
}

TEST(a_key_of_a_wrong_type_is_refused)
{
    expect_ranges("p = 1",
                  "Key attribute's data type should match its data type in table's schema: "
                  "Key p");
    expect_ranges("p = 'a' AND begins_with(s, 'x')",
                  "Key attribute's data type should match its data type in table's schema: Key s");
    expect_ranges("p = ''",
                  "One or more parameter values are not valid. The AttributeValue for a key "
                  "attribute cannot contain an empty string value. Key: p");
    expect_ranges("p > 1", "(> p 1)");
}
