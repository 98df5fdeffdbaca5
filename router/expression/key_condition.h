/* key_condition.h - KeyConditionExpression: one equality on the partition key, and at most one
 * condition on the sort key.
 *
 * Two steps, as the service checks: the expression alone, before the table is looked up; then
 * against the table's key schema. */
#ifndef WEIR_ROUTER_EXPRESSION_KEY_CONDITION_H
#define WEIR_ROUTER_EXPRESSION_KEY_CONDITION_H

#include "engine/catalog/table.h"
#include "router/expression/condition.h"

enum key_operator {
    KEY_ANY = 0, /* no condition */
    KEY_EQUAL,
    KEY_LESS,
    KEY_LESS_OR_EQUAL,
    KEY_GREATER,
    KEY_GREATER_OR_EQUAL,
    KEY_BETWEEN,
    KEY_BEGINS_WITH,
};

struct key_condition {
    struct slice name;
    enum key_operator op;
    struct attr values[2]; /* the second of BETWEEN */
};

struct key_conditions {
    struct key_condition list[2];
    uint32_t count;
};

/* All that can be said without the table. The result lends from the arena and from `text`. */
bool key_conditions_parse(struct slice text, struct expression_names *names, struct arena *arena,
                          struct key_conditions *out, struct fault *fault);

/* Which condition is on which key of the table; `sort->op` may be KEY_ANY. */
bool key_conditions_match(const struct key_conditions *c, const struct table *t,
                          struct key_condition *partition, struct key_condition *sort,
                          struct fault *fault);

/* Whether a value of the sort key fulfils its condition. */
bool key_condition_holds(const struct key_condition *c, const struct attr *value);

/* Appends the lower and the upper bound, [lo, hi), of the storage keys that fulfil both. */
void key_condition_append_lo(struct buffer *out, uint32_t table_id,
                             const struct key_condition *partition,
                             const struct key_condition *sort);
void key_condition_append_hi(struct buffer *out, uint32_t table_id,
                             const struct key_condition *partition,
                             const struct key_condition *sort);

#endif
