#include "router/expression/condition.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/must.h"
#include "router/expression/operand.h"

struct parser {
    struct slice text;
    const char *parameter;
    struct expression_names *names;
    struct arena *arena;
    struct fault *fault;
    struct token previous;
    struct token token;
    bool failed; /* a syntax error: the fault is set */
    uint32_t depth;
    uint32_t operators; /* and functions */
    struct operand_errors errors;
};

static struct condition *parse_or(struct parser *p);
static struct condition *parse_term(struct parser *p);

/* ---- tokens ---- */

static size_t end_of(struct parser *p, struct token t)
{
    return (size_t)(t.text.data - p->text.data) + t.text.size;
}

static void advance(struct parser *p)
{
    p->previous = p->token;
    p->token = token_at(p->text, end_of(p, p->token));
}

static bool accept(struct parser *p, enum token_kind kind)
{
    if (p->failed || p->token.kind != kind)
        return false;
    advance(p);
    return true;
}

/* The service shows the token and what stands around it. */
static struct condition *syntax_error(struct parser *p)
{
    if (p->failed)
        return NULL;
    p->failed = true;
    struct token following = token_at(p->text, end_of(p, p->token));
    struct slice near = {p->previous.text.data, 0};
    near.size = (size_t)(following.text.data + following.text.size - near.data);
    struct slice shown = p->token.kind == TOKEN_END ? slice_of("<EOF>") : p->token.text;
    fault_set(p->fault, FAULT_VALIDATION,
              "Invalid %s: Syntax error; token: \"%.*s\", near: \"%.*s\"", p->parameter,
              SHOWN(shown), SHOWN(near));
    return NULL;
}

static bool expect(struct parser *p, enum token_kind kind)
{
    if (accept(p, kind))
        return true;
    syntax_error(p);
    return false;
}

/* ---- nodes ---- */

static struct condition *node(struct parser *p, enum condition_kind kind)
{
    struct condition *c = arena_zalloc(p->arena, sizeof *c);
    c->kind = kind;
    return c;
}

static struct condition *too_many_operators(struct parser *p)
{
    if (!p->failed)
        fault_set(p->fault, FAULT_VALIDATION,
                  "Invalid %s: The expression contains too many operators", p->parameter);
    p->failed = true;
    return NULL;
}

/* An operator or a function was read; false: it is one too many. */
static bool count_operator(struct parser *p)
{
    return p->operators++ < CONDITION_OPERATORS_MAX || too_many_operators(p) != NULL;
}

static void add_argument(struct condition *c, struct condition *argument)
{
    struct condition **end = &c->args;
    while (*end != NULL)
        end = &(*end)->next;
    *end = argument;
    c->arg_count++;
}

static bool is_operand(const struct condition *c)
{
    return c->kind == CONDITION_PATH || c->kind == CONDITION_VALUE || c->kind == CONDITION_FUNCTION;
}

/* ---- paths and values ---- */

static struct path_part *parse_name(struct parser *p)
{
    struct path_part *part = arena_zalloc(p->arena, sizeof *part);
    struct token t = p->token;
    if (t.kind == TOKEN_NAME && t.text.data[0] != '_') {
        part->name = t.text;
        if (token_is_reserved(t.text))
            operand_error(&p->errors, CONDITION_ERROR_RESERVED,
                          "Attribute name is a reserved keyword; reserved keyword: %.*s",
                          SHOWN(t.text));
    } else if (t.kind == TOKEN_NAME_REF) {
        const struct expression_name *n = expression_names_name(p->names, t.text);
        if (n == NULL)
            operand_error(&p->errors, CONDITION_ERROR_OPERANDS,
                          "An expression attribute name used in the document path is not defined; "
                          "attribute name: %.*s",
                          SHOWN(t.text));
        else
            part->name = n->name;
    } else {
        syntax_error(p);
        return part;
    }
    advance(p);
    return part;
}

static struct path_part *parse_index(struct parser *p)
{
    struct path_part *part = arena_zalloc(p->arena, sizeof *part);
    struct slice digits = p->token.text;
    part->indexed = true;
    if (!expect(p, TOKEN_NUMBER))
        return part;
    for (size_t i = 0; i < digits.size && part->index < UINT32_MAX / 16; i++)
        part->index = part->index * 10 + (uint32_t)(digits.data[i] - '0');
    expect(p, TOKEN_CLOSE_INDEX);
    return part;
}

