/* wording.c - the service's texts for faults of expressions. */
#include "engine/expression/condition.h"
#include "router/expression/names.h"

/* For expressions of any kind: stands between "Invalid FilterExpression: " and the fault's text. */
static const char *const TEXTS[] = {
    [EXPRESSION_EMPTY] = "The expression can not be empty;",
    [EXPRESSION_TOO_MANY_OPERATORS] = "The expression contains too many operators",
    [EXPRESSION_PARENTHESES] = "The expression has redundant parentheses;",
    [EXPRESSION_FUNCTION_NAME] = "Invalid function name; function: ",
    [EXPRESSION_MISUSED] = "The function is not allowed to be used this way in an expression; "
                           "function: ",
    [EXPRESSION_RESERVED] = "Attribute name is a reserved keyword; reserved keyword: ",
    [EXPRESSION_NAME_UNDEFINED] = "An expression attribute name used in the document path is not "
                                  "defined; attribute name: ",
    [EXPRESSION_VALUE_UNDEFINED] = "An expression attribute value used in expression is not "
                                   "defined; attribute value: ",
    [EXPRESSION_PATH_REQUIRED] = "Operator or function requires a document path; operator or "
                                 "function: ",
};

#define INVALID_KEY "Invalid condition in KeyConditionExpression: "

/* For key conditions: stands before the fault's text. */
static const char *const KEY_TEXTS[] = {
    [EXPRESSION_KEY_OPERATOR] = "Invalid operator used in KeyConditionExpression: ",
    [EXPRESSION_KEY_BETWEEN] = INVALID_KEY "BETWEEN operator must have the key attribute as its "
                                           "first operand",
    [EXPRESSION_KEY_BEGINS_WITH] = INVALID_KEY "begins_with operator must have the key attribute "
                                               "as its first operand",
    [EXPRESSION_KEY_FUNCTION] = "KeyConditionExpressions cannot contain nested operations",
    [EXPRESSION_KEY_TWO_PATHS] = INVALID_KEY "Multiple attribute names used in one condition",
    [EXPRESSION_KEY_NESTED] = "KeyConditionExpressions cannot have conditions on nested "
                              "attributes",
    [EXPRESSION_KEY_NO_PATH] = INVALID_KEY "No key attribute specified",
    [EXPRESSION_KEY_TWO_CONDITIONS] = "KeyConditionExpressions must only contain one condition per "
                                      "key",
    [EXPRESSION_KEY_COUNT] = "Conditions can be of length 1 or 2 only",
};

/* {S:text}, as the service prints a value. */
static void wording_value(struct buffer *out, const struct attr *v)
{
    struct number n = {0};
    char digits[NUMBER_TEXT_MAX];
    size_t used;
    buffer_append_format(out, "{%s:", attr_type_name(v->type));
    if (v->type == ATTR_NUMBER && number_decode(v->body, &n, &used) == STATUS_OK)
        buffer_append(out, digits, number_format(&n, digits));
    else if (v->type == ATTR_STRING)
        buffer_append(out, v->body.data, (size_t)fault_shown_size(v->body));
    buffer_append_u8(out, '}');
}

static void wording_between(struct buffer *out, const struct expression_fault *why)
{
    buffer_append_format(out,
                         "The BETWEEN operator requires %s; lower bound operand: AttributeValue: ",
                         why->error == EXPRESSION_BETWEEN_TYPES
                             ? "same data type for lower and upper bounds"
                             : "upper bound to be greater than or equal to lower bound");
    wording_value(out, &why->low);
    buffer_append_text(out, ", upper bound operand: AttributeValue: ");
    wording_value(out, &why->high);
}

static void wording_same(struct buffer *out, const struct expression_fault *why)
{
    const char *comma = "";
    buffer_append_format(out,
                         "The first operand must be distinct from the remaining operands for this "
                         "operator or function; operator: %.*s, first operand: [",
                         SHOWN(why->text));
    for (const struct path_part *p = why->path; p != NULL && out->size < FAULT_SHOWN_MAX;
         p = p->next) {
        buffer_append_text(out, comma);
        comma = ", ";
        if (p->indexed)
            buffer_append_format(out, "[%u]", p->index);
        else
            buffer_append(out, p->name.data, (size_t)fault_shown_size(p->name));
    }
    buffer_append_u8(out, ']');
}

/* For the faults that are not in the tables above. */
static void wording_append(struct buffer *out, const struct expression_fault *why)
{
    switch (why->error) {
    case EXPRESSION_TOO_LONG:
        buffer_append_format(out,
                             "Expression size has exceeded the maximum allowed size; expression "
                             "size: %zu",
                             why->count);
        break;
    case EXPRESSION_SYNTAX:
        buffer_append_format(out, "Syntax error; token: \"%.*s\", near: \"%.*s\"",
                             SHOWN(why->text.size == 0 ? slice_of("<EOF>") : why->text),
                             SHOWN(why->near));
        break;
    case EXPRESSION_OPERANDS_OF_IN:
        buffer_append_format(out,
                             "The IN operator takes at most %d operands; number of operands: %zu",
                             CONDITION_IN_MAX, why->count);
        break;
    case EXPRESSION_SAME_OPERANDS:
        wording_same(out, why);
        break;
    case EXPRESSION_BETWEEN_TYPES:
    case EXPRESSION_BETWEEN_ORDER:
        wording_between(out, why);
        break;
    case EXPRESSION_OPERAND_COUNT:
        buffer_append_format(out,
                             "Incorrect number of operands for operator or function; operator or "
                             "function: %.*s, number of operands: %zu",
                             SHOWN(why->text), why->count);
        break;
    case EXPRESSION_OPERAND_TYPE:
        buffer_append_format(
            out,
            "Incorrect operand type for operator or function; operator or function: %.*s, operand "
            "type: %s",
            SHOWN(why->text),
            why->type == 0 ? "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}" : attr_type_name(why->type));
        break;
    default:
        buffer_append_text(out, "Invalid attribute type name found; type: ");
        buffer_append(out, why->text.data, (size_t)fault_shown_size(why->text));
        buffer_append_text(out, ", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
    }
}

bool expression_refuse(struct fault *f, const char *parameter, const struct expression_fault *why)
{
    struct buffer more = {0};
    if (why->error == EXPRESSION_KEY_VALUE_TYPE)
        return fault_invalid(
            f, INVALID "ComparisonOperator %.*s is not valid for %s AttributeValue type",
            SHOWN(why->text), attr_type_name(why->type));
    if (why->error >= EXPRESSION_KEY_OPERATOR)
        return fault_invalid(f, "%s%.*s", KEY_TEXTS[why->error], SHOWN(why->text));
    if (why->error < COUNT_OF(TEXTS) && TEXTS[why->error] != NULL)
        return fault_invalid(f, "Invalid %s: %s%.*s", parameter, TEXTS[why->error],
                             SHOWN(why->text));
    wording_append(&more, why);
    fault_invalid(f, "Invalid %s: %.*s", parameter, TEXT_OF(more));
    buffer_deinit(&more);
    return false;
}
