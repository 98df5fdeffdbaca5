/* client_request.h - client requests as bytes in a buffer; no I/O.
 *
 * Used by the load generator, by subcommands that ask a router, and by the simulator's clients. */
#pragma once

#include "base/buffer.h"

enum {
    CLIENT_HOST_SIZE_MAX = 256
};

struct client_url {
    char host[CLIENT_HOST_SIZE_MAX];
    uint16_t port;
};

/* http://HOST:PORT, with or without a final /. Returns NULL, or this form. */
const char *client_url_parse(void *url, const char *text); /* struct client_url */

/* The head of a DynamoDB operation, up to the digits of Content-Length. `host` and `port` form the
 * Host header; port 0 is left out. The signature is well-formed but wrong: some servers require
 * one. */
void client_write_head(struct buffer *out, const char *host, uint16_t port, const char *operation,
                       bool is_unsigned);

/* The digits of Content-Length and the end of the head: the body follows. */
void client_write_length(struct buffer *out, size_t length);

/* A whole DynamoDB operation. */
void client_write_operation(struct buffer *out, const struct client_url *url, const char *operation,
                            struct slice body);

/* A whole request without a body: `method_and_path` as in "GET /weir/events". `bearer`: the token
 * of the admin listener; NULL or empty: none. */
void client_write_plain(struct buffer *out, const struct client_url *url,
                        const char *method_and_path, const char *bearer);

/* The same with a body of JSON: `method_and_path` as in "POST /weir/unshard". */
void client_write_json(struct buffer *out, const struct client_url *url,
                       const char *method_and_path, const char *bearer, struct slice body);

/* The value of a parameter in a path: every byte but those of RFC 3986, 2.3, becomes %XX. */
void client_write_percent(struct buffer *out, struct slice text);
