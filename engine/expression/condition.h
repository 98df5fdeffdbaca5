/* condition.h - the grammar of condition expressions, as a tree.
 *
 *   condition := condition OR condition | condition AND condition | NOT condition
 *              | operand comparator operand | operand BETWEEN operand AND operand
 *              | operand IN (operand, ...) | function(operand, ...) | (condition)
 *   operand   := path | :value | size(path) | (operand)
 *
 * Not here: the program, which is the tree as bytes, to be sent and evaluated (program.h).
 * Source: DynamoDB developer guide, "Condition and filter expressions, operators, and functions".
 */
#pragma once

#include "engine/expression/expression.h"
#include "engine/expression/token.h"

enum {
    CONDITION_IN_MAX = 100 /* operands after IN: the service's limit */
};

enum condition_kind { /* the comments name the members in use */
    CONDITION_OR = 1,
    CONDITION_AND,
    CONDITION_NOT,
    CONDITION_COMPARE, /* op */
    CONDITION_BETWEEN,
    CONDITION_IN,
    CONDITION_FUNCTION, /* name, function */
    CONDITION_PATH,     /* path */
    CONDITION_VALUE,    /* value */
};

enum condition_function {
    FUNCTION_UNKNOWN = 0,
    FUNCTION_EXISTS,
    FUNCTION_NOT_EXISTS,
    FUNCTION_TYPE,
    FUNCTION_BEGINS_WITH,
    FUNCTION_CONTAINS,
    FUNCTION_SIZE,
    FUNCTIONS,
};

struct condition {
    enum condition_kind kind;
    enum token_kind op;
    enum condition_function function;
    struct slice name; /* of the function */
    struct path_part *path;
    struct attr value;
    struct condition *args; /* the first operand; `next`: the others */
    struct condition *last; /* of them */
    struct condition *next;
    uint32_t arg_count;
    bool parenthesized;
};

/* Parses the text, and marks the names and values that it uses. The tree lends from the arena, from
 * `text` and from `names`. NULL: the fault says why. */
const struct condition *condition_parse(struct slice text, struct expression_names *names,
                                        struct arena *arena, struct expression_fault *fault);

/* Checks a tree that another grammar has made: sets the functions, and tells the fault that
 * condition_parse would tell; EXPRESSION_SYNTAX has no text. False: the fault says why. */
bool condition_check(struct condition *tree, struct expression_fault *fault);

/* Adds an operand to a node. */
void condition_add(struct condition *c, struct condition *argument);

/* Whether a path of the condition leads to the attribute. `below`: into the attribute. */
bool condition_uses(const struct condition *c, struct slice name, bool below);
