/* key_schema.h - checks expressions against a table's key schema: the checks that come after the
 * table was looked up. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/expression/key_condition.h"
#include "engine/expression/projection.h"
#include "engine/expression/update.h"
#include "router/json/api_error.h"

/* The keys by which a Query reads, and in which order: those of the table, or of an index of it. */
struct key_schema {
    uint32_t partition_count;
    uint32_t sort_count;
    struct key_attr keys[2 * INDEX_KEYS_MAX]; /* of the partition key, then of the sort key */
};
/* `x` NULL: of the table. */
struct key_schema key_schema_of(const struct table *t, const struct index *x);

/* Refuses more conditions than the key of any table has attributes. */
bool key_conditions_are_few(const struct key_conditions *c, struct fault *fault);

/* The conditions in the order of the schema's keys: an equality on each attribute of the partition
 * key, then conditions on the first attributes of the sort key. All of these but the last are
 * equalities. The rest is KEY_ANY. */
struct key_matches {
    uint32_t count; /* of conditions */
    struct key_condition of[2 * INDEX_KEYS_MAX];
};
/* Checks the values of a condition on an attribute of a key. */
bool key_condition_fits(const struct key_condition *c, const struct key_attr *k, bool partition,
                        struct fault *fault);
/* Checks the sizes of the values of all attributes. */
bool key_matches_fit(const struct key_matches *m, const struct key_schema *k, struct fault *fault);
/* Matches conditions and keys, and checks the values. */
bool key_conditions_match(const struct key_conditions *c, const struct key_schema *k,
                          struct key_matches *out, struct fault *fault);

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
