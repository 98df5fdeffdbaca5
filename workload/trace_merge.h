/* trace_merge.h - one or several recordings as one trace, in the order of their times.
 *
 * Several recordings are one cluster's, a recording for each router. The line `clock` of each says
 * when it began by its recorder's wall clock, and the steps in it are of a clock that does not
 * jump. The merged trace begins when the earliest recording begins. So requests of two routers are
 * as far out of order as the wall clocks of the routers were apart when the recordings began.
 * Refused, because the result would be wrong: a recording without `clock`; traces of Twitter; keys
 * that are hashed with different salts, or only in some recordings (equal keys would differ); a
 * step of more than a day from one recording to the next (a wall clock must have been wrong). */
#pragma once

#include "workload/trace_file.h"

enum {
    TRACE_MERGE_MAX = 64
};

struct trace_merge_part {
    struct trace_file file;
    struct trace_record next;
    bool has_next;
    int64_t shift_ns; /* what is added to its times */
};

struct trace_merge {
    struct trace_merge_part *parts; /* owns */
    uint32_t count;
    uint32_t last; /* the part of the last record */
    int64_t last_ns;
    struct buffer error; /* empty: none */
};

/* `paths`: 1 to TRACE_MERGE_MAX, borrowed. `table` as in trace_file_open. STATUS_IO,
 * STATUS_MALFORMED: `error` gets one line. trace_merge_close is called in all cases. */
enum status trace_merge_open(struct trace_merge *m, const char *const *paths, uint32_t count,
                             const char *table, struct buffer *error);
void trace_merge_close(struct trace_merge *m);

/* False: over, or trace_merge_error tells why not. */
bool trace_merge_next(struct trace_merge *m, struct trace_record *out);
/* As trace_file_error: STATUS_OK, STATUS_MALFORMED or STATUS_IO. Ask at the end. */
enum status trace_merge_error(const struct trace_merge *m, struct buffer *error);

struct traffic_source trace_merge_source(struct trace_merge *m, double speed);
