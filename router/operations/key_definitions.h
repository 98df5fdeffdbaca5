/* key_definitions.h - reads KeySchema and AttributeDefinitions, of tables and of indexes. */
#pragma once

#include "router/core/operation.h"

/* Refuses attributes that are defined twice. */
bool definitions_differ(struct call *c, const struct json_value *definitions);

/* Reads a schema of a partition key and perhaps a sort key. Names are copied to the call's arena.
 * `of_index`: the texts of refusals differ. */
bool key_schema_read(struct call *c, const struct json_value *definitions,
                     const struct json_value *schema, bool of_index, struct key_attr keys[2],
                     size_t *count);

/* Reads the schema of a global index, of up to INDEX_KEYS_MAX attributes for each of its keys. */
bool key_schema_read_global(struct call *c, const struct json_value *definitions,
                            const struct json_value *schema, struct index *out);

/* Refuses definitions that neither the table's keys nor its indexes use. `set` may be NULL. */
bool definitions_are_used(struct call *c, const struct json_value *definitions,
                          const struct table_spec *spec, const struct index_set *set);
