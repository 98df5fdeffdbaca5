/* router.c - `weir router`: the DynamoDB endpoint of a cluster as a process. */
#include <errno.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/daemon.h"
#include "cmd/http_server.h"

struct router_process {
    struct options options;
    struct loop *loop;
    struct transport *transport;
    struct router *router;
    struct http_server *server;
    uint64_t links[NODES_LIMIT + 1]; /* by node; 0 = down */
    struct faults *faults;           /* NULL without --faults */
    struct buffer scratch;
    bool stopping;
};

static const char help[] =
    "usage: weir router --listen ADDRESS:PORT --peers 1=A:P,2=A:P,.. [options]\n\n"
    "A request router: speaks the DynamoDB HTTP API and finds the nodes that hold the data.\n\n"
    "  --listen A:P       the endpoint for SDKs (default 127.0.0.1:8000)\n"
    "  --peers LIST       every storage node of the cluster\n"
    "  --id N             which router this is, 1 to 64 (default 1)\n"
    "  --faults PORT      for tests: break links and clock by commands to 127.0.0.1:PORT\n"
    "\n"
    "example:\n"
    "  weir router --listen 127.0.0.1:8000 --peers 1=127.0.0.1:7101,2=127.0.0.1:7102\n"
    "\noptions:";

static void pump(void *context)
{
    struct router_process *p = context;
    struct router_effect e;
    while (router_next_effect(p->router, &e)) {
        if (e.kind != ROUTER_SEND_REQUEST)
            http_server_effect(p->server, &e);
        else if (!daemon_send_request(p->transport, p->links[e.node], &p->scratch, e.request))
            router_not_sent(p->router, loop_now(p->loop), e.node, e.request->id);
    }
}

static void on_up(void *context, uint64_t link, enum peer_kind kind, uint32_t id)
{
    struct router_process *p = context;
    if (kind == PEER_NODE && id <= p->options.peer_count)
        p->links[id] = link;
}

static void on_down(void *context, uint64_t link, enum peer_kind kind, uint32_t id)
{
    struct router_process *p = context;
    if (kind != PEER_NODE || id > p->options.peer_count || p->links[id] != link)
        return;
    p->links[id] = 0;
    router_node_lost(p->router, loop_now(p->loop), id);
    pump(p);
}

static void on_frame(void *context, uint64_t link, struct slice frame)
{
    struct router_process *p = context;
    struct reply reply;
    uint32_t node = 1;
    while (node <= p->options.peer_count && p->links[node] != link)
        node++;
    if (node > p->options.peer_count || reply_decode(frame, &reply) != STATUS_OK) {
        transport_close(p->transport, link);
        return;
    }
    router_reply(p->router, loop_now(p->loop), node, &reply);
    pump(p);
}

static void on_stop(void *context)
{
    ((struct router_process *)context)->stopping = true;
}

static enum status open_all(struct router_process *p, struct buffer *error)
{
    const struct options *o = &p->options;
    if (!daemon_peers_valid(o, error))
        return STATUS_MALFORMED;
    enum status status = daemon_open_loop(&p->loop, on_stop, p, error);
    if (status != STATUS_OK)
        return status;
    struct router_options router = {.config = &o->config,
                                    .node_count = o->peer_count,
                                    .region = "local",
                                    .account = "000000000000",
                                    .seed = daemon_seed()};
    p->router = router_create(&router);
    router_set_wall_clock(p->router, loop_now(p->loop), loop_wall_ms(p->loop));
    const struct transport_handler handler = {on_up, on_frame, on_down, daemon_note};
    struct transport_options transport = {.loop = p->loop,
                                          .kind = PEER_ROUTER,
                                          .id = o->id,
                                          .seed = daemon_seed(),
                                          .handler = &handler,
                                          .context = p};
    p->transport = transport_create(&transport);
    daemon_add_peers(p->transport, o, 0);
    status = daemon_open_faults(p->loop, p->transport, o, error, &p->faults);
    if (status != STATUS_OK)
        return status;
    return http_server_open(p->loop, p->router, &o->config, o->address, o->port, pump, p, error,
                            &p->server);
}

static enum status serve(struct router_process *p)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !p->stopping) {
        struct instant t =
            instant_earlier(router_deadline(p->router), transport_deadline(p->transport));
        status = loop_turn(p->loop, t);
        transport_tick(p->transport);
        struct instant now = loop_now(p->loop);
        if (!instant_before(now, router_deadline(p->router))) {
            router_set_wall_clock(p->router, now, loop_wall_ms(p->loop));
            router_tick(p->router, now);
        }
        pump(p);
        http_server_end_turn(p->server);
    }
    return status;
}

int cmd_router(int argc, char **argv)
{
    struct router_process p = {.options = {.address = "127.0.0.1", .port = 8000, .id = 1}};
    int parsed = options_parse(
        &p.options, OPTION_LISTEN | OPTION_PORT | OPTION_PEERS | OPTION_ID | OPTION_FAULTS, help,
        argc, argv);
    if (parsed != 0)
        return parsed - 1;
    struct buffer error = {0};
    enum status status = open_all(&p, &error);
    if (status != STATUS_OK) {
        daemon_fail("router", &error);
    } else {
        printf("weir router: %u nodes, profile %s (%s)\n", p.options.peer_count,
               profile_name(p.options.config.profile),
               options_profile_meaning(p.options.config.profile));
        printf("ready http://%s:%u\n", p.options.address, http_server_port(p.server));
        fflush(stdout);
        status = serve(&p);
    }
    http_server_close(p.server);
    faults_close(p.faults);
    if (p.transport != NULL)
        transport_destroy(p.transport);
    loop_destroy(p.loop);
    if (p.router != NULL)
        router_destroy(p.router);
    buffer_deinit(&p.scratch);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
