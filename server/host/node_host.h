/* node_host.h - a node on a loop: its directory, its log's files, its flush and reader threads.
 *
 * The host gives the node's driver (server/node_server.h) its ports. The owner passes events to the
 * driver, and calls node_server_turn after every turn of the loop. */
#pragma once

#include "host/loop.h"
#include "server/node_server.h"

struct disks;
struct node_host;

struct node_host_options {
    const char *directory; /* of this node; created if missing */
    struct node_options node;
    struct message_port messages;
    struct disks *disks; /* borrows; of all nodes of the process. NULL: this node is the only one */
    /* One line for people while the node opens, such as a wait. May be NULL. */
    void (*note)(void *context, const char *text);
    void *note_context;
};

/* Recovers the node from the directory, and starts it. On failure `error` gets the fault and the
 * remedy. */
enum status node_host_open(struct loop *l, const struct node_host_options *options,
                           struct buffer *error, struct node_host **out);
/* Work in flight is not waited for: it was never acknowledged. */
void node_host_close(struct node_host *h);
/* The same where the process fails at its start: a directory that node_host_open has made is
 * removed. Nothing of it may have been used. */
void node_host_discard(struct node_host *h, const char *directory);

/* Lends until node_host_close. */
struct node_server *node_host_server(struct node_host *h);
