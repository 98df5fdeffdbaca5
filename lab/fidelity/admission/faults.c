/* faults.c - the scenario's faults begin and end. */

#include "engine/admission/capacity.h"
#include "lab/fidelity/admission/model_internal.h"

enum {
    PPM = 1000000,
    BUSY_EVERY_MS = 10
};

static void fault_node(struct model *m, const struct scenario_fault *f, uint32_t node, bool on)
{
    if (f->kind == FAULT_NODE_DOWN)
        node_set_down(m, node, on);
    else
        m->nodes[node].slow_ppm = on ? (int64_t)(f->factor * PPM) : PPM;
    processors_changed(&m->nodes[node]);
}

static void fault_clock(struct model *m, const struct scenario_fault *f, struct model_router *r,
                        bool on)
{
    router_clock(m, r);
    r->clock_offset_ns +=
        (int64_t)((double)(m->scheduler.now.ns - r->clock_at_ns) * r->clock_drift);
    r->clock_at_ns = m->scheduler.now.ns;
    r->clock_drift = on ? f->drift : 0;
    if (on)
        r->clock_offset_ns += f->offset_ns;
    router_pump(m, r);
}

static void fault_router(struct model *m, const struct scenario_fault *f, struct model_router *r,
                         bool on)
{
    if (f->kind == FAULT_ROUTER_CLOCK)
        fault_clock(m, f, r, on);
    else if (on)
        router_stop(m, r);
    else if (r->down) /* an overlapping fault may have ended before */
        router_start(m, r);
}

static void fault_server(struct model *m, const struct scenario_fault *f, struct model_server *s,
                         bool on)
{
    if (f->kind == FAULT_GAC_CUT)
        model_links_cut(m, s, on);
    else if (on)
        model_links_stop(m, s);
    else if (s->down)
        model_links_start(m, s);
}

/* Others use a part of the node's write capacity: work that no request of the scenario asks for. */
static void fault_busy(void *context, uint64_t argument)
{
    struct model *m = context;
    const struct scenario_fault *f = &m->scenario->faults[argument >> 32];
    uint32_t node = (uint32_t)argument;
    int64_t rate = node_capacity_mcu(m->config, ADMIT_WRITE);
    int64_t mcu = (int64_t)((double)rate * f->factor / 1000 * BUSY_EVERY_MS);
    struct token_bucket *b = &m->nodes[node].admission.buckets[ADMIT_WRITE];
    if (f->for_ns < INT64_MAX && m->scheduler.now.ns >= f->at_ns + f->for_ns)
        return;
    token_bucket_refill(b, model_now(m));
    token_bucket_debit(b, mcu);
    m->nodes[node].consumed_mcu[ADMIT_WRITE] += mcu;
    m->nodes[node].ideal[ADMIT_WRITE].consumed_mcu += mcu; /* the optimum has less already */
    m->nodes[node].busy_until_ns += (int64_t)(f->factor * BUSY_EVERY_MS * (double)NS_PER_MS);
    if (m->nodes[node].busy_until_ns < m->scheduler.now.ns)
        m->nodes[node].busy_until_ns = m->scheduler.now.ns;
    model_in(m, BUSY_EVERY_MS * NS_PER_MS, fault_busy, m, argument);
}

static void fault_process(void *context, const struct scenario_fault *f, uint32_t which, bool on)
{
    struct model *m = context;
    if (f->kind == FAULT_NODE_BUSY) {
        observe_node_busy(m, which, on ? f->factor : 0);
        if (on)
            fault_busy(m, (uint64_t)(f - m->scenario->faults) << 32 | which);
    }
    if (f->kind == FAULT_ROUTER_DOWN || f->kind == FAULT_ROUTER_CLOCK)
        fault_router(m, f, &m->routers[which - 1], on);
    else if (f->kind == FAULT_GAC_DOWN || f->kind == FAULT_GAC_CUT)
        fault_server(m, f, &m->servers[which], on);
    else if (f->kind != FAULT_NODE_BUSY)
        fault_node(m, f, which, on);
}

static void fault_table(void *context, const struct scenario_fault *f,
                        const struct scaling_update *u)
{
    struct model *m = context;
    if (f->kind == FAULT_SPLIT)
        model_tables_split(m, &m->tables[u->table]);
    else
        model_tables_update(m, u);
}

void model_faults_begin(struct model *m)
{
    const struct fault_port port = {m, fault_process, fault_table};
    fault_schedule_begin(&m->faults, m->scenario, &m->scheduler, m->measure, &port);
}
