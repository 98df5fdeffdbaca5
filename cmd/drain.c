/* drain.c - `weir drain`: empties a node before it is taken away. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/admin.h"
#include "cmd/cmd.h"
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
    "Exit code 0: it is begun; 1: the cluster did not take it; 2: wrong usage.\n\n"
    "examples:\n"
    "  weir drain 3\n"
    "  weir drain --undo 3\n";

struct drain {
    struct load_url url; /* of the admin listener */
    char token[HTTP_BEARER_MAX];
    unsigned long node;
    bool undo;
};

static int ask(const struct drain *d)
{
    struct buffer request = {0}, answer = {0}, error = {0};
    int http_status = 0;
    buffer_append_format(&request,
                         "POST /weir/drain?node=%lu%s HTTP/1.1\r\nHost: %s:%u\r\n"
                         "Content-Type: application/json\r\nContent-Length: 0\r\n",
                         d->node, d->undo ? "&undo=1" : "", d->url.host, d->url.port);
    if (d->token[0] != '\0')
        buffer_append_format(&request, "Authorization: Bearer %s\r\n", d->token);
    buffer_append_text(&request, "\r\n");
    enum status status =
        load_setup_exchange(&d->url, buffer_slice(&request), &http_status, &answer, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "weir drain: %.*s\n", (int)error.size, (const char *)error.data);
    else if (http_status != 200)
        fprintf(stderr, "weir drain: the server answered %d: %.*s\n", http_status,
                (int)(answer.size < 300 ? answer.size : 300), (const char *)answer.data);
    else
        printf("node %lu %s\n", d->node, d->undo ? "may hold replicas again" : "is being emptied");
    buffer_deinit(&request);
    buffer_deinit(&answer);
    buffer_deinit(&error);
    return status == STATUS_OK && http_status == 200 ? 0 : 1;
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
    fprintf(stderr, "weir drain: %s is neither an option nor a node; see --help\n", text);
    return 2;
}

int cmd_drain(int argc, char **argv)
{
    struct drain d = {.url = {.host = "127.0.0.1", .port = 8000 + ADMIN_PORT_OFFSET}};
    int code = 0;
    for (int i = 1; i < argc && code == 0; i++) {
        const char *option = argv[i];
        const bool valued = i + 1 < argc;
        if (strcmp(option, "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(option, "--undo") == 0)
            d.undo = true;
        else if (valued && (strcmp(option, "--url") == 0 || strcmp(option, "--admin") == 0))
            code = take_url(&d, option, argv[++i]);
        else if (valued && strcmp(option, "--admin-token") == 0)
            code = take_token(&d, argv[++i]);
        else
            code = take_node(&d, option);
    }
    if (code != 0)
        return code;
    if (d.node == 0) {
        fputs("weir drain: which NODE? See --help\n", stderr);
        return 2;
    }
    return ask(&d);
}
