/* parse.c - the actions of the grammar, but for literals: trees of paths, conditions and updates.
 * */
#include "router/partiql/parse.h"

#include "engine/expression/wording.h"
#include "router/json/value.h"
#include "router/partiql/grammar.h"

/* ---- faults ---- */

static void parse_end(struct parse *p, const char *detail)
{
    if (!p->ended)
        fault_invalid(p->fault, NOT_WELL_FORMED "%s", detail);
    p->ended = true;
}

void parse_too_deep(struct parse *p)
{
    parse_end(p, "Too many levels of nesting");
}

/* The service has a parser of its own: which detail it tells is known of the first token, of a
 * token after a whole statement, and where an operand is missing. The others are a guess. */
void parse_syntax_error(struct parse *p, int kind)
{
    const int before = p->previous;
    if (kind == LEXER_BAD)
        parse_end(p, "");
    else if (before == LEXER_END)
        parse_end(p, "Expected data manipulation");
    else if (before == PARTIQL_IS || (before == PARTIQL_NOT && kind == PARTIQL_ID))
        parse_end(p, "Expected type name");
    else if (kind == LEXER_END && (before == PARTIQL_AND || before == PARTIQL_OR))
        parse_end(p, "Missing right-hand side expression of infix operator");
    else if (before == PARTIQL_INTO || before == PARTIQL_UPDATE)
        parse_end(p, "Expected identifier for simple path");
    else if (lexer_may_end(before))
        parse_end(p, "Unexpected token after expression");
    else if (lexer_is_operator(kind))
        parse_end(p, "Unexpected operator");
    else
        parse_end(p, lexer_is_keyword(kind) ? "Unexpected keyword" : "Unexpected term");
}

void parse_refuse_expression(struct parse *p, const struct expression_fault *why)
{
    struct buffer text = {0};
    expression_fault_append(&text, why);
    parse_refuse(p, "%.*s", TEXT_OF(text));
    buffer_deinit(&text);
}

struct place parse_place(const struct parse *p, struct slice token)
{
    struct place at = {1, 1, (uint32_t)token.size};
    for (const uint8_t *b = p->text.data; b < token.data; b++) {
        at.column++;
        if (*b == '\n') {
            at.line++;
            at.column = 1;
        }
    }
    return at;
}

/* ---- names and paths ---- */

struct slice parse_name(struct parse *p, struct slice token)
{
    const uint8_t quote = token.data[0];
    if (quote != '"' && quote != '\'')
        return token;
    uint8_t *out = arena_alloc(p->arena, token.size);
    size_t size = 0;
    for (size_t i = 1; i + 1 < token.size; i++) {
        out[size++] = token.data[i];
        i += token.data[i] == quote; /* a doubled quote stands for one */
    }
    return slice_make(out, size);
}

struct path_part *parse_path(struct parse *p, struct slice name)
{
    struct path_part *part = arena_zalloc(p->arena, sizeof *part);
    part->name = name;
    return part;
}

/* Appends a step. Refuses a path that is too long. */
static struct path_part *parse_path_add(struct parse *p, struct path_part *path,
                                        struct path_part *step)
{
    struct path_part *last = path;
    size_t steps = 2;
    for (; last->next != NULL; steps++)
        last = last->next;
    if (steps <= EXPRESSION_PATH_MAX)
        last->next = step;
    else if (!p->refused)
        parse_refuse_expression(
            p, &(struct expression_fault){.error = EXPRESSION_PATH_DEPTH, .count = steps});
    return path;
}

struct path_part *parse_path_name(struct parse *p, struct path_part *path, struct slice name)
{
    return parse_path_add(p, path, parse_path(p, name));
}

static void parse_refuse_index(struct parse *p, bool negative, struct slice number)
{
    const struct place at = parse_place(p, number);
    parse_refuse(p, "List index is not within the allowable range; index: [%s%.*s] at %u:%u:%u",
                 negative ? "-" : "", SHOWN(number), at.line, at.column, negative ? 1 : at.size);
}

