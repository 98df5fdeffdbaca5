/* gac_process.c - the ports of a GAC server (server/gac_links.h) in virtual time. */
#include "sim/world/gac_process.h"

#include <stdlib.h>

#include "server/gac_links.h"

struct gac_process {
    struct process process; /* first */
    struct gac_process_options options;
    struct gac_server *server; /* owns; NULL: down */
    struct prng prng;
    struct gac_links links;
};

/* ---- links ---- */

/* Only routers dial a GAC server. */
static void gac_link_received(void *context, uint64_t link, struct slice bytes)
{
    struct gac_process *p = context;
    const uint32_t router = network_peer(p->process.around->network, link);
    gac_links_frame(&p->links, &(struct link_peer){link, PEER_ROUTER, router}, bytes);
}

static void gac_link_closed(void *context, uint64_t link, bool gone)
{
    struct gac_process *p = context;
    gac_links_down(&p->links, link, gone);
}

static void gac_link_refuse(void *context, uint64_t link, const char *why)
{
    struct gac_process *p = context;
    process_refuse(&p->process, link, why);
    gac_link_closed(p, link, false);
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
    process_begin(&p->process, GAC_PROCESS_TRACE_STARTED, 0);
}

void gac_process_crash(struct gac_process *p)
{
    must(p->server != NULL);
    gac_server_destroy(p->server);
    p->server = NULL;
    process_end(&p->process, GAC_PROCESS_TRACE_CRASHED, 0);
}

struct process *gac_process_base(struct gac_process *p)
{
    return &p->process;
}

bool gac_process_inspect(const struct gac_process *p, struct gac_key key, struct gac_bank *out)
{
    return p->server != NULL && gac_server_inspect(p->server, process_now(&p->process), key, out);
}

struct gac_process *gac_process_create(const struct gac_process_options *options)
{
    static const struct network_handler handler = {process_link_accept, gac_link_received,
                                                   gac_link_closed, process_datagram_refuse};
    struct gac_process *p = must_calloc(1, sizeof *p);
    p->options = *options;
    p->prng = prng_seeded(options->seed);
    process_init(&p->process, options->around, options->process, &p->prng, &handler, p);
    p->links.clock = process_clock(&p->process);
    p->links.links =
        (struct link_port){.context = p, .send = process_link_send, .refuse = gac_link_refuse};
    return p;
}

void gac_process_destroy(struct gac_process *p)
{
    if (p->server != NULL)
        gac_server_destroy(p->server);
    gac_links_deinit(&p->links);
    free(p);
}
