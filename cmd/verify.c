/* verify.c - `weir verify`: reads back all data of the nodes in a data directory. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"
#include "server/host/node_host.h"

static const struct field verify_options[] = {
    {OPTIONS_DATA, .help = "The directory of the nodes."},
    {"json", FIELD_FLAG, OPTIONS_MEMBER(json),
     .help = "Print one JSON object, with the checksum of each replica."},
};

struct replica {
    uint32_t node;
    struct replica_verification is;
};

struct verify_run {
    struct options options;
    uint32_t node;            /* the node being read */
    struct replica *replicas; /* owns */
    size_t count, capacity;
    struct buffer json;
    bool well;
};

static void ignore_reply(UNUSED void *context, UNUSED uint64_t to, UNUSED const struct reply *r)
{
}

static void ignore_request(UNUSED void *context, UNUSED uint32_t node,
                           UNUSED const struct request *r)
{
}

static void ignore_envelope(UNUSED void *context, UNUSED uint32_t node, UNUSED struct slice frame)
{
}

/* ---- a node ---- */

static void on_replica(void *context, const struct replica_verification *r)
{
    struct verify_run *run = context;
    run->replicas = must_grow(run->replicas, run->count, &run->capacity, sizeof run->replicas[0]);
    run->replicas[run->count++] = (struct replica){run->node, *r};
}

static void write_node(struct verify_run *run, bool well, uint64_t replayed,
                       const struct node_verification *v, size_t first)
{
    struct buffer *out = &run->json;
    json_write_open(out, '{');
    json_member_integer(out, "node", run->node);
    json_member_bool(out, "well", well);
    json_member_integer(out, "items", v->items);
    json_member_integer(out, "bytes", v->bytes);
    json_member_integer(out, "damaged", v->damaged);
    json_member_integer(out, "miscounted", v->miscounted);
    json_member_integer(out, "log_records_replayed", (int64_t)replayed);
    json_member_open(out, "replicas", '[');
    for (size_t i = first; i < run->count; i++) {
        const struct replica_verification *r = &run->replicas[i].is;
        char checksum[17];
        snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)r->checksum);
        json_write_open(out, '{');
        json_member_integer(out, "partition", (int64_t)r->group);
        json_member_integer(out, "applied", (int64_t)r->applied);
        json_member_integer(out, "items", r->items);
        json_member_integer(out, "bytes", r->bytes);
        json_member_text(out, "checksum", checksum);
        json_member_bool(out, "no_state", r->no_state);
        json_write_close(out, '}');
    }
    json_write_closes(out, "]}");
}

static bool verify_report(struct verify_run *run, const struct node_server *s, enum status status,
                          const struct node_verification *v, size_t first)
{
    bool well = status == STATUS_OK && v->damaged == 0 && v->miscounted == 0;
    if (run->options.json)
        write_node(run, well, node_server_replayed(s), v, first);
    else
        printf("node %u: %lld items, %lld bytes in %lld partitions, %llu log records replayed; "
               "%lld damaged, %u partitions miscounted%s%s\n",
               run->node, (long long)v->items, (long long)v->bytes, (long long)v->partitions,
               (unsigned long long)node_server_replayed(s), (long long)v->damaged, v->miscounted,
               status == STATUS_OK ? "" : "; not read to the end: ",
               status == STATUS_OK ? "" : status_text(status));
    return well;
}

static bool verify_directory(struct verify_run *run, struct loop *l, const char *directory)
{
    struct buffer error = {0};
    struct node_host *h;
    struct node_host_options options = {
        .directory = directory,
        .node = {.config = &run->options.config, .id = run->node, .node_count = NODES_LIMIT},
        .messages = {.reply = ignore_reply, .request = ignore_request, .envelope = ignore_envelope},
    };
    bool well = false;
    if (node_host_open(l, &options, &error, &h) == STATUS_OK) {
        struct node_verification v;
        size_t first = run->count;
        struct node_server *s = node_host_server(h);
        enum status status = node_verify_replicas(node_server_node(s), &v, on_replica, run);
        well = verify_report(run, s, status, &v, first);
        node_host_close(h);
    } else {
        fprintf(run->options.json ? stderr : stdout, "node %u: %.*s\n", run->node, TEXT_OF(error));
    }
    buffer_deinit(&error);
    return well;
}

