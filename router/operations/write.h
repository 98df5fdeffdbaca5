/* write.h - what PutItem and DeleteItem share with BatchWriteItem. */
#ifndef WEIR_ROUTER_OPERATIONS_WRITE_H
#define WEIR_ROUTER_OPERATIONS_WRITE_H

#include "router/operations/operation.h"

/* Item size as DynamoDB counts it. */
bool write_item_fits(struct slice item, struct fault *fault);

/* ReturnItemCollectionMetrics: SIZE. */
bool write_wants_collection(const struct json_value *member);
/* {"ItemCollectionKey":...} of an item that was written, or its key. The estimate is a range of
 * whole gigabytes. */
void write_collection(struct buffer *out, const struct table *t, struct slice item, int64_t bytes);

#endif
