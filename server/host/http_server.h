/* http_server.h - the layer between sockets and a router: listeners, connections, back-pressure.
 *
 * HTTP-SERVER-1  every byte between a client and the router passes this layer in two places, one a
 *                direction.
 *
 * Not here: TLS. Links between processes do not pass this layer, so TLS for both belongs to
 * host/connection.h. */
#pragma once

#include "host/loop.h"
#include "server/router_server.h"

struct http_server;

/* An address to listen on, and the option that gave it. */
struct http_address {
    const char *address;
    uint16_t port; /* 0: any free one */
    const char *option;
};

/* The most sockets of a server at once. */
int64_t http_server_descriptors(const struct config *config);

/* Borrows the loop. */
struct http_server *http_server_create(struct loop *l);
/* Call before the loop is destroyed. NULL: does nothing. */
void http_server_destroy(struct http_server *s);

/* For router_server_options. Borrows the server. */
struct client_port http_server_clients(struct http_server *s);

/* Listens for clients and for admin requests; `error` gets the fault and the remedy. Borrows the
 * router until the loop's end. */
enum status http_server_listen(struct http_server *s, struct router_server *r,
                               const struct config *config, const struct http_address *at,
                               const struct http_address *admin, struct buffer *error);
uint16_t http_server_port(const struct http_server *s);
uint16_t http_server_admin_port(const struct http_server *s);
