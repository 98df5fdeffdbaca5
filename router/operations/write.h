/* write.h - the rule that PutItem shares with BatchWriteItem. */
#ifndef WEIR_ROUTER_OPERATIONS_WRITE_H
#define WEIR_ROUTER_OPERATIONS_WRITE_H

#include "router/operation.h"

/* Item size as DynamoDB counts it. */
bool write_item_fits(struct slice item, struct fault *fault);

#endif
