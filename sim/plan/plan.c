/* plan.c - everything that a seed decides before a run: the cluster's shape, timings, settings, the
 * work, and the faults and how often they are injected. */
#include "sim/plan/plan.h"

#include "base/settings.h"
#include "gac/gac_message.h"
#include "sim/plan/plan_extras.h"
#include "sim/plan/work_tables.h"

const struct sim_named sim_faults[SIM_FAULTS] = {
#define X(code, name, help) {name, help},
    FAULT_LIST_SIM(X)
#undef X
};

int64_t plan_spread(struct prng *p, int64_t low, int64_t high)
{
    int64_t top = low;
    while (top < high && prng_below(p, 4) > 0)
        top = top * 2 < high ? top * 2 + 1 : high;
    return prng_between(p, low, top);
}

static bool plan_odds(struct prng *p, uint32_t percent)
{
    return prng_below(p, 100) < percent;
}

static uint32_t plan_choose(struct prng *p, uint32_t fixed, uint32_t low, uint32_t high)
{
    uint32_t chosen =
        (uint32_t)prng_between(p, low, high); /* always drawn: later draws do not change */
    return fixed > 0 ? fixed : chosen;
}

/* Chooses among the faults from `first` to before `end`, as far as `may` has them. */
static void choose_faults(struct plan *plan, struct prng *p, uint32_t percent, uint32_t may,
                          unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        plan->faults |= plan_odds(p, percent) ? may & SIM_FAULT_BIT(i) : 0;
}

static void plan_faults(struct plan *plan, struct prng *p, const struct sim_options *o)
{
    plan->faults = o->faults_forced ? o->faults : 0;
    uint32_t percent = (uint32_t)prng_between(p, 10, 90);
    choose_faults(plan, p, percent, o->faults, 0, SIM_FAULTS_FIRST);
    struct network_faults *f = &plan->network_faults;
    uint32_t drop = (uint32_t)plan_spread(p, 100, 200000);
    uint32_t duplicate = (uint32_t)plan_spread(p, 100, 100000);
    f->drop_per_million = plan->faults & SIM_FAULT_BIT(SIM_DROP) ? drop : 0;
    f->duplicate_per_million = plan->faults & SIM_FAULT_BIT(SIM_DUPLICATE) ? duplicate : 0;
    f->reorder = (plan->faults & SIM_FAULT_BIT(SIM_REORDER)) != 0;
    plan->fault_interval_ns = plan_spread(p, 20, 1000) * NS_PER_MS;
    plan->split_per_million = plan_odds(p, 30) ? 50000 : 0;
}

/* Some limits are lower than a configuration allows: rare events happen more often. */
static void plan_config(struct config *config, struct prng *p)
{
    config_init(config, plan_odds(p, 90) ? PROFILE_OFF : PROFILE_AWS);
    struct settings *c = config_edit_all(config);
    c->log_segment_bytes = plan_odds(p, 70) ? plan_spread(p, 64, 1024) * KIB : 8 * MIB;
    c->log_segment_bytes &= ~INT64_C(7);
    c->log_writes = prng_between(p, 1, LOG_WRITES_MAX);
    c->log_max_bytes = plan_spread(p, 4, 64) * c->log_segment_bytes;
    c->memtable_max_bytes = plan_spread(p, 16, 4096) * KIB;
    c->checkpoint_ms = plan_spread(p, 10, 10000);
    c->map_initial_bytes = plan_spread(p, 64, 4096) * KIB;
    c->map_max_bytes = 64 * MIB;
    c->resident_max_bytes = plan_odds(p, 30) ? 0 : 4 * GIB;
    c->node_queue_max = plan_spread(p, 16, 1024);
    c->request_deadline_ms = plan_spread(p, 500, 5000);
    c->explain_bytes = 256 * KIB; /* the ring turns, */
    c->explain_slow_ms = 1;       /* and nearly each request leaves a record */
}

static void plan_replication(struct plan *plan, struct prng *p)
{
    struct settings *c = config_edit_all(&plan->config);
    c->replicas = plan->replicas;
    c->heartbeat_ms = plan_spread(p, 5, 200);
    c->support_ms = c->heartbeat_ms * prng_between(p, 2, 8) + prng_between(p, 1, 50);
    c->election_ms = plan_spread(p, 10, 500);
    c->append_retry_ms = plan_spread(p, 5, 500);
    c->follower_max_bytes = plan_spread(p, 1, 1024) * KIB;
    if (c->follower_max_bytes > c->log_segment_bytes / 2) /* a message must fit into the log */
        c->follower_max_bytes = c->log_segment_bytes / 2;
    c->group_max_bytes = plan_spread(p, 8, 1024) * KIB;
    c->entries_max_bytes = plan_spread(p, 1, 1024) * KIB;
    c->snapshot_bytes_s = plan_odds(p, 50) ? 64 * MIB : plan_spread(p, 64, 4096) * KIB;
    /* Two clocks may differ by clock_drift_ppm. Each may be off by a little less than half. */
    plan->drift_ppm = prng_between(p, 1, c->clock_drift_ppm / 2 - 10);
}

