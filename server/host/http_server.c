/* http_server.c - the public listener and the admin listener of a router on a loop.
 *
 * The router is told the unsent bytes of each client, and bounds them. This file also stops reading
 * from a client with many unsent bytes, so that TCP holds the client back. */
#include "server/host/http_server.h"
#include "host/connection.h"

#include <errno.h>
#include <stdlib.h>

#include "base/settings/http.h"
#include "host/address.h"

enum {
    UNSENT_PAUSE = 64 * 1024,
    UNSENT_RESUME = 16 * 1024,
    MORE_MAX = 64,
};

/* The count of connections beyond connections_max that get a refusal; further ones are closed
 * without an answer. Also the maximum of the admin listener. */
static int64_t more_max(const struct config *config)
{
    int64_t some = config_http(config)->connections_max / 4 + 1;
    return MIN(some, MORE_MAX);
}

int64_t http_server_descriptors(const struct config *config)
{
    enum {
        LISTENERS = 2
    };
    return LISTENERS + config_http(config)->connections_max + 2 * more_max(config);
}

struct http_server {
    struct loop *loop;
    struct router_server *router; /* borrows; NULL until the listeners are open */
    struct listener *listener;    /* owns */
    struct listener *admin;       /* owns; NULL: none */
};

/* ---- from connections to the router ---- */

static void http_opened(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_server_open(s->router, connection_id(c));
}

static void http_admin_opened(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_server_open_admin(s->router, connection_id(c));
}

/* HTTP-SERVER-1: every byte of a client goes through here. */
static void http_received(void *context, struct connection *c, struct slice bytes)
{
    struct http_server *s = context;
    router_server_receive(s->router, connection_id(c), bytes);
}

/* The client sends nothing more: the router closes the connection after its last answer. */
static void http_ended(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_server_end(s->router, connection_id(c));
}

static void http_closed(void *context, struct connection *c, UNUSED int error)
{
    struct http_server *s = context;
    router_server_close(s->router, connection_id(c));
}

/* The user pointer of a connection is set while the router is told of unsent bytes. */
static void http_sent(void *context, struct connection *c)
{
    struct http_server *s = context;
    const size_t unsent = connection_unsent(c);
    if (connection_user(c) == NULL)
        return;
    if (unsent <= UNSENT_RESUME)
        connection_pause(c, false);
    connection_set_user(c, unsent > 0 ? s : NULL);
    router_server_unsent(s->router, connection_id(c), unsent);
}

/* ---- from the router to connections ---- */

/* HTTP-SERVER-1: every byte for a client goes through here. */
static size_t http_send(void *context, uint64_t connection, struct slice bytes)
{
    struct http_server *s = context;
    struct connection *c = loop_connection(s->loop, connection);
    if (c == NULL)
        return 0;
    connection_send(c, bytes);
    const size_t unsent = connection_unsent(c);
    if (unsent > UNSENT_PAUSE)
        connection_pause(c, true);
    if (unsent > ROUTER_UNSENT_MIN)
        connection_set_user(c, s);
    return unsent;
}

static void http_close(void *context, uint64_t connection)
{
    struct http_server *s = context;
    struct connection *c = loop_connection(s->loop, connection);
    if (c != NULL)
        connection_close(c);
}

static void http_abort(void *context, uint64_t connection)
{
    struct http_server *s = context;
    struct connection *c = loop_connection(s->loop, connection);
    if (c != NULL)
        connection_abort(c);
}

struct client_port http_server_clients(struct http_server *s)
{
    return (struct client_port){
        .context = s, .send = http_send, .close = http_close, .abort = http_abort};
}

/* ---- life ---- */

static enum status listen_on(struct http_server *s, const struct http_address *at, int64_t max,
                             const struct connection_handler *handler, struct buffer *error,
                             struct listener **out)
{
    enum status status = loop_listen(s->loop, at->address, at->port, max, handler, s, out);
    if (status == STATUS_OK)
        return status;
    if (errno == EADDRINUSE)
        buffer_append_format(
            error,
            "cannot listen on %s:%u: %s (choose another with %s, or stop the process that uses "
            "it)",
            at->address, at->port, strerror(errno), at->option);
    else
        address_explain("listen on", at->address, at->port, errno, error);
    return status;
}

struct http_server *http_server_create(struct loop *l)
{
    struct http_server *s = must_calloc(1, sizeof *s);
    s->loop = l;
    return s;
}

enum status http_server_listen(struct http_server *s, struct router_server *r,
                               const struct config *config, const struct http_address *at,
                               const struct http_address *admin, struct buffer *error)
{
    static const struct connection_handler handler = {http_opened, http_received, http_ended,
                                                      http_closed, http_sent};
    static const struct connection_handler admin_handler = {http_admin_opened, http_received,
                                                            http_ended, http_closed, http_sent};
    s->router = r;
    enum status status = listen_on(s, at, config_http(config)->connections_max + more_max(config),
                                   &handler, error, &s->listener);
    if (status == STATUS_OK)
        status = listen_on(s, admin, more_max(config), &admin_handler, error, &s->admin);
    return status;
}

uint16_t http_server_port(const struct http_server *s)
{
    return listener_port(s->listener);
}

uint16_t http_server_admin_port(const struct http_server *s)
{
    return listener_port(s->admin);
}

void http_server_destroy(struct http_server *s)
{
    if (s == NULL)
        return;
    if (s->listener != NULL)
        listener_close(s->listener);
    if (s->admin != NULL)
        listener_close(s->admin);
    free(s);
}
