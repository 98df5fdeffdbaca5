/* route.h - the route cache: tables by name as the catalog last told them.
 *
 * One fetch at a time for a table, however many wait for it. A table that is being created is
 * handed to those who wait, not kept. A route is dropped when a node says it is wrong; those who
 * still use it keep it until they are done.
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

/* Somebody who waits for a table: a call at its start, or a subrequest sent to the wrong place. */
struct route_waiter {
    TAILQ_ENTRY(route_waiter) same; /* who waits for the same table */
    struct route_entry *entry;      /* NULL: waits for nothing */
    struct call *call;
    struct subrequest *subrequest; /* NULL: the call itself */
    struct route **out;            /* of a call: gets the table */
    bool late;                     /* it came while a fetch was under way */
    bool due;                      /* it is told of the fetch that has just ended */
    struct route_waiter *next_of_call;
};

/* The table, with a use the caller must give back; or NULL: the waiter is told later. `fresh`: not
 * one that was dropped. */
struct route *route_want(struct router *r, struct slice name, bool fresh, struct route_waiter *w);
void route_cancel(struct router *r, struct route_waiter *w);
void route_release(struct route *route);

/* A node has refused by the route: the catalog is asked again. Until it answers the route goes on
 * serving others: it may be wrong about one partition only, or the catalog out of reach. */
void route_drop(struct router *r, const struct route *route);
void route_forget(struct router *r, struct slice name);

/* Every table there is, as it was told last. */
void route_each(const struct router *r, void *context,
                void (*visit)(void *context, const struct table *t));

/* The catalog's reply to a fetch. */
void route_fetched(struct router *r, struct route_entry *e, const struct reply *reply);

void route_cache_deinit(struct router *r);

#endif
