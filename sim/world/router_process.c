/* router_process.c - the ports of a router's driver (server/router_server.h) in virtual time. */
#include "sim/world/router_process.h"

#include <stdlib.h>

#include "base/probe.h"
#include "server/router_links.h"

enum {
    PARSE_MS_MAX = 100
};

/* What the router's thread does. */
struct router_work {
    void (*job)(void *argument);
    void (*done)(void *argument);
    void *argument;
};

struct router_process {
    struct process process; /* first */
    struct router_process_options options;
    struct router_server *server; /* owns; NULL: down */
    struct router_links links;
    struct router_work work;
    struct prng prng;
};

static struct network *router_network(const struct router_process *p)
{
    return p->process.around->network;
}

/* ---- time ---- */

/* Call it after every event. */
static void router_alarm_set(struct router_process *p)
{
    process_alarm_set(&p->process, router_server_deadline(p->server));
}

static void router_woken(struct process *process)
{
    struct router_process *p = (struct router_process *)process;
    router_server_turn(p->server);
    router_alarm_set(p);
}

/* ---- clients ---- */

static size_t router_client_send(void *context, uint64_t connection, struct slice bytes)
{
    struct router_process *p = context;
    return network_write(router_network(p), connection, bytes);
}

static void router_client_close(void *context, uint64_t connection)
{
    struct router_process *p = context;
    network_close(router_network(p), connection);
}

/* ---- large texts ---- */

static void router_work_done(void *context, uint64_t life)
{
    struct router_process *p = context;
    if (!process_reached(&p->process, life, router_work_done, p, life))
        return;
    PROBE("a router's thread has parsed a large body");
    p->work.job(p->work.argument);
    p->work.done(p->work.argument);
    router_alarm_set(p);
}

static void router_work_submit(void *context, enum work_kind kind, void (*job)(void *argument),
                               void (*done)(void *argument), void *argument)
{
    struct router_process *p = context;
    must(kind == WORK_PARSE);
    p->work = (struct router_work){job, done, argument};
    scheduler_in(p->process.around->scheduler,
                 (struct duration){prng_between(&p->prng, 0, PARSE_MS_MAX * NS_PER_MS)},
                 router_work_done, p, p->process.life);
}

/* ---- links to peers: nodes, then GAC servers ---- */

static uint32_t router_peer_count(const struct router_process *p)
{
    return p->options.node_count + p->options.gac_servers;
}

static struct link_peer router_peer(const struct router_process *p, uint32_t peer)
{
    uint32_t nodes = p->options.node_count;
    return peer <= nodes ? (struct link_peer){p->links.nodes[peer], PEER_NODE, peer}
                         : (struct link_peer){p->links.gac[peer - nodes], PEER_GAC, peer - nodes};
}

/* False: the peer cannot be reached. */
static bool router_link_dial(struct router_process *p, uint32_t peer)
{
    uint32_t nodes = p->options.node_count;
    uint32_t process = peer <= nodes ? peer : p->options.gac_first + peer - nodes - 1;
    struct link_peer to = router_peer(p, peer);
    if (to.link == 0)
        to.link = network_connect(router_network(p), p->process.number, process);
    else
        return true;
    if (to.link != 0)
        router_links_up(&p->links, &to);
    return to.link != 0;
}

static void router_redial(struct process *process)
{
    struct router_process *p = (struct router_process *)process;
    bool missing = false;
    for (uint32_t peer = 1; peer <= router_peer_count(p); peer++)
        missing |= !router_link_dial(p, peer);
    router_alarm_set(p);
    if (missing)
        process_redial_in(process,
                          duration_ms(prng_between(&p->prng, REDIAL_MS_MIN, REDIAL_MS_MAX)));
}

/* False: the link is a client's. */
static bool router_peer_find(const struct router_process *p, uint64_t link, struct link_peer *out)
{
    for (uint32_t peer = 1; peer <= router_peer_count(p); peer++) {
        *out = router_peer(p, peer);
        if (out->link == link)
            return true;
    }
    return false;
}

static void router_client_ended(void *context, uint64_t connection)
{
    struct router_process *p = context;
    router_server_end(p->server, connection);
    router_alarm_set(p);
}

