/* names.h - ExpressionAttributeNames and ExpressionAttributeValues: what #n and :v stand for, and
 * which of them no expression used. */
#ifndef WEIR_ROUTER_EXPRESSION_NAMES_H
#define WEIR_ROUTER_EXPRESSION_NAMES_H

#include "base/arena.h"
#include "engine/item/item.h"
#include "router/fault.h"
#include "router/json.h"

struct expression_name {
    struct slice key; /* "#n" or ":v" */
    struct slice name;
    struct attr value;
    bool used;
};

struct expression_names {
    struct expression_name *names; /* lend from the arena */
    size_t name_count;
    struct expression_name *values;
    size_t value_count;
};

/* Takes both maps, either may be absent, and checks keys and values. All is copied to the arena. */
bool expression_names_read(struct expression_names *out, struct arena *arena,
                           const struct json_value *names, const struct json_value *values,
                           struct fault *fault);

/* For a request without an expression that could use them: refuses either map. `values` is NULL
 * where the operation has none; else `missing` says which expressions are null. */
bool expression_names_absent(const struct json_value *names, const struct json_value *values,
                             const char *missing, struct fault *fault);

/* NULL if not defined; marks it used. */
const struct expression_name *expression_names_name(struct expression_names *n, struct slice key);
const struct expression_name *expression_names_value(struct expression_names *n, struct slice key);

/* After all expressions are parsed: the service refuses what none of them used. */
bool expression_names_all_used(const struct expression_names *n, struct fault *fault);

#endif
