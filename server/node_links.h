/* node_links.h - a node behind links: its messages as frames, and the rights of each link. */
#pragma once

#include "server/node_server.h"

struct node_links {
    struct link_port links;
    struct buffer scratch; /* owns */
};

void node_links_deinit(struct node_links *l);

/* The port that sends the node's messages over links, for node_server_options. Borrows `l`. A
 * message for a link that is down is lost; its sender asks again. */
struct message_port node_links_messages(struct node_links *l);

/* A frame came over a link. A forbidden frame closes its link. */
void node_links_frame(struct node_links *l, struct node_server *s, const struct link_peer *from,
                      struct slice frame);
