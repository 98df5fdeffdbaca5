/* traces.c - see traces.h. */
#include "lab/scenario/traces.h"

enum status lab_traces_open(struct lab_traces *t, struct scenario *s, struct buffer *error)
{
    *t = (struct lab_traces){0};
    for (uint32_t i = 0; i < s->workload_count; i++) {
        struct scenario_workload *w = &s->workloads[i];
        if (w->trace_count == 0)
            continue;
        enum status status =
            trace_merge_open(&t->merged[i], w->traces, w->trace_count, w->trace_table, error);
        if (status != STATUS_OK)
            return status;
        w->traffic.source = trace_merge_source(&t->merged[i], w->trace_speed);
    }
    return STATUS_OK;
}

enum status lab_traces_error(const struct lab_traces *t, struct buffer *error)
{
    for (uint32_t i = 0; i < SCENARIO_WORKLOADS_MAX; i++) {
        enum status status = trace_merge_error(&t->merged[i], error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void lab_traces_close(struct lab_traces *t)
{
    for (uint32_t i = 0; i < SCENARIO_WORKLOADS_MAX; i++)
        trace_merge_close(&t->merged[i]);
}
