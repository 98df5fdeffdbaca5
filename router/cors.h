/* cors.h - the web pages that a browser lets read answers (CORS protocol of the Fetch standard).
 *
 * A browser asks a server of another origin whether a page may use the server. The setting
 * cors_origins names the pages that may:
 *   none      no page
 *   loopback  pages of this machine, if the router's public listener is on loopback
 *   *         all pages
 *   a list    pages of these origins
 * Admin requests are never allowed. */
#pragma once

#include "base/slice.h"

struct client;
struct router;

/* The Origin of the client's request, if a page of that origin may read the answer; otherwise
 * empty. Lends until the client's next request begins. */
struct slice cors_allowed(const struct router *r, const struct client *c);
