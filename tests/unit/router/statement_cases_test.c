/* statement_cases_test.c - PartiQL: which trees a text becomes, what is refused, and what a WHERE
 * clause says about keys: tests/cases/statement (tests/support/case_file.h). Commands:
 *
 *   statement TEXT    what the statement is about
 *   where TEXT        the tree of a WHERE clause
 *   key TEXT          equalities of the clause on the key, and what else must hold; key-in: IN with
 *                     one value is an equality, too
 *   ranges TEXT       the ranges of keys that a SELECT reads, each before a |, then the filter
 *
 * The key is p, a string, and s, a number. The parameters are 'one' and 'two'. <N*TEXT> is so many
 * times TEXT. Of long trees only the beginning is shown. */
#include "router/json/value.h"
#include "router/partiql/lexer.h"
#include "router/partiql/where.h"
#include "tests/check.h"
#include "tests/support/case_file.h"

enum {
    SHOWN_MAX = 200
};

struct scene {
    struct arena arena;
    struct fault fault;
    struct statement s;
    struct buffer shown;
};

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

static void show_columns(struct buffer *out, const struct statement *s)
{
    if (s->columns == NULL)
        buffer_append_text(out, " *");
    for (struct projection_path *p = s->columns == NULL ? NULL : s->columns->paths; p != NULL;
         p = p->next) {
        buffer_append_text(out, p == s->columns->paths ? " " : ", ");
        show_path(out, p->path);
        buffer_append_text(out, " as ");
        statement_column_name(out, p->path);
    }
}

static void show_statement(struct buffer *out, const struct statement *s)
{
    static const char *const VERBS[] = {[STATEMENT_SELECT] = "select",
                                        [STATEMENT_EXISTS] = "exists",
                                        [STATEMENT_INSERT] = "insert",
                                        [STATEMENT_UPDATE] = "update",
                                        [STATEMENT_DELETE] = "delete"};
    static const char *const RETURNING[] = {[RETURNING_ALL_OLD] = "all old",
                                            [RETURNING_MODIFIED_OLD] = "modified old",
                                            [RETURNING_ALL_NEW] = "all new",
                                            [RETURNING_MODIFIED_NEW] = "modified new"};
    buffer_append_format(out, "%s%s %.*s", VERBS[s->verb], statement_writes(s) ? " (a write)" : "",
                         TEXT_OF(s->table));
    if (s->index.size > 0)
        buffer_append_format(out, ".%.*s", TEXT_OF(s->index));
    if (s->verb == STATEMENT_SELECT)
        show_columns(out, s);
    if (s->update.count > 0)
        buffer_append_format(out, ", %u actions: ", s->update.count);
    show_update(out, &s->update);
    if (s->item.size > 0) {
        struct buffer item = {0};
        assert_int_equal(item_check(s->item), STATUS_OK);
        value_write_item(&item, s->item);
        buffer_append_format(out, " %.*s", TEXT_OF(item));
        buffer_deinit(&item);
    }
    if (s->where != NULL) {
        buffer_append_text(out, ", where ");
        show_condition(out, s->where);
    }
    for (const struct statement_order *o = s->order; o != NULL; o = o->next)
        buffer_append_format(out, ", by %.*s%s", TEXT_OF(o->name), o->descending ? " down" : "");
    if (s->returning != RETURNING_NOTHING)
        buffer_append_format(out, ", returning %s", RETURNING[s->returning]);
}

/* ---- keys ---- */

static const struct table TABLE = {
    .partition_key = {.name = {(const uint8_t *)"p", 1}, .type = ATTR_STRING},
    .sort_key = {.name = {(const uint8_t *)"s", 1}, .type = ATTR_NUMBER}};

