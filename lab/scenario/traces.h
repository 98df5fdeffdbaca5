/* traces.h - opens the traces that a scenario's workloads name, as sources of their traffic.
 *
 * A workload may name several recordings, which are merged (workload/trace_merge.h).
 *
 * A trace is read while the run goes on. Its errors show at the end (lab_traces_error). */
#pragma once

#include "lab/scenario/scenario.h"
#include "workload/trace_merge.h"

struct lab_traces {
    struct trace_merge merged[SCENARIO_WORKLOADS_MAX]; /* of workloads without traces: zeroed */
};

/* Sets the sources of the scenario's traffic. STATUS_IO,
 * STATUS_MALFORMED: `error` gets one line. lab_traces_close is
 * called in all cases. */
enum status lab_traces_open(struct lab_traces *t, struct scenario *s, struct buffer *error);
/* STATUS_OK; or STATUS_MALFORMED or STATUS_IO: `error` gets one line. */
enum status lab_traces_error(const struct lab_traces *t, struct buffer *error);
void lab_traces_close(struct lab_traces *t);
