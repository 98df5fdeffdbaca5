/* serve.h - from a whole HTTP request to an operation: makes the checks that the service makes
 * before an operation's own checks, in the service's order. */
#pragma once

#include "router/core/endpoints.h"
#include "router/json/json.h"

/* Unpacks and parses the body; refuses one of BODY_LARGE_MIN bytes. No body: `root` stays as it is.
 * False: the client was answered. */
bool serve_parse(struct router *r, struct client *c, struct json_value *root);

/* Runs an operation on the JSON of the body: the endpoint's, or the one that X-Amz-Target names. */
void serve_body(struct router *r, struct client *c, const struct endpoint *e);
/* Runs the endpoint's operation. It reads its parameters from the query of the path. */
void serve_query(struct router *r, struct client *c, const struct endpoint *e);
