/* node_host.h - a node on a loop: its files, its flush and reader threads, its recovery.
 *
 * Whoever owns it passes requests in, and takes replies, and requests and envelopes to other nodes,
 * out through the callbacks. The callbacks run while the node's effects are taken: they must not
 * call back into the same node_host. */
#ifndef WEIR_EMBED_NODE_HOST_H
#define WEIR_EMBED_NODE_HOST_H

#include "engine/node/node.h"
#include "host/loop.h"

struct node_host;

struct node_host_options {
    const char *directory; /* of this node; created if missing */
    struct node_options node;
    void (*reply)(void *context, uint32_t node, uint64_t to, const struct reply *r);
    void (*request)(void *context, uint32_t from, uint32_t to, const struct request *r);
    /* An envelope for another node: node_host_receive there. */
    void (*send)(void *context, uint32_t from, uint32_t to, struct slice frame);
    /* One line for people while it opens, such as what it waits for. May be NULL. */
    void (*note)(void *context, const char *text);
    void *context;
};

/* Recovers what the directory holds. On failure `error` tells what and what to do. */
enum status node_host_open(struct loop *l, const struct node_host_options *options,
                           struct buffer *error, struct node_host **out);
/* What is in flight is not waited for: it was never acknowledged. */
void node_host_close(struct node_host *h);

void node_host_request(struct node_host *h, uint64_t from, const struct request *r);
void node_host_reply(struct node_host *h, const struct reply *r);
/* STATUS_MALFORMED: the link is to be closed. */
enum status node_host_receive(struct node_host *h, struct slice frame);

/* After everything a turn brought: what is due by time, then the next batch for the log. */
void node_host_end_turn(struct node_host *h);
struct instant node_host_deadline(const struct node_host *h);

struct node *node_host_node(struct node_host *h);
uint64_t node_host_replayed(const struct node_host *h); /* records read back at the start */

#endif
