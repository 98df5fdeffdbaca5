/* processors.c - what is told to the measures of the nodes' processors.
 *
 * A node is one queue of work (nodes.c). A request that is served within the scenario's objective
 * leaves the queue at most that time after it was admitted. So what is admitted in a window, and
 * served in time, fits into the processor time of the window and of the objective behind it, less
 * the queue at the start of the window. For the measures this is a bucket: its rate is that of the
 * processors, its depth the objective, its balance what the queue leaves of that.
 *
 * A write is answered by a majority, so a follower may be late. node_sets.c has the processors
 * that eventual reads use: those of all members, and of all nodes.
 *
 * Not here: the routers' processors; what refusals cost, since who knows all refuses at the
 * router. */
#include "lab/fidelity/admission/model_internal.h"

enum {
    PPM = 1000000
};

#define PS_PER_S (NS_PER_S * MEASURE_PS_PER_NS)

void processors_create(struct model *m)
{
    for (uint32_t node = 1; node <= m->node_count; node++) {
        struct model_processors *p = &m->nodes[node].processors;
        p->ideal.resource = measure_add_resource(m->measure, MEASURE_PROCESSORS);
        p->slow_least_ppm = PPM;
    }
}

void processors_changed(struct model_node *n)
{
    struct model_processors *p = &n->processors;
    p->slow_least_ppm = n->slow_ppm < p->slow_least_ppm ? n->slow_ppm : p->slow_least_ppm;
    p->was_down |= n->down;
}

static int64_t ps_of(int64_t rate_ps, int64_t ns)
{
    return ns > 0 ? (int64_t)((__int128)rate_ps * ns / NS_PER_S) : 0;
}

/* Without bound: a node that was down has lost its queue; requests may wait for ever; or there is
 * more time than the measures count. */
static bool processors_are_bounded(const struct model *m, const struct model_processors *p)
{
    const __int128 cores = m->scenario->cluster.costs.cores;
    const __int128 ns = (__int128)m->scenario->objective_ns + m->scenario->window_ns;
    return m->scenario->objective_ns > 0 && !p->was_down && p->slow_least_ppm > 0 &&
           cores * ns * MEASURE_PS_PER_NS * PPM / p->slow_least_ppm <= OPTIMUM_MAX;
}

static void node_window(struct model *m, struct model_node *n)
{
    const struct scenario *s = m->scenario;
    struct model_processors *p = &n->processors;
    struct model_ideal *i = &p->ideal;
    const int64_t queue_ns = n->busy_until_ns - m->scheduler.now.ns;
    i->rate_mcu = i->capacity_mcu = 0;
    i->had_mcu = OPTIMUM_UNLIMITED;
    if (processors_are_bounded(m, p)) {
        const int64_t rate_ps =
            (int64_t)((__int128)s->cluster.costs.cores * PS_PER_S * PPM / p->slow_least_ppm);
        i->had_mcu = ps_of(rate_ps, s->window_ns + s->objective_ns - p->queue_ns);
        i->rate_mcu = (int64_t)((double)rate_ps * (1 - p->busy));
        i->capacity_mcu = ps_of(i->rate_mcu, s->objective_ns);
    }
    measure_set_bucket(m->measure, i->resource, i->rate_mcu, i->capacity_mcu);
    measure_set_capacity(m->measure, i->resource, i->had_mcu);
    p->queue_ns = queue_ns > 0 ? queue_ns : 0;
    p->slow_least_ppm = n->slow_ppm;
    p->was_down = false;
}

void processors_window(struct model *m)
{
    for (uint32_t node = 1; node <= m->node_count; node++)
        node_window(m, &m->nodes[node]);
}

void processors_path(struct model *m, const struct model_partition *p, enum admit_kind kind,
                     bool eventual, uint32_t flow)
{
    struct measure_processor path[MEASURE_PATH_MAX];
    uint32_t count = node_sets_processors(m, p, path);
    for (uint32_t i = 0; i < p->replica_count && count < MEASURE_PATH_MAX; i++) {
        const struct model_node *n = &m->nodes[p->replicas[i].node];
        const bool serves = i == p->leader && !eventual;
        const bool follows = kind == ADMIT_WRITE && i != p->leader && !p->replicas[i].joining;
        if (serves || (follows && !n->down))
            path[count++] = (struct measure_processor){
                n->processors.ideal.resource, serves ? MEASURE_SERVING : MEASURE_FOLLOWING};
    }
    measure_set_processors(m->measure, flow, path, count);
}

void processors_work(struct model *m, const struct model_request *r,
                     const struct model_partition *p, int64_t cost_mcu, bool admitted,
                     int64_t work_ns[MEASURE_WORKS])
{
    const enum admit_kind kind = model_kind(&r->traffic);
    const struct model_node *leader = &m->nodes[p->replicas[p->leader].node];
    int64_t followers = 0;
    work_ns[MEASURE_SERVING] = model_nodes_work_ns(m, kind, true, cost_mcu);
    if (kind == ADMIT_READ)
        work_ns[MEASURE_SERVING] += admitted ? r->miss_ns : model_nodes_miss_ns(m, leader, r);
    else
        work_ns[MEASURE_FOLLOWING] = model_nodes_work_ns(m, kind, false, cost_mcu);
    for (uint32_t i = 0; i < p->replica_count; i++)
        followers += i != p->leader && model_partitions_is_up(m, &p->replicas[i]);
    const int64_t awaited = followers < p->replica_count / 2 ? followers : p->replica_count / 2;
    work_ns[MEASURE_MEMBERS] = work_ns[MEASURE_SERVING] + followers * work_ns[MEASURE_FOLLOWING];
    work_ns[MEASURE_MAJORITY] = work_ns[MEASURE_SERVING] + awaited * work_ns[MEASURE_FOLLOWING];
}
