/* http_server.c - the public listener and the admin listener of a router on a loop.
 *
 * The router is told what is unsent of each client, and bounds it. Here a client with much of it is
 * not read from either, so that TCP holds it back. */
#include "cmd/http_server.h"

#include <errno.h>
#include <stdlib.h>

#include "base/must.h"

enum {
    UNSENT_PAUSE = 64 * 1024,
    UNSENT_RESUME = 16 * 1024,
    MORE_MAX = 64,
};

/* Beyond connections_max so many are let in to be told so, and the rest closed without a word; and
 * so many may ask the admin listener. */
static int64_t more_max(const struct config *config)
{
    int64_t some = config->connections_max / 4 + 1;
    return some < MORE_MAX ? some : MORE_MAX;
}

int64_t http_server_descriptors(const struct config *config)
{
    enum {
        LISTENERS = 2
    };
    return LISTENERS + config->connections_max + 2 * more_max(config);
}

struct http_server {
    struct loop *loop;
    struct router *router;
    struct listener *listener; /* owns */
    struct listener *admin;    /* owns; NULL: none */
    void (*woken)(void *context);
    void *context;
};

static void opened(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_open(s->router, loop_now(s->loop), connection_id(c));
    s->woken(s->context); /* it may have been turned away */
}

static void admin_opened(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_open_admin(s->router, loop_now(s->loop), connection_id(c));
}

static void received(void *context, struct connection *c, struct slice bytes)
{
    struct http_server *s = context;
    router_receive(s->router, loop_now(s->loop), connection_id(c), bytes);
    s->woken(s->context);
}

/* The client has said all it will: the router closes once it has answered. */
static void ended(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_end(s->router, loop_now(s->loop), connection_id(c));
    s->woken(s->context);
}

static void closed(void *context, struct connection *c, int error)
{
    (void)error;
    struct http_server *s = context;
    router_close(s->router, loop_now(s->loop), connection_id(c));
    s->woken(s->context);
}

/* The user pointer of a connection is set while the router is told what is unsent of it. */
static bool tell_unsent(struct http_server *s, struct connection *c)
{
    const size_t unsent = connection_unsent(c);
    connection_set_user(c, unsent > 0 ? s : NULL);
    return router_unsent(s->router, loop_now(s->loop), connection_id(c), unsent);
}

static void sent(void *context, struct connection *c)
{
    struct http_server *s = context;
    if (connection_user(c) == NULL)
        return;
    if (connection_unsent(c) <= UNSENT_RESUME)
        connection_pause(c, false);
    if (tell_unsent(s, c))
        s->woken(s->context);
}

static enum status listen_on(struct http_server *s, const struct http_address *at, int64_t most,
                             const struct connection_handler *handler, struct buffer *error,
                             struct listener **out)
{
    enum status status = loop_listen(s->loop, at->address, at->port, most, handler, s, out);
    if (status == STATUS_OK)
        return status;
    buffer_append_format(error, "cannot listen on %s:%u: %s", at->address, at->port,
                         strerror(errno));
    if (errno == EADDRINUSE)
        buffer_append_format(error, " (choose another with %s, or stop what uses it)", at->option);
    return status;
}

enum status http_server_open(struct loop *l, struct router *r, const struct config *config,
                             const struct http_address *at, const struct http_address *admin,
                             void (*woken)(void *context), void *context, struct buffer *error,
                             struct http_server **out)
{
    static const struct connection_handler handler = {opened, received, ended, closed, sent};
    static const struct connection_handler admin_handler = {admin_opened, received, ended, closed,
                                                            sent};
    struct http_server *s = calloc(1, sizeof *s);
    must(s != NULL);
    *s = (struct http_server){.loop = l, .router = r, .woken = woken, .context = context};
    enum status status =
        listen_on(s, at, config->connections_max + more_max(config), &handler, error, &s->listener);
    if (status == STATUS_OK)
        status = listen_on(s, admin, more_max(config), &admin_handler, error, &s->admin);
    if (status != STATUS_OK) {
        http_server_close(s);
        return status;
    }
    *out = s;
    return STATUS_OK;
}

uint16_t http_server_port(const struct http_server *s)
{
    return listener_port(s->listener);
}

uint16_t http_server_admin_port(const struct http_server *s)
{
    return listener_port(s->admin);
}

void http_server_close(struct http_server *s)
{
    if (s == NULL)
        return;
    if (s->listener != NULL)
        listener_close(s->listener);
    if (s->admin != NULL)
        listener_close(s->admin);
    free(s);
}

void http_server_effect(struct http_server *s, const struct router_effect *e)
{
    struct connection *c = loop_connection(s->loop, e->connection);
    if (c == NULL)
        return;
    if (e->kind == ROUTER_CLOSE) {
        connection_close(c);
    } else if (e->kind == ROUTER_ABORT) {
        connection_abort(c);
    } else {
        connection_send(c, e->bytes);
        if (connection_unsent(c) > UNSENT_PAUSE)
            connection_pause(c, true);
        if (connection_unsent(c) > ROUTER_UNSENT_MIN)
            tell_unsent(s, c);
    }
}
