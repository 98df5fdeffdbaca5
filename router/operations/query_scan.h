/* query_scan.h - functions that Query, Scan and SELECT share: members of the inputs of Query and
 * Scan, ranges, and the answer. */
#pragma once

#include "router/core/key_schema.h"
#include "router/expression/expressions.h"
#include "router/plan/subranges.h"

/* The indexes of members in the inputs of Query and Scan. */
struct page_members {
    int table_name, select, limit, consistent_read, return_consumed, index_name;
    struct expression_members expressions;
};

/* A row of an index whose item is fetched from the table. */
struct page_row {
    struct key key; /* of the item and the row; in the call's arena */
    struct slice item;
    bool found;
};

enum {
    PAGE_FETCH_MAX = 25 /* items that are fetched at the same time */
};

struct page {
    struct ranges_plan plan;
    struct plan_range range;  /* what the plan has not got yet: plan/subranges.h */
    struct plan_range *later; /* those that are read after it, in order */
    uint32_t later_count;
    struct expressions expressions;
    struct span filter;      /* in call->bytes: its program */
    struct slice index_name; /* size 0: none. Lends from the call's arena */
    uint32_t index_place;    /* of plan.index in the table's set */
    bool count_only;
    bool
        by_partition; /* Scan rounds the capacity up for each partition, Query once for all, but not
                          if a key is sharded */
    bool meets_shrinking; /* a counter that shrinks is in the way: the page is refused */
    bool all;             /* Select is ALL_ATTRIBUTES */
    bool statement;       /* of PartiQL: some texts differ */
    /* Writes an item of the answer; NULL: what the projection shows. */
    void (*take)(struct call *c, struct slice item);
    /* Completes the answer; NULL: as Query and Scan do. */
    void (*write_end)(struct call *c, const struct page *p);
    bool retried;        /* for a table whose index was not there, or not filled */
    bool refreshed_both; /* for a table and that of its index, which did not fit each other */
    bool rows_absent;    /* there is no table of the index */
    /* The rows of the index lack what the answer shows, so the items are fetched. */
    bool fetches;
    struct page_row *rows; /* of PAGE_FETCH_MAX */
    uint32_t row_count;
    uint32_t row_at; /* so many of them are taken */
    bool fetching;   /* their items are on the way */
    int64_t fetched_mcu;
    int64_t fetched_bytes;
    int64_t fetched; /* items that passed the filter */
    int64_t fetched_scanned;
    struct key fetched_last;
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
bool page_refuse_start_key(struct call *c);

/* With the table: finds the index that the request names, p->plan.index, and asks for the table of
 * a global one. */
bool page_find_index(struct call *c, struct page *p);
/* Whether a table is not there yet: `ready` will be called again. */
static inline bool page_waits(const struct page *p)
{
    return p->plan.route == NULL ||
           (p->plan.index != NULL && p->plan.index->number == 0 && p->plan.rows == NULL);
}
/* With the table: checks the paths of projection and filter. `no_keys`: see key_paths_of_filter. */
bool page_check_paths(struct call *c, struct page *p, const char *no_keys);
/* The key as the range has it, in the call's arena. */
struct slice page_storage_key(struct call *c, const struct page *p, const struct key *key);
/* Sets lo and hi: the keys that fulfil the conditions. */
void page_set_range(struct call *c, const struct page *p, const struct key_schema *schema,
                    const struct key_matches *found, struct plan_range *out);
/* The same: the keys of one of `segments` equal parts. */
void page_set_segment(struct call *c, const struct page *p, int64_t segment, int64_t segments,
                      struct plan_range *out);
/* After the range was set: sends the first request. */
void page_start(struct call *c, struct page *p);

/* The key after which the next page begins. NULL: this page is the last. */
const struct key *page_last(const struct page *p);
/* Writes "ConsumedCapacity":{...} if the client has asked for it. */
void page_write_capacity(struct call *c, const struct page *p);

/* call->state must begin with a struct page. */
bool page_reply(struct call *c, struct subrequest *s, const struct reply *r);
bool page_finish(struct call *c);
