/* condition.c - the parser of condition expressions: recursive descent, one token of look-ahead. */
#include "engine/expression/condition.h"

#include "engine/expression/parser.h"

static struct condition *condition_or(struct parser *p);
static struct condition *condition_term(struct parser *p, bool operand);

/* ---- nodes ---- */

static struct condition *condition_node(struct parser *p, enum condition_kind kind)
{
    struct condition *c = arena_zalloc(p->arena, sizeof *c);
    c->kind = kind;
    return c;
}

void condition_add(struct condition *c, struct condition *argument)
{
    must(argument != c);
    must(argument->next == NULL); /* an operand of one node only */
    must((c->args == NULL) == (c->arg_count == 0));
    *(c->args == NULL ? &c->args : &c->last->next) = argument;
    c->last = argument;
    c->arg_count++;
}

static bool condition_is_leaf(const struct condition *c)
{
    return c->kind == CONDITION_PATH || c->kind == CONDITION_VALUE;
}

static bool condition_is_operand(const struct condition *c)
{
    return condition_is_leaf(c) || c->kind == CONDITION_FUNCTION;
}

/* ---- functions and parentheses ---- */

/* Reads the next operand of `c`. */
static bool condition_operand(struct parser *p, struct condition *c)
{
    struct condition *operand = condition_term(p, true);
    if (operand != NULL)
        condition_add(c, operand);
    return operand != NULL;
}

/* Reads "(a, b, c)" into the operands of `c`. */
static bool condition_arguments(struct parser *p, struct condition *c)
{
    bool sound = parser_expect(p, TOKEN_OPEN);
    do
        sound = sound && condition_operand(p, c);
    while (sound && parser_accept(p, TOKEN_COMMA));
    return sound && parser_expect(p, TOKEN_CLOSE);
}

static struct condition *condition_call(struct parser *p)
{
    struct condition *c = condition_node(p, CONDITION_FUNCTION);
    c->name = p->token.text;
    parser_advance(p);
    if (!parser_count_operator(p) || !condition_arguments(p, c))
        return NULL;
    operand_check_nested(p, c);
    operand_check_function(p, c);
    return c;
}

static struct condition *condition_parentheses(struct parser *p, bool operand)
{
    parser_advance(p);
    struct condition *c = operand ? condition_term(p, true) : condition_or(p);
    if (c == NULL || !parser_expect(p, TOKEN_CLOSE))
        return NULL;
    if (c->parenthesized)
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_PARENTHESES});
    c->parenthesized = true;
    return c;
}

/* Reads an operand, a function, or anything in parentheses. `operand`: the parentheses have only an
 * operand. */
static struct condition *condition_term(struct parser *p, bool operand)
{
    struct condition *c = NULL;
    if (p->depth++ > EXPRESSION_DEPTH_MAX) {
        parser_too_many(p);
    } else if (p->token.kind == TOKEN_OPEN) {
        c = condition_parentheses(p, operand);
    } else if (p->token.kind == TOKEN_VALUE_REF) {
        c = condition_node(p, CONDITION_VALUE);
        c->value = parser_value(p);
    } else if (p->token.kind == TOKEN_NAME && parser_following(p) == TOKEN_OPEN) {
        c = condition_call(p);
    } else {
        c = condition_node(p, CONDITION_PATH);
        c->path = parser_path(p);
    }
    p->depth--;
    return p->failed ? NULL : c;
}

/* ---- conditions ---- */

static bool token_is_comparator(enum token_kind kind)
{
    return kind >= TOKEN_EQ && kind <= TOKEN_GE;
}

static struct condition *condition_comparison(struct parser *p, struct condition *left)
{
    struct condition *c = condition_node(p, CONDITION_COMPARE);
    c->op = p->token.kind;
    parser_advance(p);
    condition_add(c, left);
    if (!parser_count_operator(p) || !condition_operand(p, c))
        return NULL;
    operand_check_nested(p, c);
    operand_check_comparison(p, c);
    return c;
}

static struct condition *condition_between(struct parser *p, struct condition *left)
{
    struct condition *c = condition_node(p, CONDITION_BETWEEN);
    parser_advance(p);
    if (!parser_count_operator(p))
        return NULL;
    condition_add(c, left);
    if (!condition_operand(p, c) || !parser_expect(p, TOKEN_AND) || !condition_operand(p, c))
        return NULL;
    operand_check_nested(p, c);
    operand_check_between(p, c);
    return c;
}

static void condition_check_in(struct parser *p, const struct condition *c)
{
    if (c->arg_count - 1 > CONDITION_IN_MAX)
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_OPERANDS_OF_IN,
                                                  .count = c->arg_count - 1});
    operand_check_in(p, c);
}

static struct condition *condition_in(struct parser *p, struct condition *left)
{
    struct condition *c = condition_node(p, CONDITION_IN);
    parser_advance(p);
    condition_add(c, left);
    if (!parser_count_operator(p) || !condition_arguments(p, c))
        return NULL;
    operand_check_nested(p, c);
    condition_check_in(p, c);
    return c;
}

