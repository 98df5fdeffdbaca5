/* cors.h - the web pages that may use the server (CORS protocol of the Fetch standard).
 *
 * A browser sends requests of any page to this server, with the rights of the browser's user. It
 * tells which page asks (Origin, Sec-Fetch-Site), but it executes nothing of its own. So the server
 * refuses a request of a page that may not use it, whatever the path and the method are.
 *
 * The setting cors_origins names the pages that may:
 *   none      no page
 *   loopback  pages of this machine, if the router's public listener is on loopback
 *   *         all pages
 *   a list    pages of these origins
 * Admin requests are never allowed. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

struct client;
struct router;

/* What Access-Control-Allow-Origin is: the Origin of the client's request if a page of that origin
 * may read the answer, * if all pages may, otherwise empty. Lends until the client's next request
 * begins. */
struct slice cors_allowed(const struct router *r, const struct client *c);

/* Whether a page may have caused the request that may not: by its Origin, by Sec-Fetch-Site, or by
 * a name of this server that the page has chosen (router/http/host.h). Then the router's fault says
 * why. A request with the admin token is never refused here: no page has the token. */
bool cors_refuse(struct router *r, const struct client *c);
