/* address.h - where a socket listens or connects to. */
#pragma once

#include <netinet/in.h>

#include "base/buffer.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* A numeric address, IPv4 or IPv6, or a name. For a name the resolver may block. STATUS_NOT_FOUND
 * with errno EADDRNOTAVAIL. */
enum status address_resolve(const char *host, uint16_t port, union address *out);
socklen_t address_size(const union address *a);

/* Whether only this machine reaches the address. A name is resolved first; a name that does not
 * resolve is not loopback. */
bool address_is_loopback(const char *host);

/* "HOST:PORT" or "[HOST]:PORT" from a command line; `host` gets a terminated text.
 * STATUS_MALFORMED. */
enum status address_parse(struct slice text, struct buffer *host, uint16_t *port);

/* Small messages leave without delay. The kernel finds a vanished peer within two minutes, whether
 * the connection is idle or has unacknowledged data. */
void socket_set_options(int fd);

/* One line for people: why listening on or connecting to `host` failed with `error`, an errno. */
void address_explain(const char *verb, const char *host, uint16_t port, int error,
                     struct buffer *out);
