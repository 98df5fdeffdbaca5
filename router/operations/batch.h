/* batch.h - BatchGetItem and BatchWriteItem: many items in parallel, one request for each item.
 *
 * Entries that were throttled or failed come back as unprocessed. If no entry was done, the call
 * fails with the gravest failure of an entry. A write whose collection is full fails the call, even
 * if other entries were done. The service documents this exception for the call. Its precedence
 * over the other results is a guess. */
#pragma once

#include "engine/expression/projection.h"
#include "router/core/items.h"

enum {
    BATCH_ANSWER_MAX = 16 * 1024 * 1024, /* bytes of items in one answer */
    /* Bytes of JSON that an answer has beyond its items: a null of 2 bytes is 14 bytes of JSON.
     * Writing them holds the loop. */
    BATCH_MARKUP_MAX = 4 * 1024 * 1024,
};

struct batch_entry {
    bool done;                /* will not come back as unprocessed */
    int64_t collection_bytes; /* BatchWriteItem: the collection's size, if the table counts sizes */
    struct slice item;        /* BatchGetItem: the item found, in the call's arena; size 0: none */
};

struct batch_table {
    bool consistent;
    struct slice projection;       /* BatchGetItem: the text, in the call's arena; empty: none */
    struct expression_names names; /* BatchGetItem: for the projection */
    const struct projection *attributes; /* BatchGetItem: AttributesToGet; NULL: none */
    uint32_t left;                       /* entries that are not done */
    struct capacity consumed;
};

struct batch {
    struct json_cursor tables_left;  /* of the request, while it is read */
    struct json_cursor entries_left; /* of the table; its tape is NULL: none was read */
    struct json_value table;         /* the one that is being read; JSON_ABSENT: none */
    struct item_plan *plan;          /* the items of a table follow each other */
    struct batch_table *tables;      /* one for each of plan->tables */
    struct batch_entry *entries;     /* one for each of plan->items */
    uint32_t entries_max;
    uint32_t done;       /* entries that nodes have done */
    int64_t item_bytes;  /* BatchGetItem: size of the items found */
    bool full;           /* BatchGetItem: the answer takes no more of them */
    int64_t shown_bytes; /* BatchGetItem: size of the items in the answer so far */
    uint32_t written;    /* BatchGetItem: entries that the answer has, or leaves unprocessed */
    bool return_collections;
    bool projections;          /* BatchGetItem: a table has a ProjectionExpression */
    bool attributes;           /* BatchGetItem: a table has AttributesToGet */
    struct subrequest *failed; /* the gravest failure; NULL: none */
    struct reply failure;
};

/* Reads RequestItems table by table: `read_table` adds the entries of one table. It may let the
 * call rest: then both are called again. */
bool batch_read(struct call *c, const struct json_value *request_items, uint32_t entries_max,
                bool (*read_table)(struct call *c, struct batch *b,
                                   const struct json_value *value));
/* Adds an entry to the table that is being read; the caller sets op and item. NULL: too many. */
struct item_request *batch_add(struct call *c, struct batch *b);

/* The entry of the reply. NULL: the node did not do the request. */
struct batch_entry *batch_take_reply(struct call *c, struct subrequest *s, const struct reply *r);
/* Marks the entry as done, or as not done: then it will come back as unprocessed. */
void batch_mark_entry(struct batch *b, struct batch_entry *e, bool done);

/* False: an entry failed and none was done, or a collection is full; the fault is set. */
bool batch_succeeded(struct call *c, const struct batch *b);

/* Writes "ConsumedCapacity":[...] if the client has asked for it. */
void batch_write_capacity(struct buffer *out, const struct call *c, const struct batch *b);
