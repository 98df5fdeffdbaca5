/* condition.h - the grammar of condition expressions, as a tree.
 *
 *   condition := condition OR condition | condition AND condition | NOT condition
 *              | operand comparator operand | operand BETWEEN operand AND operand
 *              | operand IN (operand, ...) | function(operand, ...) | (condition)
 *   operand   := path | :value | size(path) | (operand)
 *
 * Errors come in the service's order: syntax, redundant parentheses, unknown functions, misused
 * functions, reserved words, then names, operands and types, each at the first place it occurs.
 * Source: DynamoDB developer guide, "Condition and filter expressions, operators, and functions".
 */
#ifndef WEIR_ROUTER_EXPRESSION_CONDITION_H
#define WEIR_ROUTER_EXPRESSION_CONDITION_H

#include "router/expression/names.h"
#include "router/expression/token.h"

enum {
    CONDITION_OPERATORS_MAX = 300, /* and functions: the service's limit for one expression */
    CONDITION_IN_MAX = 100,        /* operands behind IN: the service's limit */
    CONDITION_DEPTH_MAX = 300,     /* levels of parentheses, NOT and functions */
};

enum condition_kind {
    CONDITION_OR = 1,
    CONDITION_AND,
    CONDITION_NOT,
    CONDITION_COMPARE, /* op */
    CONDITION_BETWEEN,
    CONDITION_IN,
    CONDITION_FUNCTION, /* name */
    CONDITION_PATH,     /* parts */
    CONDITION_VALUE,    /* value */
};

/* One step of a document path: a name, or an index. */
struct path_part {
    struct slice name;
    uint32_t index;
    bool indexed;
    struct path_part *next;
};

struct condition {
    enum condition_kind kind;
    enum token_kind op;
    struct slice name; /* of the function */
    struct path_part *path;
    struct attr value;
    struct condition *args; /* the first; `next` leads on */
    struct condition *next;
    uint32_t arg_count;
    bool parenthesized;
};

/* What may go wrong, in the order the service tells it. */
enum condition_error {
    CONDITION_ERROR_PARENTHESES,
    CONDITION_ERROR_FUNCTION_NAME,
    CONDITION_ERROR_MISUSED,
    CONDITION_ERROR_RESERVED,
    CONDITION_ERROR_OPERANDS,
    CONDITION_ERROR_NONE,
};

/* Parses `text`, the value of the parameter `parameter` ("KeyConditionExpression"). The tree lends
 * from the arena and from `text`. */
const struct condition *condition_parse(struct slice text, const char *parameter,
                                        struct expression_names *names, struct arena *arena,
                                        struct fault *fault);

#endif
