/* sim.c - one simulated run: a world, work and faults, and the checks at the end. */
#include "sim/sim.h"

#include <stdlib.h>

#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "include/weir/policy_table.h"
#include "sim/check/admission_watch.h"
#include "sim/check/catalog_check.h"
#include "sim/check/check.h"
#include "sim/check/deadlines.h"
#include "sim/check/gac_watch.h"
#include "sim/fault_drains.h"
#include "sim/leader_kill.h"
#include "sim/plan/faults.h"
#include "sim/plan/plan_extras.h"
#include "sim/plan/work_tables.h"
#include "sim/quiet_phase.h"
#include "sim/work/work_counters.h"
#include "sim/work/work_fill.h"
#include "sim/work/work_key_sharding.h"
#include "sim/work/work_rate_limiter.h"
#include "sim/work/work_splits.h"
#include "sim/work/work_streams.h"
#include "sim/work/work_transactions.h"
#include "sim/work/work_ttl.h"
#include "sim/world/world.h"

enum {
    SETUP_S = 60,  /* bounds, in virtual time: until the table is active */
    TABLES_S = 90, /* until every table exists again, and no node is drained */
    RECOVER_S = 5, /* until a cluster without faults serves as usual */
    REST_S = 10,   /* until acknowledged writes are everywhere, and nothing is kept for them */
    MOVES_S = 120, /* until moving replicas are where they belong */
    REST_POLL_MS = 500,
    QUERY_TRIES = 20,
    STEPS_BETWEEN_CHECKS = 4,
    EVENTS_BETWEEN_DEBTS = 64,
    WATCHES_MAX = 2 + DYNAMO_GLOBALS,
};

struct sim {
    struct run run;
    struct work_clients_options options[WORK_KINDS];
    struct work_clients *work[WORK_KINDS];       /* owns */
    struct faults *faults;                       /* owns */
    struct work_splits *work_splits;             /* owns */
    struct work_tables *work_tables;             /* owns */
    struct fault_drains *fault_drains;           /* owns */
    struct work_key_sharding *work_key_sharding; /* owns */
    struct quiet_phase quiet_phase;
    const struct buffer *answer; /* to the last question about a table */
    struct leader_kill leader_kill;
    struct recording history;
    struct leaders leaders;
    struct gac_watch watches[WATCHES_MAX]; /* of the first table, then of its indexes' reads */
    uint32_t watch_count;
    struct sim_client *clients[SIM_CLIENTS_MAX];
    uint64_t events;
    int64_t calm_ns;
    struct catalog_check check;
};

static void report_incomplete(void *context, struct slice why)
{
    run_violate(context, "%.*s\n", (int)why.size, (const char *)why.data);
}

/* A group has at most one leader in a term, also if nodes have forgotten it since. */
static void node_leads(struct sim *s, uint32_t node, uint32_t group, uint64_t term)
{
    uint32_t other = leaders_add(&s->leaders, group, term, node);
    if (other != node)
        run_violate(&s->run, "nodes %u and %u both lead group %u in term %llu\n", other, node,
                    group, (unsigned long long)term);
}

static void node_saw(void *context, uint32_t node, const struct trace_event *e)
{
    struct sim *s = context;
    if (e->kind == NODE_TRACE_LEADS)
        node_leads(s, node, e->subject, (uint64_t)e->value);
    admission_watch_saw(&s->run, node, e);
    leader_kill_saw(&s->leader_kill, node, e);
}

/* A violation: nothing here damages bytes, and no process pretends to be another one. */
static void link_refused(void *context, uint32_t process, const char *why)
{
    struct sim *s = context;
    run_violate(&s->run, "process %u closed a link: the other end %s\n", process, why);
}

static void process_spins(void *context, uint32_t process)
{
    struct sim *s = context;
    run_violate(&s->run, "process %u uses a whole processor: its timers are always due\n", process);
}

/* ---- making the world ---- */

/* The rate limiter needs clocks that differ by less than LIMITER_SHARD_MAP_TTL_MS. Short times need
 * more. */
static void lessen_skews(struct sim *s)
{
    for (uint32_t i = 0; i < s->run.plan.nodes + s->run.plan.routers; i++) {
        int64_t *skew_ms = world_wall_skew_ms(&s->run.world, i);
        if (s->run.plan.work_limiter > 0)
            *skew_ms /= 2;
        if (plan_has(&s->run.plan, SIM_SHORT_TIMES))
            *skew_ms %= SIM_SHORT_SKEW_MS;
    }
}

