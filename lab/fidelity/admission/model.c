/* model.c - the model's life, and the order of its events.
 *
 * Arrivals of open loops come from a heap of sources, everything else from the scheduler. An event
 * of the scheduler comes before an arrival of the same time. */
#include "lab/fidelity/admission/model.h"

#include <math.h>
#include <stdlib.h>

#include "lab/fidelity/admission/model_internal.h"

void model_in(struct model *m, int64_t delay_ns, scheduler_run *run, void *context,
              uint64_t argument)
{
    const struct instant at = {m->scheduler.now.ns + delay_ns};
    scheduler_at(&m->scheduler, at, run, context, argument);
}

/* The quantiles of an exponential distribution with mean 1, in 1/1024: drawing one is a look-up. */
static void jitter_fill(struct model *m)
{
    for (int i = 0; i < JITTER_STEPS; i++)
        m->jitter[i] = (int32_t)(-log1p(-(i + 0.5) / JITTER_STEPS) * JITTER_ONE);
}

int64_t model_way_ns(struct model *m)
{
    const struct scenario_costs *c = &m->scenario->cluster.costs;
    uint64_t draw = prng_next(&m->network) >> (64 - JITTER_BITS);
    return c->network_ns + c->jitter_ns * m->jitter[draw] / JITTER_ONE;
}

static void window_over(void *context, uint64_t argument)
{
    struct model *m = context;
    (void)argument;
    observe_window(m);
    model_in(m, m->scenario->window_ns, window_over, m, 0);
}

static void servers_create(struct model *m)
{
    m->server_count = (uint32_t)m->scenario->cluster.gac;
    m->servers = must_calloc(m->server_count + 1, sizeof m->servers[0]);
    for (uint32_t i = 1; i <= m->server_count; i++) {
        m->servers[i].number = i;
        model_links_start(m, &m->servers[i]);
    }
}

static void model_destroy(void *runner)
{
    struct model *m = runner;
    observe_destroy(m);
    sample_destroy(m);
    model_sources_destroy(m);
    model_routers_destroy(m);
    model_links_destroy(m);
    model_tables_destroy(m);
    scaling_deinit(&m->scaling);
    model_nodes_destroy(m);
    model_control_destroy(m);
    scheduler_deinit(&m->scheduler);
    free(m);
}

static bool model_can_run(struct reading *r, const struct scenario *s)
{
    for (uint32_t i = 0; i < s->table_count; i++) {
        const struct scenario_table *t = &s->tables[i];
        if (t->indexes.count > 0)
            return reading_fail(r, document_nearest(r->document, "tables.%u.indexes", i + 1),
                                "the fidelity admission has no global indexes, but table %s has "
                                "%u: `indexes` must be empty. The fidelity full has them",
                                t->name, t->indexes.count);
        if (t->expire_at_ns > 0)
            return reading_fail(r, document_nearest(r->document, "tables.%u.expire_at", i + 1),
                                "the fidelity admission has no time to live, but table %s has "
                                "`expire_at`. The fidelity full has it",
                                t->name);
        if (t->key_sharding != NULL)
            return reading_fail(r, document_nearest(r->document, "tables.%u.key_sharding", i + 1),
                                "the fidelity admission has no sharded keys, but table %s has "
                                "`key_sharding: %s`. The fidelity full has them",
                                t->name, t->key_sharding);
    }
    for (uint32_t i = 0; i < s->workload_count; i++) {
        const struct scenario_workload *w = &s->workloads[i];
        if (w->transact > 0)
            return reading_fail(r, document_nearest(r->document, "workloads.%u.transact", i + 1),
                                "the fidelity admission has no transactions, but workload %s has "
                                "`transact: %lld`. The fidelity full has them",
                                w->name, (long long)w->transact);
        if (w->limiter != NULL)
            return reading_fail(r, document_nearest(r->document, "workloads.%u.limiter", i + 1),
                                "the fidelity admission has no rate limiter, but workload %s has "
                                "`limiter: %s`. The fidelity full has it",
                                w->name, w->limiter);
    }
    return true;
}

static void *model_create(const struct scenario *s, uint64_t seed, struct measure *measure,
                          struct buffer *error)
{
    struct model *m = must_calloc(1, sizeof *m);
    m->scenario = s;
    m->config = &s->cluster.config;
    m->seed = seed;
    m->measure = measure;
    jitter_fill(m);
    m->network = prng_seeded(model_seed(m, DEMAND_NETWORK, 0));
    m->replicas = prng_seeded(model_seed(m, DEMAND_REPLICAS, 0));
    model_nodes_create(m);
    observe_create(m);
    model_routers_create(m);
    servers_create(m);
    for (uint32_t i = 0; i < m->router_count; i++)
        router_start(m, &m->routers[i]);
    model_control_create(m);
    if (!model_tables_create(m, error)) {
        model_destroy(m);
        return NULL;
    }
    model_sources_create(m);
    model_faults_begin(m);
    model_control_run(m);
    model_tables_run(m);
    model_in(m, s->window_ns, window_over, m, 0);
    return m;
}

static bool model_run(void *runner, int64_t until_ns, struct buffer *error)
{
    struct model *m = runner;
    (void)error;
    for (;;) {
        int64_t arrival_ns = model_sources_next_ns(m);
        int64_t next_ns = arrival_ns < until_ns ? arrival_ns : until_ns;
        while (scheduler_step(&m->scheduler, (struct instant){next_ns}))
            ;
        if (arrival_ns > until_ns)
            return true;
        model_sources_arrive(m);
    }
}

static uint64_t model_hash(const void *runner)
{
    const struct model *m = runner;
    return m->hash;
}

static struct lab_counts model_counts(const void *runner)
{
    const struct model *m = runner;
    return m->counts;
}

static void model_events(const void *runner, struct buffer *out)
{
    const struct model *m = runner;
    lab_catalog_events(m->catalog, out);
}

const struct lab_runner admission_runner = {.optimum = true,
                                            .can_run = model_can_run,
                                            .create = model_create,
                                            .destroy = model_destroy,
                                            .keep_samples = sample_keep,
                                            .write_samples = sample_write,
                                            .run = model_run,
                                            .hash = model_hash,
                                            .counts = model_counts,
                                            .events = model_events};
