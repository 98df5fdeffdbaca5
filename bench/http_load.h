/* http_load.h - load over HTTP as the benches put it on servers, in rounds. */
#pragma once

#include "bench/server.h"
#include "workload/client_request.h"
#include "workload/load_run.h"

enum {
    BENCH_ROUNDS_MAX = 99
};

struct bench_load {
    const char *duration;
    int64_t connections, keys, item_bytes;
    bool is_unsigned;
    bool provisioned; /* the table has a limit, far above what can be served */
};

/* Settings are a workload's as `weir load --workload` takes them. STATUS_IO, STATUS_MALFORMED:
 * `error` gets one line. */

/* Writes every key once. */
enum status bench_load_preload(const struct bench_load *l, const char *url, const char *settings,
                               struct buffer *error);
/* As fast as answers come back. Written values count from `first_number` on. `o` is filled in and
 * belongs to the run; `*out` is the caller's to destroy. STATUS_IO as well: no request was
 * admitted. */
enum status bench_load_run(const struct bench_load *l, const char *url, const char *settings,
                           uint64_t first_number, struct load_options *o, struct load_run **out,
                           struct buffer *error);

struct bench_side {
    const struct bench_server *server;
    const char *settings;
    /* What the server goes on with after the last answer, and counts as part of the round. NULL:
     * nothing. STATUS_IO: `error` gets one line. */
    enum status (*finish)(struct bench_side *side, int round, struct buffer *error);
    void *context; /* borrows; of finish */
    /* results: a value each round */
    double per_s[BENCH_ROUNDS_MAX];
    double cpu_us[BENCH_ROUNDS_MAX]; /* processor time of the server for a request */
    int64_t sent;                    /* requests of all rounds */
};

/* One round of one side. A throttled or failed request is an error. */
enum status bench_load_round(const struct bench_load *l, struct bench_side *side, int round,
                             struct buffer *error);

/* Runs both sides once a round; each goes first as often as the other. */
enum status bench_load_compare(const struct bench_load *l, struct bench_side *a,
                               struct bench_side *b, int rounds, struct buffer *error);

/* A request before the load, which must be answered with 200. `what`: its name in errors.
 * STATUS_IO: `error` gets one line. */
enum status bench_request(const struct client_url *url, const char *what, struct slice request,
                          struct buffer *error);
