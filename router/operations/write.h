/* write.h - functions that PutItem, DeleteItem, UpdateItem and BatchWriteItem share. */
#pragma once

#include "router/core/items.h"
#include "router/expression/expressions.h"

/* The indexes of members in the inputs of PutItem, DeleteItem and UpdateItem. */
struct write_members {
    enum request_op op;
    int table_name, item_or_key, return_values, return_consumed, return_metrics, return_failed;
    struct expression_members expressions;
};

/* The typed request of one of these operations. */
struct write {
    struct item_plan *plan; /* for one item */
    struct expressions expressions;
    const struct projection *shown; /* what the answer shows of the item; NULL: all */
    bool return_collection;
};

/* Reads the members and asks for the table. call->state becomes a struct write. The data of the
 * operation are a struct write_members. */
bool write_begin(struct call *c, const struct json_value m[]);
/* Writes the answer. */
bool write_reply(struct call *c, struct subrequest *s, const struct reply *r);

/* Refuses an item that is too large. The size is counted as in DynamoDB. */
bool write_item_fits(struct slice item, struct fault *fault);

/* Whether ReturnItemCollectionMetrics is SIZE. */
bool write_returns_collection(const struct json_value *member);
/* Writes {"ItemCollectionKey":...} for an item or its key. `bytes`: the size of the collection. The
 * estimate is a range of whole GiB. */
void write_collection(struct buffer *out, const struct table *t, struct slice item, int64_t bytes);