static void plan_timings(struct plan *plan, struct prng *p)
{
    plan->timings = (struct node_timings){
        .turn_ns = prng_between(p, 0, 50) * NS_PER_US,
        .write_min_ns = plan_spread(p, 50, 5000) * NS_PER_US,
        .write_spread_ns = plan_spread(p, 50, 5000) * NS_PER_US,
        .write_tail_ns = plan_spread(p, 1, 100) * NS_PER_MS,
        .write_tail_per_million = (uint32_t)plan_spread(p, 1, 20000),
        .checkpoint_spread_ns = plan_spread(p, 1, 500) * NS_PER_MS,
        .read_spread_ns = plan_spread(p, 10, 20000) * NS_PER_US,
    };
    plan->delays = (struct network_delays){
        .ns_min = plan_spread(p, 20, 2000) * NS_PER_US,
        .spread_ns = plan_spread(p, 10, 5000) * NS_PER_US,
        .tail_ns = plan_spread(p, 1, 200) * NS_PER_MS,
        .tail_per_million = (uint32_t)plan_spread(p, 1, 20000),
    };
}

static void plan_workload(struct workload *w, struct prng *p)
{
    *w = (struct workload){
        .tables = 1,
        .keys = (uint32_t)plan_spread(p, 1, 24),
        .partitions = (uint32_t)prng_between(p, 1, 5),
        .units = 1000,
        .read_percent = (uint32_t)prng_between(p, 10, 80),
        .delete_percent = plan_odds(p, 50) ? (uint32_t)prng_between(p, 0, 40) : 0,
        .eventual_percent = (uint32_t)prng_between(p, 0, 50),
        .old_percent = (uint32_t)prng_between(p, 0, 100),
        .many_percent = plan_odds(p, 50) ? (uint32_t)prng_between(p, 1, 40) : 0,
        .pad_bytes = plan_odds(p, 50) ? 0 : (uint32_t)plan_spread(p, 10, 4000),
        .think_ns = plan_odds(p, 30) ? 0 : plan_spread(p, 100, 50000) * NS_PER_US,
        .timeout_ns = plan_spread(p, 300, 10000) * NS_PER_MS,
    };
}

/* Draws from its own stream: the rest of a seed's plan does not depend on it. */
static void plan_gac(struct plan *plan, const struct sim_options *o)
{
    struct settings *c = config_edit_all(&plan->config);
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6761635f73696d00));
    uint32_t servers = (uint32_t)prng_below(&p, SIM_GAC_MAX + 1);
    if (o->gac_policy != NULL && servers == 0)
        servers = 1;
    plan->gac = o->gac == 0 ? servers : o->gac == SIM_NONE ? 0 : (uint32_t)o->gac;
    c->gac = prng_between(&p, GAC_STATIC, GAC_LEASE);
    if (plan_odds(&p, 50))
        c->gac = GAC_LEASE;
    if (plan->gac == 0) {
        c->gac = GAC_OFF;
        return;
    }
    if (plan->config.profile == PROFILE_OFF) /* for routers: the nodes still limit nothing */
        plan->config.profile = PROFILE_RESEARCH;
    plan->workload.units = (uint32_t)plan_spread(&p, 20, 1000);
    c->partition_max_wcu = plan->workload.units; /* keeps the number of partitions */
    c->gac_bank_ms = plan_spread(&p, 1000, 20000);
    /* No process may be taken for unresponsive only because the network is slow. */
    const struct network_delays *d = &plan->delays;
    int64_t delay_ns = d->ns_min + d->spread_ns + d->tail_ns + plan->tick_ns;
    c->gac_lifetime_ms = plan_spread(&p, 100, 5000) + 10 * delay_ns / NS_PER_MS;
    c->gac_timeout_ms = plan_spread(&p, 1, 200) + 2 * delay_ns / NS_PER_MS + 1;
    c->gac_wait_ms = plan_spread(&p, 1, 200);
}

/* Draws from its own stream. */
static void plan_tick(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x7469636b00000000));
    bool ticks = plan_odds(&p, 25) && !o->bench;
    int64_t us = plan_spread(&p, 1, SIM_TICK_US_MAX);
    if (o->tick_us != 0)
        plan->tick_ns = o->tick_us == SIM_NONE ? 0 : o->tick_us * NS_PER_US;
    else
        plan->tick_ns = ticks ? us * NS_PER_US : 0;
}

/* ---- parts that were added later ---- */

void plan_vary_settings(const struct config *base, struct config *config, struct prng *p)
{
    int64_t heartbeat_ms = config_all(base)->heartbeat_ms;
    struct settings *c = config_edit_all(config);
    c->heartbeat_ms = plan_spread(p, 1, heartbeat_ms);
    c->support_ms = heartbeat_ms * prng_between(p, 2, 8) + prng_between(p, 1, 50);
    if (plan_odds(p, 20))
        c->support_ms = plan_spread(p, 2 * heartbeat_ms + 1, 4000);
    c->election_ms = plan_spread(p, 10, 500);
    c->append_retry_ms = plan_spread(p, 5, 500);
    c->commit_notify_ms = plan_odds(p, 50) ? 5 : plan_spread(p, 0, 500);
    c->snapshot_bytes_s = plan_odds(p, 50) ? 64 * MIB : plan_spread(p, 64, 4096) * KIB;
    c->snapshot_busy_bytes_s = plan_odds(p, 50) ? 2 * MIB : plan_spread(p, 64, 4096) * KIB;
    c->snapshot_step_bytes = plan_odds(p, 50) ? 256 * KIB : plan_spread(p, 1, 256) * KIB;
    c->log_writes = prng_between(p, 1, LOG_WRITES_MAX);
    c->checkpoint_ms = plan_spread(p, 10, 10000);
    c->memtable_max_bytes = plan_spread(p, 16, 4096) * KIB;
    c->resident_max_bytes = plan_odds(p, 40) ? plan_spread(p, 1, 64) * KIB : 4 * GIB;
    c->report_ms = plan_spread(p, 10, 500);
    c->report_deadline_ms = c->report_ms * prng_between(p, 2, 10);
    c->request_deadline_ms = plan_spread(p, 500, 5000);
}