static const struct {
    enum world_stream stream;
    struct work_clients *(*create)(const struct work_clients_options *options);
} kinds[WORK_KINDS] = {[WORK_TRANSACTIONS] = {WORLD_WORK_TRANSACTIONS, work_transactions_create},
                       [WORK_TTL] = {WORLD_WORK_TTL, work_ttl_create},
                       [WORK_COUNTERS] = {WORLD_WORK_COUNTERS, work_counters_create},
                       [WORK_STREAMS] = {WORLD_WORK_STREAMS, work_streams_create},
                       [WORK_LIST_STREAM] = {WORLD_LISTS, work_list_stream_create},
                       [WORK_RATE_LIMITER] = {WORLD_WORK_RATE_LIMITER, work_rate_limiter_create},
                       [WORK_SWITCHES] = {WORLD_WORK_SWITCHES, work_switches_create},
                       [WORK_FILL] = {WORLD_WORK_FILL, work_fill_create}};

/* Numbers the clients that come behind those of items and the one of tables. Returns how many. */
static uint32_t number_work(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    static const int order[WORK_KINDS] = {WORK_TRANSACTIONS, WORK_TTL,          WORK_COUNTERS,
                                          WORK_STREAMS,      WORK_RATE_LIMITER, WORK_SWITCHES,
                                          WORK_LIST_STREAM,  WORK_FILL};
    const uint32_t counts[WORK_KINDS] = {
        [WORK_TRANSACTIONS] = p->work_transactions,
        [WORK_TTL] = p->work_ttl,
        [WORK_COUNTERS] = p->work_counters,
        [WORK_STREAMS] = p->work_streams > 0 ? p->work_streams + 1 : 0,
        [WORK_LIST_STREAM] = work_streams_has_lists(p),
        [WORK_RATE_LIMITER] = p->work_limiter,
        [WORK_SWITCHES] = plan_has(p, SIM_SWITCHES) ? WORK_SWITCHES_CLIENTS : 0,
        [WORK_FILL] = p->work_fill};
    uint32_t next = p->clients + 1;
    for (int i = 0; i < WORK_KINDS; i++) {
        const int kind = order[i];
        s->options[kind] =
            (struct work_clients_options){&s->run, s->work, next, counts[kind], kinds[kind].stream};
        next += counts[kind];
    }
    return next - p->clients - 1;
}

static void create_world(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct world_plan world = {
        .seed = p->seed,
        .nodes = p->nodes,
        .routers = p->routers,
        .gac = p->gac,
        .clients = p->clients + 1 + number_work(s), /* the one makes and deletes tables */
        .tick_ns = p->tick_ns,
        .config = &p->config,
        .configs = p->configs,
        .split_per_million = p->split_per_million,
        .manners = p->manners,
        .delays = p->delays,
        .speed = p->speed,
        .timings = p->timings,
        .watch = {.saw = node_saw, .refused = link_refused, .spins = process_spins, .context = s}};
    world_init(&s->run.world, &world);
    lessen_skews(s);
    for (uint32_t id = 1; id <= p->nodes; id++)
        s->run.world.nodes[id]->store_disk.hides_errors = p->mutation == SIM_MUTATION_READ_ERRORS;
}

static void create_clients(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct work_tables_options options = {
        .http = world_http(&s->run.world, p->clients, world_seed(&s->run.world, WORLD_TABLES, 0)),
        .history = &s->history,
        .workload = &p->workload,
        .seed = world_seed(&s->run.world, WORLD_TABLES, 1),
        .failed = report_incomplete,
        .context = &s->run};
    s->work_tables = work_tables_create(&options);
    for (uint32_t i = 0; i < p->clients; i++) {
        const struct sim_client_options client = {
            .http = world_http(&s->run.world, i, world_seed(&s->run.world, WORLD_CLIENTS, 2 * i)),
            .history = &s->history,
            .workload = &p->workload,
            .work_tables = s->work_tables,
            .clients = p->clients,
            .number = i,
            .seed = world_seed(&s->run.world, WORLD_CLIENTS, 2 * i + 1)};
        s->clients[i] = sim_client_create(&client);
    }
}

