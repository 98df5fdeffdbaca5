/* local.c - `weir local`: every role in one process, messages passed in memory.
 *
 * One loop thread for router and nodes, and the nodes' flush and reader threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/local_data.h"
#include "cmd/request_record.h"
#include "cmd/usage.h"
#include "cmd/version.h"
#include "gac/server.h"
#include "host/secret.h"
#include "server/host/disks.h"
#include "server/host/loop_clock.h"
#include "server/host/node_host.h"
#include "server/host/parse_thread.h"
#include "server/host/verbose.h"
#include "server/node_links.h"

enum {
    ROUTER = 0,
    GAC_SERVER = 1, /* number of the only GAC server, and of the link to it */
    STOP_MS = 2000,
    LOCAL_PATH_SIZE = 4096
};

/* A message between nodes, kept until no node is in the middle of its effects. */
struct mail {
    uint32_t from;
    uint32_t to;
    struct buffer frame; /* owns */
};

struct local_node {
    struct local *local; /* borrows */
    uint32_t id;
    struct node_host *host;     /* owns; NULL: not open */
    struct node_server *server; /* borrows from the host */
    struct node_links links;    /* to the other nodes */
    struct message_port mail;   /* of the links */
    bool printed_stopped;
    struct verbose verbose;
};

struct local {
    struct options options;
    struct loop *loop;
    struct router_server *router;
    struct request_record *record; /* NULL without --record */
    struct http_server *server;
    struct admin admin;
    struct disks *disks; /* owns; of the nodes */
    struct gac_server *gac;
    struct buffer gac_answer;
    struct local_node nodes[NODES_LIMIT + 1]; /* by id */
    struct mail *mail;                        /* owns; oldest first */
    size_t mail_count;
    size_t mail_capacity;
    struct local_data data;
    bool stopping;
};

static const struct field local_options[] = {
    {OPTIONS_PORT, .help = "The port on 127.0.0.1. 0: any free port."},
    {OPTIONS_LISTEN, .help = "Another address and port for the endpoint."},
    {"data", FIELD_TEXT, OPTIONS_MEMBER(data), "DIR", .initial = "weir-data",
     .help = "The directory of the items."},
    {"in-memory", FIELD_FLAG, OPTIONS_MEMBER(in_memory),
     .help = "Keep the items in a new directory under /dev/shm, and remove it at the end."},
    {"nodes", FIELD_INTEGER, OPTIONS_MEMBER(nodes), "N", .min = 1, .max = NODES_LIMIT,
     .help = "The number of storage nodes."},
    {"replicas", FIELD_CUSTOM, .form = "N", .take = options_take_replicas,
     .initial = "3, or --nodes if fewer",
     .help = "The number of replicas of each new partition, 1 to 7."},
    {OPTIONS_REGION},
    {OPTIONS_ACCOUNT},
    {OPTIONS_LOG},
    {OPTIONS_RECORD},
    {OPTIONS_RECORD_SALT},
    {OPTIONS_VERBOSE},
    {OPTIONS_ADMIN},
    {OPTIONS_ADMIN_TOKEN},
};

/* ---- messages ---- */

/* The link to another role of this process, also the `from` of its requests. The router is number
 * 0. */
static uint64_t link_of(uint32_t process)
{
    return (uint64_t)process + 1;
}

static void local_post(struct local *l, uint32_t from, uint32_t to, struct slice frame)
{
    l->mail = must_grow(l->mail, l->mail_count, &l->mail_capacity, sizeof l->mail[0]);
    struct mail *m = &l->mail[l->mail_count++];
    *m = (struct mail){.from = from, .to = to};
    buffer_append_slice(&m->frame, frame);
}

static bool mail_send(void *context, uint64_t link, struct slice frame)
{
    const struct local_node *n = context;
    local_post(n->local, n->id, (uint32_t)(link - 1), frame);
    return true;
}

static uint64_t mail_find(UNUSED void *context, enum peer_kind kind, uint32_t id)
{
    must(kind == PEER_NODE);
    return link_of(id);
}

static void mail_envelope(void *context, uint32_t node, struct slice frame)
{
    const struct local_node *n = context;
    local_post(n->local, n->id, node, frame);
}

static void mail_refuse(UNUSED void *context, UNUSED uint64_t link, const char *why)
{
    must(why == NULL); /* nodes of one process never break the rules of links */
}

static void local_reply(void *context, uint64_t to, const struct reply *r)
{
    struct local_node *n = context;
    struct local *l = n->local;
    if (to == link_of(ROUTER))
        router_server_reply(l->router, n->id, r);
    else
        n->mail.reply(n->mail.context, to, r);
}

static void local_request(void *context, uint32_t node, const struct request *r)
{
    struct local_node *n = context;
    n->mail.request(n->mail.context, node, r);
}

static bool local_peer_request(void *context, uint32_t node, const struct request *r)
{
    struct local *l = context;
    node_server_request(l->nodes[node].server, link_of(ROUTER), r);
    return true;
}