/* ---- replicas beside each other ---- */

/* By partition, then by applied index. */
static int compare_replicas(const void *a, const void *b)
{
    const struct replica *x = a, *y = b;
    if (x->is.group != y->is.group)
        return x->is.group < y->is.group ? -1 : 1;
    if (x->is.applied != y->is.applied)
        return x->is.applied < y->is.applied ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool hold_the_same(const struct replica_verification *a,
                          const struct replica_verification *b)
{
    return a->items == b->items && a->bytes == b->bytes && a->checksum == b->checksum;
}

static void print_difference(struct verify_run *run, const struct replica *a,
                             const struct replica *b)
{
    run->well = false;
    fprintf(run->options.json ? stderr : stdout,
            "partition %llu: nodes %u and %u have both applied entries up to %llu, but their items "
            "differ (%lld and %lld items)\n",
            (unsigned long long)a->is.group, a->node, b->node, (unsigned long long)a->is.applied,
            (long long)a->is.items, (long long)b->is.items);
}

static void verify_compare(struct verify_run *run)
{
    int64_t partitions = 0, behind = 0, different = 0;
    if (run->count > 0)
        qsort(run->replicas, run->count, sizeof run->replicas[0], compare_replicas);
    for (size_t i = 0; i < run->count; i++) {
        const struct replica *r = &run->replicas[i], *next = r + 1;
        bool last = i + 1 == run->count || next->is.group != r->is.group;
        partitions += last;
        if (last || r->is.no_state || next->is.no_state)
            continue;
        if (next->is.applied != r->is.applied) {
            behind++;
        } else if (!hold_the_same(&r->is, &next->is)) {
            different++;
            print_difference(run, r, next);
        }
    }
    if (run->options.json) {
        json_member_integer(&run->json, "partitions", partitions);
        json_member_integer(&run->json, "replicas_behind", behind);
        json_member_integer(&run->json, "replicas_different", different);
    } else if (run->count > 0) {
        printf(
            "%lld partitions in %zu replicas: %lld different, %lld not compared because behind\n",
            (long long)partitions, run->count, (long long)different, (long long)behind);
    }
}

static void verify_stop(UNUSED void *context)
{
    _exit(1);
}

static void verify_all(struct verify_run *run, struct loop *l)
{
    const char *data = run->options.data;
    uint32_t found = 0;
    json_write_open_with(&run->json, "nodes", '[');
    for (run->node = 1; run->node <= NODES_LIMIT; run->node++) {
        char directory[4096];
        snprintf(directory, sizeof directory, "%s/node-%u", data, run->node);
        if (access(directory, F_OK) != 0)
            continue;
        found++;
        run->well &= verify_directory(run, l, directory);
    }
    json_write_close(&run->json, ']');
    if (found == 0) {
        fprintf(stderr,
                "weir verify: %s has no node-1, node-2, ..; name the directory of `weir local "
                "--data` or `tools/cluster --data`\n",
                data);
        run->well = false;
        return;
    }
    verify_compare(run);
    json_member_bool(&run->json, "well", run->well);
    json_write_close(&run->json, '}');
    if (run->options.json)
        printf("%.*s\n", TEXT_OF(run->json));
}

int cmd_verify(int argc, char **argv)
{
    struct verify_run run = {.options = {.data = "weir-data"}, .well = true};
    const struct command_line line = {
        .command = "weir verify",
        .usage = "--data DIR [--json] [option]...",
        .about = "Opens the nodes in DIR (node-1, node-2, ..), replays their logs and checks every "
                 "item: checksum, structure, place. It also checks the counts of the partitions. "
                 "Replicas of a "
                 "partition that have "
                 "applied the same entries must hold the same items. The nodes must be stopped.\n\n"
                 "Exit code 0: no errors; 1: errors were found; 2: wrong usage.\n",
        .examples = "  weir verify --data weir-data\n",
        .groups = {OPTION_GROUP(NULL, verify_options, &run.options)}};
    int code = options_parse(&run.options, &line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    struct loop *l = NULL;
    if (daemon_open_loop(&l, verify_stop, NULL, &error) != STATUS_OK)
        return daemon_fail("verify", &error);
    verify_all(&run, l);
    loop_destroy(l);
    free(run.replicas);
    buffer_deinit(&run.json);
    return run.well ? 0 : 1;
}