/* All tables that are compared at the end. */
static void list_tables(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    for (uint32_t i = 0; i < p->workload.tables; i++)
        catalog_check_add(&s->check, work_tables_name(i), i == 0 && p->workload.global_indexes);
    for (int i = 0; i < WORK_TRANSACTION_TABLES && p->work_transactions > 0; i++)
        catalog_check_add(&s->check, work_transactions_tables[i],
                          i == WORK_TRANSACTION_TABLES - 1 && p->workload.global_indexes);
    if (p->work_ttl > 0)
        catalog_check_add(&s->check, work_ttl_table, plan_has(p, SIM_MIXED));
    if (p->work_streams > 0)
        catalog_check_add(&s->check, work_streams_table, false);
    if (p->work_counters > 0)
        catalog_check_add(&s->check, work_counters_table, false);
    if (p->work_limiter > 0)
        catalog_check_add(&s->check, work_rate_limiter_table, false);
}

struct sim *sim_create(const struct sim_options *options)
{
    struct sim *s = must_calloc(1, sizeof *s);
    plan_make(options, &s->run.plan);
    struct plan *p = &s->run.plan;
    must(p->clients <= SIM_CLIENTS_MAX);
    recording_init(&s->history, p->workload.tables * p->workload.keys);
    for (uint32_t i = 1; i <= p->workload.counters; i++)
        recording_count(&s->history, p->workload.keys - i);
    s->history.off = !p->keep_history;
    list_tables(s);
    create_world(s);
    create_clients(s);
    for (int i = 0; i < WORK_KINDS; i++)
        s->work[i] = kinds[i].create(&s->options[i]);
    s->faults = faults_create(&s->run);
    s->work_splits = work_splits_create(&s->run);
    s->fault_drains = fault_drains_create(&s->run);
    s->work_key_sharding = work_key_sharding_create(&s->run);
    leader_kill_init(&s->leader_kill, &s->run, s->faults);
    return s;
}

void sim_destroy(struct sim *s)
{
    for (uint32_t i = 0; i < s->run.plan.clients; i++)
        sim_client_destroy(s->clients[i]);
    faults_destroy(s->faults);
    work_splits_destroy(s->work_splits);
    work_tables_destroy(s->work_tables);
    fault_drains_destroy(s->fault_drains);
    work_key_sharding_destroy(s->work_key_sharding);
    for (int i = 0; i < WORK_KINDS; i++)
        work_clients_destroy(s->work[i]);
    catalog_check_deinit(&s->check);
    recording_deinit(&s->history);
    leaders_deinit(&s->leaders);
    world_deinit(&s->run.world);
    buffer_deinit(&s->run.violation);
    free(s);
}

/* ---- phases ---- */

static bool clients_done(const struct sim *s)
{
    for (uint32_t i = 0; i < s->run.plan.clients; i++) {
        if (!sim_client_is_done(s->clients[i]))
            return false;
    }
    return true;
}

static void set_plans(struct sim *s, enum client_plan plan)
{
    for (uint32_t i = 0; i < s->run.plan.clients; i++)
        sim_client_set_plan(s->clients[i], plan);
}

static void begin_watch(struct sim *s)
{
    const struct config *c = &s->run.plan.config;
    int64_t rate =
        (int64_t)s->run.plan.workload.partitions * s->run.plan.workload.units * MCU_PER_UNIT;
    s->watch_count = s->run.plan.workload.global_indexes ? WATCHES_MAX : 2;
    for (uint32_t i = 0; i < s->watch_count; i++) {
        const struct gac_key key = {.table = i <= GAC_WRITE ? 1 : i,
                                    .kind = i == GAC_WRITE ? GAC_WRITE : GAC_READ};
        gac_watch_init(&s->watches[i], s->run.world.scheduler.now, key, rate,
                       duration_ms(config_gac(c)->gac_bank_ms));
    }
}

static void sim_observe(struct sim *s)
{
    for (uint32_t i = 0; gac_watch_applies(&s->run.plan) && i < s->watch_count; i++)
        gac_watch_sample(&s->watches[i], s->run.world.scheduler.now, s->run.world.routers,
                         s->run.plan.routers);
}

