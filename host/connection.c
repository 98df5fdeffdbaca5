/* connection.c - one TCP stream: receiving, sending, and an end that loses nothing.
 *
 *            connection_close              flushed                peer's end, or LINGER_MS
 *   OPEN ---------------------> CLOSING ------------> LINGERING ------------> GONE -> slot unused
 *     |                           |                                             ^
 *     +--- error, or connection_abort: `closed` is told on leaving these two ---+
 *
 * Why LINGERING: closing a socket whose peer still sends resets the connection. The reset may
 * overtake our last bytes. So we end our side, then read and drop bytes until the peer has ended
 * its side.
 *
 * Invariants:
 *   CONNECTION-1  at most one receive and one send are in flight.
 *   CONNECTION-2  a slot is reused only after every operation on it has completed: no late
 *                 completion meets a new connection, and no buffer is freed while the kernel reads
 *                 it.
 *   CONNECTION-3  `closed` is called exactly once.
 *   CONNECTION-4  bytes are delivered in order: bytes held during a pause come first.
 *
 * Functions that the user calls only queue the connection: none of them calls `closed`. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/address.h"
#include "host/connection.h"
#include "host/loop_internal.h"

enum {
    SLOT_BITS = 20, /* the rest of an id counts the slot's generations, from 1 */
    SLOTS_MAX = 1 << SLOT_BITS,
    BUFFER_KEPT_MAX = 64 * 1024, /* an output buffer larger than this is freed when empty */
    /* The two limits for a connection with a `sent` callback. There may be thousands of such
     * connections, and each must show progress. */
    WATCHED_KEPT_MAX = 16 * 1024,
    WATCHED_CHUNK_SIZE_MAX = 64 * 1024,
};

enum connection_state {
    CONNECTION_UNUSED,
    CONNECTION_CONNECTING,
    CONNECTION_OPEN,
    CONNECTION_CLOSING,
    CONNECTION_LINGERING,
    CONNECTION_GONE,
};

struct connection {
    TAILQ_ENTRY(connection) link;       /* unused or lingering */
    TAILQ_ENTRY(connection) queue_link; /* queued */
    struct loop *loop;                  /* borrows */
    uint64_t id;
    int fd; /* owns */
    enum connection_state state;
    bool queued;
    bool connecting; /* an operation is in flight, as the next two */
    bool receiving;
    bool sending;
    bool receive_cancelled; /* the receive in flight was told to stop */
    bool paused;
    bool peer_ended;
    bool peer_end_reported;
    bool aborted;
    bool closed_reported;
    struct connection_handler handler;
    void *context;       /* borrows */
    void *user;          /* borrows */
    int64_t *clients;    /* borrows; NULL for connections of our own */
    struct buffer out;   /* sent by the user since the send in flight began */
    struct buffer taken; /* covered by the send in flight */
    size_t taken_sent;
    struct buffer held; /* received during a pause */
    struct instant linger_until;
    union address peer; /* while connecting */
};

/* ---- the table ---- */

void connections_init(struct connection_table *table)
{
    TAILQ_INIT(&table->unused);
    TAILQ_INIT(&table->queued);
    TAILQ_INIT(&table->lingering);
}

void connections_deinit(struct connection_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct connection *c = table->slots[i];
        if (c->state != CONNECTION_UNUSED)
            close(c->fd);
        buffer_deinit(&c->out);
        buffer_deinit(&c->taken);
        buffer_deinit(&c->held);
        free(c);
    }
    free(table->slots);
}

void connections_shut(struct connection_table *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->slots[i]->state != CONNECTION_UNUSED)
            shutdown(table->slots[i]->fd, SHUT_RDWR);
}

static struct connection *new_slot(struct connection_table *table)
{
    must(table->count < SLOTS_MAX);
    table->slots =
        must_grow(table->slots, table->count, &table->capacity, sizeof(struct connection *));
    struct connection *c = must_calloc(1, sizeof *c);
    c->id = table->count;
    table->slots[table->count++] = c;
    return c;
}

