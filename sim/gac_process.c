/* gac_process.c - the ports of a GAC server (server/gac_links.h) in virtual time. */
#include "sim/gac_process.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/prng.h"
#include "server/gac_links.h"

struct gac_process {
    struct gac_process_options options;
    struct sim_clock clock;
    struct gac_server *server; /* owns; NULL: down */
    struct prng prng;
    uint32_t life;
    bool paused;
    struct gac_links links;
};

static struct instant local_now(const struct gac_process *p)
{
    return sim_clock_read(&p->clock, p->options.scheduler->now);
}

/* ---- links ---- */

static void accepted(void *context, uint64_t link, uint32_t from)
{
    (void)context;
    (void)link;
    (void)from;
}

/* Nobody but routers dials it. */
static void received(void *context, uint64_t link, struct slice bytes)
{
    struct gac_process *p = context;
    const struct link_peer from = {link, PEER_ROUTER, network_peer(p->options.network, link)};
    gac_links_frame(&p->links, &from, bytes);
}

static void closed(void *context, uint64_t link, bool gone)
{
    struct gac_process *p = context;
    gac_links_down(&p->links, link, gone);
}

static bool link_send(void *context, uint64_t link, struct slice frame)
{
    struct gac_process *p = context;
    return network_send(p->options.network, link, frame);
}

static void link_refuse(void *context, uint64_t link, const char *why)
{
    struct gac_process *p = context;
    if (p->options.refused != NULL)
        p->options.refused(p->options.context, p->options.process, why);
    network_close(p->options.network, link);
    closed(p, link, false);
}

static struct instant gac_process_now(void *context)
{
    return local_now(context);
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    (void)context;
    (void)frame;
    must(from == 0); /* nobody sends it datagrams */
}

/* ---- life ---- */

void gac_process_start(struct gac_process *p)
{
    must(p->server == NULL);
    p->server =
        gac_server_create(&(struct gac_server_options){.config = p->options.config,
                                                       .number = p->options.number,
                                                       .servers = p->options.servers,
                                                       .incarnation = prng_next(&p->prng) | 1});
    p->links.server = p->server;
    p->life++;
    p->paused = false;
    trace_add(p->options.trace, p->options.scheduler->now, GAC_PROCESS_TRACE_STARTED,
              p->options.process, 0);
    network_start(p->options.network, p->options.process);
}

void gac_process_crash(struct gac_process *p)
{
    must(p->server != NULL);
    trace_add(p->options.trace, p->options.scheduler->now, GAC_PROCESS_TRACE_CRASHED,
              p->options.process, 0);
    gac_server_destroy(p->server);
    p->server = NULL;
    p->paused = false;
    network_kill(p->options.network, p->options.process);
}

bool gac_process_is_up(const struct gac_process *p)
{
    return p->server != NULL;
}

static void resume(void *context, uint64_t life)
{
    struct gac_process *p = context;
    if (p->server == NULL || life != p->life || !p->paused)
        return;
    p->paused = false;
    network_pause(p->options.network, p->options.process, false);
}

void gac_process_pause(struct gac_process *p, struct instant until)
{
    must(p->server != NULL);
    if (p->paused)
        return;
    p->paused = true;
    network_pause(p->options.network, p->options.process, true);
    scheduler_at(p->options.scheduler, until, resume, p, p->life);
}

struct sim_clock *gac_process_clock(struct gac_process *p)
{
    return &p->clock;
}

void gac_process_report(struct gac_process *p, struct buffer *out)
{
    if (p->server != NULL)
        gac_server_report(p->server, local_now(p), out);
}

struct gac_process *gac_process_create(const struct gac_process_options *options)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    struct gac_process *p = calloc(1, sizeof *p);
    must(p != NULL);
    p->options = *options;
    p->prng = prng_seeded(options->seed);
    p->clock = (struct sim_clock){.base = options->scheduler->now,
                                  .read = {prng_between(&p->prng, 1, 1000 * NS_PER_S)}};
    p->links.clock = (struct clock_port){.context = p, .now = gac_process_now};
    p->links.links = (struct link_port){.context = p, .send = link_send, .refuse = link_refuse};
    network_attach(options->network, options->process, &handler, p);
    return p;
}

void gac_process_destroy(struct gac_process *p)
{
    if (p->server != NULL)
        gac_server_destroy(p->server);
    gac_links_deinit(&p->links);
    free(p);
}
