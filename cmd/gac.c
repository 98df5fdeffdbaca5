/* gac.c - `weir gac`: a server of global admission control as a process. */
#include <errno.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/usage.h"
#include "host/address.h"
#include "host/descriptors.h"
#include "server/gac_links.h"
#include "server/host/link_transport.h"
#include "server/host/loop_clock.h"

struct gac_process {
    struct options options;
    struct loop *loop;
    struct transport *transport;
    struct gac_server *server;
    struct gac_links links;
    struct faults *faults; /* NULL without --faults */
    struct buffer secret;
    bool stopping;
};

static const struct field gac_options[] = {
    {OPTIONS_GAC,
     .help = "Every server of global admission control, the same list as the routers' --gac."},
    {OPTIONS_ID, .help = "The number of this server in --gac."},
    {OPTIONS_LISTEN, .help = "The address of this server, for routers. Default: as in --gac."},
    {OPTIONS_FAULTS},
};

static void gac_daemon_frame(void *context, const struct link_peer *from, struct slice frame)
{
    struct gac_process *p = context;
    gac_links_frame(&p->links, from, frame);
}

static void gac_daemon_down(void *context, uint64_t link, UNUSED enum peer_kind kind,
                            UNUSED uint32_t id, bool by_peer)
{
    struct gac_process *p = context;
    gac_links_down(&p->links, link, by_peer);
}

static enum status gac_daemon_open(struct gac_process *p, struct buffer *error)
{
    struct options *o = &p->options;
    enum status status = options_place(o, &o->gac, "--gac", error);
    if (status == STATUS_OK)
        status = daemon_open_loop(&p->loop, options_stop, &p->stopping, error);
    if (status != STATUS_OK)
        return status;
    descriptors_raise();
    struct greeting_self self;
    status =
        daemon_prepare_greeting(&o->config, PEER_GAC, o->id, o->address, &p->secret, error, &self);
    if (status != STATUS_OK)
        return status;
    p->server = gac_server_create(&(struct gac_server_options){.config = &o->config,
                                                               .number = o->id,
                                                               .servers = o->gac.count,
                                                               .incarnation = daemon_seed() | 1});
    const struct transport_handler handler = {
        .frame = gac_daemon_frame, .down = gac_daemon_down, .note = daemon_note};
    p->transport = transport_create(&(struct transport_options){
        .loop = p->loop, .self = self, .seed = daemon_seed(), .handler = &handler, .context = p});
    p->links = (struct gac_links){
        .server = p->server, .clock = loop_clock(p->loop), .links = transport_links(p->transport)};
    if (transport_listen(p->transport, o->address, o->port) != STATUS_OK) {
        address_explain("listen on", o->address, o->port, errno, error);
        return STATUS_IO;
    }
    return o->faults ? daemon_open_faults(p->loop, p->transport, o->faults_port, error, &p->faults)
                     : STATUS_OK;
}

static enum status gac_daemon_serve(struct gac_process *p)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !p->stopping) {
        status = loop_turn(p->loop, transport_deadline(p->transport));
        transport_tick(p->transport);
    }
    return status;
}

int cmd_gac(int argc, char **argv)
{
    struct gac_process p = {.options = {.id = 1}};
    const struct command_line line = {
        .command = "weir gac",
        .usage = "--gac 1=A:P,2=A:P,.. [--id N] [option]...",
        .about = "A server of global admission control: it lends routers tokens of tables' limits. "
                 "It stores no data on disk. Without a running server, each router uses an equal "
                 "part of each limit."
                 "\n\nAll daemons of a cluster must have the same settings secret_file and "
                 "cluster_id.\n",
        .examples = "  weir gac --gac 1=127.0.0.1:7201\n"
                    "  weir gac --gac 1=127.0.0.1:7201,2=127.0.0.1:7202,3=127.0.0.1:7203 --id 2\n",
        .groups = {OPTION_GROUP(NULL, gac_options, &p.options)}};
    int code = options_parse(&p.options, &line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    enum status status = gac_daemon_open(&p, &error);
    if (status != STATUS_OK) {
        daemon_fail("gac", &error);
    } else {
        printf("weir gac %u of %u\n", p.options.id, p.options.gac.count);
        printf("ready %s:%u\n", p.options.address, transport_port(p.transport));
        fflush(stdout);
        status = gac_daemon_serve(&p);
    }
    faults_close(p.faults);
    if (p.transport != NULL)
        transport_destroy(p.transport);
    loop_destroy(p.loop);
    if (p.server != NULL)
        gac_server_destroy(p.server);
    buffer_deinit(&p.secret);
    gac_links_deinit(&p.links);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
