/* wording.c - the service's texts for faults of expressions in requests. */
#include "engine/expression/wording.h"
#include "router/expression/names.h"

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

bool expression_refuse(struct fault *f, const char *parameter, const struct expression_fault *why)
{
    struct buffer text = {0};
    if (why->error == EXPRESSION_KEY_VALUE_TYPE)
        return fault_invalid(
            f, INVALID "ComparisonOperator %.*s is not valid for %s AttributeValue type",
            SHOWN(why->text), attr_type_name(why->type));
    if (why->error >= EXPRESSION_KEY_OPERATOR)
        return fault_invalid(f, "%s%.*s", KEY_TEXTS[why->error], SHOWN(why->text));
    expression_fault_append(&text, why);
    fault_invalid(f, "Invalid %s: %.*s", parameter, TEXT_OF(text));
    buffer_deinit(&text);
    return false;
}
