/* full.c - builds the world, lets time pass, and tells the measures. */
#include "lab/fidelity/full/full.h"

#include <stdlib.h>

#include "engine/catalog/catalog.h"
#include "engine/node/control_port.h"
#include "lab/fidelity/full/full_internal.h"

enum {
    CONNECTIONS_MAX = 8192 /* of a workload to a router: more than wait in any queue */
};

/* ---- the clients' network ---- */

/* All clients of a router are one process of the network: its connections are links. */
static uint32_t client_process(const struct full *f, uint32_t router)
{
    return world_client(&f->world, router);
}

static uint64_t full_connect(void *context, uint32_t router)
{
    struct full *f = context;
    return network_connect(f->world.network, client_process(f, router),
                           world_router(&f->world, router));
}

static bool full_send(void *context, uint64_t connection, struct slice bytes)
{
    struct full *f = context;
    return network_send(f->world.network, connection, bytes);
}

static void full_close(void *context, uint64_t connection)
{
    struct full *f = context;
    network_close(f->world.network, connection);
}

static void full_accepted(void *context, uint64_t link, uint32_t from)
{
    (void)context;
    (void)link;
    must(from == 0); /* no process connects to a client */
}

/* A router needs less time for a request that is refused, here or by a node. */
static void refusal_cost_back(struct full *f, uint64_t link, struct slice answer)
{
    static const char served[] = "HTTP/1.1 200";
    const struct scenario_costs *c = &f->scenario->cluster.costs;
    const uint32_t router = network_peer(f->world.network, link);
    const bool is_served =
        answer.size < sizeof served - 1 || memcmp(answer.data, served, sizeof served - 1) == 0;
    if (router != 0 && !is_served && c->router_ns > c->refuse_ns)
        network_cost_back(f->world.network, router, c->router_ns - c->refuse_ns);
}

static void full_received(void *context, uint64_t link, struct slice bytes)
{
    struct full *f = context;
    refusal_cost_back(f, link, bytes);
    clients_received(f->clients, link, bytes);
}

static void full_closed(void *context, uint64_t link, bool gone)
{
    struct full *f = context;
    (void)gone;
    clients_closed(f->clients, link);
}

/* A router's processor takes its time for each request: the clients send a request as one
 * message. */
static void routers_take_time(struct full *f)
{
    for (uint32_t i = 0; i < f->world.plan.routers; i++)
        network_set_cost(f->world.network, world_router(&f->world, i), client_process(f, 0),
                         f->scenario->cluster.costs.router_ns);
}

static void clients_attach(struct full *f)
{
    static const struct network_handler handler = {full_accepted, full_received, full_closed,
                                                   process_datagram_refuse};
    for (uint32_t i = 0; i < f->world.plan.routers; i++) {
        network_attach(f->world.network, client_process(f, i), &handler, f);
        network_start(f->world.network, client_process(f, i));
    }
}

/* ---- windows ---- */

const struct catalog *full_catalog(const struct full *f)
{
    for (uint32_t id = 1; id <= f->world.plan.nodes; id++) {
        const struct node *n = node_process_node(f->world.nodes[id]);
        if (n != NULL && node_control_term(n) != 0)
            return node_catalog(n);
    }
    return NULL;
}

static uint32_t full_partitions(const struct full *f)
{
    const struct catalog *c = full_catalog(f);
    uint32_t count = 0;
    const struct table *t = c == NULL ? NULL : catalog_next(c, NULL);
    for (; t != NULL; t = catalog_next(c, t))
        count += t->partition_count;
    return count;
}

static void full_window(void *context, uint64_t argument)
{
    struct full *f = context;
    (void)argument;
    uint32_t partitions = full_partitions(f);
    if (partitions > 0)
        measure_partitions(f->measure, partitions);
    index_lag_window(f);
    bucket_audit_window(f);
    measure_advance(f->measure, clients_now_ns(f->clients));
    scheduler_in(&f->world.scheduler, (struct duration){f->scenario->window_ns}, full_window, f, 0);
}

/* ---- life ---- */

static struct world_plan plan_of(struct full *f, uint64_t seed)
{
    const struct scenario_cluster *c = &f->scenario->cluster;
    for (uint32_t i = 0; i <= WORLD_NODES_MAX; i++)
        f->configs[i] = c->config;
    return (struct world_plan){
        .seed = demand_seed(seed, DEMAND_WORLD, 0),
        .nodes = (uint32_t)c->nodes,
        .routers = (uint32_t)c->routers,
        .gac = (uint32_t)c->gac,
        /* One makes the tables; the last one may look at buckets. */
        .clients = (uint32_t)c->routers + 1 + bucket_audit_clients(f->scenario),
        .config = &f->configs[0],
        .configs = f->configs,
        /* A uniform addition with the mean of the jitter. */
        .delays = {.ns_min = c->costs.network_ns, .spread_ns = 2 * c->costs.jitter_ns},
        .timings = {.turn_ns = 20 * NS_PER_US,
                    .write_min_ns = c->costs.sync_ns,
                    .checkpoint_spread_ns = 50 * NS_PER_MS,
                    .work = {.first_ns = {[SERVED_READ] = c->costs.read_ns,
                                          [SERVED_WRITE] = c->costs.write_ns,
                                          [SERVED_FOLLOW] = c->costs.follow_ns,
                                          [SERVED_REFUSE] = c->costs.refuse_ns},
                             .unit_ns = c->costs.unit_ns},
                    .cores = c->costs.cores}};
}