struct path_part *parse_path_index(struct parse *p, struct path_part *path, bool negative,
                                   struct slice number)
{
    struct path_part *part = arena_zalloc(p->arena, sizeof *part);
    const int64_t index = number.size > 10 ? -1 : slice_number(number);
    if (!p->refused && (index < 0 || index > INT32_MAX || (negative && index != 0)))
        parse_refuse_index(p, negative, number);
    part->indexed = true;
    part->index = (uint32_t)index;
    return parse_path_add(p, path, part);
}

static void parse_check_names(struct parse *p, const struct path_part *path)
{
    struct fault fault = {0};
    for (; path != NULL; path = path->next) {
        if (!path->indexed && !value_check_name(path->name, &fault))
            parse_refuse(p, "%.*s", TEXT_OF(fault.text));
    }
    fault_deinit(&fault);
}

void parse_table(struct parse *p, const struct path_part *path)
{
    const struct path_part *index = path->next;
    if (index != NULL && index->next != NULL)
        parse_refuse(p, "A path may contain at most 2 components in the FROM clause");
    else if (path->name.size == 0 || (index != NULL && !index->indexed && index->name.size == 0))
        parse_refuse(p, "Path component cannot be an empty string");
    else if (index != NULL && index->indexed)
        parse_refuse(p, "A path in the FROM clause has names only");
    p->out->table = path->name;
    if (index != NULL && !index->indexed)
        p->out->index = index->name;
}

/* ---- conditions ---- */

static struct condition *parse_node(struct parse *p, enum condition_kind kind)
{
    struct condition *c = arena_zalloc(p->arena, sizeof *c);
    c->kind = kind;
    return c;
}

struct condition *parse_value_node(struct parse *p, const struct literal *l)
{
    struct condition *c = parse_node(p, CONDITION_VALUE);
    c->name = l->token;
    c->value = literal_value(p, l);
    return c;
}

struct condition *parse_path_node(struct parse *p, struct path_part *path)
{
    struct condition *c = parse_node(p, CONDITION_PATH);
    c->path = path;
    parse_check_names(p, path);
    return c;
}

struct condition *parse_list(struct parse *p, struct condition *to, struct condition *node)
{
    if (to == NULL)
        to = parse_node(p, 0);
    condition_add(to, node);
    return to;
}

/* The service compares conditions with booleans, too. */
static struct condition *parse_operand_node(struct parse *p, struct condition *c)
{
    if (c->kind != CONDITION_PATH && c->kind != CONDITION_VALUE && c->kind != CONDITION_FUNCTION)
        parse_refuse(p, "A condition as an operand of another one is not supported by weir yet");
    return c;
}

/* Functions are known in any case. */
struct condition *parse_call(struct parse *p, struct slice name, struct condition *arguments)
{
    uint8_t *lower = arena_alloc(p->arena, name.size);
    for (size_t i = 0; i < name.size; i++) {
        const uint8_t c = name.data[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c + 'a' - 'A') : c;
    }
    p->call = name;
    for (struct condition *a = arguments->args; a != NULL; a = a->next)
        parse_operand_node(p, a);
    arguments->kind = CONDITION_FUNCTION;
    arguments->name = slice_make(lower, name.size);
    return arguments;
}

struct condition *parse_compare(struct parse *p, enum token_kind op, struct condition *left,
                                struct condition *right)
{
    const bool held = op == TOKEN_EQ && left->kind == CONDITION_FUNCTION &&
                      !slice_is(left->name, "size") && right->kind == CONDITION_VALUE &&
                      right->value.type == ATTR_BOOL && right->value.body.data[0] != 0;
    if (held) /* function(..) = true */
        return left;
    struct condition *c = parse_node(p, CONDITION_COMPARE);
    c->op = op;
    condition_add(c, parse_operand_node(p, left));
    condition_add(c, parse_operand_node(p, right));
    return c;
}

