/* ranges.h - a plan: a page of items from one range of storage keys, or from several, merged.
 *
 * A range is read partition by partition, in the direction of the page. Several ranges are read at
 * the same time; their items come in the order of their storage keys. A page ends after `limit`
 * items, after PAGE_SIZE_MAX bytes of items, after STEPS_TURN_MAX steps of filtering by the plan,
 * or at the end of its ranges. The limits of items and bytes count the
 * items that were scanned, whether the filter drops them or not. The nodes filter the items of one
 * range, the plan filters those of several. Items that were read but lie after the page's end are
 * dropped; their capacity was consumed.
 *
 * The items may be rows of an index. Their storage keys are as key_append_row makes them. Rows of a
 * global index lie in another table, whose map is `rows`.
 *
 * The ranges may be those of a sharded key's shards (subranges.h). While the key's items move,
 *
 *   RANGES-1  a range is read only as far as all ranges of lower rank have been read;
 *   RANGES-2  an item is taken only if it lies before all that is still to be read;
 *   RANGES-3  of an item that was met in two ranges, only the copy in the higher rank is taken.
 *   RANGES-4  by an index, an item that was written meanwhile may be met at two places: it is taken
 *             at the first one.
 *
 * Items of a counter's shards with the same key are its cells: their sum is taken
 * (router/core/counters.h).
 *
 * If the registry of sharded keys changes, the ranges are not those to read any more: `stale`. */
#pragma once

#include "router/core/operation.h"
#include "router/plan/seen_items.h"

struct plan_range {
    struct slice lo; /* [lo, hi) is still to be read */
    struct slice hi;
    size_t prefix;        /* the order ignores so many first bytes of the range's storage keys */
    struct reader unread; /* items that were read and not taken */
    struct slice next;    /* the storage key of the first item in `unread` */
    struct slice until;   /* the end, in the page's direction, of what was asked for last */
    uint32_t shard;       /* of a sharded key; otherwise 0 */
    uint32_t rank;        /* sharded_key_rank */
    bool ended;           /* [lo, hi) is empty */
};

struct ranges_plan {
    struct slice table;        /* the table's name; lends from the call's arena */
    struct plan_range *ranges; /* set before ranges_start */
    uint32_t count;
    int64_t limit;                 /* items scanned; 0: no limit */
    const struct index *index;     /* of the table `route`, whose rows are read; NULL: items */
    const struct sharded_key *key; /* the ranges are its shards; NULL: no shards. Lends from a route
                                     that the call holds */
    uint32_t step; /* a request reads at most so many items, the page may go on; 0: no bound */
    bool consistent;
    bool reverse;
    struct slice filter; /* a program (engine/expression/program.h); lends until the call ends;
                            empty: all items pass */
    /* Gets each item of the page that passes the filter, in order. The item lends until the
     * function returns. NULL: the items are only counted. */
    void (*take)(struct call *c, struct slice item);

    /* results */
    struct route *route;    /* the table's map */
    struct route *rows;     /* the map of the global index; NULL: `route` has items and rows */
    int64_t taken;          /* items that passed the filter */
    int64_t scanned;        /* items */
    uint64_t steps;         /* that filtering took here */
    int64_t read_bytes;     /* size of the items scanned, as the service counts */
    int64_t consumed_mcu;   /* by all replies */
    struct key last;        /* the key of the last item scanned; lends from the call's arena */
    struct slice begun;     /* where the ranges began, as if no key were sharded; set with them */
    struct slice taken_key; /* with several ranges: its storage key in its range */
    struct seen_items seen; /* of several ranges by an index: the items that were taken */
    uint32_t queries;       /* partitions that are asked whether the index shows own writes */
    bool surely;            /* the rows must be read from leaders, to show own writes */
    struct route *newer;    /* `stale`: the map with the new registry */
    bool
        stale; /* with `ended`: the registry of sharded keys has changed. What was not taken must be
                   read by new ranges */
    bool ended;     /* the page is complete */
    bool truncated; /* by a limit, or because the rest was throttled: continue after `last` */
};

/* `begin`: asks for the table. */
void ranges_begin(struct call *c, struct ranges_plan *p);
/* The table in which the items or rows lie. */
static inline const struct table *ranges_table(const struct ranges_plan *p)
{
    return p->rows != NULL ? &p->rows->table : &p->route->table;
}
static inline uint32_t ranges_table_id(const struct ranges_plan *p)
{
    return ranges_table(p)->id;
}
/* `ready`, after the ranges were set: sends the first requests. */
void ranges_start(struct call *c, struct ranges_plan *p);
/* `reply`. False: the call fails. */
bool ranges_reply(struct call *c, struct ranges_plan *p, struct subrequest *s,
                  const struct reply *r);
/* `finish`: completes the page (p->ended), or sends further requests. False: the call fails. */
bool ranges_finish(struct call *c, struct ranges_plan *p);

/* Excludes the key, and all storage keys before it in the direction of the page. */
void plan_range_skip_past(struct call *c, struct plan_range *range, bool reverse, struct slice key);