static void router_client_waits(void *context, uint64_t connection, size_t bytes)
{
    struct router_process *p = context;
    struct link_peer peer;
    if (router_peer_find(p, connection, &peer))
        return;
    router_server_unsent(p->server, connection, bytes);
    router_alarm_set(p);
}

static void router_link_accepted(void *context, uint64_t link, UNUSED uint32_t from)
{
    struct router_process *p = context;
    router_server_open(p->server, link);
    router_alarm_set(p);
}

static void router_link_closed(void *context, uint64_t link, bool gone)
{
    struct router_process *p = context;
    struct link_peer peer;
    if (!router_peer_find(p, link, &peer)) {
        router_server_close(p->server, link);
    } else {
        router_links_down(&p->links, &peer, gone);
        process_redial_in(&p->process, duration_ms(REDIAL_MS_MIN));
    }
    router_alarm_set(p);
}

static void router_link_received(void *context, uint64_t link, struct slice bytes)
{
    struct router_process *p = context;
    struct link_peer from;
    if (router_peer_find(p, link, &from))
        router_links_frame(&p->links, &from, bytes);
    else
        router_server_receive(p->server, link, bytes);
    router_alarm_set(p);
}

static void router_link_refuse(void *context, uint64_t link, const char *why)
{
    struct router_process *p = context;
    process_refuse(&p->process, link, why);
    router_link_closed(p, link, false);
}

/* ---- life ---- */

void router_process_start(struct router_process *p)
{
    must(p->server == NULL);
    p->links.links =
        (struct link_port){.context = p, .send = process_link_send, .refuse = router_link_refuse};
    p->server = router_server_create(
        &(struct router_server_options){.router = {.config = p->options.config,
                                                   .node_count = p->options.node_count,
                                                   .region = "local",
                                                   .account = "000000000000",
                                                   .number = p->options.number,
                                                   .seed = prng_next(&p->prng),
                                                   .gac_servers = p->options.gac_servers},
                                        .clock = process_clock(&p->process),
                                        .peers = router_links_peers(&p->links),
                                        .clients = {.context = p,
                                                    .send = router_client_send,
                                                    .close = router_client_close,
                                                    .abort = router_client_close},
                                        .work = {.context = p, .submit = router_work_submit}});
    p->links.server = p->server;
    process_begin(&p->process, ROUTER_PROCESS_TRACE_STARTED, 0);
    router_redial(&p->process);
}

void router_process_crash(struct router_process *p)
{
    must(p->server != NULL);
    router_server_destroy(p->server);
    p->server = NULL;
    router_links_deinit(&p->links);
    p->links = (struct router_links){0};
    process_end(&p->process, ROUTER_PROCESS_TRACE_CRASHED, 0);
}

bool router_process_is_up(const struct router_process *p)
{
    return p->server != NULL;
}

uint64_t router_process_late_reads(const struct router_process *p)
{
    return router_late_reads(router_server_router(p->server));
}

bool router_process_holding(const struct router_process *p, struct gac_key key,
                            struct gac_holding *out)
{
    return gac_client_holding(router_gac(router_server_router(p->server)), process_now(&p->process),
                              key, out);
}

struct process *router_process_base(struct router_process *p)
{
    return &p->process;
}

struct router_process *router_process_create(const struct router_process_options *options)
{
    static const struct network_handler handler = {router_link_accepted, router_link_received,
                                                   router_link_closed, process_datagram_refuse};
    static const struct network_stream_handler streams = {router_client_ended, router_client_waits};
    struct router_process *p = must_calloc(1, sizeof *p);
    p->options = *options;
    p->prng = prng_seeded(options->seed);
    process_init(&p->process, options->around, options->process, &p->prng, &handler, p);
    network_attach_streams(options->around->network, options->process, &streams);
    p->process.woken = router_woken;
    p->process.redial = router_redial;
    p->process.wall_skew_ms = sim_wall_skew_ms(options->seed + 1);
    return p;
}

void router_process_destroy(struct router_process *p)
{
    router_server_destroy(p->server);
    router_links_deinit(&p->links);
    free(p);
}
