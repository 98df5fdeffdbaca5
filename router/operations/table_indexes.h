/* table_indexes.h - the secondary indexes of a table: read from CreateTable, and described. */
#pragma once

#include "router/operations/table_throughput.h"

/* A table and its global indexes, as the catalog tells of them. */
struct table_record {
    struct table table;
    const struct table **indexes; /* table_decode_indexes */
};

/* Reads what a catalog's reply tells; copies it to the arena. */
enum status table_record_read(struct arena *arena, const struct reply *r, struct table_record *out);
/* A new table is CREATING until its indexes are there, too. */
enum table_status table_record_status(const struct table_record *record);
/* Whether nothing about the table and its indexes is under way. */
bool table_record_is_idle(const struct table_record *record);
/* The table of the index; NULL: it is a local index, or the catalog has not told of it. */
const struct table *table_record_index(const struct table_record *record, const struct index *x);

/* Reads the indexes of CreateTable into the spec, whose keys and billing are there. `*out` has
 * them, too; NULL: none. All is in the call's arena. */
bool table_indexes_read(struct call *c, const struct json_value *definitions,
                        const struct json_value *local, const struct json_value *global,
                        struct table_spec *spec, const struct index_set **out);

/* Reads one global index and its throughput. */
bool table_index_read(struct call *c, const struct json_value *definitions,
                      const struct json_value *v, struct index *x,
                      struct throughput_spec *requested);
/* Appends the throughput of a new index as a sized table_spec. `billing`: its table's. */
bool table_index_take_throughput(struct call *c, const struct throughput_spec *requested,
                                 const struct index *x, enum table_billing billing,
                                 struct buffer *out);
/* The set as bytes, in the call's arena. */
struct slice table_index_set_copy(struct call *c, const struct index_set *set);

/* Writes the lists of indexes, if there are any. */
void table_indexes_write(struct buffer *out, const struct call *c,
                         const struct table_record *record, bool is_new);

/* Writes the attributes of all keys: "AttributeDefinitions":[...]. */
void table_definitions_write(struct buffer *out, const struct table *t);
/* Writes {"AttributeName":..,"KeyType":..} for each key attribute. The names begin with those of
 * the partition key. */
void table_key_schema_write(struct buffer *out, const struct key_attr *keys,
                            uint32_t partition_count, uint32_t count);
