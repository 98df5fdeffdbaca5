/* names.h - expressions in requests: ExpressionAttributeNames and ExpressionAttributeValues, and
 * the service's texts for what is wrong with an expression. */
#ifndef WEIR_ROUTER_EXPRESSION_NAMES_H
#define WEIR_ROUTER_EXPRESSION_NAMES_H

#include "engine/expression/expression.h"
#include "router/api_error.h"
#include "router/json/json.h"

/* Takes both maps, either may be absent, and checks keys and values. All is copied to the arena. */
bool expression_names_read(struct expression_names *out, struct arena *arena,
                           const struct json_value *names, const struct json_value *values,
                           struct fault *fault);

/* For a request without an expression that could use them: refuses either map. `values` is NULL
 * where the operation has none; else `missing` says which expressions are null. */
bool expression_names_absent(const struct json_value *names, const struct json_value *values,
                             const char *missing, struct fault *fault);

/* After all expressions are parsed: the service refuses what none of them used. */
bool expression_names_all_used(const struct expression_names *n, struct fault *fault);

/* Sets the fault of the parameter that held the expression ("KeyConditionExpression"); false. */
bool expression_refuse(struct fault *f, const char *parameter, const struct expression_fault *why);

#endif
