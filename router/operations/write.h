/* write.h - functions that PutItem, DeleteItem and BatchWriteItem share. */
#pragma once

#include "router/operations/operation.h"

/* Refuses an item that is too large. The size is counted as in DynamoDB. */
bool write_item_fits(struct slice item, struct fault *fault);

/* Whether ReturnItemCollectionMetrics is SIZE. */
bool write_wants_collection(const struct json_value *member);
/* Writes {"ItemCollectionKey":...} for an item or its key. `bytes`: the size of the collection. The
 * estimate is a range of whole GiB. */
void write_collection(struct buffer *out, const struct table *t, struct slice item, int64_t bytes);
