/* batch.h - BatchGetItem and BatchWriteItem: many keys at once, in parallel, each on its own.
 *
 * What was throttled or failed comes back as unprocessed; if nothing at all was done, the call
 * fails as its first part did. */
#ifndef WEIR_ROUTER_OPERATIONS_BATCH_H
#define WEIR_ROUTER_OPERATIONS_BATCH_H

#include "router/operation.h"

enum {
    BATCH_ANSWER_MAX = 16 * 1024 * 1024
}; /* bytes of items in one answer */

struct batch_entry {
    uint32_t table;
    bool put;         /* BatchWriteItem: the item is to be written, not the key deleted */
    struct span item; /* a key or an item, encoded */
    struct slice storage_key;
    bool done;
    struct span json; /* BatchGetItem: the item found, in call->body; size 0: none */
};

struct batch_table {
    struct slice name;
    struct route *route;
    bool consistent;
    int64_t consumed_mcu;
};

struct batch {
    struct batch_table *tables;
    uint32_t table_count;
    struct batch_entry *entries; /* those of a table stand together */
    uint32_t entry_count;
    uint32_t done;
    int64_t item_bytes;
    struct subrequest *failed; /* the first */
    struct reply failure;
};

/* Room for as many tables and entries. */
struct batch *batch_create(struct call *c, size_t tables, size_t entries);
struct batch_table *batch_add_table(struct call *c, struct batch *b, struct slice name);
struct batch_entry *batch_add_entry(struct batch *b);

/* Storage keys of all entries; refuses keys that do not fit their table. */
bool batch_find_keys(struct call *c, struct batch *b);
/* Refuses the same key twice. */
bool batch_keys_differ(struct call *c, const struct batch *b);
void batch_want_tables(struct call *c, struct batch *b);
void batch_send(struct call *c, struct batch *b, uint32_t index, enum request_op op);

/* A part that was not done. */
void batch_fail(struct call *c, struct batch *b, struct subrequest *s, const struct reply *r);
/* False, with the fault of the first part, if no part was done. */
bool batch_any_done(struct call *c, const struct batch *b);

/* "ConsumedCapacity":[...] if it was asked for. */
void batch_write_capacity(struct buffer *out, const struct call *c, const struct batch *b);

#endif
