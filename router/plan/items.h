/* items.h - a plan: get, put or delete items by their keys, all at once, each on its own.
 *
 * Single operations and batches say here, without JSON, which items to read or write. The plan
 * looks the tables up, makes storage keys, and sends one request for each item; the operation
 * takes the replies. */
#ifndef WEIR_ROUTER_PLAN_ITEMS_H
#define WEIR_ROUTER_PLAN_ITEMS_H

#include "router/operations/operation.h"

struct item_table {
    struct slice name;   /* lends from the call's arena */
    struct route *route; /* the plan's */
};

struct item_request {
    enum request_op op; /* REQUEST_GET, REQUEST_PUT or REQUEST_DELETE */
    uint32_t table;     /* index */
    struct span item;   /* in call->bytes: the item to put, else the key, encoded as an item */
    bool consistent;    /* a read */
    bool want_old;      /* a write: the reply holds the item that was there */
    struct slice key;   /* the plan's: the storage key */
};

struct item_plan {
    struct item_table *tables;
    uint32_t table_count;
    struct item_request *items;
    uint32_t count;
    bool distinct; /* the same key twice is refused */
};

/* All zeros, in the call's arena. */
struct item_plan *item_plan_create(struct call *c, uint32_t tables, uint32_t items);

/* For struct operation's `begin`: wants the tables. */
void items_begin(struct call *c, struct item_plan *p);
/* For `ready`: refuses keys that do not fit their tables, or sends everything. A reply is to
 * p->items[subrequest->index]. */
bool items_ready(struct call *c, struct item_plan *p);

#endif
