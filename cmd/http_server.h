/* http_server.h - the router's clients on a loop: bytes between sockets and the router. */
#ifndef WEIR_CMD_HTTP_SERVER_H
#define WEIR_CMD_HTTP_SERVER_H

#include "host/loop.h"
#include "router/router.h"

struct http_server;

/* Where to listen, and which option says so. */
struct http_address {
    const char *address;
    uint16_t port; /* 0: any free one */
    const char *option;
};

/* Sockets that it may have open at once. */
int64_t http_server_descriptors(const struct config *config);

/* Listens for clients and for admin requests; `error` tells why not and what to do. `woken` is
 * called after every event that may have left effects in the router. Borrows loop and router. */
enum status http_server_open(struct loop *l, struct router *r, const struct config *config,
                             const struct http_address *at, const struct http_address *admin,
                             void (*woken)(void *context), void *context, struct buffer *error,
                             struct http_server **out);
uint16_t http_server_port(const struct http_server *s);
uint16_t http_server_admin_port(const struct http_server *s);
void http_server_close(struct http_server *s);

/* A ROUTER_SEND_BYTES, ROUTER_CLOSE or ROUTER_ABORT effect. */
void http_server_effect(struct http_server *s, const struct router_effect *e);

#endif
