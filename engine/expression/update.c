/* update.c - the parser of update expressions: recursive descent, one token of look-ahead. */
#include "engine/expression/update.h"

#include <stdlib.h>
#include <strings.h>

#include "engine/expression/parser.h"
#include "engine/expression/projection.h"

static struct update_value *update_term(struct parser *p, bool operand);
static struct update_value *update_value(struct parser *p);

/* ---- values ---- */

static struct update_value *update_node(struct parser *p, enum update_value_kind kind)
{
    struct update_value *v = arena_zalloc(p->arena, sizeof *v);
    v->kind = kind;
    return v;
}

static bool update_is_sum(const struct update_value *v)
{
    return v->kind == UPDATE_PLUS || v->kind == UPDATE_MINUS;
}

/* Notes an operand that is no value of the type, or a list_append() inside something else. */
static void update_check_operand(struct parser *p, const struct update_value *v,
                                 struct slice operator, enum attr_type type)
{
    if (v->kind == UPDATE_LIST_APPEND)
        parser_note_text(p, EXPRESSION_MISUSED, slice_of("list_append"));
    if (v->kind == UPDATE_VALUE && v->value.type != 0 && type != 0 && v->value.type != type)
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_OPERAND_TYPE,
                                                  .text = operator,
                                                  .type = v->value.type});
}

static void update_check_operands(struct parser *p, const struct update_value *v,
                                  struct slice operator, enum attr_type type)
{
    must(v->left != NULL);
    must(v->right != NULL);
    update_check_operand(p, v->left, operator, type);
    update_check_operand(p, v->right, operator, type);
}

/* Checks a call of `name` with the operands v->left and v->right, if it has so many. */
static void update_check_call(struct parser *p, struct update_value *v, struct slice name,
                              uint32_t count)
{
    const bool append = slice_is(name, "list_append");
    if (!operand_is_update_function(name)) {
        const bool known = operand_is_condition_function(name);
        parser_note_text(p, known ? EXPRESSION_NOT_IN_UPDATES : EXPRESSION_FUNCTION_NAME, name);
        return;
    }
    if (append)
        v->kind = UPDATE_LIST_APPEND;
    if (count != 2) {
        parser_note(p, &(struct expression_fault){
                           .error = EXPRESSION_OPERAND_COUNT, .text = name, .count = count});
        return;
    }
    update_check_operands(p, v, name, append ? ATTR_LIST : 0);
    if (append)
        return;
    if (v->left->kind != UPDATE_PATH)
        parser_note_text(p, EXPRESSION_PATH_REQUIRED, name);
    v->path = v->left->path;
    v->left = NULL;
}

static struct update_value *update_call(struct parser *p)
{
    struct update_value *v = update_node(p, UPDATE_IF_NOT_EXISTS);
    const struct slice name = p->token.text;
    uint32_t count = 0;
    parser_advance(p);
    if (!parser_count_operator(p) || !parser_expect(p, TOKEN_OPEN))
        return NULL;
    do {
        struct update_value *argument = update_term(p, true);
        if (argument == NULL)
            return NULL;
        if (count == 0)
            v->left = argument;
        else
            v->right = argument;
        count++;
    } while (parser_accept(p, TOKEN_COMMA));
    if (!parser_expect(p, TOKEN_CLOSE))
        return NULL;
    update_check_call(p, v, name, count);
    return v;
}

static struct update_value *update_parentheses(struct parser *p, bool operand)
{
    parser_advance(p);
    struct update_value *v = operand ? update_term(p, true) : update_value(p);
    if (v == NULL || !parser_expect(p, TOKEN_CLOSE))
        return NULL;
    if (v->parenthesized)
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_PARENTHESES});
    v->parenthesized = true;
    return v;
}

/* Reads a path, a :value, a function, or anything in parentheses. `operand`: the parentheses have
 * no sum. */
