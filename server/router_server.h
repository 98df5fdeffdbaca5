/* router_server.h - drives a router: its turns and its effects.
 *
 * The only driver of struct router (router/core/router.h), in daemons and in the simulator.
 * Connections
 * have numbers that are never reused. The router's effects are taken after every event except
 * router_server_reply. */
#pragma once

#include "router/core/router.h"
#include "server/ports.h"

struct router_server;

struct router_server_options {
    struct router_options router;
    struct clock_port clock;
    struct router_port peers;
    struct client_port clients;
    struct work_port work; /* its jobs have ended before router_server_destroy */
};

struct router_server *router_server_create(const struct router_server_options *options);
void router_server_destroy(struct router_server *s); /* NULL: nothing */

/* ---- clients ---- */

void router_server_open(struct router_server *s, uint64_t connection);
void router_server_open_admin(struct router_server *s, uint64_t connection);
void router_server_receive(struct router_server *s, uint64_t connection, struct slice bytes);
/* The client sends nothing more, but still reads. */
void router_server_end(struct router_server *s, uint64_t connection);
void router_server_close(struct router_server *s, uint64_t connection);
/* `bytes`: output that the client has not taken. */
void router_server_unsent(struct router_server *s, uint64_t connection, size_t bytes);

/* ---- nodes and GAC servers ---- */

/* A node of the same process may be in the middle of its effects: the router's effects are taken by
 * the next router_server_pump. */
void router_server_reply(struct router_server *s, uint32_t node, const struct reply *r);
void router_server_node_lost(struct router_server *s, uint32_t node);
void router_server_gac_up(struct router_server *s, uint32_t server);
/* `gone`: the other end closed the link; otherwise the server is unreachable. */
void router_server_gac_down(struct router_server *s, uint32_t server, bool gone);
/* STATUS_MALFORMED: the caller must close the link. */
enum status router_server_gac_receive(struct router_server *s, uint32_t server, struct slice frame);

/* ---- turns ---- */

/* Takes the router's effects. */
void router_server_pump(struct router_server *s);
/* Does the work that is due by time. */
void router_server_turn(struct router_server *s);
struct instant router_server_deadline(const struct router_server *s);

const struct router *router_server_router(const struct router_server *s);
