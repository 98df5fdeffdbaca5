/* key_schema.h - checks expressions against a table's key schema: the checks that come after the
 * table was looked up. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/expression/key_condition.h"
#include "engine/expression/projection.h"
#include "engine/expression/update.h"
#include "router/api_error.h"

/* The keys by which a Query reads, and in which order: those of the table, or of a local index of it.
 * An empty name: no sort key. */
struct key_schema {
    struct key_attr partition;
    struct key_attr sort;
};
/* `x` NULL: of the table. */
struct key_schema key_schema_of(const struct table *t, const struct index *x);

/* Finds the conditions of partition key and sort key, and checks their values. sort->op is KEY_ANY
 * if there is no condition on the sort key. */
bool key_conditions_match(const struct key_conditions *c, const struct key_schema *k,
                          struct key_condition *partition, struct key_condition *sort,
                          struct fault *fault);

/* Refuses paths that lead into a key attribute, such as pk.a and pk[0]. NULL: nothing to check. */
bool key_paths_of_projection(const struct projection *p, const struct table *t,
                             struct fault *fault);
/* The same for an update. Refuses actions on key attributes of the table, too, and values that an
 * index cannot have as keys. */
bool key_paths_of_update(const struct update *u, const struct table *t, struct fault *fault);
/* The same for a filter. `no_keys` not NULL: the key attributes `k`, by which the Query reads, are
 * refused altogether; the text names the filter, such as "Filter Expression". */
bool key_paths_of_filter(const struct condition *c, const struct table *t,
                         const struct key_schema *k, const char *no_keys, struct fault *fault);
