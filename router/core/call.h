/* call.h - one API request, from the whole HTTP request to its answer.
 *
 * Invariants:
 *   CALL-1  a call that ended holds no timer, no reply slot, no table and no place in a queue. Its
 *           memory stays until call_reap: a node may answer while it still reads a lent request.
 *   CALL-2  in a turn of the loop a call writes an answer of CALL_TURN_JSON bytes, and one item
 *           more. A large request is read in turns, too (core/input_parse.h).
 * Not here: requests to nodes (subrequest.h), what an operation does (operations/). */
#pragma once

#include "router/core/table_routes.h"
#include "router/http/http.h"
#include "router/json/json.h"

struct client;
struct item_plan;
struct operation;
struct input_parse;
struct subrequest;

enum {
    CALL_TURN_JSON = 1024 * 1024
};

enum return_consumed {
    CONSUMED_NONE,
    CONSUMED_TOTAL,
    CONSUMED_INDEXES
};

/* A table that a call holds. */
struct route_use {
    struct route *route;
    struct route_use *next;
};

/* Owned by the router. */
struct call {
    struct router *router; /* borrows */
    struct client *client; /* borrows; NULL: the client is gone, or the router asks itself */
    bool own;              /* the router asks itself */
    const struct operation *operation;
    struct arena arena;    /* owns; all that needs no buffer */
    struct buffer bytes;   /* owns; items and keys; complete before the first subrequest is made */
    uint64_t bytes_number; /* call_bytes_number; 0: not computed yet */
    struct buffer body;    /* owns; the answer, behind `parts` */
    struct parts parts;    /* owns; the first parts of a large answer */
    struct input_parse *input_parse; /* owns; NULL: the request has been read */
    void *state;                     /* of the operation; from the arena */
    struct item_plan *plan;          /* of an operation on items by their keys; from the arena */
    struct slice table_arn;          /* the ARN that the client gave as the name of its one table */
    enum return_consumed consumed;
    int64_t consumed_mcu; /* by all subrequests so far */
    struct instant begun;
    const char *content_type;
    int status;         /* of an answer that is no error; 0: 200 */
    struct slice lines; /* further header lines of the answer, each after CR LF; in the arena */
    char request_id[HTTP_REQUEST_ID_SIZE];
    uint64_t number;               /* of the request id */
    bool waited;                   /* a part has waited for tokens for long: answer_record.h */
    struct http_throttle throttle; /* why a part was throttled, even if the call succeeds */
    struct subrequest *subrequests;
    struct route_use *routes;
    struct route_waiter *waiters;
    struct instant follow_until; /* a change of a table: operations/table_description.h */
    uint32_t follow_table;       /* its id */
    uint32_t outstanding;        /* subrequests without a final reply */
    uint32_t routes_pending;     /* tables that the call waits for */
    bool ready;                  /* the operation's `ready` has all its tables */
    bool ended;
    bool rests; /* in router.resting */
    TAILQ_ENTRY(call) resting;
    size_t accounted;
    struct call *next; /* spare or finished */
};

struct call *call_create(struct router *r, struct client *c, const struct operation *o);
/* One that the router asks itself: nobody gets the answer. */
struct call *call_create_own(struct router *r, const struct operation *o);
/* Runs the operation on its parsed members, or as far as it gets in this turn. */
void call_begin(struct call *c, const struct json_value members[]);
/* A reply or a table that the call waited for has come. */
void call_advance(struct call *c);
/* Long work is cut into pieces: the operation's `begin`, `ready` or `finish` is called again in a
 * later turn of the loop. */
void call_rest(struct call *c);
/* The turn has come of the call that has rested for longest. */
void call_go_on(struct router *r);
/* Answers with router->fault and ends. */
void call_fail(struct call *c);
/* Gives back all that CALL-1 names. The client gets no answer. */
void call_end(struct call *c);
/* Keeps the route until the call ends, and returns it. */
struct route *call_hold_route(struct call *c, struct route *route);
/* A table that the call wants does not exist or cannot be read. */
void call_route_refused(struct call *c, const struct reply *refusal);
/* A number of the items and keys: the same if the same request comes again. Reads `bytes` once for
 * each call, so the parts of a batch do not pay for one another. Call it after the first subrequest
 * is made. */
uint64_t call_bytes_number(struct call *c);
/* Gives back the memory of ended calls. `all`: also of calls whose requests may have been lent. */
void call_reap(struct router *r, bool all);
void call_destroy(struct call *c);
void call_account(struct call *c);
