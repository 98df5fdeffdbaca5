/* key_schema.h - KeyConditionExpression as the service checks it: the expression alone, before the
 * table is looked up; then against the table's key schema. */
#ifndef WEIR_ROUTER_EXPRESSION_KEY_SCHEMA_H
#define WEIR_ROUTER_EXPRESSION_KEY_SCHEMA_H

#include "engine/catalog/table.h"
#include "engine/expression/key_condition.h"
#include "router/api_error.h"

/* All that can be said without the table. The result lends from the arena and from `text`. */
bool key_conditions_read(struct slice text, struct expression_names *names, struct arena *arena,
                         struct key_conditions *out, struct fault *fault);

/* Which condition is on which key of the table; `sort->op` may be KEY_ANY. */
bool key_conditions_match(const struct key_conditions *c, const struct table *t,
                          struct key_condition *partition, struct key_condition *sort,
                          struct fault *fault);

#endif
