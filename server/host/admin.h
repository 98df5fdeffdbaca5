/* admin.h - the admin listener of a router: its address and its token. */
#pragma once

#include "host/address.h"
#include "router/http/http.h"
#include "server/host/http_server.h"

enum {
    ADMIN_PORT_OFFSET = 600, /* added to the public port if --admin gives no port */
};

struct admin {
    struct http_address at;
    char token[HTTP_BEARER_MAX]; /* empty: no token is needed */
};

/* For struct router_options. */
static inline const char *admin_token(const struct admin *a)
{
    return a->token[0] == '\0' ? NULL : a->token;
}

/* The admin port that belongs to a public port; 0, any free one, to none. */
uint16_t admin_port_of(uint16_t public_port);

/* Writes a line to standard error where the public port has no admin port of its own. `program`:
 * its subcommand. */
void admin_print_port(const char *program, uint16_t public_port, uint16_t admin_port);

/* For options of commands: a token from a file, a line of 16 to 127 printable characters. NULL: it
 * is in `token`, of HTTP_BEARER_MAX bytes. "": `error` gets the fault. */
const char *admin_take_token(void *token, const char *path, struct buffer *error);

/* The options of the admin listener; borrows. */
struct admin_options {
    const char *address; /* empty: loopback, at the public port's admin port */
    uint16_t port;
    uint16_t public_port;
    const char *token_file; /* NULL: none */
};

/* Borrows the address. STATUS_MALFORMED: the listener would be open to other machines without a
 * token, or the token cannot be read. `error` says which. */
enum status admin_of(const struct admin_options *w, struct admin *out, struct buffer *error);
