/* local.c - `weir local`: every role in one process, messages passed in memory.
 *
 * One loop thread for router and nodes, and the nodes' flush and reader threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "cmd/admin.h"
#include "cmd/cmd.h"
#include "cmd/daemon.h"
#include "cmd/http_server.h"
#include "cmd/local_data.h"
#include "cmd/request_log.h"
#include "cmd/usage.h"
#include "cmd/verbose.h"
#include "embed/node_host.h"
#include "gac/server.h"

enum {
    ROUTER = 0,
    GAC_SERVER = 1, /* the only one, and the link to it */
    STOP_MS = 2000
};

/* A message from one node to another: kept until no node is in the middle of its effects. */
struct mail {
    uint32_t from;
    uint32_t to;
    struct buffer frame; /* owns; without the length word */
};

struct local {
    struct options options;
    struct loop *loop;
    struct router *router;
    struct http_server *server;
    struct admin admin;
    struct gac_server *gac;
    struct buffer gac_answer;
    struct node_host *nodes[NODES_LIMIT + 1]; /* by id */
    struct mail *mail;                        /* owns; oldest first */
    size_t mail_count;
    size_t mail_capacity;
    bool told_stopped[NODES_LIMIT + 1]; /* by id */
    struct verbose verbose[NODES_LIMIT + 1];
    struct local_data data;
    bool stopping;
};

static const struct option local_options[] = {
    OPTIONS_PORT("The port on 127.0.0.1. 0: any free port."),
    OPTIONS_LISTEN("Another address and port for the endpoint."),
    {"data", "DIR", OPTION_TEXT, OPTIONS_MEMBER(data), .initial = "weir-data",
     .help = "The directory that keeps the items."},
    {"in-memory", NULL, OPTION_FLAG, OPTIONS_MEMBER(in_memory),
     .help = "Keep the items in a new directory under /dev/shm, which is removed at the end."},
    {"nodes", "N", OPTION_INTEGER, OPTIONS_MEMBER(nodes), .least = 1, .most = NODES_LIMIT,
     .help = "How many storage nodes there are."},
    {"replicas", "N", OPTION_CUSTOM, .take = options_take_replicas,
     .initial = "3, or --nodes if fewer",
     .help = "How many replicas each new partition has, 1 to 7."},
    OPTIONS_LOG,
    OPTIONS_VERBOSE,
    OPTIONS_ADMIN,
};

/* ---- messages ---- */

/* In the `from` of a request: who asked. Requests of nodes carry the node, the router's carry 0. */
static uint64_t from_node(uint32_t node)
{
    return (uint64_t)node + 1;
}

static struct buffer *post(struct local *l, uint32_t from, uint32_t to)
{
    if (l->mail_count == l->mail_capacity) {
        l->mail_capacity = l->mail_capacity == 0 ? 16 : l->mail_capacity * 2;
        l->mail = realloc(l->mail, l->mail_capacity * sizeof l->mail[0]);
        must(l->mail != NULL);
    }
    struct mail *m = &l->mail[l->mail_count++];
    *m = (struct mail){.from = from, .to = to};
    return &m->frame;
}

static void on_reply(void *context, uint32_t node, uint64_t to, const struct reply *r)
{
    struct local *l = context;
    if (to == from_node(ROUTER))
        router_reply(l->router, loop_now(l->loop), node, r);
    else
        reply_encode(post(l, node, (uint32_t)(to - 1)), r);
}

static void on_request(void *context, uint32_t from, uint32_t to, const struct request *r)
{
    request_encode(post(context, from, to), r);
}

static void on_send(void *context, uint32_t from, uint32_t to, struct slice frame)
{
    struct buffer *out = post(context, from, to);
    buffer_append_sized(out, frame);
}

