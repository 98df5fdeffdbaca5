/* router_process.c - the ports of a router's driver (server/router_server.h) in virtual time. */
#include "sim/router_process.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/prng.h"
#include "server/router_links.h"

enum {
    REDIAL_MS_MIN = 20,
    REDIAL_MS_MAX = 500
};

struct router_process {
    struct router_process_options options;
    struct sim_clock clock;
    int64_t wall_skew_ms;
    struct router_server *server; /* owns; NULL: down */
    struct router_links links;
    struct prng prng;
    uint32_t life;
    uint64_t *peers; /* owns; links by node, then by GAC server; 0: down */
    bool redial_scheduled;
    int64_t wake_at_ns;
    bool paused;
    struct instant paused_until;
};

static struct instant local_now(const struct router_process *p)
{
    return sim_clock_read(&p->clock, p->options.scheduler->now);
}

static bool reached(struct router_process *p, scheduler_run *run, uint64_t life)
{
    if (p->server == NULL || life != p->life)
        return false;
    if (p->paused) {
        scheduler_at(p->options.scheduler, p->paused_until, run, p, life);
        return false;
    }
    return true;
}

/* ---- time ---- */

static struct instant router_process_now(void *context)
{
    return local_now(context);
}

static int64_t router_process_wall_ms(void *context)
{
    const struct router_process *p = context;
    return SIM_WALL_BASE_MS + p->options.scheduler->now.ns / NS_PER_MS + p->wall_skew_ms;
}

static void wake(void *context, uint64_t life);

/* After every event. */
static void arm(struct router_process *p)
{
    enum {
        LEAST_NS = 1000
    };
    struct instant t = router_server_deadline(p->server);
    if (t.ns == INT64_MAX)
        return;
    int64_t at = sim_clock_when(&p->clock, t).ns;
    if (at < p->options.scheduler->now.ns + LEAST_NS)
        at = p->options.scheduler->now.ns + LEAST_NS;
    if (at >= p->wake_at_ns)
        return;
    p->wake_at_ns = at;
    scheduler_at(p->options.scheduler, (struct instant){at}, wake, p, p->life);
}

static void wake(void *context, uint64_t life)
{
    struct router_process *p = context;
    if (!reached(p, wake, life) || p->options.scheduler->now.ns < p->wake_at_ns)
        return;
    p->wake_at_ns = INT64_MAX;
    router_server_turn(p->server);
    arm(p);
}

/* ---- clients ---- */

/* The network takes all at once. */
static size_t client_send(void *context, uint64_t connection, struct slice bytes)
{
    struct router_process *p = context;
    network_send(p->options.network, connection, bytes);
    return 0;
}

static void client_close(void *context, uint64_t connection)
{
    struct router_process *p = context;
    network_close(p->options.network, connection);
}

/* ---- links ---- */

static uint32_t peer_count(const struct router_process *p)
{
    return p->options.node_count + p->options.gac_servers;
}

static struct link_peer peer_at(const struct router_process *p, uint32_t peer)
{
    uint32_t nodes = p->options.node_count;
    return peer <= nodes ? (struct link_peer){p->peers[peer], PEER_NODE, peer}
                         : (struct link_peer){p->peers[peer], PEER_GAC, peer - nodes};
}

static void dial(struct router_process *p, uint32_t peer)
{
    uint32_t nodes = p->options.node_count;
    uint32_t process = peer <= nodes ? peer : p->options.gac_first + peer - nodes - 1;
    p->peers[peer] = network_connect(p->options.network, p->options.process, process);
    if (p->peers[peer] == 0)
        return;
    struct link_peer to = peer_at(p, peer);
    router_links_up(&p->links, &to);
}

static void redial(void *context, uint64_t life)
{
    struct router_process *p = context;
    if (!reached(p, redial, life))
        return;
    p->redial_scheduled = false;
    bool missing = false;
    for (uint32_t peer = 1; peer <= peer_count(p); peer++) {
        if (p->peers[peer] == 0)
            dial(p, peer);
        missing |= p->peers[peer] == 0;
    }
    arm(p);
    if (!missing)
        return;
    p->redial_scheduled = true;
    scheduler_in(p->options.scheduler,
                 duration_ms(prng_between(&p->prng, REDIAL_MS_MIN, REDIAL_MS_MAX)), redial, p,
                 p->life);
}

/* 0: a client's. */
static uint32_t peer_of(const struct router_process *p, uint64_t link)
{
    for (uint32_t peer = 1; peer <= peer_count(p); peer++) {
        if (p->peers[peer] == link)
            return peer;
    }
    return 0;
}

static void accepted(void *context, uint64_t link, uint32_t from)
{
    struct router_process *p = context;
    (void)from;
    router_server_open(p->server, link);
    arm(p);
}

