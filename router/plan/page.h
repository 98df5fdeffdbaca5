/* page.h - a page of Query or Scan: a range of storage keys read partition by partition, in key
 * order or against it, until a limit, 1 MB or the end.
 *
 * The capacity of a page of Query is that of its bytes summed up and rounded once, however many
 * partitions they came from. A Scan costs what its partitions charge, each at least one unit (half
 * of it if eventual): so the service was measured. A page that was throttled after it has read
 * something ends there: the client goes on from its LastEvaluatedKey. */
#ifndef WEIR_ROUTER_PLAN_PAGE_H
#define WEIR_ROUTER_PLAN_PAGE_H

#include "router/operations/operation.h"

struct page {
    struct route *route;
    struct slice lo; /* inclusive */
    struct slice hi; /* exclusive; never empty */
    bool reverse;
    bool consistent;
    bool count_only;
    bool by_partition; /* each partition read costs a unit at least */
    int64_t limit;     /* items; 0 = none */
    /* so far */
    int64_t count;
    int64_t read_bytes;
    int64_t consumed_mcu;  /* by_partition */
    struct slice last_key; /* JSON of the last item's key */
    bool ended;
    bool truncated;
};

/* Select, Limit and ConsistentRead, as both operations take them. */
bool page_take(struct call *c, struct page *p, const struct json_value *select,
               const struct json_value *limit, const struct json_value *consistent);

/* Puts in front of the fault's text that it is about the starting key; false. */
bool page_blame_start_key(struct call *c);

/* Begins reading at lo, or at hi if reverse. */
void page_start(struct call *c, struct page *p);
/* For struct operation, where call->state is the page. */
bool page_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool page_finish(struct call *c);

/* Leaves out everything up to the storage key and the key itself. */
void page_skip_past(struct call *c, struct page *p, struct slice storage_key);

#endif
