/* load_result.h - the results of a workload: counts, latencies, seconds, and the reports.
 *
 * Every request that was due counts once: offered = admitted + refused + failed + client_overrun +
 * client_rejected + unfinished, by the outcome of its last attempt. `sent` counts attempts, and
 * both requests of a read-modify-write. Latencies are nanoseconds from the moment a request was
 * due to its answer. */
#pragma once

#include "base/histogram.h"
#include "workload/load_options.h"
#include "workload/load_verdict.h"

enum {
    LOAD_LABELS_MAX = 24 /* the last label collects the rest */
};

/* Counts by name. */
struct load_labels {
    struct {
        char text[LOAD_LABEL_SIZE_MAX];
        int64_t count;
    } entries[LOAD_LABELS_MAX];
    int used;
};

struct load_second {
    int64_t offered, sent, admitted, refused, failed, client_overrun, client_rejected;
    int64_t p50_ns, p99_ns; /* of all answers */
};

struct load_result {
    int64_t offered, sent, admitted, refused, failed, client_overrun, unfinished;
    int64_t client_rejected;                 /* by the retry model, before an attempt */
    int64_t retries;                         /* attempts beyond the first one */
    int64_t gave_up_attempts, gave_up_quota; /* requests that the retry model did not repeat */
    int64_t reads_admitted, writes_admitted;
    int64_t units_admitted; /* write capacity units of admitted writes: 1 KiB each, rounded up */
    struct load_labels reasons;
    struct load_labels errors;
    char first_message[LOAD_MESSAGE_SIZE_MAX]; /* of the first failure that had one */
    struct histogram latency_admitted, latency_refused, latency_all;
    struct histogram latency_second; /* of the current second */
    struct load_second current;
    struct load_second *seconds; /* owns */
    int64_t second_count;
    size_t second_capacity;
    int64_t elapsed_ns; /* from its start to its end, or to the stop */
};

void load_result_init(struct load_result *r);
void load_result_deinit(struct load_result *r);

void load_result_count(struct load_result *r, const struct load_verdict *v, bool is_read,
                       int64_t item_bytes, int64_t latency_ns);
/* Ends a second of the run. */
void load_result_end_second(struct load_result *r);
/* Ends the run, and its last second if anything was in it. */
void load_result_end(struct load_result *r);

struct load_workload_result {
    const struct load_workload_options *options;
    const struct load_result *result;
};

/* One line: the last second of each workload. */
void load_progress_line(const struct load_workload_result *all, int count, int64_t second,
                        struct buffer *out);
/* A table for people. */
void load_summary(const struct load_workload_result *all, int count, struct buffer *out);
void load_json(const struct load_options *o, const struct load_workload_result *all, int count,
               int64_t started_wall_ms, struct buffer *out);
