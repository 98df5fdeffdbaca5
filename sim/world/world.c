/* world.c - makes the processes of the plan, each with its own stream of random numbers. */
#include "sim/world/world.h"

uint64_t world_seed(const struct world *w, enum world_stream stream, uint32_t which)
{
    struct prng p = prng_seeded(w->plan.seed ^ (uint64_t)stream << 56 ^ (uint64_t)which << 40);
    return prng_next(&p);
}

uint32_t world_router(const struct world *w, uint32_t router)
{
    return w->plan.nodes + 1 + router;
}

uint32_t world_gac(const struct world *w, uint32_t server)
{
    return w->plan.nodes + w->plan.routers + 1 + server;
}

uint32_t world_client(const struct world *w, uint32_t client)
{
    return w->plan.nodes + w->plan.routers + w->plan.gac + 1 + client;
}

struct http_client_options world_http(const struct world *w, uint32_t client, uint64_t seed)
{
    must(client < w->plan.clients);
    return (struct http_client_options){.scheduler = w->around.scheduler,
                                        .network = w->network,
                                        .process = world_client(w, client),
                                        .router_first = world_router(w, 0),
                                        .router_count = w->plan.routers,
                                        .split_per_million = w->plan.split_per_million,
                                        .manners = w->plan.manners,
                                        .seed = seed};
}

/* ---- life ---- */

static void world_create_processes(struct world *w)
{
    const struct world_plan *p = &w->plan;
    for (uint32_t id = 1; id <= p->nodes; id++)
        w->nodes[id] = node_process_create(
            &(struct node_process_options){.around = &w->around,
                                           .config = &p->configs[id],
                                           .id = id,
                                           .node_count = p->nodes,
                                           .nodes = w->nodes,
                                           .timings = p->timings,
                                           .seed = world_seed(w, WORLD_NODES, id)});
    for (uint32_t i = 0; i < p->routers; i++)
        w->routers[i] = router_process_create(
            &(struct router_process_options){.around = &w->around,
                                             .config = p->config,
                                             .process = world_router(w, i),
                                             .number = i + 1,
                                             .node_count = p->nodes,
                                             .gac_first = world_gac(w, 0),
                                             .gac_servers = p->gac,
                                             .seed = world_seed(w, WORLD_ROUTERS, i)});
    for (uint32_t i = 0; i < p->gac; i++)
        w->gac[i] =
            gac_process_create(&(struct gac_process_options){.around = &w->around,
                                                             .config = p->config,
                                                             .process = world_gac(w, i),
                                                             .number = i + 1,
                                                             .servers = p->gac,
                                                             .seed = world_seed(w, WORLD_GAC, i)});
}

void world_init(struct world *w, const struct world_plan *plan)
{
    *w = (struct world){.plan = *plan};
    must(plan->nodes <= WORLD_NODES_MAX && plan->routers <= WORLD_ROUTERS_MAX);
    must(plan->gac <= WORLD_GAC_MAX);
    w->scheduler.now = (struct instant){NS_PER_S};
    w->scheduler.tick_ns = plan->tick_ns;
    w->network = network_create(
        &(struct network_options){.scheduler = &w->scheduler,
                                  .trace = &w->trace,
                                  .processes = world_client(w, 0) - 1 + plan->clients,
                                  .delays = plan->delays,
                                  .speed = plan->speed,
                                  .seed = world_seed(w, WORLD_NETWORK, 0)});
    w->around = (struct surroundings){&w->scheduler, w->network, &w->trace, plan->watch};
    world_create_processes(w);
}

void world_deinit(struct world *w)
{
    for (uint32_t id = 1; id <= w->plan.nodes; id++)
        node_process_destroy(w->nodes[id]);
    for (uint32_t i = 0; i < w->plan.routers; i++)
        router_process_destroy(w->routers[i]);
    for (uint32_t i = 0; i < w->plan.gac; i++)
        gac_process_destroy(w->gac[i]);
    network_destroy(w->network);
    scheduler_deinit(&w->scheduler);
}

void world_start(struct world *w)
{
    struct buffer error = {0};
    for (uint32_t id = 1; id <= w->plan.nodes; id++)
        must(node_process_start(w->nodes[id], &error) == STATUS_OK);
    for (uint32_t i = 0; i < w->plan.routers; i++)
        router_process_start(w->routers[i]);
    for (uint32_t i = 0; i < w->plan.gac; i++)
        gac_process_start(w->gac[i]);
}

