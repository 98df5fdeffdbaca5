/* rate_limit_headers.h - limits in answers: the member `limits`, and the header fields
 * RateLimit-Policy and RateLimit.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-11 (RateLimit-Policy and RateLimit, lists of
 * structured fields); RFC 9110 10.2.3 (Retry-After, in seconds). */
#pragma once

#include "router/limiter/limiter_call.h"

/* Writes {"allowed":allowed,"limits":[..] and leaves the object open. */
void rate_limit_body_begin(struct call *c, bool allowed);
/* Sets the header lines of the call. `retry_ms` < 0: no Retry-After. */
void rate_limit_headers_set(struct call *c, int64_t retry_ms);
