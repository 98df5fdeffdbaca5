/* guard.h - who may use the admin listener (docs/decisions/0015). */
#ifndef WEIR_ROUTER_ADMIN_GUARD_H
#define WEIR_ROUTER_ADMIN_GUARD_H

struct client;
struct router;

/* Why the admin listener refuses the request; NULL: it takes the request. A browser adds Origin to
 * every request of a page. Before a page may send application/json, the browser asks the server,
 * which never allows it. */
const char *admin_refusal(const struct router *r, const struct client *c);

#endif