static struct update_value *update_term(struct parser *p, bool operand)
{
    struct update_value *v = NULL;
    if (p->depth++ > EXPRESSION_DEPTH_MAX) {
        parser_too_many(p);
    } else if (p->token.kind == TOKEN_OPEN) {
        v = update_parentheses(p, operand);
    } else if (p->token.kind == TOKEN_VALUE_REF) {
        v = update_node(p, UPDATE_VALUE);
        v->value = parser_value(p);
    } else if (p->token.kind == TOKEN_NAME && !token_is_section(p->token.text) &&
               parser_following(p) == TOKEN_OPEN) {
        v = update_call(p);
    } else {
        v = update_node(p, UPDATE_PATH);
        v->path = parser_path(p);
    }
    p->depth--;
    return p->failed ? NULL : v;
}

/* Reads an operand, or a sum or difference of two. */
static struct update_value *update_value(struct parser *p)
{
    struct update_value *left = update_term(p, false);
    if (left == NULL || (p->token.kind != TOKEN_PLUS && p->token.kind != TOKEN_MINUS))
        return left;
    if (update_is_sum(left))
        return parser_syntax_error(p);
    const struct slice sign = p->token.text;
    struct update_value *v =
        update_node(p, p->token.kind == TOKEN_PLUS ? UPDATE_PLUS : UPDATE_MINUS);
    parser_advance(p);
    if (!parser_count_operator(p))
        return NULL;
    v->left = left;
    v->right = update_term(p, true);
    if (v->right == NULL)
        return NULL;
    update_check_operands(p, v, sign, ATTR_NUMBER);
    return v;
}

/* ---- actions ---- */

/* Upper case, as the service names the sections. */
static const char *const UPDATE_WORDS[] = {
    [UPDATE_SET] = "SET",
    [UPDATE_REMOVE] = "REMOVE",
    [UPDATE_ADD] = "ADD",
    [UPDATE_DELETE] = "DELETE",
};

/* 0: no section begins here. */
static enum update_verb update_verb_of(const struct token *t)
{
    for (enum update_verb v = UPDATE_SET; v <= UPDATE_DELETE; v++) {
        if (t->kind == TOKEN_NAME && t->text.size == strlen(UPDATE_WORDS[v]) &&
            strncasecmp((const char *)t->text.data, UPDATE_WORDS[v], t->text.size) == 0)
            return v;
    }
    return 0;
}

/* Reads the :value of ADD or DELETE. */
static struct update_value *update_set_value(struct parser *p, enum update_verb verb)
{
    if (p->failed || p->token.kind != TOKEN_VALUE_REF)
        return parser_syntax_error(p);
    must(verb >= UPDATE_ADD);
    struct update_value *v = update_node(p, UPDATE_VALUE);
    v->value = parser_value(p);
    const enum attr_type type = v->value.type;
    if (type != 0 && attr_set_element(type) == 0 && (verb == UPDATE_DELETE || type != ATTR_NUMBER))
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_ACTION_TYPE,
                                                  .text = slice_of(UPDATE_WORDS[verb]),
                                                  .type = type});
    return v;
}

static struct update_action *update_action(struct parser *p, enum update_verb verb)
{
    struct update_action *a = arena_zalloc(p->arena, sizeof *a);
    a->verb = verb;
    a->path = parser_path(p);
    if (a->path == NULL)
        return NULL;
    parser_add_path(p, a->path);
    if (verb == UPDATE_SET)
        a->value = parser_expect(p, TOKEN_EQ) ? update_value(p) : NULL;
    else if (verb != UPDATE_REMOVE)
        a->value = update_set_value(p, verb);
    return p->failed ? NULL : a;
}

