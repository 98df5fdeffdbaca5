/* wire.c - see wire.h. Sockets do not block; poll waits for them, up to the deadline. */
#include "client/wire.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 16 * 1024
};

int64_t wire_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void wire_pause(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

void wire_close(struct wire *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    w->used = false;
}

/* False with errno: the deadline has come (ETIMEDOUT), or poll failed. */
static bool wire_wait(int fd, short events, int64_t deadline_ms)
{
    struct pollfd polled = {.fd = fd, .events = events};
    for (;;) {
        const int64_t left = deadline_ms - wire_now_ms();
        const int ready =
            left <= 0 ? 0 : poll(&polled, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (ready > 0)
            return true;
        if (ready == 0)
            errno = ETIMEDOUT;
        if (errno != EINTR)
            return false;
    }
}

/* -1 with errno. */
static int wire_connect_to(const struct addrinfo *address, int64_t deadline_ms)
{
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int error = 0;
    socklen_t size = sizeof error;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0)
        error = errno;
    if (error == EINPROGRESS || error == EINTR) {
        if (!wire_wait(fd, POLLOUT, deadline_ms))
            error = errno;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
    }
    if (error == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

/* The first address of a list that takes a connection. -1 with errno: why the first address did
 * not. */
static int wire_connect_to_any(const struct addrinfo *address, int64_t deadline_ms)
{
    int why = 0;
    for (; address != NULL; address = address->ai_next) {
        const int fd = wire_connect_to(address, deadline_ms);
        if (fd >= 0)
            return fd;
        if (why == 0)
            why = errno;
    }
    errno = why;
    return -1;
}

/* `localhost` is this machine, also where no resolver knows that name: a bare system has no
 * /etc/hosts. Source: RFC 6761, section 6.3. */
static int wire_connect_to_localhost(const char *port, int64_t deadline_ms)
{
    const in_port_t number = htons((uint16_t)strtoul(port, NULL, 10));
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = number, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = number, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct addrinfo second = {
        .ai_family = AF_INET6, .ai_addr = (struct sockaddr *)&v6, .ai_addrlen = sizeof v6};
    const struct addrinfo first = {.ai_family = AF_INET,
                                   .ai_addr = (struct sockaddr *)&v4,
                                   .ai_addrlen = sizeof v4,
                                   .ai_next = &second};
    return wire_connect_to_any(&first, deadline_ms);
}

static bool wire_connect(struct wire *w, int64_t deadline_ms, struct buffer *error)
{
    if (strcasecmp(w->host, "localhost") == 0) {
        w->fd = wire_connect_to_localhost(w->port, deadline_ms);
    } else {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
        struct addrinfo *found = NULL;
        const int wrong = getaddrinfo(w->host, w->port, &hints, &found);
        if (wrong != 0) {
            buffer_append_format(error, "cannot look up the host name %s: %s", w->host,
                                 gai_strerror(wrong));
            return false;
        }
        w->fd = wire_connect_to_any(found, deadline_ms);
        const int why = errno;
        freeaddrinfo(found);
        errno = why;
    }
    if (w->fd < 0)
        buffer_append_format(error, "cannot connect to %s:%s: %s", w->host, w->port,
                             strerror(errno));
    return w->fd >= 0;
}

static bool wire_send(const struct wire *w, struct slice request, int64_t deadline_ms)
{
    while (request.size > 0) {
        const ssize_t sent = send(w->fd, request.data, request.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            if (!wire_wait(w->fd, POLLOUT, deadline_ms))
                return false;
        } else if (sent < 0 && errno != EINTR) {
            return false;
        } else if (sent > 0) {
            request = slice_make(request.data + sent, request.size - (size_t)sent);
        }
    }
    return true;
}

/* False with errno; 0: the server closed the connection, or sent no HTTP (EPROTO). */
static bool wire_receive(const struct wire *w, int64_t deadline_ms, struct http_reply *reply)
{
    uint8_t piece[PIECE_SIZE];
    enum http_reply_state state = HTTP_REPLY_MORE;
    while (state == HTTP_REPLY_MORE) {
        const ssize_t received = recv(w->fd, piece, sizeof piece, 0);
        if (received > 0) {
            state = http_reply_feed(reply, slice_make(piece, (size_t)received));
        } else if (received == 0) {
            errno = 0;
            return false;
        } else if (errno == EAGAIN) {
            if (!wire_wait(w->fd, POLLIN, deadline_ms))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    errno = EPROTO;
    return state == HTTP_REPLY_WHOLE;
}

enum wire_result wire_exchange(struct wire *w, struct slice request, int64_t deadline_ms,
                               struct http_reply *reply, struct buffer *error)
{
    http_reply_clear(reply);
    if (w->fd < 0 && !wire_connect(w, deadline_ms, error))
        return WIRE_FAILED;
    const bool kept = w->used;
    const bool done = wire_send(w, request, deadline_ms) && wire_receive(w, deadline_ms, reply);
    const int why = errno;
    if (!done || !reply->keeps)
        wire_close(w);
    else
        w->used = true;
    if (done)
        return WIRE_DONE;
    if (kept && reply->raw.size == 0 && why != ETIMEDOUT)
        return WIRE_STALE;
    buffer_append_format(error, "no answer from %s:%s: %s", w->host, w->port,
                         why == 0 ? "the connection was closed" : strerror(why));
    return WIRE_FAILED;
}
