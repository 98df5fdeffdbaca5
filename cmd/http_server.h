/* http_server.h - the router's clients on a loop: bytes between sockets and the router. */
#ifndef WEIR_CMD_HTTP_SERVER_H
#define WEIR_CMD_HTTP_SERVER_H

#include "host/loop.h"
#include "router/router.h"

struct http_server;

/* Listens; `error` tells why not and what to do. `woken` is called after every event that may have
 * left effects in the router. Borrows loop and router. */
enum status http_server_open(struct loop *l, struct router *r, const struct config *config,
                             const char *address, uint16_t port, void (*woken)(void *context),
                             void *context, struct buffer *error, struct http_server **out);
uint16_t http_server_port(const struct http_server *s);
void http_server_close(struct http_server *s);

/* A ROUTER_SEND_BYTES or ROUTER_CLOSE effect. */
void http_server_effect(struct http_server *s, const struct router_effect *e);

/* Resumes clients that had not taken their answers and now have. Once a turn. */
void http_server_end_turn(struct http_server *s);

#endif