static void ask_gac(struct local *l, struct slice frame)
{
    struct instant now = loop_now(l->loop);
    struct buffer error = {0};
    buffer_clear(&l->gac_answer);
    must(gac_server_receive(l->gac, now, GAC_SERVER, frame, &l->gac_answer, &error) == STATUS_OK);
    must(router_gac_receive(l->router, now, GAC_SERVER, buffer_slice(&l->gac_answer)) == STATUS_OK);
}

static void deliver(struct local *l, const struct mail *m)
{
    struct slice frame = slice_make(m->frame.data + 4, m->frame.size - 4);
    struct node_host *node = l->nodes[m->to];
    enum message_kind kind;
    struct request request;
    struct reply reply;
    must(message_kind_of(frame, &kind) == STATUS_OK);
    if (kind == MESSAGE_PEER) {
        must(node_host_receive(node, frame) == STATUS_OK);
    } else if (kind == MESSAGE_REQUEST) {
        must(request_decode(frame, &request) == STATUS_OK);
        node_host_request(node, from_node(m->from), &request);
    } else {
        must(reply_decode(frame, &reply) == STATUS_OK);
        node_host_reply(node, &reply);
    }
}

static bool deliver_mail(struct local *l)
{
    if (l->mail_count == 0)
        return false;
    struct mail m = l->mail[0];
    memmove(l->mail, l->mail + 1, --l->mail_count * sizeof l->mail[0]);
    deliver(l, &m);
    buffer_deinit(&m.frame);
    return true;
}

/* Carries messages until everybody is at rest. */
static void pump(void *context)
{
    struct local *l = context;
    struct router_effect e;
    do {
        while (router_next_effect(l->router, &e)) {
            if (e.kind == ROUTER_SEND_REQUEST)
                node_host_request(l->nodes[e.node], from_node(ROUTER), e.request);
            else if (e.kind == ROUTER_SEND_GAC)
                ask_gac(l, e.bytes);
            else
                http_server_effect(l->server, &e);
        }
    } while (deliver_mail(l));
}

/* ---- life ---- */

static void on_stop(void *context)
{
    struct local *l = context;
    l->stopping = true;
}

static enum status open_nodes(struct local *l, struct buffer *error)
{
    enum status status = local_data_open(&l->options, &l->data, error);
    for (uint32_t id = 1; id <= l->options.nodes && status == STATUS_OK; id++) {
        char directory[4096];
        snprintf(directory, sizeof directory, "%s/node-%u", l->data.path, id);
        struct node_host_options options = {
            .directory = directory,
            .node = {.config = &l->options.config,
                     .id = id,
                     .node_count = l->options.nodes,
                     .seed = daemon_seed()},
            .reply = on_reply,
            .request = on_request,
            .send = on_send,
            .note = daemon_note,
            .context = l,
        };
        status = node_host_open(l->loop, &options, error, &l->nodes[id]);
    }
    return status;
}

static enum status open_all(struct local *l, struct buffer *error)
{
    enum status status = admin_of(&l->options, &l->admin, error);
    if (status == STATUS_OK)
        status = daemon_open_loop(&l->loop, on_stop, l, error);
    if (status == STATUS_OK)
        status = daemon_fit_descriptors(&l->options.config, l->options.nodes, 0, true, error);
    if (status != STATUS_OK)
        return status;
    struct router_options options = {.config = &l->options.config,
                                     .on_loopback = address_is_loopback(l->options.address),
                                     .admin_token = admin_token(&l->admin),
                                     .answered = l->options.log_requests ? request_log : NULL,
                                     .answered_context = l->loop,
                                     .node_count = l->options.nodes,
                                     .gac_servers = 1,
                                     .region = "local",
                                     .account = "000000000000",
                                     .seed = daemon_seed()};
    l->router = router_create(&options);
    l->gac = gac_server_create(&(struct gac_server_options){.config = &l->options.config,
                                                            .number = GAC_SERVER,
                                                            .servers = 1,
                                                            .incarnation = daemon_seed() | 1});
    router_gac_up(l->router, loop_now(l->loop), GAC_SERVER);
    router_set_wall_clock(l->router, loop_now(l->loop), loop_wall_ms(l->loop));
    status = open_nodes(l, error);
    const struct http_address at = {l->options.address, l->options.port, "--port"};
    if (status == STATUS_OK)
        status = http_server_open(l->loop, l->router, &l->options.config, &at, &l->admin.at, pump,
                                  l, error, &l->server);
    return status;
}