static struct connection *connection_take_slot(struct loop *l)
{
    struct connection_table *table = &l->connections;
    struct connection *c = TAILQ_FIRST(&table->unused);
    if (c != NULL)
        TAILQ_REMOVE(&table->unused, c, link);
    else
        c = new_slot(table);
    *c = (struct connection){.loop = l, .id = c->id + SLOTS_MAX, .fd = -1};
    return c;
}

static void connection_queue(struct connection *c)
{
    if (c->queued)
        return;
    c->queued = true;
    TAILQ_INSERT_TAIL(&c->loop->connections.queued, c, queue_link);
}

uint64_t connection_id(const struct connection *c)
{
    return c->id;
}

void connection_peer(const struct connection *c, char out[PEER_TEXT_MAX])
{
    union address a;
    socklen_t size = sizeof a;
    char host[INET6_ADDRSTRLEN];
    bool known = c->fd >= 0 && getpeername(c->fd, &a.any, &size) == 0;
    if (known && a.any.sa_family == AF_INET6 &&
        inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host) != NULL)
        snprintf(out, PEER_TEXT_MAX, "[%s]:%u", host, ntohs(a.v6.sin6_port));
    else if (known && a.any.sa_family == AF_INET &&
             inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host) != NULL)
        snprintf(out, PEER_TEXT_MAX, "%s:%u", host, ntohs(a.v4.sin_port));
    else
        snprintf(out, PEER_TEXT_MAX, "-");
}

static bool is_live(const struct connection *c)
{
    return c->state == CONNECTION_CONNECTING || c->state == CONNECTION_OPEN ||
           c->state == CONNECTION_CLOSING;
}

struct connection *loop_connection(struct loop *l, uint64_t id)
{
    uint64_t slot = id & (SLOTS_MAX - 1);
    if (slot >= l->connections.count)
        return NULL;
    struct connection *c = l->connections.slots[slot];
    return c->id == id && is_live(c) ? c : NULL;
}

int64_t connections_of_listener(const struct loop *l, const int64_t *clients)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < l->connections.count; i++) {
        const struct connection *c = l->connections.slots[i];
        count += c->state != CONNECTION_UNUSED && c->clients == clients;
    }
    return count;
}

void connection_set_user(struct connection *c, void *user)
{
    c->user = user;
}

void *connection_user(const struct connection *c)
{
    return c->user;
}

/* ---- receiving ---- */

static bool can_receive(const struct connection *c)
{
    if (c->peer_ended || c->receiving)
        return false;
    if (c->state == CONNECTION_OPEN)
        return !c->paused && c->held.size == 0;
    return c->state == CONNECTION_CLOSING || c->state == CONNECTION_LINGERING;
}

