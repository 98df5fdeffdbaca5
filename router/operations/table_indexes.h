/* table_indexes.h - the secondary indexes of a table: read from CreateTable, and described. */
#pragma once

#include "router/operations/operation.h"

/* Reads the indexes of CreateTable into the spec, whose keys are there. `*out` has them, too; NULL:
 * none. All is in the call's arena. */
bool table_indexes_read(struct call *c, const struct json_value *definitions,
                        const struct json_value *local, struct table_spec *spec,
                        const struct index_set **out);

/* Writes the list of indexes, if there are any. `arn`: the table's. */
void table_indexes_write(struct buffer *out, const struct table *t, struct slice arn);

/* Writes the attributes of all keys: "AttributeDefinitions":[...]. */
void table_definitions_write(struct buffer *out, const struct table *t);
/* Writes {"AttributeName":..,"KeyType":..} for each key attribute. The names begin with those of
 * the partition key. */
void table_key_schema_write(struct buffer *out, const struct key_attr *keys,
                            uint32_t partition_count, uint32_t count);