const struct update *update_parse(struct slice text, struct expression_names *names,
                                  struct arena *arena, struct expression_fault *fault)
{
    struct parser p;
    if (!parser_init(&p, PARSER_UPDATE, text, names, arena, fault))
        return NULL;
    struct update *out = arena_zalloc(arena, sizeof *out);
    struct update_action **end = &out->actions;
    bool seen[UPDATE_DELETE + 1] = {false};
    do {
        const enum update_verb verb = update_verb_of(&p.token);
        if (verb == 0)
            return parser_syntax_error(&p);
        if (seen[verb])
            parser_note_text(&p, EXPRESSION_SECTION_TWICE, slice_of(UPDATE_WORDS[verb]));
        seen[verb] = true;
        parser_advance(&p);
        do {
            *end = update_action(&p, verb);
            if (*end == NULL)
                return NULL;
            end = &(*end)->next;
            out->count++;
        } while (parser_accept(&p, TOKEN_COMMA));
    } while (p.token.kind != TOKEN_END);
    must(!p.failed);
    must(p.depth == 0);
    return fault->error == EXPRESSION_OK ? out : NULL;
}

/* ---- updates of another grammar ---- */

static void update_check_value(struct parser *p, const struct update_value *v)
{
    if (v->path != NULL)
        parser_check_path(p, v->path);
    if (v->left != NULL)
        update_check_value(p, v->left);
    if (v->right != NULL)
        update_check_value(p, v->right);
    switch (v->kind) {
    case UPDATE_PLUS:
    case UPDATE_MINUS:
        update_check_operands(p, v, slice_of(v->kind == UPDATE_PLUS ? "+" : "-"), ATTR_NUMBER);
        return;
    case UPDATE_LIST_APPEND:
        update_check_operands(p, v, slice_of("list_append"), ATTR_LIST);
        return;
    default:
        return;
    }
}

/* For qsort. */
static int update_compare_actions(const void *x, const void *y)
{
    const struct update_action *a = *(const struct update_action *const *)x;
    const struct update_action *b = *(const struct update_action *const *)y;
    return path_compare(a->path, b->path);
}

/* Whether `a` stands before `b` in the text. */
static bool update_is_before(const struct update_action *a, const struct update_action *b)
{
    while (a != NULL && a != b)
        a = a->next;
    return a != NULL;
}

/* Notes two paths that overlap or conflict. If there are such, two of them are neighbours in the
 * order of paths. Comparing all pairs would be slow: an update may have thousands. */
static void update_check_paths(struct parser *p, const struct update *u)
{
    const struct update_action **sorted =
        arena_alloc(p->arena, (u->count + 1) * sizeof(const struct update_action *));
    uint32_t count = 0;
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        parser_check_path(p, a->path);
        must(count < u->count);
        sorted[count++] = a;
    }
    must(count == u->count);
    qsort(sorted, count, sizeof *sorted, update_compare_actions);
    for (uint32_t i = 1; i < count; i++) {
        const struct update_action *a = sorted[i - 1], *b = sorted[i];
        const enum expression_error error = parser_relation(a->path, b->path);
        if (error == EXPRESSION_OK)
            continue;
        const bool first = update_is_before(a, b);
        parser_note(p, &(struct expression_fault){.error = error,
                                                  .path = first ? a->path : b->path,
                                                  .other = first ? b->path : a->path});
        return;
    }
}

bool update_check(const struct update *u, struct arena *arena, struct expression_fault *fault)
{
    struct parser p = {.grammar = PARSER_UPDATE, .arena = arena, .fault = fault};
    *fault = (struct expression_fault){.error = EXPRESSION_OK};
    update_check_paths(&p, u);
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        if (a->verb == UPDATE_SET)
            update_check_value(&p, a->value);
    }
    return fault->error == EXPRESSION_OK;
}

const struct projection *update_paths(const struct update *update, struct arena *arena)
{
    struct projection *out = arena_zalloc(arena, sizeof *out);
    struct projection_path **end = &out->paths;
    for (const struct update_action *a = update->actions; a != NULL; a = a->next) {
        *end = arena_zalloc(arena, sizeof **end);
        (*end)->path = a->path;
        end = &(*end)->next;
        out->count++;
    }
    must(out->count == update->count);
    return out;
}