static void arm_receive(struct connection *c)
{
    struct loop *l = c->loop;
    must(!c->receiving); /* CONNECTION-1 */
    struct io_uring_sqe *sqe = loop_submission(l);
    if (l->multishot_receive && !l->faults.without_multishot)
        io_uring_prep_recv_multishot(sqe, c->fd, NULL, 0, 0);
    else
        io_uring_prep_recv(sqe, c->fd, NULL, RECEIVE_BUFFER_SIZE, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    c->receiving = true;
    c->receive_cancelled = false;
    loop_mark(l, sqe, OPERATION_RECEIVE, c->id);
}

static void cancel_receive(struct connection *c)
{
    if (!c->receiving || c->receive_cancelled)
        return;
    c->receive_cancelled = true;
    loop_cancel(c->loop, OPERATION_RECEIVE, c->id);
}

static void give_back_buffer(struct loop *l, unsigned short number)
{
    io_uring_buf_ring_add(l->receive_ring, l->receive_memory + (size_t)number * RECEIVE_BUFFER_SIZE,
                          RECEIVE_BUFFER_SIZE, number, io_uring_buf_ring_mask(RECEIVE_BUFFERS), 0);
    io_uring_buf_ring_advance(l->receive_ring, 1);
}

static void connection_deliver(struct connection *c, struct slice bytes)
{
    if (c->state != CONNECTION_OPEN)
        return; /* closing: read only to notice the peer's end */
    if (c->paused || c->held.size > 0) {
        buffer_append_slice(&c->held, bytes);
        cancel_receive(c);
        return;
    }
    c->handler.received(c->context, c, bytes);
}

/* The peer has sent its last byte; it may still read. */
static void report_peer_end(struct connection *c)
{
    if (c->state != CONNECTION_OPEN || c->peer_end_reported || c->paused || c->held.size > 0)
        return;
    c->peer_end_reported = true;
    if (c->handler.ended != NULL)
        c->handler.ended(c->context, c);
    else
        connection_close(c);
}

static void deliver_held(struct connection *c)
{
    if (c->paused || c->state != CONNECTION_OPEN)
        return;
    if (c->held.size > 0) {
        struct buffer held = c->held;
        c->held = (struct buffer){0};
        c->handler.received(c->context, c, buffer_slice(&held));
        buffer_deinit(&held);
    }
    if (c->peer_ended)
        report_peer_end(c);
}

void connection_pause(struct connection *c, bool paused)
{
    if (c->paused == paused)
        return;
    c->paused = paused; /* the receive is cancelled only if bytes come: most pauses are short */
    if (!paused)
        connection_queue(c);
}

/* ---- the end ---- */

static void become_closed(struct connection *c)
{
    if (c->state == CONNECTION_LINGERING)
        TAILQ_REMOVE(&c->loop->connections.lingering, c, link);
    c->state = CONNECTION_GONE;
    if (c->connecting)
        loop_cancel(c->loop, OPERATION_CONNECT, c->id);
    if (c->receiving || c->sending)
        shutdown(c->fd, SHUT_RDWR); /* receive and send complete with an end or an error */
    connection_queue(c);
}

static void report_closed(struct connection *c, int error)
{
    must(!c->closed_reported); /* CONNECTION-3 */
    c->closed_reported = true;
    if (c->handler.closed != NULL)
        c->handler.closed(c->context, c, error);
}

static void connection_fail(struct connection *c, int error)
{
    bool reported = !is_live(c);
    become_closed(c);
    if (!reported)
        report_closed(c, error);
}

static void begin_lingering(struct connection *c)
{
    struct loop *l = c->loop;
    shutdown(c->fd, SHUT_WR);
    c->state = CONNECTION_LINGERING;
    c->linger_until = instant_add(l->now, duration_ms(LINGER_MS));
    TAILQ_INSERT_TAIL(&l->connections.lingering, c, link);
    if (can_receive(c))
        arm_receive(c);
}

static void finish_closing(struct connection *c)
{
    bool connected = !c->connecting;
    if (connected && !c->peer_ended)
        begin_lingering(c);
    else
        become_closed(c);
    report_closed(c, 0);
}

void connection_close(struct connection *c)
{
    if (!is_live(c) || c->state == CONNECTION_CLOSING)
        return;
    c->state = CONNECTION_CLOSING;
    connection_queue(c);
}

void connection_abort(struct connection *c)
{
    if (!is_live(c))
        return;
    c->state = CONNECTION_CLOSING;
    c->aborted = true;
    connection_queue(c);
}

void connection_abandon(struct connection *c)
{
    c->handler = (struct connection_handler){0}; /* `received` is not called while closing */
    connection_close(c);
}

void connections_expire(struct loop *l)
{
    struct connection *c;
    while ((c = TAILQ_FIRST(&l->connections.lingering)) != NULL &&
           !instant_before(l->now, c->linger_until))
        become_closed(c);
}

bool connections_end_lingering(struct loop *l, const int64_t *clients)
{
    struct connection *c;
    TAILQ_FOREACH (c, &l->connections.lingering, link) {
        if (c->clients == clients)
            break;
    }
    if (c != NULL)
        become_closed(c);
    return c != NULL;
}

struct instant connections_deadline(const struct loop *l)
{
    if (!TAILQ_EMPTY(&l->connections.queued))
        return l->now;
    const struct connection *c = TAILQ_FIRST(&l->connections.lingering);
    return c ? c->linger_until : INSTANT_NEVER;
}

static void connection_release(struct connection *c)
{
    struct connection_table *table = &c->loop->connections;
    must(!c->connecting);     /* CONNECTION-2 */
    must(!c->receiving);      /* CONNECTION-2 */
    must(!c->sending);        /* CONNECTION-2 */
    must(c->closed_reported); /* CONNECTION-3 */
    close(c->fd);
    buffer_deinit(&c->out);
    buffer_deinit(&c->taken);
    buffer_deinit(&c->held);
    if (c->clients != NULL)
        (*c->clients)--;
    c->state = CONNECTION_UNUSED;
    TAILQ_INSERT_TAIL(&table->unused, c, link);
}

/* ---- sending ---- */

void connection_send(struct connection *c, struct slice bytes)
{
    if ((c->state != CONNECTION_OPEN && c->state != CONNECTION_CONNECTING) || bytes.size == 0)
        return;
    buffer_append_slice(&c->out, bytes);
    connection_queue(c);
}

size_t connection_unsent(const struct connection *c)
{
    return c->out.size + c->taken.size - c->taken_sent;
}

static void arm_send(struct connection *c)
{
    struct loop *l = c->loop;
    size_t left = c->taken.size - c->taken_sent;
    size_t most = c->handler.sent != NULL ? WATCHED_CHUNK_SIZE_MAX : SEND_CHUNK_SIZE_MAX;
    must(!c->sending); /* CONNECTION-1 */
    struct io_uring_sqe *sqe = loop_submission(l);
    io_uring_prep_send(sqe, c->fd, c->taken.data + c->taken_sent, MIN(left, most),
                       MSG_NOSIGNAL | MSG_WAITALL);
    c->sending = true;
    loop_mark(l, sqe, OPERATION_SEND, c->id);
}

static void swap_buffers(struct connection *c)
{
    struct buffer emptied = c->taken;
    c->taken = c->out;
    c->taken_sent = 0;
    buffer_clear(&emptied);
    if (emptied.capacity > (c->handler.sent != NULL ? WATCHED_KEPT_MAX : BUFFER_KEPT_MAX))
        buffer_deinit(&emptied);
    c->out = emptied;
}

static void complete_send(struct connection *c, int result)
{
    c->sending = false;
    if (result < 0) {
        connection_fail(c, -result);
        return;
    }
    c->taken_sent += (size_t)result;
    must(c->taken_sent <= c->taken.size);
    if (c->taken_sent == c->taken.size && c->handler.sent != NULL &&
        c->taken.capacity > WATCHED_KEPT_MAX) {
        buffer_deinit(&c->taken);
        c->taken_sent = 0;
    }
    if (c->state == CONNECTION_GONE || connection_unsent(c) > 0 || c->state == CONNECTION_CLOSING)
        connection_queue(c);
    if (c->handler.sent != NULL && is_live(c))
        c->handler.sent(c->context, c);
}

static void connection_service(struct connection *c)
{
    if (c->state == CONNECTION_GONE) {
        if (!c->connecting && !c->receiving && !c->sending)
            connection_release(c);
        return;
    }
    if (c->aborted) {
        become_closed(c);
        report_closed(c, 0);
        return;
    }
    deliver_held(c);
    if (can_receive(c))
        arm_receive(c);
    if (c->connecting) {
        if (c->state == CONNECTION_CLOSING && connection_unsent(c) == 0)
            finish_closing(c);
        return;
    }
    if (!c->sending && c->taken_sent == c->taken.size && c->out.size > 0)
        swap_buffers(c);
    if (!c->sending && c->taken_sent < c->taken.size)
        arm_send(c);
    if (c->state == CONNECTION_CLOSING && connection_unsent(c) == 0)
        finish_closing(c);
}

void connections_service(struct loop *l)
{
    struct connection_list *queued = &l->connections.queued;
    struct connection *last = TAILQ_LAST(queued, connection_list), *c = NULL;
    /* Connections that callbacks queue behind `last` wait for the next call: no turn is endless. */
    while (last != NULL && c != last) {
        c = TAILQ_FIRST(queued);
        TAILQ_REMOVE(queued, c, queue_link);
        c->queued = false;
        connection_service(c);
    }
}

/* ---- completions ---- */

static void complete_connect(struct connection *c, int result)
{
    c->connecting = false;
    if (c->state == CONNECTION_GONE) {
        connection_queue(c);
        return;
    }
    if (result < 0) {
        connection_fail(c, -result);
        return;
    }
    if (c->state == CONNECTION_CLOSING) {
        connection_queue(c);
        return;
    }
    c->state = CONNECTION_OPEN;
    connection_queue(c);
    if (c->handler.opened != NULL)
        c->handler.opened(c->context, c);
}

static bool is_passing(int error)
{
    return error == ENOBUFS || error == EINTR || error == EAGAIN || error == ECANCELED;
}

static void end_of_stream(struct connection *c)
{
    c->peer_ended = true;
    if (c->state == CONNECTION_LINGERING)
        become_closed(c);
    else
        report_peer_end(c);
}

static void complete_receive(struct connection *c, const struct io_uring_cqe *cqe)
{
    struct loop *l = c->loop;
    if (!(cqe->flags & IORING_CQE_F_MORE))
        c->receiving = false;
    if (cqe->res > 0) {
        unsigned short number = (unsigned short)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
        must(cqe->flags & IORING_CQE_F_BUFFER);
        must(number < RECEIVE_BUFFERS);
        connection_deliver(c, slice_make(l->receive_memory + (size_t)number * RECEIVE_BUFFER_SIZE,
                                         (size_t)cqe->res));
        give_back_buffer(l, number);
    } else if (cqe->res == 0) {
        end_of_stream(c);
    } else if (cqe->res == -EINVAL && l->multishot_receive) {
        l->multishot_receive = false; /* before Linux 6.0 */
    } else if (!is_passing(-cqe->res)) {
        connection_fail(c, -cqe->res);
    }
    if (!c->receiving && c->state == CONNECTION_GONE)
        connection_queue(c);
    else if (can_receive(c))
        arm_receive(c);
}

void connection_complete(struct loop *l, enum operation operation, uint64_t id,
                         const struct io_uring_cqe *cqe)
{
    struct connection *c = l->connections.slots[id & (SLOTS_MAX - 1)];
    must(c->id == id); /* CONNECTION-2 */
    must(c->state != CONNECTION_UNUSED);
    if (operation == OPERATION_RECEIVE)
        complete_receive(c, cqe);
    else if (operation == OPERATION_SEND)
        complete_send(c, cqe->res);
    else
        complete_connect(c, cqe->res);
}

/* ---- beginning ---- */

struct connection *connection_adopt(struct loop *l, int fd, int64_t *clients,
                                    const struct connection_handler *handler, void *context)
{
    struct connection *c = connection_take_slot(l);
    c->fd = fd;
    c->state = CONNECTION_OPEN;
    c->clients = clients;
    c->handler = *handler;
    c->context = context;
    if (handler->sent != NULL) { /* the kernel's own bound on unsent bytes is megabytes */
        static const int most = WATCHED_CHUNK_SIZE_MAX;
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
    }
    connection_queue(c); /* arms the receive, unless `opened` pauses or closes it */
    return c;
}

enum status loop_connect(struct loop *l, const char *address, uint16_t port,
                         const struct connection_handler *handler, void *context,
                         struct connection **out)
{
    must(handler->received != NULL);
    union address peer;
    if (address_resolve(address, port, &peer) != STATUS_OK)
        return STATUS_IO;
    int fd = socket(peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return STATUS_IO;
    socket_set_options(fd);
    struct connection *c = connection_take_slot(l);
    c->fd = fd;
    c->state = CONNECTION_CONNECTING;
    c->connecting = true;
    c->handler = *handler;
    c->context = context;
    c->peer = peer;
    struct io_uring_sqe *sqe = loop_submission(l);
    io_uring_prep_connect(sqe, fd, &c->peer.any, address_size(&c->peer));
    loop_mark(l, sqe, OPERATION_CONNECT, c->id);
    *out = c;
    return STATUS_OK;
}