static void plan_tables(struct plan *plan, struct prng *p)
{
    struct workload *w = &plan->workload;
    uint32_t tables = (uint32_t)prng_between(p, 2, TABLES_MAX);
    w->churn_ns = plan_spread(p, 50, 2000) * NS_PER_MS;
    if (plan_odds(p, 60))
        w->tables = tables;
    uint32_t query = (uint32_t)prng_between(p, 10, 80);
    uint32_t many = (uint32_t)prng_between(p, 5, 50);
    if (plan_odds(p, 60)) {
        w->query_percent = query;
        w->many_percent = MAX(w->many_percent, many);
    }
    uint32_t collection = (uint32_t)plan_spread(p, 1, 24);
    uint32_t long_percent = plan_odds(p, 50) ? 100 : (uint32_t)prng_between(p, 10, 90);
    w->shapes[0].seed = prng_next(p);
    if (plan_odds(p, 50)) {
        w->shapes[0].collection = collection;
        w->shapes[0].long_percent = long_percent;
    }
    uint32_t big = (uint32_t)prng_between(p, 1, 5);
    /* Only without throttling: an item of this size makes a debt of minutes. */
    if (plan_odds(p, 20) && config_all(&plan->config)->log_segment_bytes >= 8 * MIB &&
        plan->config.profile == PROFILE_OFF && plan->work_fill == 0)
        w->filler.big_percent = big;
}

/* Budgets that may be tight are the same for all nodes. */
static void plan_budgets(struct plan *plan, struct prng *p)
{
    struct settings *c = config_edit_all(&plan->config);
    int64_t memory = plan_spread(p, 1024, 4096) * KIB, resident = plan_spread(p, 1, 64) * KIB;
    int64_t unresponsive_ms = plan_spread(p, 1000, 8000);
    if (plan_odds(p, 30))
        c->http_memory_max_bytes =
            plan->workload.filler.big_percent > 0 ? memory + 8 * MIB : memory;
    if (plan_odds(p, 30))
        c->resident_max_bytes = resident; /* most data is cold, whatever reads it */
    if (plan_odds(p, 20))
        c->node_unresponsive_ms = unresponsive_ms;
    c->commit_notify_ms = plan_odds(p, 50) ? 5 : plan_spread(p, 0, 500);
    c->snapshot_step_bytes = plan_odds(p, 50) ? 256 * KIB : plan_spread(p, 1, 256) * KIB;
    c->control_ms = plan_spread(p, 10, 500);
    c->load_report_ms = plan_spread(p, 10, 500);
}

/* Whether the caller has chosen a policy that nodes apply. */
static bool plan_is_limited(const struct sim_options *o)
{
    return o->partition_policy != NULL || o->node_policy != NULL || o->headroom_policy != NULL ||
           o->adaptive_policy != NULL || o->split_policy != NULL || o->demand_policy != NULL ||
           o->relocate_policy != NULL;
}

/* Limits of partitions, nodes and members that a few clients reach. Each node can serve all that
 * nodes reserve for the tables. Draws from its own stream. */
