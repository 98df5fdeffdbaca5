/* faults.c - the scenario's faults in the world, and what the world cannot do. */
#include "engine/admission/capacity.h"
#include "lab/clients/known_costs.h"
#include "lab/fidelity/full/full_internal.h"

enum {
    TABLES_MAX = 1000, /* copies of all tables: each is made through the API */
    PPM = 1000000,
    BUSY_EVERY_MS = 10 /* as at the fidelity admission */
};

/* ---- what can be run ---- */

static bool full_has(struct reading *r, const char *path, const char *what, int64_t requested,
                     int64_t max)
{
    return requested <= max ||
           reading_fail(r, document_nearest(r->document, "%s", path),
                        "the fidelity full has at most %lld %s, not %lld. The fidelity admission "
                        "has no such limit",
                        (long long)max, what, (long long)requested);
}

bool full_can_run(struct reading *r, const struct scenario *s)
{
    int64_t tables = 0;
    for (uint32_t i = 0; i < s->table_count; i++)
        tables += s->tables[i].copies;
    if (s->cluster.memory_items > 0)
        return reading_fail(r, document_nearest(r->document, "cluster.memory_items"),
                            "the fidelity full does not track items in memory: memory_items must "
                            "be 0. Use the fidelity admission");
    return full_has(r, "cluster.nodes", "nodes", s->cluster.nodes, WORLD_NODES_MAX) &&
           full_has(r, "cluster.routers", "routers", s->cluster.routers, WORLD_ROUTERS_MAX) &&
           full_has(r, "cluster.gac", "servers of global admission control", s->cluster.gac,
                    WORLD_GAC_MAX) &&
           full_has(r, "tables", "tables", tables, TABLES_MAX) && preload_check(r, s, "full") &&
           known_costs_check(r, s, "full");
}

/* ---- faults ---- */

static void fault_node(struct full *f, uint32_t node, bool on)
{
    struct node_process *p = f->world.nodes[node];
    struct buffer error = {0};
    if (on && node_process_is_up(p))
        node_process_crash(p, false);
    else if (!on && !node_process_is_up(p))
        must(node_process_start(p, &error) == STATUS_OK);
}

static void fault_slow(struct full *f, const struct scenario_fault *fault, uint32_t node, bool on)
{
    f->world.nodes[node]->processor.slow_ppm = on ? (int64_t)(fault->factor * PPM) : PPM;
}

/* Others use a part of the node's write capacity, and of its processors, as much as in
 * lab/fidelity/admission/faults.c. `argument`: the fault's place, and the node. */
static void fault_busy(void *context, uint64_t argument)
{
    struct full *f = context;
    const struct scenario_fault *fault = &f->scenario->faults[argument >> 32];
    const uint32_t node = (uint32_t)argument;
    const int64_t rate = node_capacity_mcu(&f->configs[node], ADMIT_WRITE);
    if (fault->for_ns < INT64_MAX && clients_now_ns(f->clients) >= fault->at_ns + fault->for_ns)
        return;
    node_process_occupy(f->world.nodes[node],
                        (int64_t)((double)rate * fault->factor / 1000 * BUSY_EVERY_MS),
                        (int64_t)(fault->factor * BUSY_EVERY_MS * (double)NS_PER_MS));
    scheduler_in(&f->world.scheduler, duration_ms(BUSY_EVERY_MS), fault_busy, f, argument);
}

static bool process_is_up(struct full *f, uint32_t process)
{
    struct world *w = &f->world;
    return process < world_gac(w, 0)
               ? router_process_is_up(w->routers[process - world_router(w, 0)])
               : gac_process_base(w->gac[process - world_gac(w, 0)])->is_up;
}

static void fault_daemon(struct full *f, uint32_t process, bool on)
{
    if (on && process_is_up(f, process))
        world_crash_process(&f->world, process);
    else if (!on && !process_is_up(f, process))
        world_start_process(&f->world, process);
}

static void fault_cut(struct full *f, uint32_t server, bool on)
{
    void (*turn)(struct network * n, uint32_t from, uint32_t to) = on ? network_cut : network_heal;
    for (uint32_t i = 0; i < f->world.plan.routers; i++) {
        turn(f->world.network, world_gac(&f->world, server), world_router(&f->world, i));
        turn(f->world.network, world_router(&f->world, i), world_gac(&f->world, server));
    }
}

static void fault_clock(struct full *f, const struct scenario_fault *fault, uint32_t router,
                        bool on)
{
    struct sim_clock *clock = world_clock(&f->world, world_router(&f->world, router));
    sim_clock_set_drift(clock, f->world.scheduler.now, on ? (int64_t)(fault->drift * PPM) : 0);
    if (on)
        clock->read.ns += fault->offset_ns;
}

static void fault_process(void *context, const struct scenario_fault *fault, uint32_t which,
                          bool on)
{
    struct full *f = context;
    switch (fault->kind) {
    case FAULT_NODE_DOWN:
        fault_node(f, which, on);
        break;
    case FAULT_NODE_SLOW:
        fault_slow(f, fault, which, on);
        break;
    case FAULT_NODE_BUSY:
        if (on) /* ends by itself */
            fault_busy(f, (uint64_t)(fault - f->scenario->faults) << 32 | which);
        break;
    case FAULT_ROUTER_DOWN:
        fault_daemon(f, world_router(&f->world, which - 1), on);
        break;
    case FAULT_ROUTER_CLOCK:
        fault_clock(f, fault, which - 1, on);
        break;
    case FAULT_GAC_DOWN:
        fault_daemon(f, world_gac(&f->world, which - 1), on);
        break;
    default:
        fault_cut(f, which - 1, on);
        break;
    }
}

static void fault_table(void *context, const struct scenario_fault *fault,
                        const struct scaling_update *u)
{
    struct full *f = context;
    if (fault->kind == FAULT_SPLIT)
        admin_split(f, u->place, u->copy);
    else
        admin_update(f, u);
}

void full_faults_begin(struct full *f)
{
    const struct fault_port port = {f, fault_process, fault_table};
    fault_schedule_begin(&f->faults, f->scenario, &f->world.scheduler, f->measure, &port);
}