static void local_gac_request(void *context, uint32_t server, struct slice frame)
{
    struct local *l = context;
    struct buffer error = {0};
    buffer_clear(&l->gac_answer);
    must(gac_server_receive(l->gac, loop_now(l->loop), (struct gac_origin){.link = server}, frame,
                            &l->gac_answer, &error) == STATUS_OK);
    must(router_server_gac_receive(l->router, server, buffer_slice(&l->gac_answer)) == STATUS_OK);
}

static bool deliver_mail(struct local *l)
{
    if (l->mail_count == 0)
        return false;
    struct mail m = l->mail[0];
    memmove(l->mail, l->mail + 1, --l->mail_count * sizeof l->mail[0]);
    struct local_node *to = &l->nodes[m.to];
    const struct link_peer from = {link_of(m.from), PEER_NODE, m.from};
    node_links_frame(&to->links, to->server, &from, buffer_slice(&m.frame));
    buffer_deinit(&m.frame);
    return true;
}

/* Delivers messages until none is left. */
static void local_pump(struct local *l)
{
    do
        router_server_pump(l->router);
    while (deliver_mail(l));
}

/* ---- life ---- */

static void local_node_directory(const struct local *l, uint32_t id, char out[LOCAL_PATH_SIZE])
{
    snprintf(out, LOCAL_PATH_SIZE, "%s/node-%u", l->data.path, id);
}

static enum status local_node_open(struct local *l, uint32_t id, struct buffer *error)
{
    struct local_node *n = &l->nodes[id];
    char directory[LOCAL_PATH_SIZE];
    local_node_directory(l, id, directory);
    n->local = l;
    n->id = id;
    n->links = (struct node_links){.links = {.context = n,
                                             .send = mail_send,
                                             .find = mail_find,
                                             .envelope = mail_envelope,
                                             .refuse = mail_refuse}};
    n->mail = node_links_messages(&n->links);
    struct node_host_options options = {
        .directory = directory,
        .node = {.config = &l->options.config,
                 .id = id,
                 .node_count = l->options.nodes,
                 .seed = daemon_seed()},
        .messages = {.context = n,
                     .reply = local_reply,
                     .request = local_request,
                     .envelope = mail_envelope},
        .disks = l->disks,
        .note = daemon_note,
    };
    enum status status = node_host_open(l->loop, &options, error, &n->host);
    if (status == STATUS_OK)
        n->server = node_host_server(n->host);
    return status;
}

static enum status open_nodes(struct local *l, struct buffer *error)
{
    enum status status = local_data_open(&l->options, &l->data, error);
    for (uint32_t id = 1; id <= l->options.nodes && status == STATUS_OK; id++)
        status = local_node_open(l, id, error);
    return status;
}

/* The processes of a cluster with the same settings would refuse such a file. */
static enum status local_check_secret(const struct config *c, struct buffer *error)
{
    struct buffer secret = {0};
    const enum status status =
        c->secret_file[0] == '\0' ? STATUS_OK : secret_read(c->secret_file, &secret, error);
    buffer_deinit(&secret);
    return status;
}

static enum status local_open(struct local *l, struct buffer *error)
{
    enum status status = options_admin(&l->options, &l->admin, error);
    if (status == STATUS_OK)
        status = local_check_secret(&l->options.config, error);
    if (status == STATUS_OK)
        status = daemon_open_loop(&l->loop, options_stop, &l->stopping, error);
    if (status == STATUS_OK)
        status = daemon_fit_descriptors(&l->options.config, l->options.nodes, 0, true, error);
    if (status != STATUS_OK)
        return status;
    struct router_options options = {.config = &l->options.config,
                                     .on_loopback = address_is_loopback(l->options.address),
                                     .admin_token = admin_token(&l->admin),
                                     .node_count = l->options.nodes,
                                     .gac_servers = 1,
                                     .version = WEIR_VERSION,
                                     .revision = version_build(),
                                     .number = 1,
                                     .region = l->options.region,
                                     .account = l->options.account,
                                     .seed = daemon_seed()};
    const struct request_record_options record = {.command = "local",
                                                  .path = l->options.record,
                                                  .salt = l->options.record_salt,
                                                  .router = 1,
                                                  .loop = l->loop,
                                                  .log_requests = l->options.log_requests};
    l->record = request_record_create(&record, &options);
    l->disks = disks_create();
    l->server = http_server_create(l->loop);
    struct work_port work;
    status = parse_thread_open(l->loop, &work, error);
    if (status != STATUS_OK)
        return status;
    l->router = router_server_create(&(struct router_server_options){
        .router = options,
        .clock = loop_clock(l->loop),
        .peers = {.context = l, .request = local_peer_request, .gac = local_gac_request},
        .clients = http_server_clients(l->server),
        .work = work});
    l->gac = gac_server_create(&(struct gac_server_options){.config = &l->options.config,
                                                            .number = GAC_SERVER,
                                                            .servers = 1,
                                                            .incarnation = daemon_seed() | 1});
    router_server_gac_up(l->router, GAC_SERVER);
    status = open_nodes(l, error);
    const struct http_address at = {l->options.address, l->options.port, "--port"};
    if (status == STATUS_OK)
        status =
            http_server_listen(l->server, l->router, &l->options.config, &at, &l->admin.at, error);
    if (status == STATUS_OK)
        status = request_record_begin(l->record, error);
    return status;
}

