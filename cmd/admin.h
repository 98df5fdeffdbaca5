/* admin.h - the admin listener of a router: where it is and who may use it. */
#ifndef WEIR_CMD_ADMIN_H
#define WEIR_CMD_ADMIN_H

#include "cmd/options.h"
#include "host/address.h"
#include "router/http/http.h"
#include "server/host/http_server.h"

enum {
    ADMIN_PORT_OFFSET = 600, /* from the public port, where --admin does not say */
};

struct admin {
    struct http_address at;
    char token[HTTP_BEARER_MAX]; /* empty: none is needed */
};

/* For struct router_options. */
static inline const char *admin_token(const struct admin *a)
{
    return a->token[0] == '\0' ? NULL : a->token;
}

/* The admin port that belongs to a public port; 0, any free one, to none. */
uint16_t admin_port_of(uint16_t public_port);

/* A token from a file: a line of 16 to 127 printable characters. */
enum status admin_read_token(const char *path, char out[HTTP_BEARER_MAX], struct buffer *error);

/* What the options say. STATUS_MALFORMED: the listener would be open to other machines without a
 * token, or the token cannot be read; `error` says so. */
enum status admin_of(const struct options *o, struct admin *out, struct buffer *error);

#endif