/* Runs until `until`, a violation, or `done`. True: `done` holds. */
static bool sim_pass(struct sim *s, struct instant until, bool (*done)(const struct sim *s))
{
    uint64_t steps = 0;
    while (s->run.violation.size == 0 && scheduler_step(&s->run.world.scheduler, until)) {
        s->events++;
        sim_observe(s);
        if (s->events % EVENTS_BETWEEN_DEBTS == 0)
            admission_watch_check(&s->run, work_tables_made(s->work_tables));
        if (++steps % STEPS_BETWEEN_CHECKS == 0 && done != NULL && done(s))
            return true;
    }
    return done != NULL && done(s);
}

static struct instant sim_after(const struct sim *s, int64_t ns)
{
    return instant_add(s->run.world.scheduler.now, (struct duration){ns});
}

static void wait_timed_out(struct sim *s, const char *what)
{
    if (s->run.violation.size > 0)
        return;
    buffer_append_format(&s->run.violation, "%s\n", what);
    for (uint32_t i = 0; i < s->run.plan.clients; i++) {
        if (!sim_client_is_done(s->clients[i]))
            sim_client_describe(s->clients[i], &s->run.violation);
    }
    if (!work_tables_are_settled(s->work_tables))
        work_tables_describe(s->work_tables, &s->run.violation);
    for (int i = 0; i < WORK_KINDS; i++)
        work_clients_describe(s->work[i], &s->run.violation);
}

static void sim_set_up(struct sim *s)
{
    world_start(&s->run.world);
    begin_watch(s);
    sim_client_set_plan(s->clients[0], CLIENT_SETUP);
    if (!sim_pass(s, sim_after(s, SETUP_S * NS_PER_S), clients_done))
        wait_timed_out(s, "the table does not become active");
}

static bool is_known(const struct sim *s)
{
    return s->answer->size > 0;
}

/* The leader of the catalog answers, once it knows that it still leads. */
static void sim_table_query(struct sim *s, const char *name, struct buffer *answer)
{
    const struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of(name)};
    buffer_clear(answer);
    s->answer = answer;
    for (int tries = 0; tries < QUERY_TRIES && answer->size == 0 && s->run.violation.size == 0;
         tries++) {
        world_request(&s->run.world, &r, answer);
        sim_pass(s, sim_after(s, NS_PER_S), is_known);
    }
}

static void sim_tables_query(struct sim *s)
{
    for (uint32_t i = 0; i < s->check.count; i++)
        sim_table_query(s, s->check.all[i].name, &s->check.all[i].bytes);
}

/* Waits until the replicas agree and nodes keep nothing for work that is done; what is wrong then,
 * sim_check reports. Replicas may still be moving, because of drained and unresponsive nodes, and
 * indexes may lag. */
static void await_rest(struct sim *s)
{
    struct buffer why = {0};
    const int64_t moves_ns = s->run.plan.moves ? MOVES_S * NS_PER_S : 0;
    const int64_t lag_ns =
        s->run.plan.workload.global_indexes ? deadline_indexes_ns(&s->run.plan) : 0;
    const int64_t more_ns = MAX(moves_ns, lag_ns);
    const struct instant until = sim_after(s, REST_S * NS_PER_S + more_ns);
    bool good = false;
    do {
        sim_pass(s, sim_after(s, REST_POLL_MS * NS_PER_MS), NULL);
        sim_tables_query(s);
        buffer_clear(&why);
        good = s->run.violation.size > 0 ||
               (check_nodes(s->run.world.nodes, s->run.plan.nodes, &why) &&
                catalog_check_run(&s->check, &s->run, &why));
    } while (!good && instant_before(s->run.world.scheduler.now, until));
    buffer_deinit(&why);
}

/* Before anything is written again: a new index has the items from before. */
static void check_filled(struct sim *s)
{
    struct buffer why = {0};
    bool good = !s->run.plan.workload.index_churn;
    const struct instant until = sim_after(s, deadline_indexes_ns(&s->run.plan));
    while (!good && s->run.violation.size == 0 &&
           instant_before(s->run.world.scheduler.now, until)) {
        sim_tables_query(s);
        buffer_clear(&why);
        good = catalog_check_run_first(&s->check, &s->run, &why);
        if (!good)
            sim_pass(s, sim_after(s, NS_PER_S), NULL);
    }
    if (!good && s->run.violation.size == 0)
        run_violate(&s->run, "%.*s", TEXT_OF(why));
    buffer_deinit(&why);
}

