/* operand.c - checks the operands of operators and functions. */
#include "engine/expression/compare.h"
#include "engine/expression/condition.h"
#include "engine/expression/parser.h"

void operand_check_nested(struct parser *p, const struct condition *c)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_FUNCTION && !slice_is(a->name, "size"))
            parser_note_text(p, EXPRESSION_MISUSED, a->name);
    }
}

void operand_check_condition(struct parser *p, const struct condition *c)
{
    if (c->kind == CONDITION_FUNCTION && c->function == FUNCTION_SIZE)
        parser_note_text(p, EXPRESSION_MISUSED, c->name);
}

static bool operand_same_path(const struct path_part *a, const struct path_part *b)
{
    while (a != NULL && b != NULL && a->indexed == b->indexed && slice_equal(a->name, b->name) &&
           a->index == b->index) {
        a = a->next;
        b = b->next;
    }
    return a == NULL && b == NULL;
}

/* Notes a later operand that is the same path as the first. */
static void operand_note_same(struct parser *p, const struct condition *c, struct slice operator)
{
    const struct condition *a = c->args;
    must(a != NULL);
    for (const struct condition *b = a->next; b != NULL; b = b->next) {
        if (a->kind == CONDITION_PATH && b->kind == CONDITION_PATH &&
            operand_same_path(a->path, b->path))
            parser_note(p, &(struct expression_fault){.error = EXPRESSION_SAME_OPERANDS,
                                                      .text = operator,
                                                      .path = a->path});
    }
}

/* Notes operands that are values of a type without an order. */
static void operand_note_unordered(struct parser *p, const struct condition *c,
                                   struct slice operator)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_VALUE && a->value.type != 0 && !attr_is_ordered(a->value.type))
            parser_note(p, &(struct expression_fault){.error = EXPRESSION_OPERAND_TYPE,
                                                      .text = operator,
                                                      .type = a->value.type});
    }
}

void operand_check_comparison(struct parser *p, const struct condition *c)
{
    static const char *const SIGNS[] = {[TOKEN_EQ] = "=",  [TOKEN_NE] = "<>", [TOKEN_LT] = "<",
                                        [TOKEN_LE] = "<=", [TOKEN_GT] = ">",  [TOKEN_GE] = ">="};
    must(c->op >= TOKEN_EQ);
    must(c->op <= TOKEN_GE);
    must(c->arg_count == 2);
    operand_note_same(p, c, slice_of(SIGNS[c->op]));
    if (c->op != TOKEN_EQ && c->op != TOKEN_NE)
        operand_note_unordered(p, c, slice_of(SIGNS[c->op]));
}

void operand_check_in(struct parser *p, const struct condition *c)
{
    operand_note_same(p, c, slice_of("IN"));
}

void operand_check_between(struct parser *p, const struct condition *c)
{
    must(c->arg_count == 3);
    const struct condition *low = c->args->next, *high = low->next;
    struct expression_fault fault = {.low = low->value, .high = high->value};
    operand_note_same(p, c, slice_of("BETWEEN"));
    operand_note_unordered(p, c, slice_of("BETWEEN"));
    if (low->kind != CONDITION_VALUE || high->kind != CONDITION_VALUE || low->value.type == 0 ||
        high->value.type == 0)
        return;
    if (low->value.type != high->value.type)
        fault.error = EXPRESSION_BETWEEN_TYPES;
    else if (attr_is_ordered(low->value.type) && attr_compare(&low->value, &high->value) > 0)
        fault.error = EXPRESSION_BETWEEN_ORDER;
    if (fault.error != EXPRESSION_OK)
        parser_note(p, &fault);
}

/* ---- functions ---- */

static void operand_note_type(struct parser *p, const struct condition *c, enum attr_type type)
{
    parser_note(p, &(struct expression_fault){
                       .error = EXPRESSION_OPERAND_TYPE, .text = c->name, .type = type});
}

static void operand_check_begins_with(struct parser *p, const struct condition *c)
{
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (a->kind == CONDITION_FUNCTION)
            operand_note_type(p, c, ATTR_NUMBER); /* size() */
        else if (a->kind == CONDITION_VALUE && a->value.type != 0 && a->value.type != ATTR_STRING &&
                 a->value.type != ATTR_BINARY)
            operand_note_type(p, c, a->value.type);
    }
}

static void operand_check_exists(struct parser *p, const struct condition *c)
{
    if (c->args->kind != CONDITION_PATH)
        parser_note_text(p, EXPRESSION_PATH_REQUIRED, c->name);
}

static void operand_check_type(struct parser *p, const struct condition *c)
{
    const struct condition *type = c->args->next;
    if (type->kind == CONDITION_FUNCTION)
        operand_note_type(p, c, ATTR_NUMBER); /* size() */
    else if (type->kind != CONDITION_VALUE)
        operand_note_type(p, c, 0);
    else if (type->value.type != 0 && type->value.type != ATTR_STRING)
        operand_note_type(p, c, type->value.type);
    else if (type->value.type != 0 && attr_type_of(type->value.body) == 0)
        parser_note_text(p, EXPRESSION_TYPE_NAME, type->value.body);
}

static void operand_check_size(struct parser *p, const struct condition *c)
{
    enum attr_type type = c->args->value.type;
    if (c->args->kind == CONDITION_FUNCTION)
        operand_note_type(p, c, ATTR_NUMBER); /* size() of size() */
    else if (c->args->kind == CONDITION_VALUE &&
             (type == ATTR_NUMBER || type == ATTR_BOOL || type == ATTR_NULL))
        operand_note_type(p, c, type);
}

static const struct {
    const char *name;
    uint32_t operands;
    void (*check)(struct parser *p, const struct condition *c);
} ALL[FUNCTIONS] = {
    [FUNCTION_EXISTS] = {"attribute_exists", 1, operand_check_exists},
    [FUNCTION_NOT_EXISTS] = {"attribute_not_exists", 1, operand_check_exists},
    [FUNCTION_TYPE] = {"attribute_type", 2, operand_check_type},
    [FUNCTION_BEGINS_WITH] = {"begins_with", 2, operand_check_begins_with},
    [FUNCTION_CONTAINS] = {"contains", 2, NULL},
    [FUNCTION_SIZE] = {"size", 1, operand_check_size},
};

static enum condition_function operand_function_of(struct slice name)
{
    for (enum condition_function f = FUNCTION_UNKNOWN + 1; f < FUNCTIONS; f++) {
        if (slice_is(name, ALL[f].name))
            return f;
    }
    return FUNCTION_UNKNOWN;
}

bool operand_is_condition_function(struct slice name)
{
    return operand_function_of(name) != FUNCTION_UNKNOWN;
}

bool operand_is_update_function(struct slice name)
{
    return slice_is(name, "if_not_exists") || slice_is(name, "list_append");
}

void operand_check_function(struct parser *p, struct condition *c)
{
    must(c->kind == CONDITION_FUNCTION);
    c->function = operand_function_of(c->name);
    if (c->function == FUNCTION_UNKNOWN) {
        const bool known = operand_is_update_function(c->name);
        parser_note_text(p, known ? EXPRESSION_NOT_IN_CONDITIONS : EXPRESSION_FUNCTION_NAME,
                         c->name);
        return;
    }
    if (ALL[c->function].operands != c->arg_count) {
        parser_note(p, &(struct expression_fault){.error = EXPRESSION_OPERAND_COUNT,
                                                  .text = c->name,
                                                  .count = c->arg_count});
        return;
    }
    if (c->arg_count == 2)
        operand_note_same(p, c, c->name);
    if (ALL[c->function].check != NULL)
        ALL[c->function].check(p, c);
}
