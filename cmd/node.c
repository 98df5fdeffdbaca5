/* node.c - `weir node`: one storage node as a process. */
#include <errno.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/usage.h"
#include "host/address.h"
#include "server/host/link_transport.h"
#include "server/host/node_host.h"
#include "server/host/verbose.h"
#include "server/node_links.h"

enum {
    STOP_MS = 2000,
    CALLERS = 32 /* routers and tools */
};

struct node_process {
    struct options options;
    struct loop *loop;
    struct transport *transport;
    struct node_host *host;     /* owns */
    struct node_server *server; /* borrows from the host */
    struct node_links links;
    struct faults *faults; /* NULL without --faults */
    struct buffer secret;
    bool printed_stopped;
    struct verbose verbose;
    bool stopping;
};

static const struct field node_options[] = {
    {OPTIONS_ID, .help = "The number of this node in --peers."},
    {OPTIONS_LISTEN,
     .help = "The address of this node, for routers and nodes. Default: as in --peers."},
    {OPTIONS_DATA, .help = "The directory of the partitions."},
    {OPTIONS_PEERS, .help = "Every node of the cluster, this one included."},
    {OPTIONS_FAULTS},
    {OPTIONS_VERBOSE},
};

static void node_daemon_frame(void *context, const struct link_peer *from, struct slice frame)
{
    struct node_process *p = context;
    node_links_frame(&p->links, p->server, from, frame);
}

static enum status node_daemon_open(struct node_process *p, struct buffer *error)
{
    struct options *o = &p->options;
    enum status status = options_place(o, &o->peers, "--peers", error);
    if (status == STATUS_OK && o->data == NULL)
        return buffer_explain(error, STATUS_MALFORMED,
                              "--data is needed: the directory of the partitions");
    if (status == STATUS_OK)
        status = daemon_open_loop(&p->loop, options_stop, &p->stopping, error);
    if (status == STATUS_OK) /* links to and from other nodes, and links of callers */
        status = daemon_fit_descriptors(&p->options.config, 1, 2 * o->peers.count + CALLERS, false,
                                        error);
    if (status != STATUS_OK)
        return status;
    struct greeting_self self;
    status =
        daemon_prepare_greeting(&o->config, PEER_NODE, o->id, o->address, &p->secret, error, &self);
    if (status != STATUS_OK)
        return status;
    const struct transport_handler handler = {.frame = node_daemon_frame, .note = daemon_note};
    struct transport_options transport = {
        .loop = p->loop, .self = self, .seed = daemon_seed(), .handler = &handler, .context = p};
    p->transport = transport_create(&transport);
    p->links = (struct node_links){.links = transport_links(p->transport)};
    struct node_host_options options = {
        .directory = o->data,
        .node = {.config = &o->config,
                 .id = o->id,
                 .node_count = o->peers.count,
                 .seed = daemon_seed()},
        .messages = node_links_messages(&p->links),
        .note = daemon_note,
    };
    status = node_host_open(p->loop, &options, error, &p->host);
    if (status != STATUS_OK)
        return status;
    p->server = node_host_server(p->host);
    if (transport_listen(p->transport, o->address, o->port) != STATUS_OK) {
        address_explain("listen on", o->address, o->port, errno, error);
        return STATUS_IO;
    }
    daemon_add_peers(p->transport, PEER_NODE, &o->peers, o->id);
    return o->faults ? daemon_open_faults(p->loop, p->transport, o->faults_port, error, &p->faults)
                     : STATUS_OK;
}

static enum status node_daemon_turn(struct node_process *p, struct instant until)
{
    struct instant t = instant_earlier(until, node_server_deadline(p->server));
    enum status status = loop_turn(p->loop, instant_earlier(t, transport_deadline(p->transport)));
    transport_tick(p->transport);
    node_server_turn(p->server);
    daemon_print_stopped(node_server_node(p->server), p->options.id, &p->printed_stopped);
    if (p->options.verbose)
        verbose_print(&p->verbose, node_server_node(p->server), p->options.id, loop_now(p->loop));
    return status;
}

static enum status node_daemon_serve(struct node_process *p)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !p->stopping)
        status = node_daemon_turn(p, INSTANT_NEVER);
    /* Applied entries are written to LMDB: the next start has little to replay. */
    struct instant end = instant_add(loop_now(p->loop), duration_ms(STOP_MS));
    node_finish(node_server_node(p->server));
    if (status == STATUS_OK)
        status = node_daemon_turn(p, loop_now(p->loop));
    while (status == STATUS_OK && !node_is_idle(node_server_node(p->server)) &&
           instant_before(loop_now(p->loop), end))
        status = node_daemon_turn(p, end);
    return status;
}

int cmd_node(int argc, char **argv)
{
    struct node_process p = {0};
    const struct command_line line = {
        .command = "weir node",
        .usage = "--id N --data DIR --peers 1=A:P,2=A:P,.. [option]...",
        .about = "A storage node: it holds replicas of partitions, and votes in elections of their "
                 "leaders."
                 "\n\nAll daemons of a cluster must have the same settings secret_file and "
                 "cluster_id.\n",
        .examples = "  weir node --id 1 --data weir-1 --peers 1=127.0.0.1:7101,2=127.0.0.1:7102\n",
        .groups = {OPTION_GROUP(NULL, node_options, &p.options)}};
    int code = options_parse(&p.options, &line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    enum status status = node_daemon_open(&p, &error);
    if (status != STATUS_OK) {
        daemon_fail("node", &error);
        if (p.host != NULL)
            node_host_discard(p.host, p.options.data);
        p.host = NULL;
    } else {
        printf("weir node %u: %llu log records replayed, profile %s (%s)\n", p.options.id,
               (unsigned long long)node_server_replayed(p.server),
               profile_name(p.options.config.profile),
               options_profile_meaning(p.options.config.profile));
        printf("ready %s:%u\n", p.options.address, transport_port(p.transport));
        fflush(stdout);
        status = node_daemon_serve(&p);
    }
    if (p.host != NULL)
        node_host_close(p.host);
    faults_close(p.faults);
    if (p.transport != NULL)
        transport_destroy(p.transport);
    loop_destroy(p.loop);
    buffer_deinit(&p.secret);
    node_links_deinit(&p.links);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