static void close_all(struct local *l)
{
    for (uint32_t id = 1; id <= l->options.nodes; id++) {
        if (l->nodes[id] != NULL)
            node_host_close(l->nodes[id]);
    }
    http_server_close(l->server);
    loop_destroy(l->loop);
    if (l->router != NULL)
        router_destroy(l->router);
    if (l->gac != NULL)
        gac_server_destroy(l->gac);
    buffer_deinit(&l->gac_answer);
    for (size_t i = 0; i < l->mail_count; i++)
        buffer_deinit(&l->mail[i].frame);
    free(l->mail);
    local_data_close(&l->data);
}

static bool nodes_idle(const struct local *l)
{
    bool idle = true;
    for (uint32_t id = 1; id <= l->options.nodes; id++)
        idle &= node_is_idle(node_host_node(l->nodes[id]));
    return idle;
}

static struct instant deadline(const struct local *l)
{
    struct instant t = router_deadline(l->router);
    for (uint32_t id = 1; id <= l->options.nodes; id++)
        t = instant_earlier(t, node_host_deadline(l->nodes[id]));
    return t;
}

static enum status turn(struct local *l, struct instant until)
{
    enum status status = loop_turn(l->loop, instant_earlier(until, deadline(l)));
    struct instant now = loop_now(l->loop);
    if (!instant_before(now, router_deadline(l->router))) {
        router_set_wall_clock(l->router, now, loop_wall_ms(l->loop));
        router_tick(l->router, now);
    }
    pump(l);
    bool mail;
    do {
        for (uint32_t id = 1; id <= l->options.nodes; id++)
            node_host_end_turn(l->nodes[id]);
        mail = l->mail_count > 0;
        pump(l);
    } while (mail);
    for (uint32_t id = 1; id <= l->options.nodes; id++) {
        const struct node *n = node_host_node(l->nodes[id]);
        daemon_tell_stopped(n, id, &l->told_stopped[id]);
        if (l->options.verbose)
            verbose_tell(&l->verbose[id], n, id, now);
    }
    return status;
}

/* Serves until told to stop; then finishes the writes that are in flight, and what is applied goes
 * to LMDB. */
static enum status serve(struct local *l)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !l->stopping)
        status = turn(l, INSTANT_NEVER);
    struct instant end = instant_add(loop_now(l->loop), duration_ms(STOP_MS));
    for (uint32_t id = 1; id <= l->options.nodes; id++)
        node_finish(node_host_node(l->nodes[id]));
    if (status == STATUS_OK)
        status = turn(l, loop_now(l->loop));
    while (status == STATUS_OK && !nodes_idle(l) && instant_before(loop_now(l->loop), end))
        status = turn(l, end);
    return status;
}

int cmd_local(int argc, char **argv)
{
    struct local l = {.options = {.address = "127.0.0.1", .port = 8000, .nodes = 3}};
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
    enum status status = open_all(&l, &error);
    if (status != STATUS_OK) {
        daemon_fail("local", &error);
    } else {
        enum profile profile = l.options.config.profile;
        local_data_describe(&l.options, &l.data);
        printf("profile %s: %s\n", profile_name(profile), options_profile_meaning(profile));
        printf("admin http://%s:%u\n", l.admin.at.address, http_server_admin_port(l.server));
        printf("ready http://%s:%u\n", l.options.address, http_server_port(l.server));
        fflush(stdout);
        status = serve(&l);
        if (status != STATUS_OK)
            fprintf(stderr, "weir local: the event loop failed: %s\n", strerror(errno));
    }
    close_all(&l);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
