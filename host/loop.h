/* loop.h - one thread's io_uring: sockets, file writes with fsync, timers, finished jobs, signals.
 *
 * Everything is called from the thread that created the loop, callbacks included. Callbacks run
 * inside loop_turn, never inside another function of this file. All operations since the last turn
 * go to the kernel in one call, just before the next turn waits.
 * Needs Linux 5.19; Debian 12 has 6.1.
 * Not here: what the bytes mean. */
#pragma once

#include "base/instant.h"
#include "base/slice.h"
#include "base/status.h"

struct loop;
struct buffer;
struct listener;
struct connection;

/* STATUS_IO with errno set: no io_uring on this kernel, or no memory to lock. */
enum status loop_create(struct loop **out);
/* After a failure of loop_create or loop_on_stop, by its errno: a line that says what to do. Always
 * STATUS_IO. */
enum status loop_explain(struct buffer *error);
/* Closes connections, listeners and workers without further callbacks. Waits for file writes in
 * flight. */
void loop_destroy(struct loop *l);

/* As of the start of this turn's dispatch, or of the last loop_read_clock or loop_waited. */
struct instant loop_now(const struct loop *l);
/* Moves loop_now on without a turn. */
void loop_read_clock(struct loop *l);
int64_t loop_wall_ms(const struct loop *l);
/* Moves loop_now on, and tells how long the event that is being dispatched has waited for this
 * thread, at most: the events of a turn came since the dispatch of the turn before began, or just
 * now if the loop has slept in between. 0 outside of a dispatch. */
struct duration loop_waited(struct loop *l);

/* Submits, waits until something happened or `deadline` passed, dispatches. */
enum status loop_turn(struct loop *l, struct instant deadline);

/* ---- sockets (TCP, loopback by default) ---- */

struct connection_handler {
    /* A client connected, or loop_connect succeeded. The callback may set the user pointer. */
    void (*opened)(void *context, struct connection *c);
    void (*received)(void *context, struct connection *c,
                     struct slice bytes); /* lends for the call */
    /* The peer has sent its last byte but still reads: the user must call connection_close. NULL:
     * the connection closes once all output has left. */
    void (*ended)(void *context, struct connection *c);
    /* The connection is gone, or the connect failed (error = errno, 0 = orderly). The connection is
     * invalid afterwards. */
    void (*closed)(void *context, struct connection *c, int error);
    /* The kernel has taken some of the output; connection_unsent tells how much is left. May be
     * NULL. */
    void (*sent)(void *context, struct connection *c);
};

/* Port 0: the kernel chooses a free port, see listener_port. More than `connections_max` clients
 * are closed at once. Waits up to two seconds for a port in use: a killed process holds its port a
 * moment longer. STATUS_IO with errno. */
enum status loop_listen(struct loop *l, const char *address, uint16_t port, int64_t connections_max,
                        const struct connection_handler *handler, void *context,
                        struct listener **out);
uint16_t listener_port(const struct listener *li);
void listener_close(struct listener *li); /* clients already connected stay */

/* The result comes through `opened` or `closed`. Bytes sent before `opened` leave once connected.
 * For a name as `address` the resolver may block. STATUS_IO with errno: no callback follows. */
enum status loop_connect(struct loop *l, const char *address, uint16_t port,
                         const struct connection_handler *handler, void *context,
                         struct connection **out);

uint64_t connection_id(const struct connection *c); /* never reused in a process; never 0 */
enum {
    PEER_TEXT_MAX = 64
};
/* "ADDRESS:PORT" of the other end; "-" once the other end is gone. */
void connection_peer(const struct connection *c, char out[PEER_TEXT_MAX]);
struct connection *loop_connection(struct loop *l, uint64_t id); /* NULL if gone */
void connection_set_user(struct connection *c, void *user);
void *connection_user(const struct connection *c);

/* Copies into the connection's output. Does nothing while the connection is closing. */
void connection_send(struct connection *c, struct slice bytes);
/* Bytes that the kernel has not taken yet: the caller's measure for back-pressure. */
size_t connection_unsent(const struct connection *c);
/* Stops or resumes reading; while paused, TCP holds the peer back. */
void connection_pause(struct connection *c, bool paused);
/* Stops delivery at once. Closes once all output has left, then calls `closed`. */
void connection_close(struct connection *c);
/* connection_close without waiting for the output to leave. */
void connection_abort(struct connection *c);
/* connection_close without any further callback: for a user that is destroyed first. */
void connection_abandon(struct connection *c);

/* ---- files ---- */

enum {
    WRITE_ALIGNMENT = 4096 /* of offset, memory and size, for a file open for direct I/O */
};

/* Memory for one loop_write_sync, aligned to WRITE_ALIGNMENT. */
uint8_t *loop_write_memory(size_t size);

/* Writes `memory` at `offset`, durably, and frees it. error: 0 or errno. A short write is completed
 * or reported as its errno. */
void loop_write_sync(struct loop *l, int fd, int64_t offset, uint8_t *memory, size_t size,
                     void (*done)(void *context, int error), void *context);

/* ---- threads ---- */

/* A thread that runs jobs one after another; `done` runs on the loop's thread. */
struct worker;
/* STATUS_IO with errno. */
enum status worker_create(struct loop *l, const char *name, struct worker **out);
void worker_destroy(struct worker *w); /* waits for the running job; no `done` follows */
void worker_submit(struct worker *w, void (*job)(void *context), void (*done)(void *context),
                   void *context);

/* ---- signals ---- */

/* SIGINT and SIGTERM arrive as a call on the loop's thread; SIGPIPE is ignored. */
enum status loop_on_stop(struct loop *l, void (*stop)(void *context), void *context);

/* ---- faults: for tests and for the fault-injection switch ---- */

struct loop_faults {
    int64_t writes_until_failure; /* < 0: never; 0: the next loop_write_sync fails */
    int write_error;              /* errno to report, ENOSPC for a full disk */
    int64_t syncs_until_failure;
    int sync_error;
    bool for_ever;             /* all later operations fail too; otherwise one fails */
    bool without_multishot;    /* as on a kernel without multishot accept and receive */
    int64_t write_delay_ns;    /* added to every loop_write_sync */
    int64_t work_delay_ns;     /* how long loop_work takes */
    bool disk_full;            /* code that allocates files must report a full disk */
    int64_t clock_skew_ns;     /* ahead of the true clock; < 0: behind */
    int64_t clock_drift_ppm;   /* gained on the true clock; > -1,000,000 */
    int64_t clock_drift_since; /* true time from which the drift counts */
};
struct loop_faults *loop_faults(struct loop *l);
/* A request was done: a slow processor would have taken longer. Blocks the thread for the time of
 * the fault, if there is one. */
void loop_work(struct loop *l);

/* From now on this process's clocks are `skew` ahead (negative: behind) and gain `drift_ppm`
 * microseconds a second. A clock that would go back stands still until the faulty time catches
 * up. */
void loop_set_clock_fault(struct loop *l, struct duration skew, int64_t drift_ppm);
