/* verify.c - `weir verify`: reads back everything the nodes in a data directory hold. */
#include <stdio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/daemon.h"
#include "embed/node_host.h"

static const char help[] =
    "usage: weir verify --data DIR [options]\n\n"
    "Opens the nodes that DIR holds (node-1, node-2, ..), replays their logs and checks every "
    "item:\n"
    "checksum, structure, place, and the partitions' counts. The nodes must be stopped.\n"
    "Exit code 0: all is well; 1: it is not.\n\n"
    "example:\n"
    "  weir verify --data weir-data\n"
    "\noptions:";

static void ignore_reply(void *context, uint32_t node, uint64_t to, const struct reply *r)
{
    (void)context;
    (void)node;
    (void)to;
    (void)r;
}

static void ignore_request(void *context, uint32_t from, uint32_t to, const struct request *r)
{
    (void)context;
    (void)from;
    (void)to;
    (void)r;
}

static void ignore_send(void *context, uint32_t from, uint32_t to, struct slice frame)
{
    (void)context;
    (void)from;
    (void)to;
    (void)frame;
}

static bool report(uint32_t id, const struct node_host *h, enum status status,
                   const struct node_verification *v)
{
    bool well = status == STATUS_OK && v->damaged == 0 && v->miscounted == 0;
    printf("node %u: %lld items, %lld bytes in %lld partitions, %llu log records replayed; "
           "%lld damaged, %u partitions miscounted%s%s\n",
           id, (long long)v->items, (long long)v->bytes, (long long)v->partitions,
           (unsigned long long)node_host_replayed(h), (long long)v->damaged, v->miscounted,
           status == STATUS_OK ? "" : "; not read to the end: ",
           status == STATUS_OK ? "" : status_text(status));
    return well;
}

static bool verify(struct loop *l, const struct options *o, uint32_t id, const char *directory,
                   uint32_t node_count)
{
    struct buffer error = {0};
    struct node_host *h;
    struct node_host_options options = {
        .directory = directory,
        .node = {.config = &o->config, .id = id, .node_count = node_count},
        .reply = ignore_reply,
        .request = ignore_request,
        .send = ignore_send,
    };
    bool well = false;
    if (node_host_open(l, &options, &error, &h) == STATUS_OK) {
        struct node_verification v;
        enum status status = node_verify(node_host_node(h), &v);
        well = report(id, h, status, &v);
        node_host_close(h);
    } else {
        printf("node %u: %.*s\n", id, (int)error.size, error.data);
    }
    buffer_deinit(&error);
    return well;
}

static void on_stop(void *context)
{
    (void)context;
    _exit(1);
}

int cmd_verify(int argc, char **argv)
{
    struct options o = {.data = "weir-data"};
    int parsed = options_parse(&o, OPTION_DATA, help, argc, argv);
    if (parsed != 0)
        return parsed - 1;
    struct buffer error = {0};
    struct loop *l = NULL;
    if (daemon_open_loop(&l, on_stop, NULL, &error) != STATUS_OK)
        return daemon_fail("verify", &error);
    uint32_t found = 0;
    bool well = true;
    for (uint32_t id = 1; id <= NODES_LIMIT; id++) {
        char directory[4096];
        snprintf(directory, sizeof directory, "%s/node-%u", o.data, id);
        if (access(directory, F_OK) != 0)
            continue;
        found++;
        well &= verify(l, &o, id, directory, NODES_LIMIT);
    }
    if (found == 0) {
        fprintf(stderr,
                "weir verify: %s holds no node-1, node-2, ..; name the directory that "
                "`weir local --data` or `tools/cluster --data` was given\n",
                o.data);
        well = false;
    }
    loop_destroy(l);
    return well ? 0 : 1;
}
