/* node_server.h - drives a node: its recovery, its turns, its effects, its controller.
 *
 * The only driver of struct node (engine/node/node.h). The driver uses ports (server/ports.h). A
 * host implements them over files, threads and sockets (server/host/node_host.h), the simulator
 * over virtual time (sim/world/node_process.h).
 *
 * Use: open, start, then events. Call node_server_turn after the events of a turn, and at
 * node_server_deadline. It does the work due by time, and writes the turn's records to the log.
 * After a server is destroyed, its owner must not deliver answers to it. */
#pragma once

#include "engine/node/node.h"
#include "server/ports.h"

struct node_server;

struct node_server_options {
    struct node_options node;
    const char *place; /* borrows, during node_server_open; place of the data, for error texts */
    struct clock_port clock;
    struct log_port log;
    struct work_port work;
    struct message_port messages;
    /* Called after the node has done something that its trace may show. May be NULL. */
    void (*stepped)(void *context);
    void *stepped_context;
};

/* Recovers the node from store and log. Owns the store, also on failure. STATUS_MALFORMED,
 * STATUS_CORRUPT, STATUS_IO, STATUS_FULL: `error` gets the fault and the remedy. */
enum status node_server_open(const struct node_server_options *options, struct store *store,
                             struct buffer *error, struct node_server **out);
void node_server_start(struct node_server *s);
/* Work in flight is not waited for: it was never acknowledged. NULL: does nothing. */
void node_server_destroy(struct node_server *s);

/* ---- messages ---- */

/* `from` names the sender, for message_port.reply; not 0. */
void node_server_request(struct node_server *s, uint64_t from, const struct request *r);
/* The reply of another node. */
void node_server_reply(struct node_server *s, const struct reply *r);
/* An envelope of another node. STATUS_MALFORMED: the caller must close the link. */
enum status node_server_envelope(struct node_server *s, struct slice frame);

/* ---- answers of ports ---- */

/* `error`: 0 or errno. */
void node_server_segment_made(struct node_server *s, int error);
void node_server_log_written(struct node_server *s, uint64_t lsn, int error);

/* ---- turns ---- */

void node_server_turn(struct node_server *s);
struct instant node_server_deadline(const struct node_server *s);

/* ---- looking ---- */

struct node *node_server_node(struct node_server *s);
uint64_t node_server_replayed(const struct node_server *s); /* records read back at the start */
