/* batch.h - BatchGetItem and BatchWriteItem: many keys at once, in parallel, each on its own.
 *
 * Parts that were throttled or failed come back as unprocessed. If no part was done, the call
 * fails with the fault of its gravest part. A write whose collection is full fails the call,
 * even if other parts were done: the exception is documented for the call, its precedence is a
 * guess. */
#ifndef WEIR_ROUTER_OPERATIONS_BATCH_H
#define WEIR_ROUTER_OPERATIONS_BATCH_H

#include "router/plan/items.h"

enum {
    BATCH_ANSWER_MAX = 16 * 1024 * 1024
}; /* bytes of items in one answer */

struct batch_entry {
    bool done;
    int64_t collection_bytes; /* BatchWriteItem, where they are counted */
    struct span json;         /* BatchGetItem: the item found, in call->body; size 0: none */
};

struct batch_table {
    bool consistent;
    uint32_t left; /* entries that are not done */
    int64_t consumed_mcu;
};

struct batch {
    struct item_plan *plan;      /* items of a table stand together */
    struct batch_table *tables;  /* beside plan->tables */
    struct batch_entry *entries; /* beside plan->items */
    uint32_t entries_max;
    uint32_t done;
    int64_t item_bytes;
    bool want_collections;
    struct subrequest *failed; /* the gravest; NULL: none */
    struct reply failure;
};

/* Takes RequestItems table by table: `read_table` adds what stands under the table's name. */
bool batch_read(struct call *c, const struct json_value *request_items, uint32_t entries_max,
                bool (*read_table)(struct call *c, struct batch *b,
                                   const struct json_value *value));
/* An entry of the table being read, its op and item still to be set. NULL: there are too many. */
struct item_request *batch_add(struct call *c, struct batch *b);

/* For struct operation: sends all entries; refuses keys that do not fit their table, and the same
 * key twice. */
bool batch_ready(struct call *c);

/* The entry that the reply is for; NULL if the node did not do it. */
struct batch_entry *batch_take_reply(struct call *c, struct subrequest *s, const struct reply *r);
/* The entry will not come back as unprocessed. */
void batch_finish_entry(struct batch *b, struct batch_entry *e);

/* False, with the fault of a part, if no part was done, or a part is refused for good. */
bool batch_succeeded(struct call *c, const struct batch *b);

/* "ConsumedCapacity":[...] if it was asked for. */
void batch_write_capacity(struct buffer *out, const struct call *c, const struct batch *b);

#endif
