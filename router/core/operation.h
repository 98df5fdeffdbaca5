/* operation.h - the steps of an API operation, and the functions that operations share.
 *
 * begin    Reads the request, and refuses what can be refused without tables. May ask for tables.
 *          May let the call rest when it has read enough for a turn, and is called again with the
 *          same members (input_parse.h).
 * ready    The tables are there. Checks keys against key schemas, and sends requests to nodes. May
 *          ask for a further table: then `ready` is called again once that table is there.
 * reply    A request has its final reply.
 * finish   All requests have. Completes call->body, sends further requests, or lets the call rest
 *          and is called again. May be NULL.
 * fail     Writes the body of a call that was refused, and returns its HTTP status. NULL: the body
 *          is DynamoDB's.
 * end      The call ends, whatever the reason: gives back what its state holds. May be NULL.
 *
 * To refuse, a step sets the fault that answers the call, and returns false. */
#pragma once

#include "engine/expression/projection.h"
#include "router/core/capacity.h"
#include "router/core/key.h"
#include "router/core/router_internal.h"
#include "router/json/shape.h"
#include "router/json/value.h"

struct operation {
    const char *name;
    const struct shape *input;
    bool name_first; /* TableName is checked before all other constraints */
    bool of_streams; /* of the service DynamoDB Streams, which has a target of its own */
    bool (*begin)(struct call *c, const struct json_value members[]);
    bool (*ready)(struct call *c);
    bool (*reply)(struct call *c, struct subrequest *s, const struct reply *reply);
    bool (*finish)(struct call *c);
    int (*fail)(struct call *c, const struct fault *f);
    void (*end)(struct call *c);
    /* What operations with the same steps differ in; the steps say what it means. */
    int variant;
    const void *data;
};

/* NULL: weir has no such operation in that service. */
const struct operation *operation_find(struct slice name, bool of_streams);
/* Whether the service has the operation and weir does not support it yet. */
bool operation_comes_later(struct slice name);

/* ---- shared functions ---- */

static inline struct fault *call_fault(struct call *c)
{
    return &c->router->fault;
}

/* In `finish`, which writes the answer piece by piece: whether the piece that began at `begin` of
 * call->body is large enough for this turn. */
static inline bool call_turn_is_over(const struct call *c, size_t begin)
{
    return c->body.size - begin >= CALL_TURN_JSON;
}

/* The same. If it is, the call rests, and the step returns. */
static inline bool call_ends_turn(struct call *c, size_t begin)
{
    const bool is_over = call_turn_is_over(c, begin);
    if (is_over)
        call_rest(c);
    return is_over;
}

#define ITEM_TOO_LARGE "Item size has exceeded the maximum allowed size"

/* Sets the fault to FAULT_VALIDATION. Always false. */
#define call_invalid(c, ...) fault_invalid(call_fault(c), __VA_ARGS__)

/* `*out` gets the table, now or before `ready`. If there is no such table, the call fails. */
void call_require_table(struct call *c, struct slice name, struct route **out);
/* The same. If there is no such table, `*absent` is set, and the call goes on. */
void call_find_table(struct call *c, struct slice name, struct route **out, bool *absent);

/* The table's name in a member that is a name or an ARN. Answers repeat an ARN. */
struct slice call_table_named(struct call *c, const struct json_value *member);
struct slice call_table_called(struct call *c, struct slice text);

/* Refuses a table that is being created or deleted: for data requests, there is no such table. */
bool call_table_usable(struct call *c, const struct table *t);

/* The name of a global index's table in the catalog: TABLE/INDEX, in the call's arena. */
struct slice call_index_table(struct call *c, const struct table *t, const struct index *x);

/* The storage key, in the call's arena. */
struct slice call_storage_key(struct call *c, const struct table *t, const struct key *key);

/* The storage key of a request's item: a whole item for REQUEST_PUT, otherwise a key alone. Refuses
 * a table that is being created or deleted, and a key that does not fit the table. */
bool call_find_key(struct call *c, const struct table *t, enum request_op op, struct slice item,
                   struct slice *out);

/* Makes a request for the table's data; for the catalog if `route` is NULL. Fill it in, then
 * subrequest_start. */
struct subrequest *call_request(struct call *c, struct route *route, enum request_op op);

/* Asks the catalog for a table. */
void call_get_table(struct call *c, struct slice name);
/* operation.begin: the same, if the first member of the input names the table. */
bool call_begin_table(struct call *c, const struct json_value m[]);
/* Sends the spec to the catalog: REQUEST_TABLE_CREATE or REQUEST_TABLE_UPDATE. */
void call_send_spec(struct call *c, enum request_op op, const struct table_spec *spec);

/* The stream that call->table_arn names is not there. Always false. */
bool call_stream_missing(struct call *c);

/* Sets the fault for a reply that is not REPLY_OK. Always false. */
bool call_refuse(struct call *c, const struct subrequest *s, const struct reply *reply);

/* Refuses a change of a table that is being created, updated or deleted. The reply holds the table.
 * Always false. */
bool call_refuse_busy(struct call *c, const struct reply *reply, struct slice name);

/* Writes an item, or what a projection shows of it. `shown` NULL: the whole item. `out` may not be
 * the router's scratch buffer. */
/* Whether the item passes the filter, a program; an empty one lets all pass. `*steps` grows by what
 * that took. False: it takes too many steps, the call fails. */
bool call_filter(struct call *c, struct slice filter, struct slice item, uint64_t *steps,
                 bool *passes);
void call_write_item(struct call *c, struct buffer *out, struct slice item,
                     const struct projection *shown);

/* Begins the body: {"member": the item that the node found, then the capacity. `member` NULL: only
 * the capacity. The caller writes the closing brace. */
bool call_begin_answer(struct call *c, struct subrequest *s, const struct reply *r,
                       const char *member, const struct projection *shown);

/* The table in arn:partition:dynamodb:region:account:table/name. Clients may use any region and
 * account. c->state becomes a slice of the whole ARN; both are in the arena. */
bool call_table_of_arn(struct call *c, const struct json_value *arn, struct slice *name);
/* The region of the endpoint: the option's, otherwise the one in the request's credential scope,
 * otherwise us-east-1. Lends until the call ends. */
struct slice call_region(const struct call *c);
/* arn:aws:dynamodb:region:account:table/name, or .../table/name/index/name for the table of a
 * global index. */
void table_arn_append(struct buffer *out, const struct call *c, struct slice name);