/* Of the rate limiter's clients the first goes on alone. */
static bool work_is_settled(const struct sim *s)
{
    bool settled = work_rate_limiter_are_quiet(s->work[WORK_RATE_LIMITER]);
    for (int i = 0; i < WORK_KINDS; i++)
        settled = settled && (i == WORK_RATE_LIMITER || work_clients_are_done(s->work[i]));
    return settled;
}

static bool is_settled(const struct sim *s)
{
    return work_tables_are_settled(s->work_tables) && fault_drains_are_over(s->fault_drains) &&
           work_key_sharding_are_over(s->work_key_sharding) && work_is_settled(s) &&
           clients_done(s);
}

static bool limiter_is_checked(const struct sim *s)
{
    return work_clients_are_done(s->work[WORK_RATE_LIMITER]);
}

static bool stores_are_left(const struct sim *s)
{
    return work_clients_are_done(s->work[WORK_FILL]);
}

/* Before anything else is expected: the other clients need space, too. */
static void leave_stores(struct sim *s)
{
    if (!sim_pass(s, sim_after(s, WORK_FILL_ENDS_S * NS_PER_S), stores_are_left))
        wait_timed_out(s, "the clients that fill stores do not come to their end");
}

static bool quiet_phase_has_ended(const struct sim *s)
{
    return quiet_phase_is_over(&s->quiet_phase);
}

static void run_quiet_phase(struct sim *s)
{
    s->quiet_phase = (struct quiet_phase){.run = &s->run,
                                          .work_tables = s->work_tables,
                                          .work_key_sharding = s->work_key_sharding,
                                          .work_splits = s->work_splits};
    set_plans(s, CLIENT_IDLE);
    sim_pass(s, sim_after(s, QUIET_PHASE_S * NS_PER_S), NULL);
    quiet_phase_begin_changes(&s->quiet_phase);
    const int64_t ns = QUIET_PHASE_ENDS_S * NS_PER_S + deadline_indexes_ns(&s->run.plan);
    if (!sim_pass(s, sim_after(s, ns), quiet_phase_has_ended))
        wait_timed_out(s, "a change does not end while nothing is written");
    check_filled(s);
}

static void sim_calm(struct sim *s)
{
    int64_t begun = s->run.world.scheduler.now.ns;
    faults_end(s->faults);
    work_splits_end(s->work_splits);
    fault_drains_end(s->fault_drains);
    work_key_sharding_end(s->work_key_sharding);
    for (int i = 0; i < WORK_KINDS; i++)
        work_clients_end(s->work[i]);
    if (s->run.plan.work_fill > 0)
        leave_stores(s);
    if (s->run.plan.workload.tables > 1 || s->run.plan.workload.index_churn ||
        s->run.plan.work_transactions > 0 || s->run.plan.work_ttl > 0 ||
        s->run.plan.work_counters > 0 || s->run.plan.work_streams > 0 ||
        s->run.plan.work_limiter > 0 || !fault_drains_are_over(s->fault_drains) ||
        !work_key_sharding_are_over(s->work_key_sharding)) {
        set_plans(s, CLIENT_IDLE);
        work_tables_end(s->work_tables);
        /* A shard of a bucket waits until its leader's clock has reached that of an earlier one. */
        const int64_t behind_ms =
            s->run.plan.work_limiter > 0 ? world_wall_spread_ms(&s->run.world, false) : 0;
        if (!sim_pass(s, sim_after(s, TABLES_S * NS_PER_S + behind_ms * NS_PER_MS), is_settled))
            wait_timed_out(s, "not every table is there after the faults have ended");
        if (!sim_pass(s, sim_after(s, work_rate_limiter_time(s->work[WORK_RATE_LIMITER]).ns),
                      limiter_is_checked))
            wait_timed_out(s, "the buckets of the rate limiter do not come to rest");
        check_filled(s);
        begun = s->run.world.scheduler.now.ns;
    }
    if (plan_has(&s->run.plan, SIM_QUIET_PHASE)) {
        run_quiet_phase(s);
        begun = s->run.world.scheduler.now.ns;
    }
    s->history.calm_ns = s->run.world.scheduler.now.ns;
    set_plans(s, CLIENT_PROBE);
    if (!sim_pass(s, sim_after(s, deadline_calm_ns(&s->run.plan)), clients_done))
        wait_timed_out(s, "not every key answers after the faults have ended");
    s->calm_ns = s->run.world.scheduler.now.ns - begun;
    set_plans(s, CLIENT_IDLE);
    await_rest(s);
}

