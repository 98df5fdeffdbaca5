/* request_record.h - `--record FILE`: a router writes down what it was asked for, as a trace
 * (workload/trace_record.h) that `weir lab replay` takes.
 *
 * Promises:
 *   RECORDING-1  An answer costs no system call of its own: lines are written in pieces of
 *                RECORD_PIECE_BYTES, what is left once a second.
 *   RECORDING-2  A failed write ends the recording. The router goes on.
 *   RECORDING-3  A file that exists stays as it is: the recording goes to FILE.1, FILE.2 and so on.
 *                (A router that is started again does not overwrite what it recorded before.)
 * One line on standard error tells of the end of a recording.
 * A request is in the file a second after its beginning, a slow one once it is answered. Requests
 * without an answer, and those that were refused before a table's data was asked for, are not
 * recorded. */
#pragma once

#include "host/loop.h"
#include "router/core/router.h"

enum {
    RECORD_PIECE_BYTES = 64 * 1024,
    RECORD_HOLD_MS = 1000 /* so long a request waits for earlier ones that are slower */
};

struct request_record;

struct request_record_options {
    const char *command; /* "router" or "local", for messages; borrows */
    const char *path;    /* NULL: no recording; borrows */
    const char *salt;    /* NULL: keys are written as they are */
    uint32_t router;     /* its number */
    struct loop *loop;   /* borrows */
    bool log_requests;   /* also call request_log */
};

/* Sets the router's `answered`, for the recording and for the log of requests. NULL without a
 * path. */
struct request_record *request_record_create(const struct request_record_options *o,
                                             struct router_options *router);
/* Creates the file: call once nothing else can fail, before the first request. STATUS_IO: `error`
 *                   tells.
 * NULL: nothing. */
enum status request_record_begin(struct request_record *r, struct buffer *error);
/* Writes what is left. NULL: nothing. */
void request_record_destroy(struct request_record *r);
/* The file's path. */
const char *request_record_path(const struct request_record *r);

/* Writes what is due. Call in each turn; NULL: nothing. */
void request_record_turn(struct request_record *r);
struct instant request_record_deadline(const struct request_record *r);
