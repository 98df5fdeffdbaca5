/* batch.h - BatchGetItem and BatchWriteItem: many keys at once, in parallel, each on its own.
 *
 * What was throttled or failed comes back as unprocessed; if nothing at all was done, the call
 * fails as its first part did. A write whose collection is full fails it too, whatever else was
 * done: that the exception is among the call's errors is documented, that it wins over what was
 * done is a guess. */
#ifndef WEIR_ROUTER_PLAN_BATCH_H
#define WEIR_ROUTER_PLAN_BATCH_H

#include "router/operations/operation.h"

enum {
    BATCH_ANSWER_MAX = 16 * 1024 * 1024
}; /* bytes of items in one answer */

/* The first members of both inputs. */
enum {
    BATCH_REQUEST_ITEMS,
    BATCH_RETURN_CONSUMED
};

struct batch_entry {
    uint32_t table;
    enum request_op op;
    struct span item; /* a key or an item, encoded */
    struct slice storage_key;
    bool done;
    int64_t collection_bytes; /* BatchWriteItem, where they are counted */
    struct span json;         /* BatchGetItem: the item found, in call->body; size 0: none */
};

struct batch_table {
    struct slice name;
    struct route *route;
    bool consistent;
    uint32_t left; /* entries that are not done */
    int64_t consumed_mcu;
};

struct batch {
    struct batch_table *tables;
    uint32_t table_count;
    struct batch_entry *entries; /* those of a table stand together */
    uint32_t entry_count;
    uint32_t entries_max;
    uint32_t done;
    int64_t item_bytes;
    bool want_collections;
    struct subrequest *failed; /* the gravest; NULL: none */
    struct reply failure;
};

/* Takes RequestItems table by table: `read_table` adds what stands under the table's name. */
bool batch_begin(struct call *c, const struct json_value m[], uint32_t entries_max,
                 bool (*read_table)(struct call *c, struct batch *b, struct batch_table *t,
                                    const struct json_value *value));
/* An entry of the table being read, its op and item still to be set. NULL: there are too many. */
struct batch_entry *batch_add_entry(struct call *c, struct batch *b);

/* For struct operation: sends all entries; refuses keys that do not fit their table, and the same
 * key twice. */
bool batch_ready(struct call *c);

/* The entry that the reply is for; NULL if the node did not do it. */
struct batch_entry *batch_take_reply(struct call *c, struct subrequest *s, const struct reply *r);
/* It will not come back as unprocessed. */
void batch_finish_entry(struct batch *b, struct batch_entry *e);

/* False, with the fault of a part, if none was done, or one is refused for good. */
bool batch_succeeded(struct call *c, const struct batch *b);

/* "ConsumedCapacity":[...] if it was asked for. */
void batch_write_capacity(struct buffer *out, const struct call *c, const struct batch *b);

#endif
