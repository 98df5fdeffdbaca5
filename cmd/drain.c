/* drain.c - `weir drain`: empties a node before it is taken away. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/load_setup.h"

static const char help[] =
    "usage: weir drain [--url URL] [--undo] NODE\n\n"
    "Has the controller move every replica away from a node, a few at a time, while\n"
    "everything is served; new ones are placed elsewhere. `weir events --follow` shows how it "
    "goes,\n"
    "GET /weir/partitions what the node still holds. Its replica of the catalog goes first.\n\n"
    "  --url URL   a router of the cluster (http://127.0.0.1:8000)\n"
    "  --undo      the node may hold replicas again\n"
    "  --help      this text\n\n"
    "Exit code 0: it is begun; 1: the cluster did not take it; 2: wrong usage.\n\n"
    "examples:\n"
    "  weir drain 3\n"
    "  weir drain --undo 3\n";

static int ask(const struct load_url *url, unsigned long node, bool undo)
{
    struct buffer request = {0}, answer = {0}, error = {0};
    int http_status = 0;
    buffer_append_format(&request,
                         "POST /weir/drain?node=%lu%s HTTP/1.1\r\nHost: %s:%u\r\n"
                         "Content-Length: 0\r\n\r\n",
                         node, undo ? "&undo=1" : "", url->host, url->port);
    enum status status =
        load_setup_exchange(url, buffer_slice(&request), &http_status, &answer, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "weir drain: %.*s\n", (int)error.size, (const char *)error.data);
    else if (http_status != 200)
        fprintf(stderr, "weir drain: the server answered %d: %.*s\n", http_status,
                (int)(answer.size < 300 ? answer.size : 300), (const char *)answer.data);
    else
        printf("node %lu %s\n", node, undo ? "may hold replicas again" : "is being emptied");
    buffer_deinit(&request);
    buffer_deinit(&answer);
    buffer_deinit(&error);
    return status == STATUS_OK && http_status == 200 ? 0 : 1;
}

int cmd_drain(int argc, char **argv)
{
    struct load_url url = {.host = "127.0.0.1", .port = 8000};
    unsigned long node = 0;
    bool undo = false;
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--undo") == 0) {
            undo = true;
        } else if (strcmp(argv[i], "--url") == 0 && i + 1 < argc) {
            if (!load_url_parse(argv[++i], &url)) {
                fprintf(stderr, "weir drain: --url %s: http://HOST:PORT is meant\n", argv[i]);
                return 2;
            }
        } else if (node != 0 || argv[i][0] < '1' || argv[i][0] > '9' ||
                   (node = strtoul(argv[i], &end, 10)) == 0 || *end != '\0') {
            fprintf(stderr, "weir drain: %s is neither an option nor a node; see --help\n",
                    argv[i]);
            return 2;
        }
    }
    if (node == 0) {
        fputs("weir drain: which NODE? See --help\n", stderr);
        return 2;
    }
    return ask(&url, node, undo);
}
