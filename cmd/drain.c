/* drain.c - `weir drain`: moves all replicas off a node before it is removed. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/server_call.h"
#include "cmd/usage.h"

static const char about[] =
    "Has the controller move all replicas from a node to other nodes, a few at a time. Requests "
    "are served meanwhile. The node gets no new replicas. Its replica of the catalog moves first. "
    "`weir events --follow` shows the progress, GET /weir/partitions the remaining replicas.\n\n"
    "Every partition of the node needs another node without a copy of the partition: a cluster of "
    "3 "
    "nodes with 3 replicas needs one node more.\n\n"
    "Exit code 0: started; 1: not possible, or the cluster refused; 2: wrong usage. POST "
    "/weir/drain of the admin listener returns the same texts.\n";

struct drain {
    struct client_url url; /* of the admin listener */
    char token[HTTP_BEARER_MAX];
    int64_t node; /* 0: not given */
    bool undo;
};

static int drain_run(const struct drain *d)
{
    struct buffer request = {0}, answer = {0};
    char path[64];
    snprintf(path, sizeof path, "POST /weir/drain?node=%lld%s", (long long)d->node,
             d->undo ? "&undo=1" : "");
    client_write_plain(&request, &d->url, path, d->token);
    const bool done = server_call("weir drain", &d->url, &request, &answer);
    if (done && d->undo)
        printf("node %lld may hold replicas again\n", (long long)d->node);
    else if (done)
        printf("node %lld is being drained; `weir events --follow` shows the progress\n",
               (long long)d->node);
    buffer_deinit(&request);
    buffer_deinit(&answer);
    return done ? 0 : 1;
}

static const struct field drain_options[] = {
    OPTIONS_ADMIN_CLIENT(struct drain),
    {"undo", FIELD_FLAG, FIELD_MEMBER(struct drain, undo),
     .help = "The node may hold replicas again."},
};

int cmd_drain(int argc, char **argv)
{
    const char *node = NULL;
    int nodes = 0;
    struct drain d = {.url = {.host = "127.0.0.1", .port = 8000 + ADMIN_PORT_OFFSET}};
    const struct command_line line = {.command = "weir drain",
                                      .usage = "[option]... NODE",
                                      .about = about,
                                      .examples = "  weir drain 3\n"
                                                  "  weir drain --undo 3\n",
                                      .groups = {OPTION_GROUP(NULL, drain_options, &d)},
                                      .words = {&node, &nodes, 1, 1, "the number of one node"}};
    int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (!field_parse_integer(node, 1, UINT32_MAX, &d.node))
        return usage_wrong(line.command, "NODE must be a number from 1 to %u, not `%s`", UINT32_MAX,
                           node);
    return drain_run(&d);
}