static void plan_limits(struct plan *plan, const struct sim_options *o)
{
    enum {
        DEMAND_PARTITIONS = 4,
        LIMITER_PEAK = 400 /* units: twice what its clients ever consumed in a second */
    };
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6c696d6974730000));
    struct settings *c = config_edit_all(&plan->config);
    bool limits = plan_odds(&p, 50);
    int64_t units = plan_spread(&p, 10, 100), percent = prng_between(&p, 100, 150);
    int64_t burst_s = plan_odds(&p, 50) ? 300 : plan_spread(&p, 0, 60);
    c->dead_member =
        plan_odds(&p, 70) ? DEAD_MEMBER_EXCLUDE : prng_between(&p, 0, DEAD_MEMBER_ZERO);
    c->read_cap = prng_between(&p, READ_CAP_GROUP, READ_CAP_REPLICA);
    c->write_check = prng_between(&p, 0, WRITE_CHECK_LEASE);
    c->split_delay_ms = plan_odds(&p, 70) ? 0 : plan_spread(&p, 100, 5000);
    c->report_ms = plan_spread(&p, 10, 500);
    c->report_deadline_ms = c->report_ms * prng_between(&p, 2, 10);
    if (plan_is_limited(o)) {
        units = 1 + units % 3; /* so little that policies have something to decide */
        percent = 100;
        plan->gac = o->gac_policy == NULL ? 0 : plan->gac;
        plan->workload.filler.big_percent = 0;
        if (o->work_limiter == 0) /* a second has too few units to read a bucket's levels */
            plan->work_limiter = 0;
    } else if (!limits || plan->gac > 0 || plan->config.profile != PROFILE_OFF ||
               plan->workload.filler.big_percent > 0 || plan->work_fill > 0)
        return;
    plan->limits = true;
    static const char *const policies[] = {"burst", "always-burst"};
    const char *policy = policies[plan_odds(&p, 70)];
    plan->config.profile = PROFILE_RESEARCH;
    memcpy(plan->config.partition_policy, policy, strlen(policy) + 1);
    c->gac = GAC_OFF;
    c->burst_max_s = burst_s;
    plan->workload.units = (uint32_t)units;
    c->partition_max_wcu = 3 * units; /* room for bursts */
    c->on_demand_wcu = c->on_demand_rcu = DEMAND_PARTITIONS * units;
    c->on_demand_reserved_percent = 100;
    const struct workload *w = &plan->workload;
    const int64_t indexes =
        w->global_indexes ? DYNAMO_GLOBALS : 0; /* each with as much as the table */
    const int64_t lists = plan->work_transactions > 0 ? WORK_TRANSACTION_TABLES + indexes : 0;
    const int64_t others = (plan->work_ttl > 0) + (plan->work_streams > 0);
    int64_t reserved = units * (w->partitions * (1 + indexes + lists + others) +
                                (w->tables - 1) * (int64_t)TABLE_PARTITIONS_MAX);
    if (plan->work_counters > 0)
        reserved += plan_counter_units(plan);
    const int64_t start = DEMAND_PARTITIONS * units;
    if (plan->work_limiter > 0) /* its table is on demand, and its peaks stay reserved for ever */
        reserved += MAX(start, LIMITER_PEAK);
    c->node_wcu = c->node_rcu = reserved * percent / 100;
}

/* Draws from its own stream. */
static void plan_merges(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6d65726765730000));
    bool merges = plan_odds(&p, 50) && !o->plain && o->merges != SIM_NONE;
    uint32_t percent = (uint32_t)prng_between(&p, 5, 60);
    int64_t freeze_ms = plan_spread(&p, 20, 5000);
    if (o->merges > 0)
        plan->merge_percent = (uint32_t)o->merges;
    else if (merges)
        plan->merge_percent = percent;
    config_edit_all(&plan->config)->merge_freeze_ms = freeze_ms;
}

/* Speeds of ways and processors, clients' manners, the latest faults. Draws from its own stream. */
static void plan_world(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x776f726c64000000));
    const int64_t way = plan_spread(&p, 1, 1000) * KIB, event_ns = plan_spread(&p, 500, 200000);
    const int64_t read = plan_spread(&p, 20, 2000);
    struct http_manners *m = &plan->manners;
    plan->speed.way_bytes_ms = plan_odds(&p, 50) ? way : 0;
    plan->speed.event_ns = plan_odds(&p, 50) ? event_ns : 0;
    m->read_bytes_ms = plan_odds(&p, 30) ? read : 0;
    uint32_t *const percents[] = {&m->pieces,    &m->chunked, &m->packed, &m->unpacks,
                                  &m->pipelined, &m->ends,    &m->cut};
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        const uint32_t percent = (uint32_t)plan_spread(&p, 1, 40);
        *percents[i] = plan_odds(&p, 40) ? percent : 0;
    }
    m->cut_too_late = o->mutation == SIM_MUTATION_CUT_REQUESTS;
    choose_faults(plan, &p, 30, o->faults, SIM_FAULTS_MORE, SIM_FAULTS); /* last in its stream */
}

static void plan_name(char out[POLICY_NAME_MAX], const char *name)
{
    if (name == NULL)
        return;
    must(strlen(name) < POLICY_NAME_MAX);
    memset(out, 0, POLICY_NAME_MAX);
    memcpy(out, name, strlen(name));
}

/* When requests have waited too long for a process. Some seeds have slow processors, and targets
 * that their queues reach. Not dagor: a key that it refused may wait for minutes. Own stream. */
static void plan_overload(struct plan *plan, const struct sim_options *o)
{
    static const char *const policies[] = {"delay", "credits", "breakwater", "off"};
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6f7665726c6f6164));
    struct settings *c = config_edit_all(&plan->config);
    const int64_t target_ms = plan_spread(&p, 1, 50), interval_ms = plan_spread(&p, 1, 100);
    const int64_t limit_ms = target_ms + prng_between(&p, 0, 200);
    const struct processor_costs work = {
        .first_ns = {[SERVED_READ] = plan_spread(&p, 50, 2000) * NS_PER_US,
                     [SERVED_WRITE] = plan_spread(&p, 50, 2000) * NS_PER_US,
                     [SERVED_FOLLOW] = plan_spread(&p, 1, 100) * NS_PER_US}};
    const char *policy = policies[prng_below(&p, 4)];
    /* A read of a counter or of a bucket needs a credit for each cell or shard at once. */
    const bool bursts = plan->work_counters > 0 || plan->work_limiter > 0;
    if (bursts && (strcmp(policy, "breakwater") == 0 || strcmp(policy, "credits") == 0))
        policy = "delay";
    plan_name(plan->config.overload_policy, policy);
    if (plan_odds(&p, 60))
        return;
    plan->timings.work = work;
    /* Such a read is a burst of as many requests: each would wait too long. */
    const int64_t ms_min = bursts ? 50 : 0;
    c->overload_target_ms = target_ms + ms_min;
    c->overload_interval_ms = interval_ms;
    c->overload_limit_ms = limit_ms + ms_min;
}

