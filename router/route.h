/* route.h - the route cache: tables by name as the catalog last told them.
 *
 * One fetch at a time for a table, however many wait for it. A table that is being created is
 * handed to the waiters, and not kept. A route is dropped when a node says that it is wrong; users
 * of the route keep it until they are done.
 * Bound: as many tables as the cluster may have. */
#ifndef WEIR_ROUTER_ROUTE_H
#define WEIR_ROUTER_ROUTE_H

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
    uint32_t *leaders; /* by partition: the node that leads it, as last heard; 0: not known */
};

/* A waiter for a table: a call at its start, or a subrequest that was sent to the wrong node. */
struct route_waiter {
    TAILQ_ENTRY(route_waiter) same; /* who waits for the same table */
    struct route_entry *entry;      /* NULL: not waiting */
    struct call *call;
    struct subrequest *subrequest; /* NULL: the call itself */
    struct route **out;            /* of a call: gets the table */
    bool late;                     /* it came during a fetch */
    bool due;                      /* to be told of the fetch that has just ended */
    struct route_waiter *next_of_call;
};

/* The table, with a use the caller must give back; or NULL: the waiter is told later. `fresh`: not
 * one that was dropped. */
struct route *route_want(struct router *r, struct slice name, bool fresh, struct route_waiter *w);
void route_cancel(struct router *r, struct route_waiter *w);
void route_release(struct route *route);

/* A node has refused a request because of the route: the catalog is asked again. Until it answers,
 * other requests use the route: it may be wrong about one partition only, or the catalog may be out
 * of reach. */
void route_drop(struct router *r, const struct route *route);
void route_forget(struct router *r, struct slice name);

/* Every table in the cache. */
void route_each(const struct router *r, void *context,
                void (*visit)(void *context, const struct table *t));

/* The catalog's reply to a fetch. */
void route_fetched(struct router *r, struct route_entry *e, const struct reply *reply);

void route_cache_deinit(struct router *r);

#endif
