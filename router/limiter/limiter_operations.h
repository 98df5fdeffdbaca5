/* limiter_operations.h - the operations below /limiter/v1 (docs/limiter-api.yaml). */
#pragma once

#include "router/core/endpoints.h"

extern const struct operation operation_limiter_acquire;
extern const struct operation operation_limiter_check;
extern const struct operation operation_limiter_consume;
extern const struct operation operation_limiter_adjust;
extern const struct operation operation_limiter_release;
extern const struct operation operation_limiter_commit;
extern const struct operation operation_limiter_rollback;
extern const struct operation operation_limiter_available;
extern const struct operation operation_limiter_time_until;
extern const struct operation operation_limiter_capacity;
extern const struct operation operation_limiter_set_limits;
extern const struct operation operation_limiter_get_limits;
extern const struct operation operation_limiter_delete_limits;
extern const struct operation operation_limiter_set_entity;
extern const struct operation operation_limiter_get_entity;
extern const struct operation operation_limiter_delete_entity;
extern const struct operation operation_limiter_reset;
extern const struct operation operation_limiter_status;
extern const struct operation operation_limiter_top;

/* endpoint.serve: a JSON body, or the target's query. */
void limiter_serve_body(struct router *r, struct client *c, const struct endpoint *e);
void limiter_serve_query(struct router *r, struct client *c, const struct endpoint *e);
/* Answers a request below /limiter/ that no endpoint takes. `methods`: those that the path takes,
 * as in Allow; empty: there is nothing at the path. */
void limiter_answer_nothing_there(struct router *r, struct client *c, struct slice methods);
