/* execute_select.h - a SELECT: one item by its key, ranges of keys as a Query reads them, or all
 * keys as a Scan does.
 *
 * A page ends with a token: the key of its last item, and a digest of the statement with its
 * parameters. So the next page begins after that key, however the table was split meanwhile. */
#pragma once

#include "router/operations/execute.h"
#include "router/operations/query_scan.h"

struct select {
    struct page page; /* must be first: page_reply takes call->state as a page */
    const struct statement *statement;
    uint64_t digest;    /* of the statement and its parameters */
    struct slice token; /* the key after which the page begins, as an item; empty: the first page */
    bool single;        /* one item by its key */
};

/* `begin`: reads the token, and asks for the table. Statement, digest, and the page's limit and
 * consistency are set. */
bool select_begin(struct call *c, struct select *s, const struct json_value *token);
bool select_ready(struct call *c);
bool select_reply(struct call *c, struct subrequest *sub, const struct reply *r);
bool select_finish(struct call *c);
