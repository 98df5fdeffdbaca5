/* serve.h - from a whole HTTP request to an operation: the checks the service makes before any
 * operation's own, in its order. */
#ifndef WEIR_ROUTER_OPERATIONS_SERVE_H
#define WEIR_ROUTER_OPERATIONS_SERVE_H

#include "router/endpoints.h"

/* Runs the endpoint's operation, or the one that X-Amz-Target names, on the JSON of the body. */
void serve_body(struct router *r, struct client *c, const struct endpoint *e);
/* Runs the endpoint's operation, which takes what it needs from the query. */
void serve_query(struct router *r, struct client *c, const struct endpoint *e);

#endif
