/* router_server.c - passes events to the router, and its effects to the ports. */
#include "server/router_server.h"

#include <stdlib.h>

struct router_server {
    struct router_server_options options;
    struct router *router;     /* owns */
    bool pumping;              /* inside an effect: the pump takes further effects */
    void (*parse)(void *text); /* of the ROUTER_PARSE at work */
    void *text;
};

static struct instant router_now(const struct router_server *s)
{
    return s->options.clock.now(s->options.clock.context);
}

/* ---- effects ---- */

static void request_send(struct router_server *s, const struct router_effect *e)
{
    const struct router_port *p = &s->options.peers;
    const uint64_t id = e->request->id;
    const uint32_t node = e->node;
    if (!p->request(p->context, node, e->request))
        router_not_sent(s->router, router_now(s), node, id);
}

static void bytes_send(struct router_server *s, const struct router_effect *e)
{
    const struct client_port *c = &s->options.clients;
    const uint64_t connection = e->connection;
    const size_t size = e->bytes.size, unsent = c->send(c->context, connection, e->bytes);
    if (size > ROUTER_UNSENT_MIN || unsent > ROUTER_UNSENT_MIN)
        router_unsent(s->router, router_now(s), connection, unsent);
}

/* Beside the loop. */
static void parse_run(void *server)
{
    struct router_server *s = server;
    s->parse(s->text);
}

static void parse_done(void *server)
{
    struct router_server *s = server;
    router_parsed(s->router, router_now(s));
    router_server_pump(s);
}

static void parse_start(struct router_server *s, const struct router_effect *e)
{
    const struct work_port *w = &s->options.work;
    s->parse = e->parse;
    s->text = e->text;
    w->submit(w->context, WORK_PARSE, parse_run, parse_done, s);
}

static void effect_take(struct router_server *s, const struct router_effect *e)
{
    const struct client_port *c = &s->options.clients;
    switch (e->kind) {
    case ROUTER_SEND_REQUEST:
        request_send(s, e);
        break;
    case ROUTER_SEND_GAC:
        s->options.peers.gac(s->options.peers.context, e->gac_server, e->bytes);
        break;
    case ROUTER_SEND_BYTES:
        bytes_send(s, e);
        break;
    case ROUTER_PARSE:
        parse_start(s, e);
        break;
    case ROUTER_CLOSE:
        c->close(c->context, e->connection);
        break;
    case ROUTER_ABORT:
        c->abort(c->context, e->connection);
        break;
    }
}

void router_server_pump(struct router_server *s)
{
    struct router_effect e;
    if (s->pumping)
        return;
    s->pumping = true;
    while (router_next_effect(s->router, &e))
        effect_take(s, &e);
    s->pumping = false;
}

/* ---- clients ---- */

void router_server_open(struct router_server *s, uint64_t connection)
{
    router_open(s->router, router_now(s), connection);
    router_server_pump(s); /* the router may have refused it */
}

void router_server_open_admin(struct router_server *s, uint64_t connection)
{
    router_open_admin(s->router, router_now(s), connection);
    router_server_pump(s);
}

void router_server_receive(struct router_server *s, uint64_t connection, struct slice bytes)
{
    const struct clock_port *clock = &s->options.clock;
    const struct waiting waited = clock->waited(clock->context);
    router_receive(s->router, router_now(s), waited, connection, bytes);
    router_server_pump(s);
}

void router_server_end(struct router_server *s, uint64_t connection)
{
    router_end(s->router, router_now(s), connection);
    router_server_pump(s);
}

void router_server_close(struct router_server *s, uint64_t connection)
{
    router_close(s->router, router_now(s), connection);
    router_server_pump(s);
}

void router_server_unsent(struct router_server *s, uint64_t connection, size_t bytes)
{
    if (router_unsent(s->router, router_now(s), connection, bytes))
        router_server_pump(s);
}

/* ---- nodes and GAC servers ---- */

void router_server_reply(struct router_server *s, uint32_t node, const struct reply *r)
{
    router_reply(s->router, router_now(s), node, r);
}

void router_server_node_lost(struct router_server *s, uint32_t node)
{
    router_node_lost(s->router, router_now(s), node);
    router_server_pump(s);
}

void router_server_gac_up(struct router_server *s, uint32_t server)
{
    router_gac_up(s->router, router_now(s), server);
    router_server_pump(s);
}

void router_server_gac_down(struct router_server *s, uint32_t server, bool gone)
{
    router_gac_down(s->router, router_now(s), server, gone);
    router_server_pump(s);
}

enum status router_server_gac_receive(struct router_server *s, uint32_t server, struct slice frame)
{
    enum status status = router_gac_receive(s->router, router_now(s), server, frame);
    router_server_pump(s);
    return status;
}

/* ---- turns ---- */

static void clock_set(struct router_server *s)
{
    const struct clock_port *clock = &s->options.clock;
    router_set_wall_clock(s->router, router_now(s), clock->wall_ms(clock->context));
}

void router_server_turn(struct router_server *s)
{
    if (!instant_before(router_now(s), router_deadline(s->router))) {
        clock_set(s);
        router_tick(s->router, router_now(s));
    }
    router_server_pump(s);
}

struct instant router_server_deadline(const struct router_server *s)
{
    return router_deadline(s->router);
}

/* ---- life ---- */

const struct router *router_server_router(const struct router_server *s)
{
    return s->router;
}

struct router_server *router_server_create(const struct router_server_options *options)
{
    struct router_server *s = must_calloc(1, sizeof *s);
    s->options = *options;
    s->router = router_create(&options->router);
    clock_set(s);
    return s;
}

void router_server_destroy(struct router_server *s)
{
    if (s == NULL)
        return;
    router_destroy(s->router);
    free(s);
}
