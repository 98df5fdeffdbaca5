/* query_scan.h - functions that Query and Scan share: members of their inputs, and the answer. */
#pragma once

#include "router/plan/ranges.h"

struct page {
    struct ranges_plan plan;
    struct plan_range range; /* the plan's only range */
    bool count_only;
    bool by_partition; /* Scan rounds the capacity up for each partition, Query once for all */
};

/* Reads Select, Limit and ConsistentRead. */
bool page_read(struct call *c, struct page *p, const struct json_value *select,
               const struct json_value *limit, const struct json_value *consistent);
/* Adds to the fault's text that the starting key is invalid. Always false. */
bool page_blame_start_key(struct call *c);

/* After the range was set: sends the first request. */
void page_start(struct call *c, struct page *p);

/* call->state must begin with a struct page. */
bool page_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool page_finish(struct call *c);
