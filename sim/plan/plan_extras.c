/* plan_extras.c - what a plan may have besides (EXTRA_LIST_SIM), and what goes with its faults. */
#include "sim/plan/plan_extras.h"

#include "base/settings.h"

enum {
    EXTRA_PERCENT = 30,
    SCARCE_SHARE = 50,
    LARGE_PERCENT = 5,
    WALL_AHEAD_MS = 2 * 24 * 3600000, /* more than records of streams are kept */
    WALL_STREAMS_MS = 12 * 3600000,   /* less than that: docs/testing.md says why */
    WALL_TOKEN_MS = 2 * WALL_AHEAD_MS
};

const struct sim_named sim_extras[SIM_EXTRAS] = {
#define X(code, name, help) {name, help},
    EXTRA_LIST_SIM(X)
#undef X
};

static void plan_choose_extras(struct plan *plan, const struct sim_options *o, struct prng *p)
{
    for (unsigned i = 0; i < SIM_LARGE_BODIES; i++) {
        /* An index that short may take longer than the clients of a run wait: only if it is asked
         * for. */
        const bool drawn = i != SIM_SCARCE_INDEX && !o->plain;
        const bool chosen = prng_below(p, 100) < EXTRA_PERCENT && drawn;
        plan->extras |= chosen || o->extras_forced ? o->extras & SIM_EXTRA_BIT(i) : 0;
    }
    if (o->extras_forced) /* no seed draws it: it takes the simulator's time */
        plan->extras |= o->extras & SIM_EXTRA_BIT(SIM_LARGE_BODIES);
}

/* A router waits for an answer to a step for request_deadline_ms. What a step needs must be known
 * for longer than that, by every wall clock. Counters and the rate limiter count a request once
 * however often it is sent again: with them, tokens are known for as long as usual. */
static void plan_short_times(struct plan *plan, struct prng *p)
{
    struct settings *c = config_edit_all(&plan->config);
    const int64_t ms_min = c->request_deadline_ms + 2 * SIM_SHORT_SKEW_MS;
    const int64_t token_ms = ms_min + plan_spread(p, 200, 5000);
    const int64_t fence_ms = ms_min + plan_spread(p, 200, 5000);
    const int64_t keep_ms = token_ms + plan_spread(p, 200, 5000);
    const int64_t sweep_ms = plan_spread(p, 100, 2000), retention_ms = plan_spread(p, 200, 5000);
    const bool trims = prng_below(p, 2) == 0;
    if (plan->work_fill > 0 && (plan->faults & SIM_FAULT_BIT(SIM_WALL)) == 0)
        c->stream_retention_ms = retention_ms; /* the other clients' records would fill the store */
    if (!plan_has(plan, SIM_SHORT_TIMES))
        return;
    c->transaction_fence_ms = fence_ms;
    c->transaction_sweep_ms = sweep_ms;
    c->stream_retention_ms = trims ? retention_ms : c->stream_retention_ms;
    if (plan->work_counters > 0 || plan->work_limiter > 0)
        return;
    c->transaction_token_ms = token_ms;
    c->key_sharding_keep_ms = keep_ms;
}

/* The rate limiter needs clocks that differ by less than LIMITER_SHARD_MAP_TTL_MS. A clock that is
 * ahead trims records of streams early, and forgets tokens early. */
static void plan_wall(struct plan *plan, const struct sim_options *o)
{
    const uint32_t wall = SIM_FAULT_BIT(SIM_WALL);
    const bool short_times = plan_has(plan, SIM_SHORT_TIMES);
    if ((plan->faults & wall) == 0)
        return;
    if (!o->faults_forced && (plan->work_limiter > 0 || short_times || plan->work_fill > 0)) {
        plan->faults &= ~wall;
        return;
    }
    if (o->work_limiter == 0)
        plan->work_limiter = 0;
    plan->extras &= ~SIM_EXTRA_BIT(SIM_SHORT_TIMES);
    plan->wall_ahead_ms = plan->work_streams > 0 || plan_has(plan, SIM_MIXED) ? WALL_STREAMS_MS
                          : plan->work_limiter > 0                            ? 0
                                                                              : WALL_AHEAD_MS;
    config_edit_all(&plan->config)->transaction_token_ms = WALL_TOKEN_MS;
}

static void plan_scarce_index(struct plan *plan, struct prng *p)
{
    struct workload *w = &plan->workload;
    struct settings *c = config_edit_all(&plan->config);
    const int64_t backlog = plan_spread(p, 16, 64) * KIB;
    if (!plan->limits || !plan_has(plan, SIM_SCARCE_INDEX)) {
        plan->extras &= ~SIM_EXTRA_BIT(SIM_SCARCE_INDEX);
        return;
    }
    c->index_backlog_bytes = backlog;
    w->index_units = w->partitions * w->units / SCARCE_SHARE;
    w->index_units += w->index_units == 0;
}

