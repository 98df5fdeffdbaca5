/* expressions.h - all expressions of one request: which members may stand together, and their
 * trees.
 *
 * A request has expressions (ConditionExpression, ..) or the older parameters (Expected, ..), not
 * both. The older parameters become the same trees (legacy.h).
 * Order of the service's checks: expressions_check comes before the values of Item and Key are
 * looked at, expressions_read after them.
 * Not here: checks that need the table (key_schema.h). */
#pragma once

#include "engine/expression/key_condition.h"
#include "engine/expression/projection.h"
#include "engine/expression/update.h"
#include "router/json/api_error.h"
#include "router/json/json.h"
#include "router/json/value.h"

enum expression_parameter { /* in the order in which the service names them */
    PARAMETER_PROJECTION,
    PARAMETER_FILTER,
    PARAMETER_UPDATE,
    PARAMETER_CONDITION,
    PARAMETER_KEY_CONDITION,
    EXPRESSION_PARAMETERS,
};

enum legacy_parameter { /* in the order in which the service names them */
    LEGACY_ATTRIBUTES_TO_GET,
    LEGACY_ATTRIBUTE_UPDATES,
    LEGACY_QUERY_FILTER,
    LEGACY_SCAN_FILTER,
    LEGACY_EXPECTED,
    LEGACY_CONDITIONAL_OPERATOR,
    LEGACY_KEY_CONDITIONS,
    LEGACY_PARAMETERS,
};

/* Where an operation's input has the members of expressions: indexes of its shape. 0: the input has
 * no such member; member 0 of an input is never one. */
struct expression_members {
    int names;
    int values;
    int expressions[EXPRESSION_PARAMETERS];
    int legacy[LEGACY_PARAMETERS];
    bool idle; /* names and values are ignored if there is no expression: in transactions */
};

/* All lends from the arena. NULL, no keys: the request has no such expression. */
struct expressions {
    struct expression_names names;
    const struct projection *projection;
    const struct update *update;
    const struct condition *condition; /* of ConditionExpression or FilterExpression */
    struct key_conditions keys;
    bool given;  /* the request has a member of any expression */
    bool legacy; /* `condition` and `projection` are of older parameters */
};

/* Refuses expressions beside older parameters, and names or values that no expression could use.
 * `out` must be zero. Call it first. */
bool expressions_check(const struct expression_members *of, const struct json_value m[],
                       struct expressions *out, struct fault *fault);

/* Reads the older parameters, without KeyConditions. */
bool expressions_read_legacy(const struct expression_members *of, const struct json_value m[],
                             struct arena *arena, struct expressions *out, struct fault *fault);

/* Reads names and values, and parses all expressions. Refuses names and values that none uses.
 * Reads KeyConditions at last. Keeps what `out` has of older parameters. */
bool expressions_read(const struct expression_members *of, const struct json_value m[],
                      struct arena *arena, struct expressions *out, struct fault *fault);

/* Append the program of an update, and of a condition. `program` is empty if there is none.
 * False: the values in it are too large. */
bool expressions_encode_update(struct buffer *out, const struct update *update,
                               struct span *program, struct fault *fault);
bool expressions_encode(struct buffer *out, const struct condition *condition, struct span *program,
                        struct fault *fault);
