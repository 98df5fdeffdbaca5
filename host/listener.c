/* listener.c - accepts clients up to the listener's maximum.
 *
 * Invariants:
 *   LISTENER-1  at most one accept is in flight per listener.
 *   LISTENER-2  without an accept in flight, the listener is closed or retry_at is set: running out
 *               of descriptors neither spins nor stops the listener for good.
 *   LISTENER-3  the socket is closed only when no accept is in flight: an accept not yet in the
 *               kernel would use the next file with that number.
 *   LISTENER-4  clients counts the connections that were handed out and still have a slot. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host/address.h"
#include "host/loop_internal.h"

struct listener {
    LIST_ENTRY(listener) link;
    struct loop *loop; /* borrows */
    int fd;            /* owns; -1 once closed */
    uint16_t port;
    bool closing;
    bool accepting;
    struct instant retry_at; /* INSTANT_NEVER, unless out of descriptors */
    int64_t clients;
    int64_t clients_max;
    struct connection_handler handler;
    void *context; /* borrows */
};

static void listener_check(const struct listener *li)
{
    must(li->accepting || li->fd < 0 || li->retry_at.ns != INSTANT_NEVER.ns);      /* LISTENER-2 */
    must_in_tests(li->clients == connections_of_listener(li->loop, &li->clients)); /* LISTENER-4 */
}

static void listener_arm(struct listener *li)
{
    struct loop *l = li->loop;
    must(!li->accepting); /* LISTENER-1 */
    li->accepting = true;
    li->retry_at = INSTANT_NEVER;
    struct io_uring_sqe *sqe = loop_submission(l);
    if (l->multishot_accept && !l->faults.without_multishot)
        io_uring_prep_multishot_accept(sqe, li->fd, NULL, NULL, SOCK_CLOEXEC);
    else
        io_uring_prep_accept(sqe, li->fd, NULL, NULL, SOCK_CLOEXEC);
    loop_mark(l, sqe, OPERATION_ACCEPT, loop_id_of(li));
}

/* Whether there is a place for one more. A client that has its last answer gives up its place. */
static bool has_place(struct listener *li)
{
    return li->clients < li->clients_max || connections_end_lingering(li->loop, &li->clients);
}

static void take_client(struct listener *li, int fd)
{
    if (li->closing || !has_place(li)) {
        close(fd);
        return;
    }
    li->clients++;
    struct connection *c = connection_adopt(li->loop, fd, &li->clients, &li->handler, li->context);
    if (li->handler.opened != NULL)
        li->handler.opened(li->context, c);
}

/* Errors of one client's connect. All other errors concern the machine or the socket: an immediate
 * retry would most likely fail again. */
static bool is_of_one_client(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EAGAIN || error == EPROTO ||
           error == EPERM || error == ENETDOWN || error == EHOSTUNREACH || error == ENETUNREACH;
}

/* The struct stays until loop_destroy: its connections update `clients`. */
static void close_socket(struct listener *li)
{
    must(!li->accepting); /* LISTENER-3 */
    close(li->fd);
    li->fd = -1;
}

/* No accept is in flight after the completion `cqe`. */
static void listener_go_on(struct listener *li, const struct io_uring_cqe *cqe)
{
    struct loop *l = li->loop;
    if (li->closing) {
        close_socket(li);
        return;
    }
    bool unknown = cqe->res == -EINVAL && l->multishot_accept;
    if (unknown)
        l->multishot_accept = false;
    if (cqe->res >= 0 || unknown || is_of_one_client(-cqe->res))
        listener_arm(li);
    else
        li->retry_at = instant_add(l->now, duration_ms(ACCEPT_RETRY_MS));
}

void listener_complete(struct listener *li, const struct io_uring_cqe *cqe)
{
    listener_check(li);
    if (!(cqe->flags & IORING_CQE_F_MORE))
        li->accepting = false;
    if (cqe->res >= 0)
        take_client(li, cqe->res);
    if (!li->accepting)
        listener_go_on(li, cqe);
    listener_check(li);
}

void listeners_retry(struct loop *l)
{
    struct listener *li;
    LIST_FOREACH (li, &l->listeners, link)
        if (li->fd >= 0 && !li->accepting && !instant_before(l->now, li->retry_at))
            listener_arm(li);
}

struct instant listeners_deadline(const struct loop *l)
{
    struct instant earliest = INSTANT_NEVER;
    const struct listener *li;
    LIST_FOREACH (li, &l->listeners, link)
        if (li->fd >= 0)
            earliest = instant_earlier(earliest, li->retry_at);
    return earliest;
}

static int try_bind(const union address *address, union address *actual)
{
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return -1;
    static const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socket_set_options(fd); /* accepted sockets inherit them */
    socklen_t size = sizeof *actual;
    if (bind(fd, &address->any, address_size(address)) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, &actual->any, &size) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* A killed process holds its port until the kernel has freed its io_uring, a moment after the
 * process is gone. A process that is started again at once must not fail for that. */
static int bound_socket(const union address *address, union address *actual)
{
    enum {
        TRIES = 200,
        PAUSE_NS = 10 * 1000 * 1000
    };
    int fd = try_bind(address, actual);
    for (int i = 1; fd < 0 && errno == EADDRINUSE && i < TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        fd = try_bind(address, actual);
    }
    return fd;
}

enum status loop_listen(struct loop *l, const char *address, uint16_t port, int64_t connections_max,
                        const struct connection_handler *handler, void *context,
                        struct listener **out)
{
    must(handler->received != NULL);
    union address requested, actual;
    if (address_resolve(address, port, &requested) != STATUS_OK)
        return STATUS_IO;
    int fd = bound_socket(&requested, &actual);
    if (fd < 0)
        return STATUS_IO;
    struct listener *li = must_calloc(1, sizeof *li);
    *li = (struct listener){
        .loop = l,
        .fd = fd,
        .port = ntohs(actual.any.sa_family == AF_INET6 ? actual.v6.sin6_port : actual.v4.sin_port),
        .clients_max = connections_max,
        .handler = *handler,
        .context = context};
    LIST_INSERT_HEAD(&l->listeners, li, link);
    listener_arm(li);
    listener_check(li);
    *out = li;
    return STATUS_OK;
}

uint16_t listener_port(const struct listener *li)
{
    return li->port;
}

void listener_close(struct listener *li)
{
    listener_check(li);
    if (li->closing)
        return;
    li->closing = true;
    /* No more clients from now on, even while an accept still holds the socket. */
    shutdown(li->fd, SHUT_RDWR);
    if (li->accepting)
        loop_cancel(li->loop, OPERATION_ACCEPT, loop_id_of(li));
    else
        close_socket(li);
}

void listeners_deinit(struct loop *l)
{
    for (struct listener *li; (li = LIST_FIRST(&l->listeners)) != NULL;) {
        LIST_REMOVE(li, link);
        if (li->fd >= 0)
            close(li->fd);
        free(li);
    }
}
