/* limiter_operations.h - the operations below /limiter/v1 (docs/limiter-api.yaml). */
#pragma once

#include "router/core/endpoints.h"

/* clang-format off */
#define LIMITER_OPERATION_LIST(X)                                                                  \
    X(acquire) X(check) X(consume) X(adjust) X(release) X(commit) X(rollback) X(available)         \
    X(time_until) X(capacity) X(set_limits) X(get_limits) X(delete_limits) X(set_entity)           \
    X(get_entity) X(delete_entity) X(reset) X(status) X(top)
/* clang-format on */

#define X(name) extern const struct operation operation_limiter_##name;
LIMITER_OPERATION_LIST(X)
#undef X

/* endpoint.serve: a JSON body, or the target's query. */
void limiter_serve_body(struct router *r, struct client *c, const struct endpoint *e);
void limiter_serve_query(struct router *r, struct client *c, const struct endpoint *e);
/* Answers a request below /limiter/ that no endpoint takes. `methods`: those that the path takes,
 * as in Allow; empty: there is nothing at the path. */
void limiter_answer_nothing_there(struct router *r, struct client *c, struct slice methods);
