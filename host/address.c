/* address.c - parses, resolves and explains addresses. */
#include "host/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>

enum status address_resolve(const char *host, uint16_t port, union address *out)
{
    *out = (union address){0};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host, NULL, &hints, &found);
    if (result != 0 || found->ai_addrlen > sizeof *out) {
        if (result == 0)
            freeaddrinfo(found);
        errno = EADDRNOTAVAIL;
        return STATUS_NOT_FOUND;
    }
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (out->any.sa_family == AF_INET6)
        out->v6.sin6_port = htons(port);
    else
        out->v4.sin_port = htons(port);
    return STATUS_OK;
}

socklen_t address_size(const union address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
}

bool address_is_loopback(const char *host)
{
    union address a;
    if (address_resolve(host, 0, &a) != STATUS_OK)
        return false;
    if (a.any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
    return ntohl(a.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

enum status address_parse(struct slice text, struct buffer *host, uint16_t *port)
{
    const uint8_t *colon = text.size ? memrchr(text.data, ':', text.size) : NULL;
    if (colon == NULL)
        return STATUS_MALFORMED;
    struct slice name = slice_make(text.data, (size_t)(colon - text.data));
    struct slice number = slice_make(colon + 1, text.size - name.size - 1);
    if (name.size >= 2 && name.data[0] == '[' && name.data[name.size - 1] == ']')
        name = slice_make(name.data + 1, name.size - 2);
    else if (name.size && memchr(name.data, ':', name.size) != NULL)
        return STATUS_MALFORMED;
    int64_t value = slice_number(number);
    if (name.size == 0 || memchr(name.data, 0, name.size) != NULL || value < 0 ||
        value > UINT16_MAX)
        return STATUS_MALFORMED;
    *port = (uint16_t)value;
    buffer_set(host, name);
    buffer_append_u8(host, 0);
    host->size--;
    return STATUS_OK;
}

void socket_set_options(int fd)
{
    static const int on = 1, idle_s = 60, interval_s = 10, count = 6, unacknowledged_ms = 60000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

void address_explain(const char *verb, const char *host, uint16_t port, int error,
                     struct buffer *out)
{
    const char *hint = "";
    if (error == EADDRINUSE)
        hint = " (another process listens there: choose another port, or stop it)";
    else if (error == EACCES)
        hint = " (ports below 1024 need privileges)";
    else if (error == EADDRNOTAVAIL)
        hint = " (no such name or address on this machine)";
    buffer_append_format(out, "cannot %s %s:%u: %s%s", verb, host, port, strerror(error), hint);
}
