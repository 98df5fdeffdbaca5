/* load_run.h - workloads against a server, on one loop.
 *
 * Every workload has its own connections, so that a slow answer to one does not delay another.
 * Arrivals do not wait for answers (except in closed loops): a request that is due while all
 * connections are busy waits here, and that wait is part of its latency.
 *
 * Invariants, per workload:
 *   LOAD-1  outstanding = waiting + on a connection + due later, <= outstanding_max (or clients).
 *   LOAD-2  every offered request is counted exactly once at its end (load_result.h). */
#pragma once

#include "workload/load_workload.h"

struct load_run_options {
    const struct load_options *load;               /* borrows: URLs, timeout, seed */
    const struct load_workload_options *workloads; /* borrows */
    int workload_count;
    int64_t requests_max;  /* for each workload; 0: until its duration is over */
    bool try_again;        /* repeat refused and failed requests, as a preload needs */
    FILE *history;         /* borrows; NULL: none */
    FILE *record;          /* borrows; NULL: none */
    uint64_t first_number; /* number of the first request; 0: from 1 */
    /* After every second; may be NULL. */
    void (*second_over)(void *context, const struct load_workload_result *all, int64_t second);
    void *context;
};

/* A run that has ended, to look at. */
struct load_run {
    struct load_shared shared;
    struct trace_recorder recorder;
    const struct load_run_options *options; /* borrows during load_run */
    struct load_workload *workloads;        /* owns */
    struct load_workload_result *results;   /* owns; one per workload, in their order */
    int count;
    int64_t started_wall_ms;
    int64_t seconds;
    bool stopped; /* by SIGINT or SIGTERM */
};

/* STATUS_IO: could not connect, or read a trace; STATUS_MALFORMED: a trace is wrong. `error` gets
 * the reason. */
enum status load_run(const struct load_run_options *options, struct load_run **out,
                     struct buffer *error);
void load_run_destroy(struct load_run *run);

/* Writes every key of the only workload once, as fast as the server takes the writes. Refused
 * writes are repeated. `*next_number` gets the number after the last request's. STATUS_IO also if
 * the preload was stopped. */
enum status load_preload(const struct load_run_options *options, uint64_t *next_number,
                         struct buffer *error);
