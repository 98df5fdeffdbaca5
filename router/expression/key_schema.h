/* key_schema.h - checks KeyConditionExpression in the service's order: first alone, before the
 * table is looked up; then against the table's key schema. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/expression/key_condition.h"
#include "router/api_error.h"

/* Parses and checks the expression without the table. The result lends from the arena and from
 * `text`. */
bool key_conditions_read(struct slice text, struct expression_names *names, struct arena *arena,
                         struct key_conditions *out, struct fault *fault);

/* Finds the conditions of partition key and sort key, and checks their values. sort->op is KEY_ANY
 * if there is no condition on the sort key. */
bool key_conditions_match(const struct key_conditions *c, const struct table *t,
                          struct key_condition *partition, struct key_condition *sort,
                          struct fault *fault);
