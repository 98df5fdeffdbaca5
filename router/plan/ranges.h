/* ranges.h - a plan: a page of items out of one range of storage keys, or of several, merged.
 *
 * A range is read partition by partition, in the direction of the page. Several ranges are read at
 * the same time, and their items come in the order of their storage keys. A page ends after `limit`
 * items, after PAGE_SIZE_MAX bytes of items, or where its ranges end. Items
 * that were read and are behind the page's end are dropped; their capacity was consumed. */
#ifndef WEIR_ROUTER_PLAN_RANGES_H
#define WEIR_ROUTER_PLAN_RANGES_H

#include "router/operations/operation.h"

struct plan_range {
    struct slice lo; /* what is still to be read: [lo, hi) */
    struct slice hi;
    size_t prefix;        /* so many bytes of its storage keys do not count in the order */
    struct reader unread; /* items that were read and not taken; only of several ranges */
    struct slice next;    /* the storage key of the first of them */
    bool ended;           /* nothing is left of [lo, hi) */
};

struct ranges_plan {
    struct slice table;        /* its name; lends from the call's arena */
    struct plan_range *ranges; /* to be set before ranges_start */
    uint32_t count;
    int64_t limit; /* items; 0: none */
    bool consistent;
    bool reverse;
    /* Each item of the page, in order; the item lends until the function returns. */
    void (*take)(struct call *c, struct slice item);

    /* results */
    struct route *route;  /* the table as it was routed by last */
    int64_t taken;        /* items */
    int64_t read_bytes;   /* of them, as the service counts */
    int64_t consumed_mcu; /* by all replies */
    struct key last;      /* of the last item taken; lends from the call's arena */
    bool ended;
    bool truncated; /* by a limit, or because the rest was throttled: `last` is where to go on */
};

/* `begin`: wants the table. */
void ranges_begin(struct call *c, struct ranges_plan *p);
/* `ready`, once the ranges are set: the first requests. */
void ranges_start(struct call *c, struct ranges_plan *p);
/* `reply`: false if the call fails. */
bool ranges_reply(struct call *c, struct ranges_plan *p, struct subrequest *s,
                  const struct reply *r);
/* `finish`: the page is whole (p->ended), or further requests were sent; false if the call
 * fails. */
bool ranges_finish(struct call *c, struct ranges_plan *p);

/* Nothing up to this storage key is read. */
void plan_range_skip_past(struct call *c, struct plan_range *range, bool reverse, struct slice key);

#endif
