/* update_indexes.h - GlobalSecondaryIndexUpdates of UpdateTable: indexes that come, go, or get
 * another throughput. */
#pragma once

#include "router/operations/table_indexes.h"
#include "router/operations/table_throughput.h"

struct index_updates {
    uint32_t count;
    struct throughput_spec *requested; /* in the call's arena */
    struct index *added;               /* in the call's arena; NULL: none */
    struct throughput_spec added_requested;
    struct slice dropped; /* the name of an index; empty: none */
};

/* Reads the member, which must have passed shape_check. */
bool index_updates_read(struct call *c, const struct json_value *member,
                        const struct json_value *definitions, struct index_updates *out);

/* Checks the updates against the table's indexes, and puts them into the spec, whose billing is
 * set. With a new billing mode of the table, all its indexes change. */
bool index_updates_take(struct call *c, const struct index_updates *updates,
                        const struct table_record *record, struct table_spec *spec);
