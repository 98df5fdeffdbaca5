/* write.h - what PutItem, DeleteItem and BatchWriteItem share. */
#ifndef WEIR_ROUTER_OPERATIONS_WRITE_H
#define WEIR_ROUTER_OPERATIONS_WRITE_H

#include "router/operation.h"

/* Item size as DynamoDB counts it. */
bool write_item_fits(struct slice item, struct fault *fault);

/* ReturnValues of PutItem and DeleteItem: NONE or ALL_OLD. */
bool write_take_return_values(struct call *c, const struct json_value *member, bool *want_old);

/* The answer of PutItem and DeleteItem. */
bool write_reply(struct call *c, struct subrequest *s, const struct reply *r);

#endif
