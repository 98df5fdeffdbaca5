/* call.h - one API request, from the whole HTTP request to its answer.
 *
 * Invariants:
 *   CALL-1  a call that ended holds no timer, no reply slot, no table and no place in a queue; its
 *           memory stays until an event that is not a reply: nodes may answer while they read a
 *           lent request. */
#ifndef WEIR_ROUTER_CALL_H
#define WEIR_ROUTER_CALL_H

#include "base/arena.h"
#include "router/http/http.h"
#include "router/json/json.h"
#include "router/request_id.h"
#include "router/route.h"

struct client;
struct operation;
struct subrequest;

enum return_consumed {
    CONSUMED_NONE,
    CONSUMED_TOTAL,
    CONSUMED_INDEXES
};

/* A table a call holds. */
struct route_use {
    struct route *route;
    struct route_use *next;
};

/* One API request. Owned by the router; lives from the request to its answer. */
struct call {
    struct router *router; /* borrows */
    struct client *client; /* borrows; NULL: the client is gone */
    const struct operation *operation;
    struct arena arena;  /* owns; everything of the call that needs no buffer */
    struct buffer bytes; /* owns; items and keys: complete before any subrequest is made */
    struct buffer body;  /* owns; the answer */
    void *state;         /* the operation's, from the arena */
    enum return_consumed consumed;
    int64_t consumed_mcu; /* by all subrequests so far */
    struct instant begun;
    const char *content_type;
    char request_id[REQUEST_ID_SIZE];
    struct http_throttle throttle; /* of a throttled part, even if the call succeeds */
    struct subrequest *subrequests;
    struct route_use *routes;
    struct route_waiter *waiters;
    struct instant follow_until; /* operations/table_description.h */
    uint32_t follow_table;       /* its id */
    uint32_t outstanding;
    uint32_t routes_pending;
    bool ready; /* `ready` of the operation was called */
    bool ended;
    size_t accounted;
    struct call *next; /* spare or finished */
};

struct call *call_create(struct router *r, struct client *c, const struct operation *o);
/* Runs the operation on its parsed members. */
void call_begin(struct call *c, const struct json_value members[]);
/* A reply or a table that the call waited for has come. */
void call_advance(struct call *c);
/* Answers with router->fault and ends. */
void call_fail(struct call *c);
/* Gives back everything but memory; nobody is answered. */
void call_end(struct call *c);
/* Keeps the table until the call ends; returns it. */
struct route *call_hold_route(struct call *c, struct route *route);
/* A table that the call wants does not exist or cannot be read. */
void call_route_refused(struct call *c, const struct reply *refusal);
/* Memory of ended calls; `all`: also of those whose requests may still be lent. */
void call_reap(struct router *r, bool all);
void call_destroy(struct call *c);
void call_account(struct call *c);

#endif