static struct condition *parse_path(struct parser *p)
{
    struct condition *c = node(p, CONDITION_PATH);
    struct path_part *last = c->path = parse_name(p);
    while (!p->failed) {
        if (accept(p, TOKEN_DOT))
            last->next = parse_name(p);
        else if (accept(p, TOKEN_OPEN_INDEX))
            last->next = parse_index(p);
        else
            break;
        last = last->next;
    }
    return p->failed ? NULL : c;
}

static struct condition *parse_value(struct parser *p)
{
    struct condition *c = node(p, CONDITION_VALUE);
    const struct expression_name *v = expression_names_value(p->names, p->token.text);
    if (v == NULL)
        operand_error(&p->errors, CONDITION_ERROR_OPERANDS,
                      "An expression attribute value used in expression is not defined; attribute "
                      "value: %.*s",
                      SHOWN(p->token.text));
    else
        c->value = v->value;
    advance(p);
    return c;
}

/* ---- functions and parentheses ---- */

/* "(a, b, c)" into the arguments of `c`. */
static bool parse_arguments(struct parser *p, struct condition *c)
{
    if (!expect(p, TOKEN_OPEN))
        return false;
    do {
        struct condition *argument = parse_term(p);
        if (argument == NULL)
            return false;
        if (!is_operand(argument)) {
            syntax_error(p);
            return false;
        }
        add_argument(c, argument);
    } while (accept(p, TOKEN_COMMA));
    return expect(p, TOKEN_CLOSE);
}

static struct condition *parse_function(struct parser *p)
{
    struct condition *c = node(p, CONDITION_FUNCTION);
    c->name = p->token.text;
    advance(p);
    if (!count_operator(p) || !parse_arguments(p, c))
        return NULL;
    operand_check_nested(&p->errors, c);
    operand_check_function(&p->errors, c);
    return c;
}

static struct condition *parse_parentheses(struct parser *p)
{
    advance(p);
    struct condition *c = parse_or(p);
    if (c == NULL || !expect(p, TOKEN_CLOSE))
        return NULL;
    if (c->parenthesized)
        operand_error(&p->errors, CONDITION_ERROR_PARENTHESES,
                      "The expression has redundant parentheses;");
    c->parenthesized = true;
    return c;
}

/* An operand, a function, or anything in parentheses. */
static struct condition *parse_term(struct parser *p)
{
    struct condition *c = NULL;
    if (p->depth++ > CONDITION_DEPTH_MAX) {
        too_many_operators(p);
    } else if (p->token.kind == TOKEN_OPEN) {
        c = parse_parentheses(p);
    } else if (p->token.kind == TOKEN_VALUE_REF) {
        c = parse_value(p);
    } else if (p->token.kind == TOKEN_NAME &&
               token_at(p->text, end_of(p, p->token)).kind == TOKEN_OPEN) {
        c = parse_function(p);
    } else {
        c = parse_path(p);
    }
    p->depth--;
    return c;
}

/* ---- conditions ---- */

static bool is_comparator(enum token_kind kind)
{
    return kind >= TOKEN_EQ && kind <= TOKEN_GE;
}

static struct condition *parse_comparison(struct parser *p, struct condition *left)
{
    struct condition *c = node(p, CONDITION_COMPARE);
    c->op = p->token.kind;
    advance(p);
    add_argument(c, left);
    struct condition *right = count_operator(p) ? parse_term(p) : NULL;
    if (right == NULL)
        return NULL;
    if (!is_operand(right))
        return syntax_error(p);
    add_argument(c, right);
    operand_check_nested(&p->errors, c);
    operand_check_distinct(&p->errors, c);
    return c;
}

static struct condition *parse_between(struct parser *p, struct condition *left)
{
    struct condition *c = node(p, CONDITION_BETWEEN);
    advance(p);
    if (!count_operator(p))
        return NULL;
    add_argument(c, left);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && !expect(p, TOKEN_AND))
            return NULL;
        struct condition *bound = parse_term(p);
        if (bound == NULL)
            return NULL;
        if (!is_operand(bound))
            return syntax_error(p);
        add_argument(c, bound);
    }
    operand_check_nested(&p->errors, c);
    operand_check_between(&p->errors, c);
    return c;
}

