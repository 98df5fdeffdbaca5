/* shown.h - what answers of the rate limiter show: limits, and the header fields about them.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-11 (RateLimit-Policy and RateLimit, lists of structured
 * fields); RFC 9110 10.2.3 (Retry-After, in seconds). */
#pragma once

#include "router/limiter/session.h"

/* Writes {"allowed":allowed,"limits":[..] and leaves the object open. */
void shown_begin(struct call *c, bool allowed);
/* Sets the header lines of the call. `retry_ms` < 0: no Retry-After. */
void shown_set_lines(struct call *c, int64_t retry_ms);
/* Tokens that all shards have, as far as the router knows: at least 0. */
int64_t shown_remaining(const struct router *r, const struct known_bucket *b, uint32_t limit);
/* Until the limit is full. */
int64_t shown_reset_ms(const struct router *r, const struct known_bucket *b, uint32_t limit);
