/* loop.h - one thread's io_uring: file writes with fsync, timers, finished jobs, signals;
 * connections have a header of their own (connection.h).
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