static struct condition *parse_in(struct parser *p, struct condition *left)
{
    struct condition *c = node(p, CONDITION_IN);
    advance(p);
    add_argument(c, left);
    if (!count_operator(p) || !parse_arguments(p, c))
        return NULL;
    if (c->arg_count - 1 > CONDITION_IN_MAX)
        operand_error(&p->errors, CONDITION_ERROR_OPERANDS,
                      "The IN operator takes at most %d operands; number of operands: %u",
                      CONDITION_IN_MAX, c->arg_count - 1);
    operand_check_nested(&p->errors, c);
    return c;
}

/* A condition, or an operand where one stands alone: the caller decides whether it may. */
static struct condition *parse_simple(struct parser *p)
{
    struct condition *left = parse_term(p);
    if (left == NULL)
        return NULL;
    if (!is_operand(left))
        return left;
    if (is_comparator(p->token.kind))
        return parse_comparison(p, left);
    if (p->token.kind == TOKEN_BETWEEN)
        return parse_between(p, left);
    if (p->token.kind == TOKEN_IN)
        return parse_in(p, left);
    return left;
}

/* Operands that are no condition may not be joined by AND, OR or NOT. */
static bool is_condition(struct parser *p, const struct condition *c)
{
    if (c->kind == CONDITION_PATH || c->kind == CONDITION_VALUE) {
        syntax_error(p);
        return false;
    }
    operand_check_condition(&p->errors, c);
    return true;
}

static struct condition *parse_not(struct parser *p)
{
    if (p->token.kind != TOKEN_NOT)
        return parse_simple(p);
    struct condition *c = node(p, CONDITION_NOT);
    advance(p);
    if (p->depth++ > CONDITION_DEPTH_MAX || !count_operator(p))
        return too_many_operators(p);
    struct condition *argument = parse_not(p);
    p->depth--;
    if (argument == NULL || !is_condition(p, argument))
        return NULL;
    add_argument(c, argument);
    return c;
}

/* A chain of one operator; its operands are kept flat, in order. */
static struct condition *parse_chain(struct parser *p, enum token_kind op, enum condition_kind kind,
                                     struct condition *(*parse)(struct parser *))
{
    struct condition *first = parse(p);
    if (first == NULL || p->token.kind != op)
        return first;
    if (!is_condition(p, first))
        return NULL;
    struct condition *c = node(p, kind);
    add_argument(c, first);
    while (accept(p, op)) {
        struct condition *following = count_operator(p) ? parse(p) : NULL;
        if (following == NULL || !is_condition(p, following))
            return NULL;
        add_argument(c, following);
    }
    return c;
}

static struct condition *parse_and(struct parser *p)
{
    return parse_chain(p, TOKEN_AND, CONDITION_AND, parse_not);
}

static struct condition *parse_or(struct parser *p)
{
    return parse_chain(p, TOKEN_OR, CONDITION_OR, parse_and);
}

const struct condition *condition_parse(struct slice text, const char *parameter,
                                        struct expression_names *names, struct arena *arena,
                                        struct fault *fault)
{
    if (text.size == 0) {
        fault_set(fault, FAULT_VALIDATION, "Invalid %s: The expression can not be empty;",
                  parameter);
        return NULL;
    }
    if (text.size > EXPRESSION_SIZE_MAX) {
        fault_set(fault, FAULT_VALIDATION,
                  "Invalid %s: Expression size has exceeded the maximum allowed size; expression "
                  "size: %zu",
                  parameter, text.size);
        return NULL;
    }
    struct parser p = {.text = text,
                       .parameter = parameter,
                       .names = names,
                       .arena = arena,
                       .fault = fault,
                       .token = token_at(text, 0),
                       .errors = {.first = CONDITION_ERROR_NONE}};
    p.previous = (struct token){TOKEN_END, {p.token.text.data, 0}};
    struct condition *c = parse_or(&p);
    if (c != NULL && (p.token.kind != TOKEN_END || !is_condition(&p, c)))
        c = syntax_error(&p);
    if (c != NULL && p.errors.first != CONDITION_ERROR_NONE) {
        fault_set(fault, FAULT_VALIDATION, "Invalid %s: %.*s", parameter, (int)p.errors.text.size,
                  (const char *)p.errors.text.data);
        c = NULL;
    }
    buffer_deinit(&p.errors.text);
    return c;
}