/* Reads a condition, or an operand that stands alone. The caller checks whether an operand may. */
static struct condition *condition_simple(struct parser *p)
{
    struct condition *left = condition_term(p, false);
    if (left == NULL)
        return NULL;
    if (!condition_is_operand(left))
        return left;
    if (token_is_comparator(p->token.kind))
        return condition_comparison(p, left);
    if (p->token.kind == TOKEN_BETWEEN)
        return condition_between(p, left);
    if (p->token.kind == TOKEN_IN)
        return condition_in(p, left);
    return left;
}

/* Checks that AND, OR, NOT or the whole expression has a condition here, not a lone operand. */
static bool condition_is_whole(struct parser *p, const struct condition *c)
{
    if (condition_is_leaf(c)) {
        parser_syntax_error(p);
        return false;
    }
    operand_check_condition(p, c);
    return true;
}

static struct condition *condition_not(struct parser *p)
{
    if (p->token.kind != TOKEN_NOT)
        return condition_simple(p);
    struct condition *c = condition_node(p, CONDITION_NOT);
    parser_advance(p);
    if (p->depth++ > EXPRESSION_DEPTH_MAX || !parser_count_operator(p))
        return parser_too_many(p);
    struct condition *argument = condition_not(p);
    p->depth--;
    if (argument == NULL || !condition_is_whole(p, argument))
        return NULL;
    condition_add(c, argument);
    return c;
}

/* Reads a chain of one operator. The node has all operands, in order. */
static struct condition *condition_chain(struct parser *p, enum token_kind op,
                                         enum condition_kind kind,
                                         struct condition *(*parse)(struct parser *))
{
    struct condition *first = parse(p);
    if (first == NULL || p->token.kind != op)
        return first;
    if (!condition_is_whole(p, first))
        return NULL;
    struct condition *c = condition_node(p, kind);
    condition_add(c, first);
    while (parser_accept(p, op)) {
        struct condition *following = parser_count_operator(p) ? parse(p) : NULL;
        if (following == NULL || !condition_is_whole(p, following))
            return NULL;
        condition_add(c, following);
    }
    return c;
}

static struct condition *condition_and(struct parser *p)
{
    return condition_chain(p, TOKEN_AND, CONDITION_AND, condition_not);
}

static struct condition *condition_or(struct parser *p)
{
    return condition_chain(p, TOKEN_OR, CONDITION_OR, condition_and);
}

const struct condition *condition_parse(struct slice text, struct expression_names *names,
                                        struct arena *arena, struct expression_fault *fault)
{
    struct parser p;
    if (!parser_init(&p, PARSER_CONDITION, text, names, arena, fault))
        return NULL;
    struct condition *c = condition_or(&p);
    must(p.failed || p.depth == 0);
    must(p.failed == (c == NULL));
    if (c != NULL && (p.token.kind != TOKEN_END || !condition_is_whole(&p, c)))
        parser_syntax_error(&p);
    return fault->error == EXPRESSION_OK ? c : NULL;
}

/* ---- trees of another grammar ---- */

static void condition_note_syntax(struct parser *p)
{
    parser_note(p, &(struct expression_fault){.error = EXPRESSION_SYNTAX});
}

/* Where a condition must stand. */
static void condition_check_whole(struct parser *p, const struct condition *c)
{
    if (condition_is_leaf(c))
        condition_note_syntax(p);
    operand_check_condition(p, c);
}

/* The checks of one node. Those of its operands are done. */
static void condition_check_node(struct parser *p, struct condition *c)
{
    switch (c->kind) {
    case CONDITION_OR:
    case CONDITION_AND:
    case CONDITION_NOT:
        for (const struct condition *a = c->args; a != NULL; a = a->next)
            condition_check_whole(p, a);
        return;
    case CONDITION_PATH:
        parser_check_path(p, c->path);
        return;
    case CONDITION_VALUE:
        return;
    default:
        break;
    }
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (!condition_is_operand(a))
            condition_note_syntax(p);
    }
    operand_check_nested(p, c);
    if (c->kind == CONDITION_COMPARE)
        operand_check_comparison(p, c);
    else if (c->kind == CONDITION_BETWEEN)
        operand_check_between(p, c);
    else if (c->kind == CONDITION_IN)
        condition_check_in(p, c);
    else
        operand_check_function(p, c);
}

/* False: the parsing has ended. */
static bool condition_check_tree(struct parser *p, struct condition *c)
{
    const bool chain = c->kind == CONDITION_OR || c->kind == CONDITION_AND;
    must(!chain || c->arg_count > 1);
    uint32_t operators = chain ? c->arg_count - 1 : condition_is_leaf(c) ? 0 : 1;
    for (; operators > 0; operators--) {
        if (!parser_count_operator(p))
            return false;
    }
    if (p->depth++ > EXPRESSION_DEPTH_MAX)
        return parser_too_many(p) != NULL;
    for (struct condition *a = c->args; a != NULL; a = a->next) {
        if (!condition_check_tree(p, a))
            return false;
    }
    p->depth--;
    condition_check_node(p, c);
    return true;
}

bool condition_check(struct condition *tree, struct expression_fault *fault)
{
    struct parser p = {.grammar = PARSER_CONDITION, .fault = fault};
    *fault = (struct expression_fault){.error = EXPRESSION_OK};
    if (condition_check_tree(&p, tree)) {
        must(p.depth == 0);
        condition_check_whole(&p, tree);
    }
    return fault->error == EXPRESSION_OK;
}