/* Nodes must be able to serve the global indexes that the table of items that expire has then. */
static void plan_mixed(struct plan *plan)
{
    const struct workload *w = &plan->workload;
    struct settings *c = config_edit_all(&plan->config);
    if (!plan->limits || plan->work_ttl == 0 || !plan_has(plan, SIM_MIXED))
        return;
    c->node_wcu += 2 * DYNAMO_GLOBALS * w->partitions * w->units;
    c->node_rcu = c->node_wcu;
}

/* Nodes must be able to serve the table, too. It is made while others have boosts that reserve what
 * is left: they must not keep it for a minute without use. */
static void plan_leaving_table(struct plan *plan)
{
    const struct workload *w = &plan->workload;
    struct settings *c = config_edit_all(&plan->config);
    if (plan->work_transactions == 0)
        plan->extras &= ~SIM_EXTRA_BIT(SIM_LEAVING_TABLE);
    if (!plan->limits || !plan_has(plan, SIM_LEAVING_TABLE))
        return;
    c->node_wcu += w->partitions * w->units;
    c->node_rcu = c->node_wcu;
    c->adaptive_decay_percent = 100;
    c->adaptive_decay_ms = 1000;
}

/* The check that reads show own writes is of one router. It must wait for as long as it takes. */
static void plan_own_reads(struct plan *plan)
{
    struct settings *c = config_edit_all(&plan->config);
    if (!plan_has(plan, SIM_OWN_READS))
        return;
    plan->routers = 1;
    c->read_your_writes = 1;
    c->read_your_writes_wait_ms = c->request_deadline_ms / 2;
}

/* While a snapshot is open, what is deleted frees nothing: it must not take minutes. */
void plan_quick_snapshots(struct config *config)
{
    struct settings *c = config_edit_all(config);
    c->snapshot_bytes_s = c->snapshot_busy_bytes_s = 64 * MIB;
}

/* Draws from its own stream. A seed chooses such clients only where its plan has no GAC server and
 * limits nobody. Where a node may follow more than another one leads, it gets full first, and its
 * leaders do not know: so every node has a replica of everything, unless the caller has chosen
 * otherwise. */
void plan_work_fill(struct plan *plan, const struct sim_options *o, bool limits)
{
    enum {
        FILLS_PERCENT = 20,
        BIG_PERCENT = 30,
        BIG = 390000,
        BIG_TIMES = 4
    };
    struct settings *c = config_edit_all(&plan->config);
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x66696c6c73000000));
    const int64_t map = prng_between(&p, 4, 16) * MIB, max = plan_spread(&p, 4 * KIB, 30000);
    const bool big = prng_below(&p, 100) < BIG_PERCENT && c->log_segment_bytes >= 8 * MIB;
    const bool some = prng_below(&p, 100) < FILLS_PERCENT && !o->plain && o->work_fill == 0 &&
                      plan->gac == 0 && plan->config.profile == PROFILE_OFF;
    const uint32_t clients = (uint32_t)prng_between(&p, 1, 4);
    plan->work_fill = limits ? 0 : o->work_fill > 0 ? (uint32_t)o->work_fill : some ? clients : 0;
    if (plan->work_fill == 0)
        return;
    plan->gac = 0;
    c->gac = GAC_OFF;
    plan->config.profile = PROFILE_OFF;
    c->map_max_bytes = big ? BIG_TIMES * map : map; /* small ones are soon in small pieces */
    plan_quick_snapshots(&plan->config);
    const int64_t fits = c->log_segment_bytes / 4;
    plan->fill_bytes_max = (uint32_t)(big ? BIG : MIN(max, fits));
    if (big && c->group_max_bytes < 2 * MIB)
        c->group_max_bytes = 2 * MIB;
    if (o->nodes == 0)
        plan->nodes = plan->replicas;
    else if (o->replicas == 0)
        plan->replicas = plan->nodes;
    c->replicas = plan->replicas;
}

bool plan_keeps_tokens(const struct plan *plan)
{
    struct config usual;
    config_init(&usual, PROFILE_OFF);
    return config_all(&plan->config)->transaction_token_ms >=
           config_all(&usual)->transaction_token_ms;
}

void plan_extras(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6578747261730000));
    plan_choose_extras(plan, o, &p);
    if (plan->work_ttl == 0 && plan->work_streams == 0) /* there is nothing to switch */
        plan->extras &= ~SIM_EXTRA_BIT(SIM_SWITCHES);
    plan_wall(plan, o);
    plan_short_times(plan, &p);
    plan_scarce_index(plan, &p);
    plan_mixed(plan);
    plan_leaving_table(plan);
    plan_own_reads(plan);
    plan->manners.large = plan_has(plan, SIM_LARGE_BODIES) ? LARGE_PERCENT : 0;
}
