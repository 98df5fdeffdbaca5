/* client_response.h - HTTP answers from a stream of bytes; no I/O.
 *
 * Used with client_request.h. The meaning of an answer for a load: load_verdict.h. */
#pragma once

#include <llhttp.h>

#include "base/buffer.h"

enum {
    CLIENT_BODY_SIZE_MAX = 16 * 1024 * 1024,
    CLIENT_BODY_PADDING = 64, /* readable bytes behind every body, needed by json_parse */
};

/* Lends `body` until it returns. */
typedef void client_answer(void *context, int http_status, struct slice body);

/* The answers of one connection. */
struct client_response {
    llhttp_t parser;
    struct buffer body;
    bool keep_body;         /* false: the bodies of answers with status 200 are skipped */
    bool closes;            /* the server will close the connection */
    int64_t retry_after_ms; /* header x-amz-retry-after of an answer other than 200; -1: none */
    client_answer *answer;
    void *context;
    char header[32]; /* the name of the current header, cut at its size */
    size_t header_size;
    bool header_ended;
};

/* `r` is zeroed, or was used before and keeps its memory. */
void client_response_init(struct client_response *r, bool keep_body, client_answer *answer,
                          void *context);
void client_response_deinit(struct client_response *r);

/* STATUS_MALFORMED: not HTTP; the connection must be closed. */
enum status client_response_feed(struct client_response *r, struct slice bytes);
