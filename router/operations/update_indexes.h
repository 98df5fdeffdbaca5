/* update_indexes.h - GlobalSecondaryIndexUpdates of UpdateTable: changes of the throughput of indexes.
 *
 * Not here: indexes that are added to a table or taken away, which weir refuses. */
#pragma once

#include "router/operations/table_indexes.h"
#include "router/operations/table_throughput.h"

struct index_updates {
    uint32_t count;
    struct throughput_asked *asked; /* in the call's arena */
};

/* Reads the member, which must have passed shape_check. */
bool index_updates_read(struct call *c, const struct json_value *member, struct index_updates *out);

/* Checks the updates against the table's indexes, and puts them into the spec, whose billing is set.
 * With a new billing mode of the table, all its indexes change. */
bool index_updates_take(struct call *c, const struct index_updates *updates,
                        const struct table_told *told, struct table_spec *spec);