struct condition *parse_between(struct parse *p, struct condition *of, struct condition *low,
                                struct condition *high)
{
    struct condition *c = parse_node(p, CONDITION_BETWEEN);
    condition_add(c, parse_operand_node(p, of));
    condition_add(c, low);
    condition_add(c, high);
    return c;
}

struct condition *parse_in(struct parse *p, struct condition *of, struct condition *list)
{
    struct condition *c = parse_node(p, CONDITION_IN);
    struct condition *next = list->args;
    condition_add(c, parse_operand_node(p, of));
    while (next != NULL) {
        struct condition *node = next;
        next = node->next;
        node->next = NULL;
        condition_add(c, parse_operand_node(p, node));
    }
    return c;
}

/* A chain of one operator is one node. */
struct condition *parse_chain(struct parse *p, enum condition_kind kind, struct condition *left,
                              struct condition *right)
{
    struct condition *c = left;
    if (c->kind != kind || c->parenthesized) {
        c = parse_node(p, kind);
        condition_add(c, left);
    }
    condition_add(c, right);
    return c;
}

struct condition *parse_not(struct parse *p, struct condition *of)
{
    struct condition *c = parse_node(p, CONDITION_NOT);
    condition_add(c, of);
    return c;
}

static struct condition *parse_function(struct parse *p, const char *name, struct condition *of)
{
    struct condition *c = parse_node(p, CONDITION_FUNCTION);
    c->name = slice_of(name);
    condition_add(c, parse_operand_node(p, of));
    return c;
}

struct condition *parse_is_missing(struct parse *p, struct condition *of)
{
    return parse_function(p, "attribute_not_exists", of);
}

/* What is missing is of no type. */
struct condition *parse_is_type(struct parse *p, struct condition *of, struct slice type)
{
    static const struct {
        const char *word;
        const char *type;
    } TYPES[] = {{"NULL", "NULL"}, {"STRING", "S"}, {"BOOL", "BOOL"}};
    size_t i = 0;
    while (i < COUNT_OF(TYPES) &&
           !(type.size == strlen(TYPES[i].word) &&
             strncasecmp((const char *)type.data, TYPES[i].word, type.size) == 0))
        i++;
    if (i == COUNT_OF(TYPES)) {
        parse_end(p, "Expected type name");
        return of;
    }
    struct condition *c = parse_function(p, "attribute_type", of);
    struct condition *name = parse_node(p, CONDITION_VALUE);
    name->value = (struct attr){ATTR_STRING, slice_of(TYPES[i].type)};
    condition_add(c, name);
    return c;
}

/* ---- updates ---- */

static void parse_act(struct parse *p, enum update_verb verb, struct path_part *path,
                      struct update_value *value)
{
    struct update_action *a = arena_zalloc(p->arena, sizeof *a);
    *a = (struct update_action){.verb = verb, .path = path, .value = value};
    parse_check_names(p, path);
    *p->update_end = a;
    p->update_end = &a->next;
    p->out->update.count++;
}

static struct update_value *parse_update_value(struct parse *p, enum update_value_kind kind)
{
    struct update_value *v = arena_zalloc(p->arena, sizeof *v);
    v->kind = kind;
    return v;
}

/* list_append(a, b). Another function is refused. */
static void parse_append(struct parse *p, const struct condition *call, struct update_value *v)
{
    if (!slice_is(call->name, "list_append")) {
        parse_refuse_expression(
            p, &(struct expression_fault){.error = EXPRESSION_FUNCTION_NAME, .text = call->name});
    } else if (call->arg_count != 2) {
        parse_refuse_expression(p, &(struct expression_fault){.error = EXPRESSION_OPERAND_COUNT,
                                                              .text = call->name,
                                                              .count = call->arg_count});
    } else {
        v->kind = UPDATE_LIST_APPEND;
        v->left = parse_operand(p, call->args);
        v->right = parse_operand(p, call->args->next);
    }
}

