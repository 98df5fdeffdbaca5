/* connection.h - TCP connections of a loop, loopback by default: listeners, bytes in, bytes out.
 *
 * Everything is called from the loop's thread, callbacks included (loop.h).
 * Not here: frames and HTTP, which are made of the bytes. */
#pragma once

#include "base/slice.h"
#include "base/status.h"

struct loop;
struct listener;
struct connection;

struct connection_handler {
    /* A client connected, or loop_connect succeeded. The callback may set the user pointer. */
    void (*opened)(void *context, struct connection *c);
    void (*received)(void *context, struct connection *c,
                     struct slice bytes); /* lends for the call */
    /* The peer has sent its last byte but still reads: the user must call connection_close. NULL:
     * the connection closes once all output has left. */
    void (*ended)(void *context, struct connection *c);
    /* The connection is gone, or the connect failed (error = errno, 0 = orderly). The connection is
     * invalid afterwards. */
    void (*closed)(void *context, struct connection *c, int error);
    /* The kernel has taken some of the output; connection_unsent tells how much is left. May be
     * NULL. */
    void (*sent)(void *context, struct connection *c);
};

/* Port 0: the kernel chooses a free port, see listener_port. More than `connections_max` clients
 * are closed at once. Waits up to two seconds for a port in use: a killed process holds its port a
 * moment longer. STATUS_IO with errno. */
enum status loop_listen(struct loop *l, const char *address, uint16_t port, int64_t connections_max,
                        const struct connection_handler *handler, void *context,
                        struct listener **out);
uint16_t listener_port(const struct listener *li);
void listener_close(struct listener *li); /* clients already connected stay */

/* The result comes through `opened` or `closed`. Bytes sent before `opened` leave once connected.
 * For a name as `address` the resolver may block. STATUS_IO with errno: no callback follows. */
enum status loop_connect(struct loop *l, const char *address, uint16_t port,
                         const struct connection_handler *handler, void *context,
                         struct connection **out);

uint64_t connection_id(const struct connection *c); /* never reused in a process; never 0 */
enum {
    PEER_TEXT_MAX = 64
};
/* "ADDRESS:PORT" of the other end; "-" once the other end is gone. */
void connection_peer(const struct connection *c, char out[PEER_TEXT_MAX]);
struct connection *loop_connection(struct loop *l, uint64_t id); /* NULL if gone */
void connection_set_user(struct connection *c, void *user);
void *connection_user(const struct connection *c);

/* Copies into the connection's output. Does nothing while the connection is closing. */
void connection_send(struct connection *c, struct slice bytes);
/* Bytes that the kernel has not taken yet: the caller's measure for back-pressure. */
size_t connection_unsent(const struct connection *c);
/* Stops or resumes reading; while paused, TCP holds the peer back. */
void connection_pause(struct connection *c, bool paused);
/* Stops delivery at once. Closes once all output has left, then calls `closed`. */
void connection_close(struct connection *c);
/* connection_close without waiting for the output to leave. */
void connection_abort(struct connection *c);
/* connection_close without any further callback: for a user that is destroyed first. */
void connection_abandon(struct connection *c);
