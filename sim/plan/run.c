/* run.c - what the parts of one simulated run share: its plan, its world and its first
 * violation. */
#include "sim/plan/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "engine/node/control_port.h"
#include "sim/plan/faults.h"

const struct table *run_find_table(const struct run *r, const char *name)
{
    for (uint32_t id = 1; id <= r->world.plan.nodes; id++) {
        const struct node *n = node_process_node(r->world.nodes[id]);
        if (n != NULL && node_control_term(n) != 0)
            return catalog_find(node_catalog(n), slice_of(name));
    }
    return NULL;
}

void run_decide(struct run *r, const struct decision *d, uint8_t op)
{
    struct buffer body = {0};
    decision_encode(&body, d);
    const struct request request = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), op}};
    world_request(&r->world, &request, NULL);
    buffer_deinit(&body);
}

void run_violate(struct run *r, const char *format, ...)
{
    char text[512];
    if (r->violation.size > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_append_text(&r->violation, text);
}

/* ---- for people ---- */

/* By kind of a world's event; NULL: the event is left out, because there are too many. */
static const char *const kind_texts[] = {
    [NETWORK_TRACE_LOST] = "envelope lost on from<<16|to",
    [NETWORK_TRACE_LINK_DOWN] = "link down at process<<16|other",
    [NODE_PROCESS_TRACE_STARTED] = "started: node, records replayed:",
    [NODE_PROCESS_TRACE_CRASHED] = "crashed: node, 1 = power:",
    [NODE_PROCESS_TRACE_LOG] = "log on disk: node, end lsn:",
    [NODE_PROCESS_TRACE_LOG_FAILED] = "log write failed: node, lsn:",
    [NODE_PROCESS_TRACE_CHECKPOINT] = "checkpoint: node",
    [NODE_PROCESS_TRACE_WIPED] = "wiped: node",
    [ROUTER_PROCESS_TRACE_STARTED] = "router started: process",
    [ROUTER_PROCESS_TRACE_CRASHED] = "router crashed: process",
    [GAC_PROCESS_TRACE_STARTED] = "GAC server started: process",
    [GAC_PROCESS_TRACE_CRASHED] = "GAC server crashed: process",
    [FAULTS_TRACE_INJECT] = "fault<<16|where, how long:",
    [FAULTS_TRACE_END] = "faults end",
};

static void describe_events(const struct run *r, struct buffer *out)
{
    buffer_append_text(out, "the last events (ns of true time):\n");
    for (uint64_t back = TRACE_EVENTS; back-- > 0;) {
        const struct trace_event *e = trace_last(&r->world.trace, back);
        const char *text = e == NULL || e->kind > FAULTS_TRACE_END ? NULL : kind_texts[e->kind];
        if (text != NULL)
            buffer_append_format(out, "  %12lld  %s %x, %lld\n", (long long)e->at.ns, text,
                                 e->subject, (long long)e->value);
    }
}

void run_describe(struct run *r, uint64_t events, struct buffer *out)
{
    enum {
        NODE_EVENTS = 12
    };
    plan_describe(&r->plan, out);
    buffer_append_format(out, "at %lld ns of virtual time, after %llu events\n",
                         (long long)r->world.scheduler.now.ns, (unsigned long long)events);
    describe_events(r, out);
    for (uint32_t id = 1; id <= r->plan.nodes; id++) {
        struct node *n = node_process_node(r->world.nodes[id]);
        buffer_append_format(out, "node %u, life %u%s:\n", id, r->world.nodes[id]->process.life,
                             n == NULL ? ", down" : "");
        if (n != NULL)
            node_trace_describe(n, NODE_EVENTS, out);
    }
}
