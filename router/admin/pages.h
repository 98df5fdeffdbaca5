/* pages.h - what is served below /weir/, each page an operation (docs/pages.md). */
#ifndef WEIR_ROUTER_ADMIN_PAGES_H
#define WEIR_ROUTER_ADMIN_PAGES_H

#include "router/operations/operation.h"

extern const struct operation operation_partitions;
extern const struct operation operation_gac;
extern const struct operation operation_events;
extern const struct operation operation_drain;
extern const struct operation operation_split;

/* The parameters of the page's address: values[i] gets the value of names[i], with data NULL if it
 * is absent; names end in NULL. */
bool page_read_query(struct call *c, const char *const names[], struct slice values[]);

#endif
