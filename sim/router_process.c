#include "sim/router_process.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/prng.h"

enum {
    REDIAL_MS_MIN = 20,
    REDIAL_MS_MAX = 500,
    LENGTH_SIZE = 4
};

struct router_process {
    struct router_process_options options;
    struct sim_clock clock;
    struct router *router; /* owns; NULL: down */
    struct prng prng;
    uint32_t life;
    uint64_t *peers; /* owns; links by node, then by GAC server; 0: down */
    bool redial_scheduled;
    int64_t wake_at_ns;
    bool paused;
    struct instant paused_until;
    struct buffer scratch;
};

static struct instant local_now(const struct router_process *p)
{
    return sim_clock_read(&p->clock, p->options.scheduler->now);
}

static bool reached(struct router_process *p, scheduler_run *run, uint64_t life)
{
    if (p->router == NULL || life != p->life)
        return false;
    if (p->paused) {
        scheduler_at(p->options.scheduler, p->paused_until, run, p, life);
        return false;
    }
    return true;
}

/* ---- effects and time ---- */

static void wake(void *context, uint64_t life);

static void arm(struct router_process *p)
{
    enum {
        LEAST_NS = 1000
    };
    struct instant t = router_deadline(p->router);
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

static void send_request(struct router_process *p, const struct router_effect *e)
{
    buffer_clear(&p->scratch);
    request_encode(&p->scratch, e->request);
    struct slice frame = slice_make(p->scratch.data + LENGTH_SIZE, p->scratch.size - LENGTH_SIZE);
    if (!network_send(p->options.network, p->peers[e->node], frame))
        router_not_sent(p->router, local_now(p), e->node, e->request->id);
}

/* The network takes all at once. */
static void send_bytes(struct router_process *p, const struct router_effect *e)
{
    const uint64_t connection = e->connection;
    const bool told = e->bytes.size > ROUTER_UNSENT_MIN;
    network_send(p->options.network, connection, e->bytes);
    if (told)
        router_unsent(p->router, local_now(p), connection, 0);
}

static void pump(struct router_process *p)
{
    struct router_effect e;
    while (router_next_effect(p->router, &e)) {
        if (e.kind == ROUTER_SEND_REQUEST)
            send_request(p, &e);
        else if (e.kind == ROUTER_SEND_GAC)
            network_send(p->options.network, p->peers[p->options.node_count + e.gac_server],
                         e.bytes);
        else if (e.kind == ROUTER_SEND_BYTES)
            send_bytes(p, &e);
        else
            network_close(p->options.network, e.connection);
    }
    arm(p);
}

static void set_wall_clock(struct router_process *p)
{
    int64_t ms = SIM_WALL_BASE_MS + p->options.scheduler->now.ns / NS_PER_MS;
    router_set_wall_clock(p->router, local_now(p), ms);
}

static void wake(void *context, uint64_t life)
{
    struct router_process *p = context;
    if (!reached(p, wake, life) || p->options.scheduler->now.ns < p->wake_at_ns)
        return;
    p->wake_at_ns = INT64_MAX;
    set_wall_clock(p);
    router_tick(p->router, local_now(p));
    pump(p);
}

/* ---- links ---- */

static uint32_t peer_count(const struct router_process *p)
{
    return p->options.node_count + p->options.gac_servers;
}

static void dial(struct router_process *p, uint32_t peer)
{
    uint32_t nodes = p->options.node_count;
    uint32_t process = peer <= nodes ? peer : p->options.gac_first + peer - nodes - 1;
    p->peers[peer] = network_connect(p->options.network, p->options.process, process);
    if (p->peers[peer] != 0 && peer > nodes)
        router_gac_up(p->router, local_now(p), peer - nodes);
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
    pump(p);
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
    router_open(p->router, local_now(p), link);
    pump(p);
}

static void closed(void *context, uint64_t link, bool gone)
{
    struct router_process *p = context;
    uint32_t peer = peer_of(p, link), nodes = p->options.node_count;
    if (peer == 0)
        router_close(p->router, local_now(p), link);
    else if (peer <= nodes)
        router_node_lost(p->router, local_now(p), peer);
    else
        router_gac_down(p->router, local_now(p), peer - nodes, gone);
    p->peers[peer] = 0;
    if (peer != 0 && !p->redial_scheduled) {
        p->redial_scheduled = true;
        scheduler_in(p->options.scheduler, duration_ms(REDIAL_MS_MIN), redial, p, p->life);
    }
    pump(p);
}

static void take_reply(struct router_process *p, uint32_t node, struct slice bytes)
{
    struct reply reply;
    must(reply_decode(bytes, &reply) == STATUS_OK); /* nothing here damages bytes */
    router_reply(p->router, local_now(p), node, &reply);
}

static void received(void *context, uint64_t link, struct slice bytes)
{
    struct router_process *p = context;
    uint32_t peer = peer_of(p, link), nodes = p->options.node_count;
    if (peer == 0)
        router_receive(p->router, local_now(p), link, bytes);
    else if (peer <= nodes)
        take_reply(p, peer, bytes);
    else
        must(router_gac_receive(p->router, local_now(p), peer - nodes, bytes) == STATUS_OK);
    pump(p);
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
    must(p->router == NULL);
    struct router_options options = {.config = p->options.config,
                                     .node_count = p->options.node_count,
                                     .region = "local",
                                     .account = "000000000000",
                                     .seed = prng_next(&p->prng),
                                     .gac_servers = p->options.gac_servers};
    p->router = router_create(&options);
    p->life++;
    p->wake_at_ns = INT64_MAX;
    p->paused = p->redial_scheduled = false;
    trace_add(p->options.trace, p->options.scheduler->now, ROUTER_PROCESS_TRACE_STARTED,
              p->options.process, 0);
    network_start(p->options.network, p->options.process);
    set_wall_clock(p);
    redial(p, p->life);
}

void router_process_crash(struct router_process *p)
{
    must(p->router != NULL);
    trace_add(p->options.trace, p->options.scheduler->now, ROUTER_PROCESS_TRACE_CRASHED,
              p->options.process, 0);
    router_destroy(p->router);
    p->router = NULL;
    p->paused = false;
    memset(p->peers, 0, (peer_count(p) + 1) * sizeof p->peers[0]);
    network_kill(p->options.network, p->options.process);
}

bool router_process_is_up(const struct router_process *p)
{
    return p->router != NULL;
}

static void resume(void *context, uint64_t life)
{
    struct router_process *p = context;
    if (p->router == NULL || life != p->life || !p->paused)
        return;
    p->paused = false;
    network_pause(p->options.network, p->options.process, false);
}

void router_process_pause(struct router_process *p, struct instant until)
{
    must(p->router != NULL);
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
    return gac_client_holding(router_gac(p->router), local_now(p), key, out);
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
    p->peers = calloc(peer_count(p) + 1, sizeof p->peers[0]);
    must(p->peers != NULL);
    network_attach(options->network, options->process, &handler, p);
    return p;
}

void router_process_destroy(struct router_process *p)
{
    if (p->router != NULL)
        router_destroy(p->router);
    buffer_deinit(&p->scratch);
    free(p->peers);
    free(p);
}
