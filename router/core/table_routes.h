/* table_routes.h - the route cache: tables by name, as the catalog last described them.
 *
 * For each table one fetch runs at a time; all waiters share it. The waiters get a table that is
 * being created, but the cache does not keep it. A route is stale after a node has refused a
 * request because of the route. Users of a route keep it until they are done.
 * Bound: tables_max routes, and the fetches in flight. */
#pragma once

#include <sys/queue.h>

#include "engine/catalog/table.h"

struct call;
struct reply;
struct route_entry;
struct router;
struct subrequest;

struct route {
    struct table table; /* borrows from bytes and arena */
    struct buffer bytes;
    struct arena arena;
    uint32_t uses;
    uint32_t *leaders; /* by partition: the node that last led it; 0: not known */
    /* The tables of its global indexes (table_decode_indexes), as of the same time. */
    const struct table **indexes;
};

/* A waiter for a table: a call at its start, or a subrequest that was sent to the wrong node. */
struct route_waiter {
    TAILQ_ENTRY(route_waiter) same; /* the waiters for the same table */
    struct route_entry *entry;      /* NULL: not waiting */
    struct call *call;
    struct subrequest *subrequest; /* NULL: the call itself waits */
    struct route **out;            /* of a call: gets the table */
    bool *absent;                  /* of a call: set if there is no such table; NULL: it fails */
    bool late;                     /* began to wait during a fetch */
    bool due;                      /* must be told the result of the fetch that has just ended */
    struct route_waiter *next_of_call;
};

/* The route. The caller must give it back with route_release. NULL: the waiter is told later.
 * `fresh`: a stale route will not do. */
struct route *route_acquire(struct router *r, struct slice name, bool fresh,
                            struct route_waiter *w);
/* The fetch goes on: the cache keeps its table. */
void route_cancel(struct route_waiter *w);
void route_release(struct route *route);

/* A node has refused a request because of the route, which becomes stale: the next route_acquire
 * asks the catalog. Until the catalog answers, other requests use the stale route, because it may
 * be wrong about one partition only, or the catalog may be out of reach. */
void route_drop(struct router *r, const struct route *route);
/* The same, but the catalog is asked at once: no node is asked that would refuse the request. */
void route_renew(struct router *r, const struct route *route);
/* The table has changed: the cache forgets its route at once. */
void route_invalidate(struct router *r, struct slice name);

/* Visits every table in the cache. */
void route_each(const struct router *r, void *context,
                void (*visit)(void *context, const struct table *t));

/* The catalog's reply to a fetch. */
void route_fetched(struct router *r, struct route_entry *e, const struct reply *reply);

void route_cache_deinit(struct router *r);