static void closed(void *context, uint64_t link, bool gone)
{
    struct router_process *p = context;
    uint32_t peer = peer_of(p, link);
    struct link_peer to = peer_at(p, peer);
    p->peers[peer] = 0;
    if (peer == 0)
        router_server_close(p->server, link);
    else
        router_links_down(&p->links, &to, gone);
    if (peer != 0 && !p->redial_scheduled) {
        p->redial_scheduled = true;
        scheduler_in(p->options.scheduler, duration_ms(REDIAL_MS_MIN), redial, p, p->life);
    }
    arm(p);
}

static void received(void *context, uint64_t link, struct slice bytes)
{
    struct router_process *p = context;
    uint32_t peer = peer_of(p, link);
    struct link_peer from = peer_at(p, peer);
    if (peer == 0)
        router_server_receive(p->server, link, bytes);
    else
        router_links_frame(&p->links, &from, bytes);
    arm(p);
}

static bool link_send(void *context, uint64_t link, struct slice frame)
{
    struct router_process *p = context;
    return network_send(p->options.network, link, frame);
}

static void link_refuse(void *context, uint64_t link, const char *why)
{
    struct router_process *p = context;
    if (p->options.refused != NULL)
        p->options.refused(p->options.context, p->options.process, why);
    network_close(p->options.network, link);
    closed(p, link, false);
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    (void)context;
    (void)frame;
    must(from == 0); /* nobody sends routers datagrams */
}

/* ---- life ---- */

void router_process_start(struct router_process *p)
{
    must(p->server == NULL);
    p->links.links = (struct link_port){.context = p, .send = link_send, .refuse = link_refuse};
    p->server = router_server_create(&(struct router_server_options){
        .router = {.config = p->options.config,
                   .node_count = p->options.node_count,
                   .region = "local",
                   .account = "000000000000",
                   .seed = prng_next(&p->prng),
                   .gac_servers = p->options.gac_servers},
        .clock = {.context = p, .now = router_process_now, .wall_ms = router_process_wall_ms},
        .peers = router_links_peers(&p->links),
        .clients = {
            .context = p, .send = client_send, .close = client_close, .abort = client_close}});
    p->links.server = p->server;
    p->life++;
    p->wake_at_ns = INT64_MAX;
    p->paused = p->redial_scheduled = false;
    trace_add(p->options.trace, p->options.scheduler->now, ROUTER_PROCESS_TRACE_STARTED,
              p->options.process, 0);
    network_start(p->options.network, p->options.process);
    redial(p, p->life);
}

void router_process_crash(struct router_process *p)
{
    must(p->server != NULL);
    trace_add(p->options.trace, p->options.scheduler->now, ROUTER_PROCESS_TRACE_CRASHED,
              p->options.process, 0);
    router_server_destroy(p->server);
    p->server = NULL;
    p->paused = false;
    router_links_deinit(&p->links);
    p->links = (struct router_links){0};
    memset(p->peers, 0, (peer_count(p) + 1) * sizeof p->peers[0]);
    network_kill(p->options.network, p->options.process);
}

bool router_process_is_up(const struct router_process *p)
{
    return p->server != NULL;
}

static void resume(void *context, uint64_t life)
{
    struct router_process *p = context;
    if (p->server == NULL || life != p->life || !p->paused)
        return;
    p->paused = false;
    network_pause(p->options.network, p->options.process, false);
}

void router_process_pause(struct router_process *p, struct instant until)
{
    must(p->server != NULL);
    if (p->paused)
        return;
    p->paused = true;
    p->paused_until = until;
    network_pause(p->options.network, p->options.process, true);
    scheduler_at(p->options.scheduler, until, resume, p, p->life);
}

bool router_process_holding(const struct router_process *p, struct gac_key key,
                            struct gac_holding *out)
{
    return gac_client_holding(router_gac(router_server_router(p->server)), local_now(p), key, out);
}

struct sim_clock *router_process_clock(struct router_process *p)
{
    return &p->clock;
}

struct router_process *router_process_create(const struct router_process_options *options)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    struct router_process *p = calloc(1, sizeof *p);
    must(p != NULL);
    p->options = *options;
    p->prng = prng_seeded(options->seed);
    p->clock = (struct sim_clock){.base = options->scheduler->now,
                                  .read = {prng_between(&p->prng, 1, 1000 * NS_PER_S)}};
    p->wall_skew_ms = sim_wall_skew_ms(options->seed + 1);
    p->peers = calloc(peer_count(p) + 1, sizeof p->peers[0]);
    must(p->peers != NULL);
    network_attach(options->network, options->process, &handler, p);
    return p;
}

void router_process_destroy(struct router_process *p)
{
    router_server_destroy(p->server);
    router_links_deinit(&p->links);
    free(p->peers);
    free(p);
}
