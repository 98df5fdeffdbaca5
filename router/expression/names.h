/* names.h - expressions in requests: ExpressionAttributeNames, ExpressionAttributeValues, and the
 * service's texts for faults of an expression. */
#pragma once

#include "engine/expression/expression.h"
#include "router/json/api_error.h"
#include "router/json/json.h"

/* Reads both maps and checks keys and values. Either map may be absent. All is copied to the
 * arena. */
bool expression_names_read(struct expression_names *out, struct arena *arena,
                           const struct json_value *names, const struct json_value *values,
                           struct fault *fault);

/* After all expressions were parsed: refuses names and values that no expression used. */
bool expression_names_all_used(const struct expression_names *n, struct fault *fault);

/* Sets the fault. `parameter` held the expression, such as "KeyConditionExpression". Always
 * false. */
bool expression_refuse(struct fault *f, const char *parameter, const struct expression_fault *why);
