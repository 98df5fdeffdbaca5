/* key_condition.h - key conditions: one equality on the partition key, and at most one condition
 * on the sort key.
 *
 * Not here: whether the conditions fit a table's key schema (router/expression/key_schema.h). */
#pragma once

#include "engine/expression/condition.h"

enum key_operator {
    KEY_ANY = 0, /* no condition */
    KEY_EQUAL,
    KEY_LESS,
    KEY_LESS_OR_EQUAL,
    KEY_GREATER,
    KEY_GREATER_OR_EQUAL,
    KEY_BETWEEN,
    KEY_BEGINS_WITH,
    KEY_NOT_INDEXABLE, /* an operator of the older KeyConditions that no key condition may have */
};

struct key_condition {
    struct slice name;
    enum key_operator op;
    struct attr values[2]; /* only BETWEEN has the second */
};

struct key_conditions {
    struct key_condition list[2];
    uint32_t count;
};

/* Takes the conditions on attributes out of a tree. The result lends from the same memory as the
 * tree. False: the fault says why. */
bool key_conditions_gather(const struct condition *tree, struct key_conditions *out,
                           struct expression_fault *fault);

/* Whether a value of the sort key fulfils the condition. */
bool key_condition_holds(const struct key_condition *c, const struct attr *value);

/* Appends a bound of the range [lo, hi) of the storage keys that fulfil both conditions. */
void key_condition_append_lo(struct buffer *out, uint32_t table_id,
                             const struct key_condition *partition,
                             const struct key_condition *sort);
void key_condition_append_hi(struct buffer *out, uint32_t table_id,
                             const struct key_condition *partition,
                             const struct key_condition *sort);
