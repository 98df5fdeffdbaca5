/* limiter_error.h - error answers of the rate limiter: {"error":{"code","message","field"?}}.
 *
 * docs/limiter-api.yaml has all codes and statuses. Not here: refusals for want of tokens, which
 * are answers (acquire_plan.h). */
#pragma once

#include "router/core/operation.h"

/* Sets a fault about a field of the request. Always false. */
bool limiter_error_invalid(struct call *c, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* operation.fail of all operations. */
int limiter_error_answer(struct call *c, const struct fault *f);
/* The same for a request that no operation takes. */
void limiter_error_write(struct buffer *out, const struct fault *f);
int limiter_error_status(const struct fault *f);
