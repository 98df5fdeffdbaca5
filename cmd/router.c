/* router.c - `weir router`: the DynamoDB endpoint of a cluster as a process. */
#include <stdio.h>

#include "base/settings/choices.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/request_record.h"
#include "cmd/usage.h"
#include "cmd/version.h"
#include "gac/grant_policy.h"
#include "server/host/link_transport.h"
#include "server/host/loop_clock.h"
#include "server/host/parse_thread.h"
#include "server/router_links.h"

struct router_process {
    struct options options;
    struct loop *loop;
    struct transport *transport;
    struct router_server *router;
    struct router_links links;
    struct router_port peers;      /* of the links */
    struct request_record *record; /* NULL without --record */
    struct http_server *server;
    struct admin admin;
    struct faults *faults; /* NULL without --faults */
    struct link_port out;  /* of the transport */
    struct buffer secret;
    bool stopping;
};

static const struct field router_options[] = {
    {OPTIONS_LISTEN, .help = "The endpoint for SDKs. Default: 127.0.0.1:8000."},
    {OPTIONS_PORT, .help = "The port of the endpoint. 0: any free port."},
    {OPTIONS_PEERS, .help = "Every storage node of the cluster."},
    {OPTIONS_GAC, .help = "Every server of global admission control (`weir gac`). Without servers, "
                          "run nodes and routers with --set gac=off."},
    {OPTIONS_ID, .help = "The number of this router. Each router needs a number of its own."},
    {OPTIONS_REGION},
    {OPTIONS_ACCOUNT},
    {OPTIONS_LOG},
    {OPTIONS_RECORD},
    {OPTIONS_RECORD_SALT},
    {OPTIONS_ADMIN},
    {OPTIONS_ADMIN_TOKEN},
    {OPTIONS_FAULTS},
};

static void router_daemon_up(void *context, uint64_t link, enum peer_kind kind, uint32_t id)
{
    struct router_process *p = context;
    router_links_up(&p->links, &(struct link_peer){link, kind, id});
}

static void router_daemon_down(void *context, uint64_t link, enum peer_kind kind, uint32_t id,
                               bool by_peer)
{
    struct router_process *p = context;
    router_links_down(&p->links, &(struct link_peer){link, kind, id}, by_peer);
}

static void router_daemon_frame(void *context, const struct link_peer *from, struct slice frame)
{
    struct router_process *p = context;
    router_links_frame(&p->links, from, frame);
}

/* The port to the nodes. A slow processor is slow for each request that it forwards. */
static bool router_daemon_request(void *context, uint32_t node, const struct request *r)
{
    struct router_process *p = context;
    loop_work(p->loop);
    return p->peers.request(p->peers.context, node, r);
}

static void router_daemon_gac(void *context, uint32_t server, struct slice frame)
{
    struct router_process *p = context;
    p->peers.gac(p->peers.context, server, frame);
}

static bool options_valid(const struct options *o, struct buffer *error)
{
    if (!daemon_list_valid(&o->peers, "--peers", error))
        return false;
    if (o->gac.count > 0)
        return daemon_list_valid(&o->gac, "--gac", error);
    enum gac_policy policy = (enum gac_policy)config_choices(&o->config)->gac;
    if (!table_policy_requests_grants(&o->config, policy))
        return true;
    buffer_append_format(
        error,
        "gac = %s needs the servers of global admission control: name them with --gac "
        "1=ADDRESS:PORT,.. (`weir gac --help`), or set --set gac=off here and on every node",
        gac_policy_name(policy));
    return false;
}

