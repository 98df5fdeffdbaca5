/* router_links.h - a router behind links: its messages to nodes and GAC servers as frames.
 *
 * A router makes all its links itself, to the nodes and GAC servers of its command line. */
#pragma once

#include "base/limits.h"
#include "server/router_server.h"

struct router_links {
    struct link_port links;
    struct router_server *server;    /* borrows */
    uint64_t nodes[NODES_LIMIT + 1]; /* by number; 0: down */
    uint64_t gac[NODES_LIMIT + 1];
    struct buffer scratch; /* owns */
};

void router_links_deinit(struct router_links *l);

/* For router_server_options. Borrows `l`. */
struct router_port router_links_peers(struct router_links *l);

void router_links_up(struct router_links *l, const struct link_peer *to);
/* `gone`: the other end closed the link; otherwise that process is unreachable. */
void router_links_down(struct router_links *l, const struct link_peer *to, bool gone);
/* A frame came over a link. A forbidden frame closes its link. */
void router_links_frame(struct router_links *l, const struct link_peer *from, struct slice frame);
