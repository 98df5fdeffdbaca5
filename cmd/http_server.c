#include "cmd/http_server.h"

#include <errno.h>
#include <stdlib.h>

#include "base/must.h"

/* A client that does not take its answers is not read from until it does: so a slow reader holds at
 * most this much, and one answer. */
enum {
    UNSENT_PAUSE = 1 << 20,
    UNSENT_RESUME = 1 << 16
};

struct http_server {
    struct loop *loop;
    struct router *router;
    struct listener *listener; /* owns */
    void (*woken)(void *context);
    void *context;
    uint64_t *paused; /* connection ids; owns */
    size_t paused_count;
    size_t paused_capacity;
};

static void opened(void *context, struct connection *c)
{
    struct http_server *s = context;
    router_open(s->router, loop_now(s->loop), connection_id(c));
    connection_set_user(c, s);
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

enum status http_server_open(struct loop *l, struct router *r, const struct config *config,
                             const char *address, uint16_t port, void (*woken)(void *context),
                             void *context, struct buffer *error, struct http_server **out)
{
    static const struct connection_handler handler = {opened, received, ended, closed};
    struct http_server *s = calloc(1, sizeof *s);
    must(s != NULL);
    *s = (struct http_server){.loop = l, .router = r, .woken = woken, .context = context};
    enum status status =
        loop_listen(l, address, port, config->connections_max, &handler, s, &s->listener);
    if (status != STATUS_OK) {
        buffer_append_format(error, "cannot listen on %s:%u: %s%s", address, port, strerror(errno),
                             errno == EADDRINUSE ? " (choose another with --port, or stop what "
                                                   "uses it)"
                                                 : "");
        free(s);
        return status;
    }
    *out = s;
    return STATUS_OK;
}

uint16_t http_server_port(const struct http_server *s)
{
    return listener_port(s->listener);
}

void http_server_close(struct http_server *s)
{
    if (s == NULL)
        return;
    listener_close(s->listener);
    free(s->paused);
    free(s);
}

static void pause_client(struct http_server *s, struct connection *c)
{
    for (size_t i = 0; i < s->paused_count; i++) {
        if (s->paused[i] == connection_id(c))
            return;
    }
    if (s->paused_count == s->paused_capacity) {
        s->paused_capacity = s->paused_capacity == 0 ? 16 : s->paused_capacity * 2;
        s->paused = realloc(s->paused, s->paused_capacity * sizeof s->paused[0]);
        must(s->paused != NULL);
    }
    s->paused[s->paused_count++] = connection_id(c);
    connection_pause(c, true);
}

void http_server_effect(struct http_server *s, const struct router_effect *e)
{
    struct connection *c = loop_connection(s->loop, e->connection);
    if (c == NULL)
        return;
    if (e->kind == ROUTER_CLOSE) {
        connection_close(c);
        return;
    }
    connection_send(c, e->bytes);
    if (connection_unsent(c) > UNSENT_PAUSE)
        pause_client(s, c);
}

void http_server_end_turn(struct http_server *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->paused_count; i++) {
        struct connection *c = loop_connection(s->loop, s->paused[i]);
        if (c == NULL)
            continue;
        if (connection_unsent(c) > UNSENT_RESUME)
            s->paused[kept++] = s->paused[i];
        else
            connection_pause(c, false);
    }
    s->paused_count = kept;
}
