/* key_condition.h - key conditions: an equality on each attribute of the partition key, and
 * conditions on attributes of the sort key.
 *
 * Not here: whether the conditions fit a table's key schema (router/core/key_schema.h). */
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
    struct key_condition list[2 * INDEX_KEYS_MAX];
    uint32_t count;
};

/* Takes the conditions on attributes out of a tree. The result lends from the same memory as the
 * tree. False: the fault says why. */
bool key_conditions_gather(const struct condition *tree, struct key_conditions *out,
                           struct expression_fault *fault);

/* Whether a value of a sort key's attribute fulfils the condition. */
bool key_condition_holds(const struct key_condition *c, const struct attr *value);

/* `key` has the beginning that storage keys share: the collection, and perhaps attributes of the
 * sort key. It becomes a bound of the range [lo, hi) of those keys whose next attribute fulfils the
 * condition. */
void key_condition_bound_lo(struct buffer *key, const struct key_condition *sort);
void key_condition_bound_hi(struct buffer *key, const struct key_condition *sort);