static enum attr_type some_type(struct prng *p)
{
    const uint64_t draw = prng_below(p, 4);
    return draw == 0 ? ATTR_NUMBER : draw == 1 ? ATTR_BINARY : ATTR_STRING;
}

/* Key types and fillers. Only plain plans have no long keys. Draws from its own stream. */
static void plan_shapes(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x7368617065730000));
    struct workload *w = &plan->workload;
    const struct dynamo_keys first = w->shapes[0];
    const bool throttles = plan->config.profile != PROFILE_OFF;
    const int64_t fits = throttles ? 1000 : config_all(&plan->config)->log_segment_bytes / 4;
    const int64_t max = plan_spread(&p, 64, 30000);
    for (uint32_t i = 0; i < TABLES_MAX; i++) {
        struct dynamo_keys *k = &w->shapes[i];
        const uint32_t long_percent = (uint32_t)prng_between(&p, 5, 50);
        *k = (struct dynamo_keys){.partition = some_type(&p),
                                  .sort = some_type(&p),
                                  .collection = first.collection,
                                  .long_percent = first.long_percent,
                                  .seed = first.seed + i};
        if (k->long_percent == 0)
            k->long_percent = long_percent;
        if (plan->work_fill > 0) /* sim/work/work_fill.h */
            k->long_percent = 0;
        if (plan_odds(&p, 20)) {
            k->sort = 0;
            k->collection = 1;
        }
    }
    w->filler.max = (uint32_t)MIN(max, fits);
    w->filler.seed = prng_next(&p);
    w->range_percent = (uint32_t)prng_between(&p, 0, 100);
    const int64_t min = w->filler.big_percent > 0 ? 2 * MIB : 64 * KIB;
    if (config_all(&plan->config)->group_max_bytes < min) /* a write must fit */
        config_edit_all(&plan->config)->group_max_bytes = min;
}

/* Conditions, updates and counters. Draws from its own stream. */
static void plan_updates(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x7570646174650000));
    struct workload *w = &plan->workload;
    w->condition_percent = (uint32_t)prng_between(&p, 0, 80);
    w->update_percent = (uint32_t)prng_between(&p, 0, 80);
    if (w->keys > 1)
        w->counters = (uint32_t)prng_between(&p, 0, w->keys > 4 ? 2 : 1);
}

/* The policies that the caller has chosen. */
static void plan_policies(struct plan *plan, const struct sim_options *o)
{
    struct settings *c = config_edit_all(&plan->config);
    plan->config.policies = o->policies;
    plan_name(plan->config.partition_policy, o->partition_policy);
    plan_name(plan->config.node_policy, o->node_policy);
    plan_name(plan->config.headroom_policy, o->headroom_policy);
    plan_name(plan->config.overload_policy, o->overload_policy);
    plan_name(plan->config.gac_policy, o->gac_policy);
    plan_name(plan->config.adaptive_policy, o->adaptive_policy);
    plan_name(plan->config.split_policy, o->split_policy);
    plan_name(plan->config.demand_policy, o->demand_policy);
    plan_name(plan->config.relocate_policy, o->relocate_policy);
    if (o->headroom_policy != NULL)
        c->write_check = WRITE_CHECK_NAMED;
    if (o->gac_policy != NULL)
        c->gac = GAC_NAMED;
}

/* Draws from its own stream. */
static void plan_work_transactions(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x7472616e73000000));
    const bool some = plan_odds(&p, 40) && !o->plain && o->work_transactions == 0;
    const uint32_t clients = (uint32_t)prng_between(&p, 1, 6);
    plan->work_lists = (uint32_t)prng_between(&p, 2, 8);
    config_edit_all(&plan->config)->transaction_decide_ms = plan_spread(&p, 20, 5000);
    const int given = o->work_transactions;
    plan->work_transactions = given > 0 ? (uint32_t)given : some ? clients : 0;
    const uint32_t many = (uint32_t)prng_between(&p, WORK_LISTS_FEW, WORK_LISTS_MAX);
    if (plan_odds(&p, 10))
        plan->work_lists = many;
    const int64_t steady_ns = prng_between(&p, 5000, 10000) * NS_PER_MS;
    if (plan_odds(&p, 40))
        plan->steady_ns = steady_ns;
}

/* What the lists of transactions may have where nodes limit, and where items may be large. */
static void plan_lists(struct plan *plan)
{
    enum {
        BIG = 390000 /* beside the list and the key */
    };
    const struct workload *w = &plan->workload;
    const bool throttles = plan->config.profile != PROFILE_OFF;
    if (throttles && plan->work_lists > WORK_LISTS_FEW)
        plan->work_lists = WORK_LISTS_FEW;
    plan->work_list_pad = w->filler.big_percent > 0 ? BIG : w->filler.max;
}