void world_pass(struct world *w, int64_t ns)
{
    struct instant until = instant_add(w->scheduler.now, (struct duration){ns});
    while (scheduler_step(&w->scheduler, until))
        continue;
}

/* ---- what a caller does with processes ---- */

static struct router_process *world_router_process(const struct world *w, uint32_t process)
{
    must(process >= world_router(w, 0) && process < world_gac(w, 0));
    return w->routers[process - world_router(w, 0)];
}

static struct gac_process *world_gac_process(const struct world *w, uint32_t process)
{
    must(process >= world_gac(w, 0) && process < world_client(w, 0));
    return w->gac[process - world_gac(w, 0)];
}

void world_start_process(struct world *w, uint32_t process)
{
    if (process < world_gac(w, 0))
        router_process_start(world_router_process(w, process));
    else
        gac_process_start(world_gac_process(w, process));
}

void world_crash_process(struct world *w, uint32_t process)
{
    if (process < world_gac(w, 0))
        router_process_crash(world_router_process(w, process));
    else
        gac_process_crash(world_gac_process(w, process));
}

static struct process *world_process(const struct world *w, uint32_t process)
{
    return process <= w->plan.nodes    ? &w->nodes[process]->process
           : process < world_gac(w, 0) ? router_process_base(world_router_process(w, process))
                                       : gac_process_base(world_gac_process(w, process));
}

void world_pause(struct world *w, uint32_t process, struct instant until)
{
    process_pause(world_process(w, process), until);
}

void world_suspend(struct world *w, uint32_t process, struct instant until, bool links_first)
{
    struct process *p = world_process(w, process);
    if (process <= w->plan.nodes)
        node_process_suspend(w->nodes[process], until, false);
    else if (process_pause(p, until))
        p->links_first = links_first;
}

bool world_is_up(const struct world *w, uint32_t process)
{
    return world_process(w, process)->is_up;
}

void world_step_wall(struct world *w, uint32_t process, int64_t ms)
{
    struct process *p = world_process(w, process);
    p->wall_skew_ms += ms;
    p->wall_less_ms = p->wall_less_ms > ms ? p->wall_less_ms - ms : 0;
}

int64_t *world_wall_skew_ms(const struct world *w, uint32_t i)
{
    struct process *p = i < w->plan.nodes ? &w->nodes[1 + i]->process
                                          : router_process_base(w->routers[i - w->plan.nodes]);
    return &p->wall_skew_ms;
}

int64_t world_wall_spread_ms(const struct world *w, bool routers)
{
    enum {
        DRIFT_MS = 100 /* between two readings of a wall clock */
    };
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (uint32_t i = 0; i < w->plan.nodes + (routers ? w->plan.routers : 0); i++) {
        const int64_t skew_ms = *world_wall_skew_ms(w, i);
        min = MIN(skew_ms, min);
        max = MAX(skew_ms, max);
    }
    return max - min + DRIFT_MS;
}

int64_t world_max_ahead_ms(const struct world *w)
{
    int64_t all[WORLD_NODES_MAX];
    for (uint32_t i = 0; i < w->plan.nodes; i++) {
        const struct process *p = &w->nodes[i + 1]->process;
        const int64_t ms = p->wall_skew_ms + p->wall_less_ms;
        uint32_t at = i;
        for (; at > 0 && all[at - 1] < ms; at--)
            all[at] = all[at - 1];
        all[at] = ms;
    }
    return all[w->plan.nodes / 2];
}

struct sim_clock *world_clock(struct world *w, uint32_t process)
{
    return &world_process(w, process)->clock;
}

void world_request(struct world *w, const struct request *r, struct buffer *answer)
{
    for (uint32_t id = 1; id <= w->plan.nodes; id++) {
        if (node_process_is_up(w->nodes[id]))
            node_process_request(w->nodes[id], r, answer);
    }
}

uint64_t world_hash(const struct world *w)
{
    uint64_t hash = w->trace.hash;
    for (uint32_t id = 1; id <= w->plan.nodes; id++)
        hash = hash * 31 + node_process_hash(w->nodes[id]);
    return hash;
}
