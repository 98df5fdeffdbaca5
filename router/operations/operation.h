/* operation.h - an API operation as the router runs it, and the functions that operations share.
 *
 * begin    the request alone: everything that can be refused without its table. May ask for tables.
 * ready    the tables are there: the key schema's checks, and the requests to nodes.
 * reply    one of them has its final reply.
 * finish   all of them have: completes call->body, or sends further requests. May be missing.
 * Each returns false after it has set the fault that answers the call. */
#ifndef WEIR_ROUTER_OPERATIONS_OPERATION_H
#define WEIR_ROUTER_OPERATIONS_OPERATION_H

#include "router/json/shape.h"
#include "router/json/value.h"
#include "router/operations/key.h"
#include "router/route.h"
#include "router/router_internal.h"

struct operation {
    const char *name;
    const struct shape *input;
    bool name_first; /* TableName is checked before all other constraints */
    bool (*begin)(struct call *c, const struct json_value members[]);
    bool (*ready)(struct call *c);
    bool (*reply)(struct call *c, struct subrequest *s, const struct reply *reply);
    bool (*finish)(struct call *c);
};

/* What a prefix of X-Amz-Target stands for. */
struct service {
    const char *target;                        /* "DynamoDB_20120810." */
    const struct operation *const *operations; /* NULL ends them */
    const char *const *later; /* those that weir does not have yet; NULL ends them */
};

extern const struct service service_dynamodb;

/* NULL if weir has no such operation. */
const struct operation *service_find(const struct service *s, struct slice name);
/* Whether the service has the operation and weir does not support it yet. */
bool service_has_later(const struct service *s, struct slice name);

/* ---- what operations share ---- */

static inline struct fault *call_fault(struct call *c)
{
    return &c->router->fault;
}

/* `*out` gets the table, now or before `ready`. A name that is no table fails the call. */
void call_want_table(struct call *c, struct slice name, struct route **out);

/* Whether data may be asked for: the service knows no table that is being created. */
bool call_table_usable(struct call *c, const struct table *t);

/* The storage key, copied to the arena. */
struct slice call_storage_key(struct call *c, const struct table *t, const struct key *key);

/* The same for what a request of this kind names: a whole item to put, else a key alone. Refuses a
 * table that is not usable and a key that does not fit it. */
bool call_find_key(struct call *c, const struct table *t, enum request_op op, struct slice item,
                   struct slice *out);

/* A request to a node about the table's data; fill it in, then call_send. */
struct subrequest *call_data_request(struct call *c, struct route *route, enum request_op op);
struct subrequest *call_catalog_request(struct call *c, enum request_op op);
void call_send(struct call *c, struct subrequest *s);

/* Asks the catalog for a table. */
void call_get_table(struct call *c, struct slice name);
/* Asks the catalog for what the spec says: REQUEST_TABLE_CREATE or REQUEST_TABLE_UPDATE. */
void call_send_spec(struct call *c, enum request_op op, const struct table_spec *spec);

/* Sets the fault for any reply that is not REPLY_OK; false. */
bool call_refuse(struct call *c, const struct subrequest *s, const struct reply *reply);

/* ReturnConsumedCapacity: reads the member; writes {"TableName":...} for an amount of capacity. */
void call_take_consumed(struct call *c, const struct json_value *member);
void capacity_write(struct buffer *out, const struct call *c, const struct table *t,
                    int64_t consumed_mcu);
/* "ConsumedCapacity":{...} if it was asked for. */
void capacity_write_member(struct buffer *out, const struct call *c, const struct table *t,
                           int64_t consumed_mcu);

/* {"member": the item the node found, and the capacity; member NULL: the capacity alone. Left open.
 */
bool call_begin_answer(struct call *c, struct subrequest *s, const struct reply *r,
                       const char *member);

/* arn:aws:dynamodb:region:account:table/name */
void table_arn_append(struct buffer *out, const struct router *r, struct slice name);

#endif
