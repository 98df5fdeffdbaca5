/* faults.c - the scenario's faults begin and end. */
#include <stdlib.h>

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

static void fault_tables(struct model *m, const struct scenario_fault *f)
{
    for (uint32_t i = 0; i < m->table_count; i++) {
        struct model_table *t = &m->tables[i];
        if (f->table != NULL && strcmp(t->scenario->name, f->table) != 0)
            continue;
        if (f->kind == FAULT_SPLIT)
            model_tables_split(m, t);
        else
            model_tables_update(
                m, &(struct scaling_update){.table = t->number, .units = {f->rcu, f->wcu}});
    }
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

static uint32_t fault_targets(const struct model *m, const struct scenario_fault *f)
{
    switch (f->kind) {
    case FAULT_ROUTER_DOWN:
    case FAULT_ROUTER_CLOCK:
        return m->router_count;
    case FAULT_GAC_DOWN:
    case FAULT_GAC_CUT:
        return m->server_count;
    default:
        return m->node_count;
    }
}

static void fault_hit(struct model *m, uint64_t place, uint32_t which, bool on)
{
    const struct scenario_fault *f = &m->scenario->faults[place];
    if (f->kind == FAULT_NODE_BUSY) {
        observe_node_busy(m, which, on ? f->factor : 0);
        if (on)
            fault_busy(m, place << 32 | which);
    }
    if (f->kind == FAULT_ROUTER_DOWN || f->kind == FAULT_ROUTER_CLOCK)
        fault_router(m, f, &m->routers[which - 1], on);
    else if (f->kind == FAULT_GAC_DOWN || f->kind == FAULT_GAC_CUT)
        fault_server(m, f, &m->servers[which], on);
    else if (f->kind != FAULT_NODE_BUSY)
        fault_node(m, f, which, on);
}

/* `argument`: the fault's place, and whether it begins. */
static void fault_turn(void *context, uint64_t argument)
{
    struct model *m = context;
    bool on = argument & 1;
    const struct scenario_fault *f = &m->scenario->faults[argument >> 1];
    measure_step(m->measure, m->scheduler.now.ns);
    if (f->kind == FAULT_SPLIT || f->kind == FAULT_UPDATE) {
        fault_tables(m, f);
        return;
    }
    for (uint32_t i = 1; i <= fault_targets(m, f); i++) {
        if (f->which == 0 || f->which == i)
            fault_hit(m, argument >> 1, i, on);
    }
}

void model_faults_create(struct model *m)
{
    for (uint32_t i = 0; i < m->scenario->fault_count; i++) {
        const struct scenario_fault *f = &m->scenario->faults[i];
        bool lasts = f->kind != FAULT_SPLIT && f->kind != FAULT_UPDATE;
        model_in(m, f->at_ns, fault_turn, m, (uint64_t)i << 1 | 1);
        if (lasts && f->for_ns < INT64_MAX)
            model_in(m, f->at_ns + f->for_ns, fault_turn, m, (uint64_t)i << 1);
    }
}
