/* items.h - a plan: gets, puts or deletes items by their keys, with one request for each item.
 *
 * Single operations and batches fill in a plan, which has no JSON. The plan looks up the tables,
 * makes storage keys, and sends all requests. The operation takes the replies. */
#pragma once

#include "router/core/operation.h"

enum {
    ITEMS_TURN_BYTES = 1024 * 1024
};

#define ITEMS_REPEATED "Provided list of item keys contains duplicates"

struct item_table {
    struct slice name;                   /* lends from the call's arena */
    const struct projection *projection; /* what answers show of items; NULL: all */
    struct route *route;                 /* set by the plan */
    bool absent;                         /* set by the plan: there is no such table */
};

struct item_request {
    enum request_op op; /* REQUEST_GET, REQUEST_PUT, .. */
    uint32_t table;     /* index in item_plan.tables */
    struct span item;   /* in call->bytes: the item to put, or the key, encoded as an item */
    bool consistent;    /* for reads */
    /* for writes */
    struct span condition;                  /* in call->bytes: a program; size 0: no condition */
    const struct condition *condition_tree; /* its tree */
    struct span update;                     /* in call->bytes: a program; size 0: no change */
    const struct update *updated;           /* its tree, to check its paths; NULL: no update */
    enum write_return return_values;        /* the item that the reply must have */
    bool return_failed;     /* if the condition fails, the reply must have the item */
    bool inserts;           /* PUT: the condition is that there is no such item */
    struct slice key;       /* the storage key; set by the plan */
    struct slice owner_key; /* of a part of a transaction: where the item is */
    struct slice limiter;   /* UPDATE: a limiter's command; in the call's arena; empty: none */
    struct slice limited;   /* its key, encoded as an item, in place of `item` */
};

struct item_plan {
    struct item_table *tables;
    uint32_t table_count;
    struct item_request *items;
    uint32_t count;
    uint32_t sent; /* items_ready: so many */
    bool lenient;  /* a table that does not exist is told by `absent`; else the call fails */
    bool
        batch; /* refuse a key that occurs twice; say of an item to put without its key what is said
                   of a key that does not fit the schema */
};

/* A plan in the call's arena, with zeroed tables and items. */
struct item_plan *item_plan_create(struct call *c, uint32_t tables, uint32_t items);

/* `begin`: asks for the tables. The plan becomes the call's. */
void items_begin(struct call *c, struct item_plan *p);
/* Of one item: finds its storage key, or refuses a key that does not fit its table. */
bool items_find(struct call *c, uint32_t index);
/* Whether no storage key occurs twice. An item without one does not count. Comparing all pairs is
 * fast: a request has at most 100 items. */
bool items_are_distinct(const struct item_plan *p);
/* Of one item: sends its request. */
void items_send(struct call *c, uint32_t index);
/* `ready`: sends all requests, ITEMS_TURN_BYTES of items in a turn, or refuses a key that does not
 * fit its table. A reply belongs to call->plan->items[subrequest->index]. */
bool items_ready(struct call *c);