/* Wall clocks are off by at most `wall_skew`. */
static void clocks_set(struct full *f, uint64_t seed)
{
    const struct world *w = &f->world;
    const int64_t ms_max = f->scenario->cluster.wall_skew_ns / NS_PER_MS;
    struct prng p = prng_seeded(demand_seed(seed, DEMAND_CLOCKS, 0));
    for (uint32_t id = 1; id <= w->plan.nodes; id++)
        w->nodes[id]->process.wall_skew_ms = prng_between(&p, -ms_max, ms_max);
    for (uint32_t i = 0; i < w->plan.routers; i++)
        router_process_base(w->routers[i])->wall_skew_ms = prng_between(&p, -ms_max, ms_max);
}

static void full_consumed(void *context, const struct scaling_update *table,
                          int64_t mcu[ADMIT_KINDS])
{
    const struct full *f = context;
    clients_consumed(f->clients, table->place, table->copy, mcu);
}

static void full_update(void *context, const struct scaling_update *u)
{
    admin_update(context, u);
}

static void full_begin(struct full *f, uint64_t seed)
{
    const struct scaling_port scaling = {f, full_consumed, full_update};
    const struct clients_options clients = {
        .scenario = f->scenario,
        .seed = seed,
        .measure = f->measure,
        .scheduler = &f->world.scheduler,
        .port = {f, full_connect, full_send, full_close},
        .wall_ms = SIM_WALL_BASE_MS + f->world.scheduler.now.ns / NS_PER_MS,
        .connections_max = CONNECTIONS_MAX,
    };
    f->clients = clients_create(&clients);
    f->begin_ns = f->world.scheduler.now.ns;
    clients_begin(f->clients);
    scaling_begin(&f->scaling, f->scenario, &f->world.scheduler, f->measure, &scaling);
    full_faults_begin(f);
    scheduler_in(&f->world.scheduler, (struct duration){f->scenario->window_ns}, full_window, f, 0);
}

static void full_destroy(void *runner)
{
    struct full *f = runner;
    world_deinit(&f->world);
    http_client_deinit(&f->admin);
    if (f->clients != NULL)
        clients_destroy(f->clients);
    admin_deinit(f);
    index_lag_deinit(f);
    bucket_audit_deinit(f);
    scaling_deinit(&f->scaling);
    free(f);
}

static void *full_create(const struct scenario *s, uint64_t seed, struct measure *measure,
                         struct buffer *error)
{
    struct full *f = must_calloc(1, sizeof *f);
    f->scenario = s;
    f->measure = measure;
    STAILQ_INIT(&f->calls);
    LIST_INIT(&f->splits);
    const struct world_plan plan = plan_of(f, seed);
    world_init(&f->world, &plan);
    clocks_set(f, seed);
    world_start(&f->world);
    clients_attach(f);
    routers_take_time(f);
    struct http_client_options http = world_http(&f->world, plan.routers, plan.seed);
    http_client_init(&f->admin, &http);
    bucket_audit_init(f, plan.seed);
    if (!admin_create_tables(f, error)) {
        full_destroy(f);
        return NULL;
    }
    full_begin(f, seed);
    return f;
}

static bool full_run(void *runner, int64_t until_ns, struct buffer *error)
{
    struct full *f = runner;
    (void)error;
    while (scheduler_step(&f->world.scheduler, (struct instant){f->begin_ns + until_ns}))
        continue;
    return true;
}

static uint64_t full_hash(const void *runner)
{
    const struct full *f = runner;
    return world_hash(&f->world);
}

static struct lab_counts full_counts(const void *runner)
{
    const struct full *f = runner;
    const struct catalog *c = full_catalog(f);
    return (struct lab_counts){.requests = clients_requests(f->clients),
                               .decisions = c == NULL ? 0 : catalog_last_event(c),
                               .partitions = full_partitions(f)};
}

static void full_events(const void *runner, struct buffer *out)
{
    const struct full *f = runner;
    const struct catalog *c = full_catalog(f);
    if (c != NULL)
        lab_catalog_events(c, out);
}

const struct lab_runner full_runner = {.can_run = full_can_run,
                                       .create = full_create,
                                       .destroy = full_destroy,
                                       .run = full_run,
                                       .hash = full_hash,
                                       .counts = full_counts,
                                       .events = full_events};
