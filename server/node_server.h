/* node_server.h - a node at work: its recovery, its turns, its effects, its controller.
 *
 * The one driver of struct node (engine/node/node.h). It sees the world through ports
 * (server/ports.h): a host runs it over files, threads and sockets (server/host/node_host.h), the
 * simulator over virtual time (sim/node_process.h).
 *
 * Use: open, start, then events. After the events of a turn, and when node_server_deadline has
 * come, node_server_turn: what is due by time happens, and what the turn adds up to goes to the
 * log. Whoever destroys a server with work in flight lets no answer come afterwards. */
#ifndef WEIR_SERVER_NODE_SERVER_H
#define WEIR_SERVER_NODE_SERVER_H

#include "engine/node/node.h"
#include "server/ports.h"

struct node_server;

struct node_server_options {
    struct node_options node;
    const char *place; /* borrows, during node_server_open; where the data is, for texts */
    struct clock_port clock;
    struct log_port log;
    struct work_port work;
    struct message_port messages;
    /* The node has done something, and its trace may tell of it. NULL: nobody looks. */
    void (*stepped)(void *context);
    void *stepped_context;
};

/* Recovers: the node holds what store and log hold. Owns the store, also on failure.
 * STATUS_MALFORMED, STATUS_CORRUPT, STATUS_IO, STATUS_FULL: `error` tells what and what to do. */
enum status node_server_open(const struct node_server_options *options, struct store *store,
                             struct buffer *error, struct node_server **out);
void node_server_start(struct node_server *s);
/* What is in flight is not waited for: it was never acknowledged. NULL: nothing. */
void node_server_destroy(struct node_server *s);

/* ---- messages ---- */

/* `from` names whoever asks, for message_port.reply; not 0. */
void node_server_request(struct node_server *s, uint64_t from, const struct request *r);
/* The reply of another node. */
void node_server_reply(struct node_server *s, const struct reply *r);
/* An envelope of another node. STATUS_MALFORMED: its link is to be closed. */
enum status node_server_envelope(struct node_server *s, struct slice frame);

/* ---- answers of ports ---- */

/* 0 or errno. */
void node_server_segment_made(struct node_server *s, int error);
void node_server_log_written(struct node_server *s, uint64_t lsn, int error);

/* ---- turns ---- */

void node_server_turn(struct node_server *s);
struct instant node_server_deadline(const struct node_server *s);

/* ---- looking ---- */

struct node *node_server_node(struct node_server *s);
uint64_t node_server_replayed(const struct node_server *s); /* records read back at the start */

#endif
