/* load_workload.h - one workload of a run: arrivals, attempts, waiting requests, connections.
 * Not here: the loop's turns, and the end of the run (load_run.c). */
#pragma once

#include <sys/queue.h>

#include "workload/client_connection.h"
#include "workload/load_history.h"
#include "workload/load_result.h"
#include "workload/load_timers.h"
#include "workload/trace_file.h"
#include "workload/trace_recorder.h"

struct load_workload;

struct load_connection {
    TAILQ_ENTRY(load_connection) entry; /* in the ready list */
    struct load_workload *workload;     /* borrows */
    struct client_connection client;
    bool ready;                /* in the list */
    bool counted;              /* in connections_up */
    struct load_request *sent; /* owns: a ring of `pipeline`, oldest at `first` */
    int64_t first, count;
};

TAILQ_HEAD(load_ready_list, load_connection);

struct load_shared {
    struct loop *loop;
    const struct load_options *load;
    int64_t start_ns;     /* the run's, on the loop's clock */
    uint64_t last_number; /* of a request */
    struct load_history history;
    struct trace_recorder *recorder; /* borrows; NULL: none */
    struct json_parser *parser;      /* owns */
    bool try_again;
    int64_t connections_up;
    int connect_error; /* the last errno */
};

struct load_workload {
    struct load_shared *shared; /* borrows */
    struct load_workload_options options;
    struct load_template request;
    int64_t item_bytes_min; /* an item with this key cannot be smaller */
    struct traffic traffic;
    struct traffic_request next; /* open loop: the next arrival */
    struct trace_file trace;     /* with replay */
    struct retry retry;          /* if the options have a model */
    struct prng retry_random;
    uint64_t seed;
    struct load_timers timers;            /* attempts that are due later; clients that think */
    uint32_t table_number, tenant_number; /* of the recording */
    struct load_connection *connections;  /* owns */
    struct load_ready_list ready;         /* connections that are up and have room for a request */
    struct load_request *waiting;         /* owns: a ring */
    int64_t waiting_first, waiting_count;
    int64_t outstanding;
    int64_t outstanding_max;
    int64_t begin_ns, end_ns; /* on the loop's clock */
    int64_t next_ns;          /* the next arrival of an open loop; INT64_MAX: no more */
    int64_t requests_left;    /* INT64_MAX: no limit */
    int64_t hold_ns;          /* no sends before this time, after a refusal in a preload */
    struct buffer scratch;
    struct load_result result;
};

void load_workload_init(struct load_workload *w, struct load_shared *shared,
                        const struct load_workload_options *options, int64_t requests_max,
                        uint64_t seed);
void load_workload_deinit(struct load_workload *w);

void load_workload_connect(struct load_workload *w);
/* Opens the trace to replay, if there is one. */
enum status load_workload_open(struct load_workload *w, struct buffer *error);
/* Begins the arrivals. */
void load_workload_start(struct load_workload *w);
/* Makes requests of the arrivals due by now. They go to connections that have room. */
void load_workload_advance(struct load_workload *w, int64_t now_ns);
/* Handles timeouts and lost connections. Call every few milliseconds. */
void load_workload_check(struct load_workload *w, int64_t now_ns);
/* The earliest time at which load_workload_advance has work. */
int64_t load_workload_deadline(const struct load_workload *w);
bool load_workload_is_over(const struct load_workload *w, int64_t now_ns);
void load_workload_stop(struct load_workload *w, int64_t now_ns); /* no more arrivals */
void load_workload_abandon(
    struct load_workload *w); /* the remaining requests count as unfinished */
