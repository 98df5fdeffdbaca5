/* cors.h - which web pages a browser lets read answers (the Fetch standard's CORS protocol).
 *
 * A browser sends a page's request to any address, but asks first whether the page may. The setting
 * cors_origins names the pages: none; loopback, pages that come from this machine, and then only
 * while the router itself listens on loopback; *, all; or a list of origins. No admin request is
 * ever allowed. */
#ifndef WEIR_ROUTER_CORS_H
#define WEIR_ROUTER_CORS_H

#include "base/slice.h"

struct client;
struct router;

/* The Origin of the client's request if a page from there may read the answer; else empty. Lends
 * until the client's next request begins. */
struct slice cors_allowed(const struct router *r, const struct client *c);

#endif
