#include "lab/traces.h"

enum status lab_traces_open(struct lab_traces *t, struct scenario *s, struct buffer *error)
{
    *t = (struct lab_traces){0};
    for (uint32_t i = 0; i < s->workload_count; i++) {
        struct scenario_workload *w = &s->workloads[i];
        if (w->trace == NULL)
            continue;
        enum status status = trace_file_open(&t->files[i], w->trace, w->trace_table, error);
        if (status != STATUS_OK)
            return status;
        t->open[i] = true;
        w->traffic.source = trace_file_source(&t->files[i], w->trace_speed);
    }
    return STATUS_OK;
}

enum status lab_traces_error(const struct lab_traces *t, struct buffer *error)
{
    for (uint32_t i = 0; i < SCENARIO_WORKLOADS_MAX; i++) {
        enum status status = t->open[i] ? trace_file_error(&t->files[i], error) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void lab_traces_close(struct lab_traces *t)
{
    for (uint32_t i = 0; i < SCENARIO_WORKLOADS_MAX; i++) {
        if (t->open[i])
            trace_file_close(&t->files[i]);
    }
}