/* Everything goes on, but no fault is injected: strong reads must be answered. */
static void go_on_without_faults(struct sim *s)
{
    if (s->run.plan.work_transactions == 0 || s->run.plan.steady_ns == 0)
        return;
    faults_end(s->faults);
    sim_pass(s, sim_after(s, RECOVER_S * NS_PER_S), NULL);
    work_transactions_expect_answers(s->work[WORK_TRANSACTIONS]);
    sim_pass(s, sim_after(s, s->run.plan.steady_ns), NULL);
}

/* Whether no eventual read may have missed a write: the only router has always remembered its
 * writes, and has never given up waiting for them. */
static bool own_writes_were_shown(const struct sim *s)
{
    return plan_has(&s->run.plan, SIM_OWN_READS) && s->run.plan.routers == 1 &&
           (s->run.plan.faults & SIM_FAULT_BIT(SIM_ROUTER)) == 0 &&
           router_process_is_up(s->run.world.routers[0]) &&
           router_process_late_reads(s->run.world.routers[0]) == 0;
}

static void sim_check(struct sim *s)
{
    struct buffer *why = &s->run.violation;
    if (why->size > 0 || !check_nodes(s->run.world.nodes, s->run.plan.nodes, why) ||
        !catalog_check_run(&s->check, &s->run, why))
        return;
    for (int i = 0; i < WORK_KINDS; i++) {
        if (!work_clients_check(s->work[i], why))
            return;
    }
    const uint64_t injected = faults_injected(s->faults);
    for (uint32_t i = 0; gac_watch_applies(&s->run.plan) && i < s->watch_count; i++) {
        if (!gac_watch_check(&s->watches[i], &s->run.plan, injected, why))
            return;
    }
    s->history.own = own_writes_were_shown(s);
    if (s->run.plan.keep_history)
        recording_verify(&s->history, why);
}

void sim_run(struct sim *s, struct sim_result *out)
{
    sim_set_up(s);
    if (s->run.violation.size == 0) {
        set_plans(s, CLIENT_LOAD);
        faults_begin(s->faults);
        work_splits_begin(s->work_splits);
        work_tables_begin(s->work_tables);
        for (int i = 0; i < WORK_KINDS; i++)
            work_clients_begin(s->work[i]);
        fault_drains_begin(s->fault_drains);
        work_key_sharding_begin(s->work_key_sharding);
        sim_pass(s, sim_after(s, s->run.plan.length_ns), NULL);
        go_on_without_faults(s);
        sim_calm(s);
    }
    sim_check(s);
    *out = (struct sim_result){.violated = s->run.violation.size > 0,
                               .undecided = s->history.undecided,
                               .hash = world_hash(&s->run.world) * 31 + s->events,
                               .leader_killed_at = s->leader_kill.killed_at,
                               .injected = faults_injected(s->faults),
                               .events = s->events,
                               .virtual_ns = s->run.world.scheduler.now.ns,
                               .calm_ns = s->calm_ns,
                               .gac_taken_mcu = s->watches[GAC_READ].taken_mcu +
                                                s->watches[GAC_WRITE].taken_mcu};
    for (uint32_t i = GAC_WRITE + 1; i < s->watch_count; i++)
        out->gac_index_taken_mcu += s->watches[i].taken_mcu;
    for (uint32_t i = 0; i < s->run.plan.clients; i++) {
        struct client_counters c = sim_client_counters(s->clients[i]);
        out->clients.calls += c.calls;
        out->clients.ok += c.ok;
        out->clients.failed += c.failed;
        out->clients.unknown += c.unknown;
        out->clients.shed += c.shed;
        out->clients.behind += c.behind;
        out->clients.rejected += c.rejected;
    }
}

/* ---- for people ---- */

struct slice sim_violation(const struct sim *s)
{
    return buffer_slice(&s->run.violation);
}

void sim_describe(struct sim *s, struct buffer *out)
{
    run_describe(&s->run, s->events, out);
}
