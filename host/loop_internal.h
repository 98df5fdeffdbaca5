/* loop_internal.h - declarations shared by the files of the loop. Nothing outside host/ includes
 * it.
 *
 * Every submission carries an enum operation in the low four bits of its user data. The bits above
 * hold a connection's id (for OPERATION_CONNECT to OPERATION_SEND) or a pointer, which malloc
 * aligns to 16. */
#pragma once

#include <liburing.h>
#include <pthread.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "host/connection.h"
#include "host/loop.h"

enum operation {
    OPERATION_IGNORED, /* the completion of a cancellation or a delay */
    OPERATION_ACCEPT,  /* a listener */
    OPERATION_CONNECT, /* a connection: this and the next two */
    OPERATION_RECEIVE,
    OPERATION_SEND,
    OPERATION_WRITE, /* a file write */
    OPERATION_WAKE,
    OPERATION_SIGNAL,
};

enum {
    OPERATION_BITS = 4,
    RING_ENTRIES = 1024,
    COMPLETION_ENTRIES = 8192,
    RECEIVE_BUFFERS = 512, /* a power of two */
    RECEIVE_BUFFER_SIZE = 8192,
    SEND_CHUNK_SIZE_MAX = 1 << 20, /* so that connection_unsent follows a long transfer */
    ACCEPT_RETRY_MS = 50,          /* time to the next accept when out of descriptors */
    LINGER_MS = 2000,              /* the longest wait of a closed connection for its peer's end */
};

TAILQ_HEAD(connection_list, connection);
LIST_HEAD(listener_list, listener);
LIST_HEAD(worker_list, worker);
LIST_HEAD(file_write_list, file_write);

struct connection_table {
    struct connection **slots; /* owns; a slot's struct is reused under a new generation */
    uint32_t count;
    size_t capacity;
    struct connection_list unused;
    struct connection_list queued;    /* to be serviced before the loop waits */
    struct connection_list lingering; /* in the order of linger_until */
};

struct loop {
    struct io_uring ring;
    int64_t in_flight; /* submissions without their last completion */
    struct instant now;
    int64_t wall_ms;
    bool dispatching;
    int64_t dispatch_ns; /* when the last dispatch began */
    int64_t queued_ns;   /* how long events have waited when the dispatch began, at most */
    struct io_uring_buf_ring *receive_ring; /* owns, with receive_memory */
    uint8_t *receive_memory;
    bool multishot_accept; /* cleared when the kernel refuses it */
    bool multishot_receive;
    struct connection_table connections;
    struct listener_list listeners;
    struct worker_list workers;
    struct file_write_list file_writes; /* owns */
    int wake_fd;                        /* -1 until the first worker */
    uint64_t wake_count;
    int signal_fd;                        /* -1 until loop_on_stop */
    struct signalfd_siginfo *signal_info; /* owns */
    void (*stop)(void *context);
    void *stop_context;
    struct loop_faults faults;
};

/* Makes room for `count` submissions that reach the kernel together. */
void loop_reserve(struct loop *l, unsigned count);
/* The next submission. The caller prepares it, then sets its user data by loop_mark. */
struct io_uring_sqe *loop_submission(struct loop *l);
void loop_mark(struct loop *l, struct io_uring_sqe *sqe, enum operation operation, uint64_t id);
void loop_cancel(struct loop *l, enum operation operation, uint64_t id);
/* The id of an operation on a listener or a file write. */
uint64_t loop_id_of(const void *pointer);

/* connection.c */
void connections_init(struct connection_table *table);
void connections_deinit(struct connection_table *table);
void connections_shut(struct connection_table *table);
/* Does what callbacks have requested: deliveries after a pause, sends, closing. */
void connections_service(struct loop *l);
void connections_expire(struct loop *l); /* ends overdue lingering connections */
/* Ends the connection of a listener, the one with this `clients`, that lingers for longest. False:
 * there is none. */
bool connections_end_lingering(struct loop *l, const int64_t *clients);
/* The slots in use of connections that count in `clients`. */
int64_t connections_of_listener(const struct loop *l, const int64_t *clients);
struct instant connections_deadline(const struct loop *l);
void connection_complete(struct loop *l, enum operation operation, uint64_t id,
                         const struct io_uring_cqe *cqe);
/* Takes over a connected socket. `clients` is decremented when the connection is gone. */
struct connection *connection_adopt(struct loop *l, int fd, int64_t *clients,
                                    const struct connection_handler *handler, void *context);

/* listener.c */
void listener_complete(struct listener *li, const struct io_uring_cqe *cqe);
void listeners_retry(struct loop *l);
struct instant listeners_deadline(const struct loop *l);
void listeners_deinit(struct loop *l);

/* file_write.c */
struct file_write;
void file_write_complete(struct file_write *w, int result);
void file_writes_deinit(struct loop *l);

/* worker.c */
void workers_wake(struct loop *l); /* jobs have finished */
void workers_deinit(struct loop *l);

/* stop_signal.c */
void stop_signal_complete(struct loop *l, int result);
void stop_signal_deinit(struct loop *l);