static void local_node_close(struct local *l, uint32_t id, bool started)
{
    char directory[LOCAL_PATH_SIZE];
    local_node_directory(l, id, directory);
    if (l->nodes[id].host != NULL && started)
        node_host_close(l->nodes[id].host);
    else if (l->nodes[id].host != NULL)
        node_host_discard(l->nodes[id].host, directory);
}

/* What a start has made that failed is removed. */
static void close_all(struct local *l, bool started)
{
    for (uint32_t id = 1; id <= l->options.nodes; id++) {
        local_node_close(l, id, started);
        node_links_deinit(&l->nodes[id].links);
    }
    disks_destroy(l->disks);
    http_server_destroy(l->server);
    loop_destroy(l->loop);
    router_server_destroy(l->router);
    request_record_destroy(l->record);
    if (l->gac != NULL)
        gac_server_destroy(l->gac);
    buffer_deinit(&l->gac_answer);
    for (size_t i = 0; i < l->mail_count; i++)
        buffer_deinit(&l->mail[i].frame);
    free(l->mail);
    if (started)
        local_data_close(&l->data);
    else
        local_data_discard(&l->data);
}

static bool nodes_idle(const struct local *l)
{
    bool idle = true;
    for (uint32_t id = 1; id <= l->options.nodes; id++)
        idle &= node_is_idle(node_server_node(l->nodes[id].server));
    return idle;
}

static struct instant local_deadline(const struct local *l)
{
    struct instant t =
        instant_earlier(router_server_deadline(l->router), request_record_deadline(l->record));
    for (uint32_t id = 1; id <= l->options.nodes; id++)
        t = instant_earlier(t, node_server_deadline(l->nodes[id].server));
    return t;
}

static enum status local_turn(struct local *l, struct instant until)
{
    enum status status = loop_turn(l->loop, instant_earlier(until, local_deadline(l)));
    router_server_turn(l->router);
    local_pump(l);
    request_record_turn(l->record);
    bool mail;
    do {
        for (uint32_t id = 1; id <= l->options.nodes; id++)
            node_server_turn(l->nodes[id].server);
        mail = l->mail_count > 0;
        local_pump(l);
    } while (mail);
    for (uint32_t id = 1; id <= l->options.nodes; id++) {
        const struct node *n = node_server_node(l->nodes[id].server);
        daemon_print_stopped(n, id, &l->nodes[id].printed_stopped);
        if (l->options.verbose)
            verbose_print(&l->nodes[id].verbose, n, id, loop_now(l->loop));
    }
    return status;
}

/* Serves until stopped. Then finishes the writes in flight, and writes the applied entries to
 * LMDB. */
static enum status local_serve(struct local *l)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !l->stopping)
        status = local_turn(l, INSTANT_NEVER);
    struct instant end = instant_add(loop_now(l->loop), duration_ms(STOP_MS));
    for (uint32_t id = 1; id <= l->options.nodes; id++)
        node_finish(node_server_node(l->nodes[id].server));
    if (status == STATUS_OK)
        status = local_turn(l, loop_now(l->loop));
    while (status == STATUS_OK && !nodes_idle(l) && instant_before(loop_now(l->loop), end))
        status = local_turn(l, end);
    return status;
}

int cmd_local(int argc, char **argv)
{
    struct local l = {
        .options = {.address = "127.0.0.1", .port = 8000, .nodes = 3, .is_local = true}};
    const struct command_line line = {
        .command = "weir local",
        .usage = "[--port 8000] [--data DIR] [--nodes 3] [option]...",
        .about =
            "A DynamoDB endpoint with real partitions, nodes and throttling, in one process.\n",
        .examples = "  weir local\n"
                    "  weir local --port 8001 --data five --nodes 5 --profile strict\n"
                    "  AWS_DEFAULT_REGION=local AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x \\\n"
                    "      aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000\n",
        .groups = {OPTION_GROUP(NULL, local_options, &l.options)}};
    int code = options_parse(&l.options, &line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    enum status status = local_open(&l, &error);
    const bool started = status == STATUS_OK;
    if (status != STATUS_OK) {
        daemon_fail("local", &error);
    } else {
        enum profile profile = l.options.config.profile;
        local_data_describe(&l.options, &l.data);
        printf("profile %s: %s\n", profile_name(profile), options_profile_meaning(profile));
        if (l.record != NULL)
            printf("recording %s\n", request_record_path(l.record));
        if (l.admin.at.port == 0)
            admin_print_port("local", l.options.port, http_server_admin_port(l.server));
        printf("admin http://%s:%u\n", l.admin.at.address, http_server_admin_port(l.server));
        printf("ready http://%s:%u\n", l.options.address, http_server_port(l.server));
        fflush(stdout);
        status = local_serve(&l);
        if (status != STATUS_OK)
            fprintf(stderr, "weir local: the event loop failed: %s\n", strerror(errno));
    }
    close_all(&l, started);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
