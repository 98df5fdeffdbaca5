/* gac_links.c - the links between routers and the servers of global admission control.
 *
 * A link delivers frames in their order, each after one way on the network. */
#include <stdlib.h>

#include "lab/fidelity/admission/model_internal.h"

struct model_message {
    LIST_ENTRY(model_message) entry;
    struct model *model;
    uint32_t router, router_life;
    uint32_t server, server_life;
    bool answer; /* from the server */
    struct buffer frame;
};

/* A link is known to the server by router and its life. */
static uint64_t model_links_link_id(const struct model_message *msg)
{
    return (uint64_t)msg->router_life << 32 | (msg->router + 1);
}

static void message_destroy(struct model_message *msg)
{
    LIST_REMOVE(msg, entry);
    buffer_deinit(&msg->frame);
    free(msg);
}

void model_links_destroy(struct model *m)
{
    while (!LIST_EMPTY(&m->messages))
        message_destroy(LIST_FIRST(&m->messages));
    for (uint32_t i = 1; m->servers != NULL && i <= m->server_count; i++) {
        if (m->servers[i].server != NULL)
            gac_server_destroy(m->servers[i].server);
    }
    free(m->servers);
}

static bool message_is_lost(const struct model_message *msg)
{
    const struct model *m = msg->model;
    const struct model_server *s = &m->servers[msg->server];
    const struct model_router *r = &m->routers[msg->router];
    return s->down || s->cut || s->life != msg->server_life || r->down ||
           r->life != msg->router_life;
}

static void model_links_deliver(void *context, uint64_t argument);

static void message_send(struct model *m, struct model_message *msg)
{
    m->counts.messages++;
    LIST_INSERT_HEAD(&m->messages, msg, entry);
    if (!msg->answer)
        measure_gac_messages(m->measure, 1);
    model_in(m, model_way_ns(m), model_links_deliver, msg, 0);
}

static void model_links_answer(struct model *m, struct model_message *msg)
{
    struct buffer error = {0};
    struct model_message *back = must_calloc(1, sizeof *back);
    *back = *msg;
    back->frame = (struct buffer){0};
    back->answer = true;
    /* A server that knows as many routers as it may refuses the frame. */
    bool taken = gac_server_receive(m->servers[msg->server].server, model_now(m),
                                    (struct gac_origin){.link = model_links_link_id(msg)},
                                    buffer_slice(&msg->frame), &back->frame, &error) == STATUS_OK;
    buffer_deinit(&error);
    if (!taken) {
        buffer_deinit(&back->frame);
        free(back);
        return;
    }
    message_send(m, back);
}

static void model_links_deliver(void *context, uint64_t argument)
{
    struct model_message *msg = context;
    struct model *m = msg->model;
    struct model_router *r = &m->routers[msg->router];
    (void)argument;
    if (!message_is_lost(msg) && msg->answer) {
        must(gac_client_receive(r->client, router_clock(m, r), msg->server,
                                buffer_slice(&msg->frame)) == STATUS_OK);
        router_pump(m, r);
    } else if (!message_is_lost(msg)) {
        model_links_answer(m, msg);
    }
    message_destroy(msg);
}

void model_links_send(struct model *m, struct model_router *r, uint32_t server, struct slice frame)
{
    struct model_message *msg = must_calloc(1, sizeof *msg);
    *msg = (struct model_message){.model = m,
                                  .router = r->number,
                                  .router_life = r->life,
                                  .server = server,
                                  .server_life = m->servers[server].life};
    buffer_set(&msg->frame, frame);
    message_send(m, msg);
}

/* ---- servers come and go ---- */

void model_links_start(struct model *m, struct model_server *s)
{
    const struct gac_server_options options = {
        .config = m->config,
        .number = s->number,
        .servers = m->server_count,
        .incarnation =
            model_seed(m, DEMAND_GAC, UINT64_C(1) << 63 | (uint64_t)s->number << 32 | ++s->life) |
            1};
    s->server = gac_server_create(&options);
    s->down = false;
    for (uint32_t i = 0; i < m->router_count; i++) {
        struct model_router *r = &m->routers[i];
        if (r->down)
            continue;
        gac_client_up(r->client, router_clock(m, r), s->number);
        router_pump(m, r);
    }
}

void model_links_stop(struct model *m, struct model_server *s)
{
    if (s->down)
        return;
    s->down = true;
    s->life++;
    gac_server_destroy(s->server);
    s->server = NULL;
    for (uint32_t i = 0; i < m->router_count; i++) {
        struct model_router *r = &m->routers[i];
        if (r->down)
            continue;
        gac_client_down(r->client, router_clock(m, r), s->number, true);
        router_pump(m, r);
    }
}

/* Nobody is told: a cut shows only by timeouts. */
void model_links_cut(struct model *m, struct model_server *s, bool cut)
{
    (void)m;
    s->cut = cut;
}

void model_links_link(struct model *m, struct model_router *r)
{
    for (uint32_t i = 1; i <= m->server_count; i++) {
        if (!m->servers[i].down && m->servers[i].server != NULL)
            gac_client_up(r->client, router_clock(m, r), i);
    }
}

void model_links_unlink(struct model *m, struct model_router *r)
{
    const struct model_message link = {.router = r->number, .router_life = r->life};
    for (uint32_t i = 1; i <= m->server_count; i++) {
        if (!m->servers[i].down && !m->servers[i].cut)
            gac_server_link_closed(m->servers[i].server, model_links_link_id(&link));
    }
}
