/* flow.h - requests to servers over HTTP or Redis's protocol, on one loop in this process.
 *
 * Servers that are compared get the same client. A connection has one request in flight, whatever
 * the protocol. Not here: workloads as `weir load` describes them (http_load.h). */
#pragma once

#include "base/buffer.h"
#include "base/histogram.h"

enum flow_protocol {
    FLOW_HTTP,
    FLOW_REDIS
};

/* How a request ends. Of Redis the reply's first integer counts: 1, another one, or none. */
enum flow_end {
    FLOW_ADMITTED, /* 200 */
    FLOW_REFUSED,  /* 429 */
    FLOW_OTHER,
    FLOW_ENDS
};

struct flow {
    const char *name; /* in errors */
    uint16_t port;    /* on 127.0.0.1 */
    enum flow_protocol protocol;
    int64_t connections;
    int64_t
        per_s; /* requests that are due each second; 0: a connection sends when it is answered */
    int64_t requests_max; /* 0: until the time is over */
    /* Writes the request with this number; numbers begin with 0 in each run. */
    void (*write)(void *context, int64_t number, struct buffer *out);
    void *context; /* borrows; of write */

    /* results of the last run */
    int64_t sent;
    int64_t ends[FLOW_ENDS];
    int64_t elapsed_ns;       /* from the start to the last answer */
    struct histogram latency; /* ns, from when a request was due to its answer */
    struct buffer other;      /* owns: the first answer that is FLOW_OTHER */
};

/* Runs flows until the time is over, or all of them have sent requests_max, and all requests are
 * answered. STATUS_IO: a connection failed or was lost, an answer is malformed, or none comes;
 * `error` gets one line. */
enum status flows_run(struct flow *const flows[], int count, int64_t duration_ns,
                      struct buffer *error);

void flow_deinit(struct flow *f);
