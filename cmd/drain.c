/* drain.c - `weir drain`: empties a node before it is taken away. */
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "cmd/admin.h"
#include "cmd/arguments.h"
#include "cmd/cmd.h"
#include "cmd/load_response.h"
#include "cmd/load_setup.h"

static const char help[] =
    "usage: weir drain [--url URL | --admin URL] [--admin-token FILE] [--undo] NODE\n\n"
    "Has the controller move every replica away from a node, a few at a time, while\n"
    "everything is served; new ones are placed elsewhere. `weir events --follow` shows how it "
    "goes,\n"
    "GET /weir/partitions what the node still holds. Its replica of the catalog goes first.\n\n"
    "  --url URL          a router of the cluster (http://127.0.0.1:8000); its admin listener is\n"
    "                     taken to be 600 ports above\n"
    "  --admin URL        its admin listener, where that is another\n"
    "  --admin-token FILE the token of that listener, if it needs one\n"
    "  --undo             the node may hold replicas again\n"
    "  --help             this text\n\n"
    "Every partition of the node needs another node without a copy of it: a cluster of 3 nodes\n"
    "with 3 replicas needs a node more.\n\n"
    "Exit code 0: it is begun; 1: it cannot be done, or the cluster did not take it; 2: wrong\n"
    "usage. POST /weir/drain of the admin listener answers in the same words.\n\n"
    "examples:\n"
    "  weir drain 3\n"
    "  weir drain --undo 3\n";

struct drain {
    struct load_url url; /* of the admin listener */
    char token[HTTP_BEARER_MAX];
    unsigned long node;
    bool undo;
};

/* The server's own words, if the answer is an exception with a message. */
static void tell_refusal(int http_status, const struct buffer *answer)
{
    struct slice message = load_find_text(buffer_slice(answer), "message");
    if (message.size > 0)
        fprintf(stderr, "weir drain: %.*s\n", (int)message.size, (const char *)message.data);
    else
        fprintf(stderr, "weir drain: the server answered %d: %.*s\n", http_status,
                (int)(answer->size < 300 ? answer->size : 300), (const char *)answer->data);
}

/* One request without a body. False after it has told what went wrong. */
static bool ask(const struct drain *d, const char *method_and_path, struct buffer *answer)
{
    struct buffer request = {0}, error = {0};
    int http_status = 0;
    buffer_append_format(&request,
                         "%s HTTP/1.1\r\nHost: %s:%u\r\nContent-Type: application/json\r\n"
                         "Content-Length: 0\r\n",
                         method_and_path, d->url.host, d->url.port);
    if (d->token[0] != '\0')
        buffer_append_format(&request, "Authorization: Bearer %s\r\n", d->token);
    buffer_append_text(&request, "\r\n");
    enum status status =
        load_setup_exchange(&d->url, buffer_slice(&request), &http_status, answer, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "weir drain: %.*s\n", (int)error.size, (const char *)error.data);
    else if (http_status != 200)
        tell_refusal(http_status, answer);
    buffer_deinit(&request);
    buffer_deinit(&error);
    return status == STATUS_OK && http_status == 200;
}

static int drain(const struct drain *d)
{
    struct buffer answer = {0};
    char path[64];
    snprintf(path, sizeof path, "POST /weir/drain?node=%lu%s", d->node, d->undo ? "&undo=1" : "");
    bool done = ask(d, path, &answer);
    if (done && d->undo)
        printf("node %lu may hold replicas again\n", d->node);
    else if (done)
        printf("node %lu is being emptied; `weir events --follow` shows how it goes\n", d->node);
    buffer_deinit(&answer);
    return done ? 0 : 1;
}

/* Exit code 2 after it has told what is wrong. */
static int take_url(struct drain *d, const char *option, const char *text)
{
    if (!load_url_parse(text, &d->url)) {
        fprintf(stderr, "weir drain: %s %s: http://HOST:PORT is meant\n", option, text);
        return 2;
    }
    if (strcmp(option, "--url") == 0)
        d->url.port = admin_port_of(d->url.port);
    return 0;
}

static int take_token(struct drain *d, const char *path)
{
    struct buffer error = {0};
    enum status status = admin_read_token(path, d->token, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "weir drain: %.*s\n", (int)error.size, (const char *)error.data);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 2;
}

static int take_node(struct drain *d, const char *text)
{
    char *end = NULL;
    if (d->node == 0 && text[0] >= '1' && text[0] <= '9')
        d->node = strtoul(text, &end, 10);
    if (end != NULL && *end == '\0')
        return 0;
    fprintf(stderr,
            "weir drain: expected the number of one node, not `%s`; see `weir drain --help`\n",
            text);
    return 2;
}

/* -1: go on; otherwise the exit code. */
static int parse(struct drain *d, int argc, char **argv)
{
    enum {
        HELP,
        UNDO,
        URL,
        ADMIN,
        TOKEN
    };
    static const struct argument_spec specs[] = {
        {"help", ARGUMENT_FLAG, HELP},          {"undo", ARGUMENT_FLAG, UNDO},
        {"url", ARGUMENT_VALUE, URL},           {"admin", ARGUMENT_VALUE, ADMIN},
        {"admin-token", ARGUMENT_VALUE, TOKEN},
    };
    struct arguments a = {specs, sizeof specs / sizeof specs[0], argc, argv, 1};
    struct buffer error = {0};
    const char *value;
    int option, code = 0;
    while (code == 0 && (option = arguments_next(&a, &value, &error)) != ARGUMENTS_END) {
        if (option == HELP) {
            fputs(help, stdout);
            return 0;
        }
        d->undo |= option == UNDO;
        if (option == URL || option == ADMIN)
            code = take_url(d, option == URL ? "--url" : "--admin", value);
        else if (option == TOKEN)
            code = take_token(d, value);
        else if (option == ARGUMENTS_WORD)
            code = take_node(d, value);
        else if (option == ARGUMENTS_WRONG)
            code = 2;
    }
    if (error.size > 0)
        fprintf(stderr, "weir drain: %.*s; see `weir drain --help`\n", (int)error.size,
                (const char *)error.data);
    else if (code == 0 && d->node == 0)
        fputs("weir drain: which NODE? See `weir drain --help`\n", stderr);
    buffer_deinit(&error);
    return code != 0 || d->node == 0 ? 2 : -1;
}

int cmd_drain(int argc, char **argv)
{
    struct drain d = {.url = {.host = "127.0.0.1", .port = 8000 + ADMIN_PORT_OFFSET}};
    int code = parse(&d, argc, argv);
    return code >= 0 ? code : drain(&d);
}
