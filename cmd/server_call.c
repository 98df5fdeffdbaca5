/* server_call.c - a subcommand's request to a server, and what it prints if that fails. */
#include "cmd/server_call.h"

#include <stdio.h>

enum {
    SHOWN_BYTES = 300
};

void server_call_print(const char *command, int http_status, const struct buffer *answer)
{
    const size_t size = MIN(answer->size, SHOWN_BYTES);
    fprintf(stderr, "%s: the server answered %d: %.*s\n", command, http_status, (int)size,
            (const char *)answer->data);
}

void server_call_refused(const char *command, int http_status, const struct buffer *answer)
{
    struct json_parser *parser = json_parser_create();
    struct json_value root = {0};
    if (json_parse(parser, buffer_slice(answer), &root) != STATUS_OK)
        root = (struct json_value){0};
    /* The rate limiter's errors are objects. */
    const struct json_value error = json_find(&root, "error");
    const struct json_value message =
        json_find(error.type == JSON_OBJECT ? &error : &root, "message");
    const struct slice text = json_text(&message);
    if (text.size > 0)
        fprintf(stderr, "%s: %.*s\n", command, TEXT_OF(text));
    else
        server_call_print(command, http_status, answer);
    json_parser_destroy(parser);
}

bool server_call(const char *command, const struct client_url *url, const struct buffer *request,
                 struct buffer *answer)
{
    struct buffer error = {0};
    int http_status = 0;
    const enum status status =
        client_exchange(url, buffer_slice(request), &http_status, answer, &error);
    const bool done = status == STATUS_OK && http_status / 100 == 2;
    if (status != STATUS_OK)
        fprintf(stderr, "%s: %.*s\n", command, TEXT_OF(error));
    else if (!done)
        server_call_refused(command, http_status, answer);
    buffer_deinit(&error);
    return done;
}
