/* query_scan.h - what Query and Scan share: members of their inputs, and the answer. */
#ifndef WEIR_ROUTER_OPERATIONS_PAGE_H
#define WEIR_ROUTER_OPERATIONS_PAGE_H

#include "router/plan/ranges.h"

struct page {
    struct ranges_plan plan;
    struct plan_range range; /* the only one */
    bool count_only;
    bool by_partition; /* a Scan rounds the capacity of each partition up, a Query that of all */
};

/* Select, Limit and ConsistentRead. */
bool page_read(struct call *c, struct page *p, const struct json_value *select,
               const struct json_value *limit, const struct json_value *consistent);
/* Says of the fault that the starting key is to blame; false. */
bool page_blame_start_key(struct call *c);

/* `ready`, once the range is set. */
void page_start(struct call *c, struct page *p);

/* For struct operation, where call->state begins with a page. */
bool page_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool page_finish(struct call *c);

#endif
