/* pages.h - the pages below /weir/; each page is an operation (docs/pages.md). */
#pragma once

#include "engine/catalog/catalog.h"
#include "router/core/operation.h"
#include "router/http/query_string.h"

extern const struct operation operation_partitions;
extern const struct operation operation_gac;
extern const struct operation operation_limiter;
extern const struct operation operation_events;
extern const struct operation operation_explain_one;
extern const struct operation operation_explain_last;
extern const struct operation operation_metrics;
extern const struct operation operation_drain;
extern const struct operation operation_split;
extern const struct operation operation_unshard;

/* Sends a decision to the catalog. */
void page_send_decision(struct call *c, enum catalog_op op, const struct decision *d);

/* Reads the parameters of the page's address: values[i] gets the value of names[i]; data NULL:
 * absent. `names` ends in NULL. */
static inline bool page_read_query(struct call *c, const char *const names[], struct slice values[])
{
    const struct http_head *head = &c->client->http.head;
    return query_string_read(http_text(head, head->query), &c->arena, names, values, call_fault(c));
}
