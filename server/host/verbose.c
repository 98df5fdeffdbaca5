/* verbose.c - a node's trace, line by line. */
#include "server/host/verbose.h"

#include <stdio.h>

enum {
    SUM_MS = 1000
};

/* Events of every request are counted, not printed. */
static bool sum_up(struct verbose *v, const struct trace_event *e)
{
    switch (e->kind) {
    case NODE_TRACE_THROTTLED:
        v->throttled++;
        return true;
    case NODE_TRACE_REFUSED:
        v->refused++;
        return true;
    case NODE_TRACE_LOG_WRITTEN:
        v->log_writes++;
        return true;
    default:
        return false;
    }
}

static void print_sums(struct verbose *v, uint32_t id, struct instant now)
{
    if (v->throttled > 0 || v->refused > 0)
        fprintf(stderr,
                "weir: node %u: %lld requests throttled, %lld refused for other reasons, %lld log "
                "writes\n",
                id, (long long)v->throttled, (long long)v->refused, (long long)v->log_writes);
    *v = (struct verbose){.events = v->events, .summed_at = now};
}

void verbose_print(struct verbose *v, const struct node *n, uint32_t id, struct instant now)
{
    const struct trace *trace = node_trace(n);
    uint64_t count = trace->count - v->events;
    if (count > TRACE_EVENTS)
        fprintf(stderr, "weir: node %u: %llu events are not shown\n", id,
                (unsigned long long)(count - TRACE_EVENTS));
    struct buffer line = {0};
    for (uint64_t back = MIN(count, TRACE_EVENTS); back-- > 0;) {
        const struct trace_event *e = trace_last(trace, back);
        if (e == NULL || sum_up(v, e))
            continue;
        buffer_clear(&line);
        node_trace_event_describe(e, &line);
        fprintf(stderr, "weir: node %u: %.*s\n", id, (int)line.size, (const char *)line.data);
    }
    buffer_deinit(&line);
    v->events = trace->count;
    if (instant_since(now, v->summed_at).ns >= SUM_MS * NS_PER_MS)
        print_sums(v, id, now);
}
