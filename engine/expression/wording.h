/* wording.h - the service's texts for faults of expressions.
 *
 * Not here: faults of key conditions, whose texts name the request's member (router/expression). */
#pragma once

#include "engine/expression/expression.h"

/* Appends the text that the service has after "Invalid ConditionExpression: ". The fault is none of
 * key conditions. */
void expression_fault_append(struct buffer *out, const struct expression_fault *why);
