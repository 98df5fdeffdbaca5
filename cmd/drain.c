/* drain.c - `weir drain`: moves all replicas off a node before it is removed. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/usage.h"
#include "workload/client_exchange.h"

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

/* Prints the server's own message, if the answer is an error with a message. */
static void print_refusal(int http_status, const struct buffer *answer)
{
    struct json_parser *parser = json_parser_create();
    struct json_value root = {0};
    if (json_parse(parser, buffer_slice(answer), &root) != STATUS_OK)
        root = (struct json_value){0};
    struct json_value message = json_find(&root, "message");
    struct slice text = json_text(&message);
    if (text.size > 0)
        fprintf(stderr, "weir drain: %.*s\n", TEXT_OF(text));
    else
        fprintf(stderr, "weir drain: the server answered %d: %.*s\n", http_status,
                (int)(answer->size < 300 ? answer->size : 300), (const char *)answer->data);
    json_parser_destroy(parser);
}

/* False: the fault has been printed. */
static bool drain_request(const struct drain *d, const char *method_and_path)
{
    struct buffer request = {0}, answer = {0}, error = {0};
    int http_status = 0;
    client_write_plain(&request, &d->url, method_and_path, d->token);
    enum status status =
        client_exchange(&d->url, buffer_slice(&request), &http_status, &answer, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "weir drain: %.*s\n", TEXT_OF(error));
    else if (http_status != 200)
        print_refusal(http_status, &answer);
    buffer_deinit(&request);
    buffer_deinit(&answer);
    buffer_deinit(&error);
    return status == STATUS_OK && http_status == 200;
}

static int drain_run(const struct drain *d)
{
    char path[64];
    snprintf(path, sizeof path, "POST /weir/drain?node=%lld%s", (long long)d->node,
             d->undo ? "&undo=1" : "");
    bool done = drain_request(d, path);
    if (done && d->undo)
        printf("node %lld may hold replicas again\n", (long long)d->node);
    else if (done)
        printf("node %lld is being drained; `weir events --follow` shows the progress\n",
               (long long)d->node);
    return done ? 0 : 1;
}

static const char *take_node(void *target, const char *word)
{
    struct drain *d = target;
    bool first = d->node == 0;
    bool ok = field_parse_integer(word, 1, UINT32_MAX, &d->node);
    return first && ok ? NULL : "the number of one node is expected";
}

static const struct field drain_options[] = {
    OPTIONS_ADMIN_CLIENT(struct drain),
    {"undo", FIELD_FLAG, FIELD_MEMBER(struct drain, undo),
     .help = "The node may hold replicas again."},
};

int cmd_drain(int argc, char **argv)
{
    struct drain d = {.url = {.host = "127.0.0.1", .port = 8000 + ADMIN_PORT_OFFSET}};
    const struct command_line line = {.command = "weir drain",
                                      .usage = "[option]... NODE",
                                      .about = about,
                                      .examples = "  weir drain 3\n"
                                                  "  weir drain --undo 3\n",
                                      .groups = {OPTION_GROUP(NULL, drain_options, &d)},
                                      .word = take_node,
                                      .word_target = &d};
    int code = usage_parse(&line, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    return d.node == 0 ? usage_wrong(line.command, "the NODE is missing") : drain_run(&d);
}