/* Draws from its own stream. */
static void plan_work_key_sharding(struct plan *plan, const struct sim_options *o)
{
    struct settings *c = config_edit_all(&plan->config);
    enum {
        COUNTER_SHARD_UNITS = 50 /* a read takes units of all cells: there must not be too many */
    };
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x73616c7473000000));
    const bool some = plan_odds(&p, 40) && !o->plain && o->key_sharding_ms == 0;
    const int64_t ms = plan_spread(&p, 50, 3000);
    const int64_t given_ms = o->key_sharding_ms;
    plan->key_sharding_ns = (given_ms > 0 ? given_ms : some ? ms : 0) * NS_PER_MS;
    plan->workload.sharded = plan->key_sharding_ns > 0;
    c->key_sharding_moves_s = plan_spread(&p, 5, 2000);
    c->key_sharding_shard_units = plan_spread(&p, 2, 2000);
    const bool counts = plan_odds(&p, 40) && !o->plain && o->work_counters == 0;
    const uint32_t clients = (uint32_t)prng_between(&p, 1, 4);
    plan->work_counters = o->work_counters > 0 ? (uint32_t)o->work_counters : counts ? clients : 0;
    if (plan->work_counters > 0 && c->key_sharding_shard_units < COUNTER_SHARD_UNITS)
        c->key_sharding_shard_units = COUNTER_SHARD_UNITS;
}

/* Draws from its own stream. With few deletions a second, an item may change after it was found. */
static void plan_work_ttl(struct plan *plan, const struct sim_options *o)
{
    struct settings *c = config_edit_all(&plan->config);
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6578706972790000));
    const bool some = plan_odds(&p, 40) && !o->plain && o->work_ttl == 0;
    const uint32_t clients = (uint32_t)prng_between(&p, 1, 6);
    const bool few = plan_odds(&p, 60);
    const int64_t items = plan_spread(&p, 20, 200);
    c->ttl_window_ms = plan_spread(&p, 4000, 8000);
    plan->work_ttl = o->work_ttl > 0 ? (uint32_t)o->work_ttl : some ? clients : 0;
    if (!few)
        return;
    c->expiry_items_s = items;
    c->expiry_busy_percent = 100;
}

/* Draws from its own stream. Buckets grow and shrink within seconds. */
static void plan_work_rate_limiter(struct plan *plan, const struct sim_options *o)
{
    struct settings *c = config_edit_all(&plan->config);
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6275636b65747300));
    const uint32_t clients = (uint32_t)prng_between(&p, 1, 6);
    const bool some = plan_odds(&p, 30) && !o->plain && o->work_limiter == 0;
    plan->work_limiter = o->work_limiter > 0 ? (uint32_t)o->work_limiter : some ? clients : 0;
    if (plan->work_limiter == 0)
        return;
    c->limiter_merge_ms = prng_between(&p, 1000, 3000);
    c->limiter_refresh_ms = plan_spread(&p, 50, 500);
    c->limiter_limits_ms = plan_spread(&p, 50, 500);
}

/* Draws from its own stream. */
static void plan_work_streams(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x666f6c6c6f777300));
    const bool some = plan_odds(&p, 30) && !o->plain && o->work_streams == 0;
    const uint32_t clients = (uint32_t)prng_between(&p, 1, 6);
    plan->work_streams = o->work_streams > 0 ? (uint32_t)o->work_streams : some ? clients : 0;
}

/* An entry may have many long keys, of index rows or trims; a real segment has at least 8 MiB. */
static void plan_log_of_long_entries(struct plan *plan)
{
    struct settings *c = config_edit_all(&plan->config);
    const int64_t min = 256 * KIB;
    const struct workload *w = &plan->workload;
    const bool any = w->indexed || w->global_indexes || w->tables > 1 || /* work_tables.c */
                     plan->work_streams > 0 || plan_has(plan, SIM_MIXED);
    if (!any || c->log_segment_bytes >= min)
        return;
    c->log_max_bytes = c->log_max_bytes / c->log_segment_bytes * min;
    c->log_segment_bytes = min;
}

/* Nodes that limit nothing refuse no table for want of throughput, however many there are. */
static void plan_capacity(struct plan *plan)
{
    struct settings *c = config_edit_all(&plan->config);
    const int64_t plenty = 1000 * 1000;
    if (!plan->limits && c->node_wcu < plenty)
        c->node_wcu = c->node_rcu = plenty;
}

