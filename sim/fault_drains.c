/* fault_drains.c - drains nodes at random moments, and lets them hold replicas again. */
#include "sim/fault_drains.h"

#include <stdlib.h>

#include "base/probe.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"

enum {
    UNDO_MS = 500,
    UNDO_TRIES = 12 /* enough to outlast a catalog without a leader */
};

struct fault_drains {
    struct run *run; /* borrows */
    struct prng prng;
    bool on;
    bool drained[SIM_NODES_MAX + 1]; /* asked for; the catalog may have missed it */
    uint32_t count;
    uint32_t undo_tries; /* left */
};

static void fault_drains_request(struct fault_drains *d, uint32_t node, bool drain)
{
    const struct decision decision = {
        .to_node = node,
        .drain = drain,
        .has_event = true,
        .event = {.kind = EVENT_NODE_DRAINED, .reason = slice_of("the simulator asked for it")}};
    run_decide(d->run, &decision, CATALOG_DRAIN);
}

static void fault_drains_turn(void *context, UNUSED uint64_t argument)
{
    struct fault_drains *d = context;
    const struct plan *p = &d->run->plan;
    if (!d->on)
        return;
    uint32_t node = 1 + (uint32_t)prng_below(&d->prng, p->nodes);
    if (!d->drained[node] && d->count < p->nodes - p->replicas) {
        PROBE("a node is drained");
        d->drained[node] = true;
        d->count++;
        fault_drains_request(d, node, true);
    } else if (d->drained[node]) {
        d->drained[node] = false;
        d->count--;
        fault_drains_request(d, node, false);
    }
    scheduler_in(&d->run->world.scheduler,
                 (struct duration){prng_between(&d->prng, 0, 2 * NS_PER_S + p->fault_interval_ns)},
                 fault_drains_turn, d, 0);
}

static void fault_drains_undo(void *context, UNUSED uint64_t argument)
{
    struct fault_drains *d = context;
    if (d->undo_tries == 0)
        return;
    d->undo_tries--;
    for (uint32_t node = 1; node <= d->run->plan.nodes; node++)
        fault_drains_request(d, node, false);
    scheduler_in(&d->run->world.scheduler, duration_ms(UNDO_MS), fault_drains_undo, d, 0);
}

void fault_drains_begin(struct fault_drains *d)
{
    const struct plan *p = &d->run->plan;
    d->on = (p->faults & SIM_FAULT_BIT(SIM_DRAIN)) != 0 && p->nodes > p->replicas;
    if (d->on)
        fault_drains_turn(d, 0);
}

void fault_drains_end(struct fault_drains *d)
{
    if (!d->on)
        return;
    d->on = false;
    d->undo_tries = UNDO_TRIES;
    fault_drains_undo(d, 0);
}

bool fault_drains_are_over(const struct fault_drains *d)
{
    return !d->on && d->undo_tries == 0;
}

struct fault_drains *fault_drains_create(struct run *run)
{
    struct fault_drains *d = must_calloc(1, sizeof *d);
    d->run = run;
    d->prng = prng_seeded(world_seed(&run->world, WORLD_FAULT_DRAINS, 0));
    return d;
}

void fault_drains_destroy(struct fault_drains *d)
{
    free(d);
}