static void show_key(struct scene *sc, bool in)
{
    struct where_key key;
    where_find_key(sc->s.where, &TABLE, in, &sc->arena, &key);
    for (int i = 0; i < 2; i++) {
        if (key.values[i].type == 0)
            continue;
        buffer_append_format(&sc->shown, "%s=", i == 0 ? "p" : "s");
        show_value(&sc->shown, &key.values[i]);
        buffer_append_u8(&sc->shown, ' ');
    }
    assert_int_equal(key.whole, key.values[0].type != 0 && key.values[1].type != 0);
    if (key.twofold.size > 0)
        buffer_append_format(&sc->shown, "twofold %.*s ", TEXT_OF(key.twofold));
    if (key.rest != NULL)
        show_condition(&sc->shown, key.rest);
    else if (sc->shown.size > 0)
        sc->shown.size--; /* the last space */
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
    buffer_append_text(out, "|");
}

static void show_ranges(struct scene *sc)
{
    const struct key_schema schema = key_schema_of(&TABLE, NULL);
    struct where_ranges found;
    if (!where_find_ranges(sc->s.where, &schema, &sc->arena, &found, &sc->fault)) {
        buffer_append_slice(&sc->shown, buffer_slice(&sc->fault.text));
        return;
    }
    for (uint32_t i = 0; i < found.count; i++) {
        buffer_append_text(&sc->shown, i == 0 ? "" : " ");
        show_range(&sc->shown, &found.list[i]);
    }
    buffer_append_text(&sc->shown, found.count > 0 && found.filter != NULL ? " " : "");
    if (found.filter != NULL)
        show_condition(&sc->shown, found.filter);
}

/* ---- commands ---- */

static bool scene_parse(struct scene *sc, struct slice text)
{
    static const struct attr PARAMETERS[] = {{ATTR_STRING, {(const uint8_t *)"one", 3}},
                                             {ATTR_STRING, {(const uint8_t *)"two", 3}}};
    uint32_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == '?';
    assert_true(count <= COUNT_OF(PARAMETERS));
    return statement_parse(text, PARAMETERS, count, &sc->arena, &sc->s, &sc->fault);
}

static void scene_show(struct scene *sc, const char *verb)
{
    if (strcmp(verb, "statement") == 0)
        show_statement(&sc->shown, &sc->s);
    else if (strcmp(verb, "where") == 0)
        show_condition(&sc->shown, sc->s.where);
    else if (strcmp(verb, "key") == 0 || strcmp(verb, "key-in") == 0)
        show_key(sc, verb[3] != '\0');
    else if (strcmp(verb, "ranges") == 0)
        show_ranges(sc);
    else
        fail_msg("no command '%s'", verb);
}

static void run(void *world, struct slice command, struct buffer *out)
{
    struct scene sc = {0};
    struct buffer text = {0};
    char verb[16];
    int at = 0;
    (void)world;
    assert_int_equal(sscanf((const char *)command.data, "%15s %n", verb, &at), 1);
    if (strcmp(verb, "statement") != 0)
        buffer_append_text(&text, "SELECT * FROM t WHERE ");
    case_append_expanded(&text, (const char *)command.data + at);
    if (scene_parse(&sc, buffer_slice(&text))) {
        scene_show(&sc, verb);
    } else {
        assert_int_equal(sc.fault.kind, FAULT_VALIDATION);
        buffer_append_slice(&sc.shown, buffer_slice(&sc.fault.text));
    }
    const size_t size = sc.shown.size < SHOWN_MAX ? sc.shown.size : SHOWN_MAX;
    buffer_append_format(out, "%.*s%s\n", (int)size, (const char *)sc.shown.data,
                         size < sc.shown.size ? ".." : "");
    buffer_deinit(&text);
    buffer_deinit(&sc.shown);
    fault_deinit(&sc.fault);
    arena_deinit(&sc.arena);
}

static void *begin(void)
{
    return NULL;
}

static void end(void *world)
{
    (void)world;
}

TEST(statements_are_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run};
    case_files_run("statement/*.case", &FORMAT);
}