/* Draws from its own stream: the earlier parts of a seed's plan stay the same. */
static void plan_more(struct plan *plan, const struct sim_options *o)
{
    struct prng p = prng_seeded(o->seed ^ UINT64_C(0x6d6f726500000000));
    uint32_t percent = (uint32_t)prng_between(&p, 10, 90);
    const uint32_t may = o->plain ? 0 : o->faults;
    choose_faults(plan, &p, percent, may, SIM_FAULTS_FIRST, SIM_FAULTS_MORE);
    plan_work_transactions(plan, o);
    plan_work_ttl(plan, o);
    plan_work_streams(plan, o);
    plan_work_rate_limiter(plan, o);
    plan_work_key_sharding(plan, o);
    plan_work_fill(plan, o, plan_is_limited(o) || o->gac_policy != NULL || o->gac > 0);
    for (uint32_t i = 0; i < TABLES_MAX; i++)
        plan->workload.shapes[i] = (struct dynamo_keys){ATTR_STRING, ATTR_STRING, .collection = 3};
    if (!o->plain) {
        plan_tables(plan, &p);
        plan_limits(plan, o);
        plan_budgets(plan, &p);
        plan_shapes(plan, o);
        plan_world(plan, o);
        plan_overload(plan, o);
        plan_updates(plan, o);
        plan_lists(plan);
    }
    plan_merges(plan, o);
    plan_extras(plan, o);
    plan_policies(plan, o);
    plan_log_of_long_entries(plan);
    plan_capacity(plan);
    plan->moves = !o->plain || (plan->faults & SIM_FAULT_BIT(SIM_DRAIN)) != 0;
    bool vary = plan_odds(&p, 40) && !o->plain;
    for (uint32_t id = 1; id <= plan->nodes; id++) {
        plan->configs[id] = plan->config;
        if (vary)
            plan_vary_settings(&plan->config, &plan->configs[id], &p);
        if (plan->work_fill > 0)
            plan_quick_snapshots(&plan->configs[id]);
        if (o->mutation == SIM_MUTATION_DEAD_MEMBERS)
            config_edit_all(&plan->configs[id])->dead_member = DEAD_MEMBER_ZERO;
    }
}

/* The least work beside the machines: no history, no splits, short delays. */
static void plan_bench(struct plan *plan)
{
    struct settings *c = config_edit_all(&plan->config);
    config_init(&plan->config, PROFILE_OFF);
    c->node_queue_max = 1024;
    c->log_segment_bytes = 256 * KIB; /* a small log, used again and again */
    c->log_max_bytes = 4 * MIB;
    c->memtable_max_bytes = MIB;
    c->entries_max_bytes = 128 * KIB;
    c->replicas = plan->replicas;
    plan->keep_history = false;
    plan->split_ns = 0;
    plan->split_per_million = 0;
    plan->workload = (struct workload){.tables = 1,
                                       .keys = 1000,
                                       .partitions = 4,
                                       .units = 1000,
                                       .read_percent = 50,
                                       .timeout_ns = 10 * NS_PER_S};
    plan->delays = (struct network_delays){.ns_min = 50 * NS_PER_US, .spread_ns = 20000};
    plan->timings = (struct node_timings){.turn_ns = 20 * NS_PER_US,
                                          .write_min_ns = 200 * NS_PER_US,
                                          .write_spread_ns = 50 * NS_PER_US,
                                          .checkpoint_spread_ns = 50 * NS_PER_MS};
}

uint32_t plan_side_units(const struct plan *plan)
{
    enum {
        FREE_MAX = 2000
    };
    const uint32_t units = plan->workload.partitions * plan->workload.units;
    return plan->limits || units < FREE_MAX ? units : FREE_MAX;
}

uint32_t plan_counter_units(const struct plan *plan)
{
    const uint32_t units = plan_side_units(plan), min = plan->limits ? 200 : 1000;
    return MAX(units, min);
}

void plan_make(const struct sim_options *o, struct plan *out)
{
    struct prng p = prng_seeded(o->seed);
    *out = (struct plan){.seed = o->seed, .keep_history = true};
    out->nodes = plan_choose(&p, o->nodes, 1, 7);
    if (out->nodes > 5 && o->nodes == 0)
        out->nodes = 3; /* three nodes are the likeliest cluster */
    out->replicas = plan_choose(&p, o->replicas, 1, out->nodes);
    if (o->replicas == 0 && plan_odds(&p, 50))
        out->replicas = 3;
    out->replicas = MIN(out->replicas, out->nodes);
    out->routers = plan_choose(&p, o->routers, 1, 3);
    out->clients = plan_choose(&p, o->clients, 1, 10);
    out->length_ns = plan_spread(&p, 1000, 20000) * NS_PER_MS;
    if (o->length_ms > 0)
        out->length_ns = o->length_ms * NS_PER_MS;
    plan_faults(out, &p, o);
    plan_config(&out->config, &p);
    plan_replication(out, &p);
    plan_timings(out, &p);
    plan_workload(&out->workload, &p);
    int64_t split_ns = plan_spread(&p, 20, 2000) * NS_PER_MS;
    out->split_ns = plan_odds(&p, 75) ? split_ns : 0;
    out->workload.indexed = plan_odds(&p, 50);
    out->workload.global_indexes = plan_odds(&p, 40);
    config_edit_all(&out->config)->index_backlog_bytes = plan_spread(&p, 64 * KIB, 512 * KIB);
    config_edit_all(&out->config)->index_backlog_ms = plan_spread(&p, 100, 5000);
    out->workload.index_churn = plan_odds(&p, 50) && out->workload.global_indexes;
    out->kill_leader_at = o->kill_leader_at;
    if (o->kill_leader_at != SPLIT_STAGE_NONE) /* the split to catch must come soon */
        out->split_ns = split_ns < 100 * NS_PER_MS ? split_ns : 100 * NS_PER_MS;
    plan_tick(out, o);
    if (o->bench)
        plan_bench(out);
    else
        plan_gac(out, o);
    struct sim_options more = *o;
    more.plain |= o->bench;
    plan_more(out, &more);
    out->mutation = o->mutation;
}

