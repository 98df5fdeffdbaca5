/* guard.h - who may use the admin listener (docs/decisions/0015). */
#ifndef WEIR_ROUTER_ADMIN_GUARD_H
#define WEIR_ROUTER_ADMIN_GUARD_H

struct client;
struct router;

/* Why a request may not change anything; NULL: it may. A browser adds Origin to what a page sends,
 * and sends no application/json without leave, which is never given. */
const char *admin_refusal(const struct router *r, const struct client *c);

#endif
