/* daemon.h - functions shared by the processes of a cluster: messages over a transport. */
#pragma once

#include "engine/node/node.h"
#include "host/transport.h"
#include "server/host/faults.h"

/* Processes of a cluster and their addresses, from --peers and --gac. */
struct peer_list {
    struct {
        uint32_t id;
        char address[64];
        uint16_t port;
    } at[NODES_LIMIT];
    uint32_t count;
};

uint64_t daemon_seed(void);

/* The identity of process `kind` `id` for its links: cluster_id and secret_file of its
 * configuration. `secret` gets the secret and must outlive the transport. `listens`: the address on
 * which it accepts links, or NULL. Without a secret that address must be loopback. STATUS_IO,
 * STATUS_MALFORMED. */
enum status daemon_prepare_greeting(const struct config *config, enum peer_kind kind, uint32_t id,
                                    const char *listens, struct buffer *secret,
                                    struct buffer *error, struct greeting_self *out);

/* Raises the limit of open files and sockets. The limit must suffice for `nodes` nodes in this
 * process, for `links` links to others, and for clients if the process `serves` them. If it does
 * not, lowers `connections_max`, then `log_max_bytes`, and says so. STATUS_IO: still too low. */
enum status daemon_fit_descriptors(struct config *config, uint32_t nodes, uint32_t links,
                                   bool serves, struct buffer *error);

/* Prints "weir NAME: " and the text to standard error; returns exit code 1. */
int daemon_fail(const char *name, const struct buffer *error);

/* A loop that stops on signals. `error` gets the reason of a failure. */
enum status daemon_open_loop(struct loop **out, void (*stop)(void *context), void *context,
                             struct buffer *error);

/* Whether the list has the numbers 1 .. count, each once, and each with an address of its own.
 * `error` gets the fault of that option. */
bool daemon_list_valid(const struct peer_list *list, const char *option, struct buffer *error);

/* Opens the port for fault commands (faults.h) and prints its address on standard output. */
enum status daemon_open_faults(struct loop *l, struct transport *t, uint16_t port,
                               struct buffer *error, struct faults **out);

/* Keeps up a link to each process of the list except `except`. */
void daemon_add_peers(struct transport *t, enum peer_kind kind, const struct peer_list *list,
                      uint32_t except);

/* Once, when the node has stopped writing: prints its last events on standard error. */
void daemon_print_stopped(const struct node *n, uint32_t id, bool *printed);

/* transport_handler.note: a line on standard error. */
void daemon_note(void *context, const char *text);