static void describe_world(const struct plan *p, struct buffer *out)
{
    const struct http_manners *m = &p->manners;
    buffer_append_format(out,
                         "; a way passes on %lld bytes a ms, an event takes up to %lld ns; "
                         "requests: %u%% in pieces, %u%% in chunks, %u%% packed, %u%% with others "
                         "before, %u%% the last, %u%% cut off; answers: %u%% may be packed, some "
                         "are read at %lld bytes a ms",
                         (long long)p->speed.way_bytes_ms, (long long)p->speed.event_ns, m->pieces,
                         m->chunked, m->packed, m->pipelined, m->ends, m->cut, m->unpacks,
                         (long long)m->read_bytes_ms);
}

static void describe_tables(const struct plan *p, struct buffer *out)
{
    const struct workload *w = &p->workload;
    buffer_append_format(out, "; tables %u, changed every %lld ms:", w->tables,
                         (long long)(w->churn_ns / NS_PER_MS));
    for (uint32_t i = 0; i < w->tables; i++) {
        const struct dynamo_keys *k = &w->shapes[i];
        buffer_append_format(
            out, " %s+%s of %u keys a collection, %u%% long,", attr_type_name(k->partition),
            k->sort == 0 ? "none" : attr_type_name(k->sort), k->collection, k->long_percent);
    }
    buffer_append_format(out, " filler %u; queries %u%%, %u%% in ranges, big items %u%%",
                         w->filler.max, w->query_percent, w->range_percent, w->filler.big_percent);
}

void plan_describe(const struct plan *p, struct buffer *out)
{
    const struct workload *w = &p->workload;
    buffer_append_format(
        out,
        "cluster: %u nodes, %u replicas, %u routers, %u GAC servers, %u clients on %u "
        "keys in %u partitions%s%s of %u units/s, profile %s, policy %s\n",
        p->nodes, p->replicas, p->routers, p->gac, p->clients, w->keys, w->partitions,
        w->indexed ? " with local indexes" : "",
        w->index_churn      ? " with global indexes that come and go"
        : w->global_indexes ? " with global indexes"
                            : "",
        w->units, profile_name(p->config.profile), p->config.partition_policy);
    buffer_append_format(
        out, "faults, one in %lld ms for %lld ms:", (long long)(p->fault_interval_ns / NS_PER_MS),
        (long long)(p->length_ns / NS_PER_MS));
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        if (p->faults & SIM_FAULT_BIT(i))
            buffer_append_format(out, " %s", sim_faults[i].name);
    }
    buffer_append_text(out, "; extras:");
    for (unsigned i = 0; i < SIM_EXTRAS; i++) {
        if (plan_has(p, (enum sim_extra)i))
            buffer_append_format(out, " %s", sim_extras[i].name);
    }
    describe_tables(p, out);
    describe_world(p, out);
    if (p->tick_ns > 0)
        buffer_append_format(out, "; a tick is %lld us", (long long)(p->tick_ns / NS_PER_US));
    if (p->key_sharding_ns > 0)
        buffer_append_format(out, "; a key's shards change every %lld ms",
                             (long long)(p->key_sharding_ns / NS_PER_MS));
    if (p->work_transactions > 0)
        buffer_append_format(out,
                             "; %u clients of transactions on %u lists, items of up to %u bytes, "
                             "%lld ms without faults",
                             p->work_transactions, p->work_lists, p->work_list_pad,
                             (long long)(p->steady_ns / NS_PER_MS));
    if (p->work_fill > 0)
        buffer_append_format(out, "; %u clients fill stores with items up to %u bytes",
                             p->work_fill, p->fill_bytes_max);
    if (p->split_ns > 0)
        buffer_append_format(out, "; a split in %lld ms, %u%% of them merges",
                             (long long)(p->split_ns / NS_PER_MS), p->merge_percent);
    buffer_append_format(
        out,
        "\nnetwork: %lld us + %lld us, tail %lld ms; log write: %lld us + %lld "
        "us, tail %lld ms; drop %u, duplicate %u per million\n",
        (long long)(p->delays.ns_min / NS_PER_US), (long long)(p->delays.spread_ns / NS_PER_US),
        (long long)(p->delays.tail_ns / NS_PER_MS),
        (long long)(p->timings.write_min_ns / NS_PER_US),
        (long long)(p->timings.write_spread_ns / NS_PER_US),
        (long long)(p->timings.write_tail_ns / NS_PER_MS), p->network_faults.drop_per_million,
        p->network_faults.duplicate_per_million);
    struct config initial;
    config_init(&initial, p->config.profile);
    buffer_append_format(out, "drift: %lld ppm\nsettings:", (long long)p->drift_ppm);
    config_describe_changes(&p->config, &initial, out);
    for (uint32_t id = 1; id <= p->nodes; id++) {
        buffer_append_format(out, "\nnode %u:", id);
        config_describe_changes(&p->configs[id], &p->config, out);
    }
    buffer_append_u8(out, '\n');
}
