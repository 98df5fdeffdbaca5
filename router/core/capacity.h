/* capacity.h - the capacity that a call has consumed, of a table and of its indexes. */
#pragma once

#include "router/core/router_internal.h"
#include "router/json/json.h"

struct capacity {
    int64_t table_mcu; /* of the table alone */
    /* of its indexes, by place in the table's set */
    int64_t index_mcu[LOCAL_INDEXES_MAX + GLOBAL_INDEXES_MAX];
};

/* Reads ReturnConsumedCapacity. */
void call_take_consumed(struct call *c, const struct json_value *member);

/* Adds what a reply tells of a write, or of all writes of a transaction in one partition. */
void capacity_add_write(struct capacity *capacity, const struct table *t, const struct reply *r);
void capacity_add(struct capacity *capacity, const struct capacity *more);

/* Writes {"TableName":...}. `kind`: "ReadCapacityUnits" or "WriteCapacityUnits", which transactions
 * tell besides; NULL: neither. */
void capacity_write(struct buffer *out, const struct call *c, const struct table *t,
                    struct slice name, const struct capacity *capacity, const char *kind);
/* Writes "ConsumedCapacity":{...} if the client has asked for it. */
void capacity_write_member(struct buffer *out, const struct call *c, const struct table *t,
                           const struct capacity *capacity);