static enum status router_daemon_open(struct router_process *p, struct buffer *error)
{
    const struct options *o = &p->options;
    if (!options_valid(o, error))
        return STATUS_MALFORMED;
    enum status status = options_admin(o, &p->admin, error);
    if (status == STATUS_OK)
        status = daemon_open_loop(&p->loop, options_stop, &p->stopping, error);
    if (status != STATUS_OK)
        return status;
    struct greeting_self self;
    status =
        daemon_prepare_greeting(&o->config, PEER_ROUTER, o->id, NULL, &p->secret, error, &self);
    if (status == STATUS_OK)
        status = daemon_fit_descriptors(&p->options.config, 0, o->peers.count + o->gac.count, true,
                                        error);
    if (status != STATUS_OK)
        return status;
    struct router_options router = {.config = &o->config,
                                    .on_loopback = address_is_loopback(o->address),
                                    .admin_token = admin_token(&p->admin),
                                    .node_count = o->peers.count,
                                    .gac_servers = o->gac.count,
                                    .region = o->region,
                                    .account = o->account,
                                    .version = WEIR_VERSION,
                                    .revision = version_build(),
                                    .number = o->id,
                                    .seed = daemon_seed()};
    const struct request_record_options record = {.command = "router",
                                                  .path = o->record,
                                                  .salt = o->record_salt,
                                                  .router = o->id,
                                                  .loop = p->loop,
                                                  .log_requests = o->log_requests};
    p->record = request_record_create(&record, &router);
    p->server = http_server_create(p->loop);
    p->peers = router_links_peers(&p->links);
    struct work_port work;
    status = parse_thread_open(p->loop, &work, error);
    if (status != STATUS_OK)
        return status;
    p->router = router_server_create(
        &(struct router_server_options){.router = router,
                                        .clock = loop_clock(p->loop),
                                        .peers = {p, router_daemon_request, router_daemon_gac},
                                        .clients = http_server_clients(p->server),
                                        .work = work});
    const struct transport_handler handler = {router_daemon_up, router_daemon_frame,
                                              router_daemon_down, daemon_note};
    struct transport_options transport = {
        .loop = p->loop, .self = self, .seed = daemon_seed(), .handler = &handler, .context = p};
    p->transport = transport_create(&transport);
    p->links.links = transport_links(p->transport);
    p->links.server = p->router;
    daemon_add_peers(p->transport, PEER_NODE, &o->peers, 0);
    daemon_add_peers(p->transport, PEER_GAC, &o->gac, 0);
    if (o->faults)
        status = daemon_open_faults(p->loop, p->transport, o->faults_port, error, &p->faults);
    if (status != STATUS_OK)
        return status;
    const struct http_address at = {o->address, o->port, "--port"};
    status = http_server_listen(p->server, p->router, &o->config, &at, &p->admin.at, error);
    return status == STATUS_OK ? request_record_begin(p->record, error) : status;
}

static enum status router_daemon_serve(struct router_process *p)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !p->stopping) {
        struct instant until =
            instant_earlier(router_server_deadline(p->router), transport_deadline(p->transport));
        status = loop_turn(p->loop, instant_earlier(until, request_record_deadline(p->record)));
        transport_tick(p->transport);
        router_server_turn(p->router);
        request_record_turn(p->record);
    }
    return status;
}

int cmd_router(int argc, char **argv)
{
    struct router_process p = {.options = {.address = "127.0.0.1", .port = 8000, .id = 1}};
    const struct command_line line = {
        .command = "weir router",
        .usage = "--listen ADDRESS:PORT --peers 1=A:P,2=A:P,.. [option]...",
        .about = "A request router: it speaks the DynamoDB HTTP API and finds the nodes that hold "
                 "the data."
                 "\n\nAll daemons of a cluster must have the same settings secret_file and "
                 "cluster_id.\n",
        .examples = "  weir router --peers 1=127.0.0.1:7101,2=127.0.0.1:7102 --set gac=off\n"
                    "  weir router --listen 127.0.0.1:8001 --id 2 \\\n"
                    "              --peers 1=127.0.0.1:7101,2=127.0.0.1:7102 \\\n"
                    "              --gac 1=127.0.0.1:7201,2=127.0.0.1:7202,3=127.0.0.1:7203\n",
        .groups = {OPTION_GROUP(NULL, router_options, &p.options)}};
    int code = options_parse(&p.options, &line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    enum status status = router_daemon_open(&p, &error);
    if (status != STATUS_OK) {
        daemon_fail("router", &error);
    } else {
        printf("weir router: %u node%s, %u server%s of global admission control, profile %s (%s)\n",
               p.options.peers.count, p.options.peers.count == 1 ? "" : "s", p.options.gac.count,
               p.options.gac.count == 1 ? "" : "s", profile_name(p.options.config.profile),
               options_profile_meaning(p.options.config.profile));
        if (p.record != NULL)
            printf("recording %s\n", request_record_path(p.record));
        if (p.admin.at.port == 0)
            admin_print_port("router", p.options.port, http_server_admin_port(p.server));
        printf("admin http://%s:%u\n", p.admin.at.address, http_server_admin_port(p.server));
        printf("ready http://%s:%u\n", p.options.address, http_server_port(p.server));
        fflush(stdout);
        status = router_daemon_serve(&p);
    }
    http_server_destroy(p.server);
    faults_close(p.faults);
    if (p.transport != NULL)
        transport_destroy(p.transport);
    loop_destroy(p.loop);
    router_server_destroy(p.router);
    request_record_destroy(p.record);
    router_links_deinit(&p.links);
    buffer_deinit(&p.secret);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