struct update_value *parse_operand(struct parse *p, const struct condition *node)
{
    struct update_value *v = parse_update_value(p, UPDATE_VALUE);
    v->value = node->value;
    if (node->kind == CONDITION_PATH) {
        v->kind = UPDATE_PATH;
        v->path = node->path;
    } else if (node->kind == CONDITION_FUNCTION) {
        parse_append(p, node, v);
    } else if (node->kind != CONDITION_VALUE) {
        parse_refuse(p, NOT_WELL_FORMED "%s", "Unexpected operator");
    }
    return v;
}

static bool parse_same_path(const struct path_part *a, const struct path_part *b)
{
    while (a != NULL && b != NULL && path_step_compare(a, b) == 0) {
        a = a->next;
        b = b->next;
    }
    return a == NULL && b == NULL;
}

/* The token after the parenthesis of the call. */
static struct slice parse_first_argument(const struct parse *p)
{
    const struct slice open =
        lexer_token_at(p->text, (size_t)(p->call.data - p->text.data) + p->call.size).text;
    return lexer_token_at(p->text, (size_t)(open.data - p->text.data) + open.size).text;
}

static void parse_refuse_at(struct parse *p, struct slice token, const char *argument,
                            const char *function, const char *must)
{
    const struct place at = parse_place(p, token);
    parse_refuse(p, "The %s argument to %s must %s at %u:%u:%u", argument, function, must, at.line,
                 at.column, at.size);
}

/* SET a = set_add(a, <<..>>), or set_delete: ADD or DELETE. */
static void parse_set_function(struct parse *p, struct path_part *path,
                               const struct condition *call, enum update_verb verb)
{
    const char *name = verb == UPDATE_ADD ? "SET_ADD" : "SET_DELETE";
    const struct condition *first = call->args, *second = first->next;
    struct update_value *v = parse_update_value(p, UPDATE_VALUE);
    if (p->refused)
        return;
    if (call->arg_count != 2)
        parse_refuse_expression(p, &(struct expression_fault){.error = EXPRESSION_OPERAND_COUNT,
                                                              .text = call->name,
                                                              .count = call->arg_count});
    else if (first->kind != CONDITION_PATH || !parse_same_path(first->path, path))
        parse_refuse_at(p, p->call, "first", name, "equal the assignment value");
    else if (second->kind != CONDITION_VALUE || attr_set_element(second->value.type) == 0)
        parse_refuse_at(p, parse_first_argument(p), "second", name, "be a value with type SET");
    else
        v->value = second->value;
    parse_act(p, verb, path, v);
}

void parse_set(struct parse *p, struct path_part *path, const struct condition *node)
{
    const bool call = node->kind == CONDITION_FUNCTION;
    if (call && slice_is(node->name, "set_add"))
        parse_set_function(p, path, node, UPDATE_ADD);
    else if (call && slice_is(node->name, "set_delete"))
        parse_set_function(p, path, node, UPDATE_DELETE);
    else
        parse_act(p, UPDATE_SET, path, parse_operand(p, node));
}

void parse_set_sum(struct parse *p, struct path_part *path, enum update_value_kind kind,
                   const struct condition *left, const struct condition *right)
{
    struct update_value *v = parse_update_value(p, kind);
    v->left = parse_operand(p, left);
    v->right = parse_operand(p, right);
    if (v->left->kind == UPDATE_LIST_APPEND || v->right->kind == UPDATE_LIST_APPEND)
        parse_refuse_expression(p, &(struct expression_fault){.error = EXPRESSION_MISUSED,
                                                              .text = slice_of("list_append")});
    parse_act(p, UPDATE_SET, path, v);
}

void parse_remove(struct parse *p, struct path_part *path)
{
    parse_act(p, UPDATE_REMOVE, path, NULL);
}

/* ---- the rest ---- */

void parse_order(struct parse *p, struct slice name, bool descending)
{
    struct statement_order *o = arena_zalloc(p->arena, sizeof *o);
    *o = (struct statement_order){.name = name, .descending = descending};
    *p->order_end = o;
    p->order_end = (const struct statement_order **)&o->next;
}

void parse_returning(struct parse *p, enum statement_returning returning)
{
    p->out->returning = returning;
}
