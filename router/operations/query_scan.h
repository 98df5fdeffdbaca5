/* query_scan.h - functions that Query and Scan share: members of their inputs, and the answer. */
#pragma once

#include "router/expression/expressions.h"
#include "router/plan/ranges.h"

/* The indexes of members in the inputs of Query and Scan. */
struct page_members {
    int table_name, select, limit, consistent_read, return_consumed, index_name;
    struct expression_members expressions;
};

struct page {
    struct ranges_plan plan;
    struct plan_range range; /* the plan's only range */
    struct expressions expressions;
    struct span filter; /* in call->bytes: its program */
    struct slice index; /* its name; size 0: none. Lends from the call's arena */
    bool count_only;
    bool by_partition; /* Scan rounds the capacity up for each partition, Query once for all */
};

/* Reads the members that both have, without the expressions. Refuses members that may not stand
 * together. */
bool page_read(struct call *c, struct page *p, const struct page_members *of,
               const struct json_value m[]);
/* Reads the expressions. */
bool page_read_expressions(struct call *c, struct page *p, const struct page_members *of,
                           const struct json_value m[]);
/* Reads ExclusiveStartKey. */
bool page_read_start_key(struct call *c, const struct json_value *member, struct span *out);
/* Adds to the fault's text that the starting key is invalid. Always false. */
bool page_blame_start_key(struct call *c);

/* With the table: whether it has the index that the request names. No table has one. */
bool page_check_table(struct call *c, const struct page *p);
/* With the table: checks the paths of projection and filter. `no_keys`: see key_paths_of_filter. */
bool page_check_paths(struct call *c, const struct page *p, const char *no_keys);
/* After the range was set: sends the first request. */
void page_start(struct call *c, struct page *p);

/* call->state must begin with a struct page. */
bool page_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool page_finish(struct call *c);
