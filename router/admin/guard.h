/* guard.h - decides which requests the admin listener takes (docs/decisions/0015). */
#pragma once

struct client;
struct router;

/* Why the admin listener refuses the request; NULL: it takes the request. It refuses requests of
 * web pages: a browser adds Origin to a page's POST, and asks the server before a page may send
 * application/json. The admin listener never allows this. */
const char *admin_refusal(const struct router *r, const struct client *c);
