/* client_connection.c - see client_connection.h. */
#include "workload/client_connection.h"
#include "host/connection.h"

enum {
    PAUSE_NS_MIN = 10 * 1000 * 1000,
    PAUSE_NS_MAX = 500 * 1000 * 1000,
};

static void client_opened(UNUSED void *context, struct connection *connection)
{
    struct client_connection *c = connection_user(connection);
    c->up = true;
    c->pause_ns = 0;
    c->events->opened(c->context);
}

void client_connection_give_up(struct client_connection *c, const char *why)
{
    if (c->closing)
        return;
    c->closing = true;
    c->up = false;
    c->events->lost(c->context, why, 0);
    connection_abort(c->connection);
}

static void client_received(UNUSED void *context, struct connection *connection, struct slice bytes)
{
    struct client_connection *c = connection_user(connection);
    if (client_response_feed(&c->response, bytes) != STATUS_OK)
        client_connection_give_up(c, "malformed-answer");
    else if (c->response.closes)
        client_connection_give_up(c, "connection-closed");
}

static void try_next_url(struct client_connection *c)
{
    c->url = (c->url + 1) % c->url_count;
}

static void client_closed(UNUSED void *context, struct connection *connection, int error)
{
    struct client_connection *c = connection_user(connection);
    bool was_closing = c->closing;
    c->up = c->closing = false;
    c->connection = NULL;
    try_next_url(c);
    c->retry_ns = loop_now(c->loop).ns + c->pause_ns;
    c->pause_ns = c->pause_ns ? c->pause_ns * 2 : PAUSE_NS_MIN;
    c->pause_ns = MIN(c->pause_ns, PAUSE_NS_MAX);
    if (!was_closing)
        c->events->lost(c->context, "connection-lost", error);
}

void client_connection_open(struct client_connection *c)
{
    static const struct connection_handler handler = {
        .opened = client_opened, .received = client_received, .closed = client_closed};
    const struct client_url *url = &c->urls[c->url];
    client_response_init(&c->response, c->keep_body, c->events->answer, c->context);
    if (loop_connect(c->loop, url->host, url->port, &handler, NULL, &c->connection) == STATUS_OK) {
        connection_set_user(c->connection, c);
        return;
    }
    c->connection = NULL;
    c->retry_ns = loop_now(c->loop).ns + PAUSE_NS_MAX;
    try_next_url(c);
}

void client_connection_deinit(struct client_connection *c)
{
    client_response_deinit(&c->response);
}

void client_connection_send(struct client_connection *c, struct slice request)
{
    connection_send(c->connection, request);
}

void client_connection_check(struct client_connection *c, int64_t now_ns)
{
    if (c->connection == NULL && now_ns >= c->retry_ns)
        client_connection_open(c);
}
