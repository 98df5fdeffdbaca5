/* sim.c - one simulated run: a world, work and faults, and the checks at the end. */
#include "sim/sim.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/settings/choices.h"
#include "base/settings/expiry.h"
#include "base/settings/gac.h"
#include "base/settings/limiter.h"
#include "base/settings/streams.h"
#include "gac/vend.h"
#include "include/weir/policy_table.h"
#include "sim/admission_watch.h"
#include "sim/check.h"
#include "sim/drains.h"
#include "sim/expiries.h"
#include "sim/faults.h"
#include "sim/fills.h"
#include "sim/follows.h"
#include "sim/gac_watch.h"
#include "sim/leader_kill.h"
#include "sim/limits.h"
#include "sim/plan_extras.h"
#include "sim/saltings.h"
#include "sim/silence.h"
#include "sim/splits.h"
#include "sim/table_churn.h"
#include "sim/tallies.h"
#include "sim/told.h"
#include "sim/transacts.h"
#include "sim/waits.h"
#include "sim/world.h"

enum {
    SETUP_S = 60,  /* bounds, in virtual time: until the table is active */
    TABLES_S = 90, /* until every table exists again, and no node is drained */
    RECOVER_S = 5, /* until a cluster without faults serves as usual */
    SWITCH_PAUSE_MS = 300,
    REST_S = 10,   /* until acknowledged writes are everywhere, and nothing is kept for them */
    MOVES_S = 120, /* until moving replicas are where they belong */
    REST_LOOK_MS = 500,
    ASK_TRIES = 20,
    STEPS_BETWEEN_LOOKS = 4,
    EVENTS_BETWEEN_DEBTS = 64,
    WATCHES_MAX = 2 + DYNAMO_GLOBALS,
    TRIM_NEVER_MS = 3600000, /* in a run, if records are kept for longer */
};

/* Clients of one kind, behind those of the workload and the one of tables. */
enum {
    GROUP_TRANSACTS,
    GROUP_EXPIRIES,
    GROUP_TALLIES,
    GROUP_FOLLOWS,
    GROUP_LIMITS,
    GROUP_SWITCHES,
    GROUP_LIST_FOLLOWER,
    GROUP_FILLS,
    GROUPS
};

struct client_group {
    struct world *world; /* borrows */
    uint32_t first;
    uint32_t count;
    enum world_stream stream;
};

struct sim {
    struct run run;
    struct client_group groups[GROUPS];
    struct faults *faults;         /* owns */
    struct splits *splits;         /* owns */
    struct tables *tables;         /* owns */
    struct drains *drains;         /* owns */
    struct saltings *saltings;     /* owns */
    struct transacts *transacts;   /* owns */
    struct expiries *expiries;     /* owns */
    struct tallies *tallies;       /* owns */
    struct follows *follows;       /* owns */
    struct follows *list_follower; /* owns; of the table of transactions that has a stream */
    struct limits *limits;         /* owns */
    struct switches *switches;     /* owns */
    struct fills *fills;           /* owns */
    struct silence silence;
    const struct buffer *answer; /* to the last question about a table */
    struct leader_kill leader_kill;
    struct recording history;
    struct leaders leaders;
    struct gac_watch watches[WATCHES_MAX]; /* of the first table, by enum gac_kind; then of the
                                              reads of its global indexes */
    uint32_t watch_count;
    struct sim_client *clients[SIM_CLIENTS_MAX];
    uint64_t events;
    int64_t calm_ns;
    struct told told;
};

static void not_whole(void *context, struct slice why)
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

/* The rate limiter needs clocks that differ by less than LIMITER_KNOWN_MS. Short times need more.
 * */
static void lessen_skews(struct sim *s)
{
    for (uint32_t i = 0; i < s->run.plan.nodes + s->run.plan.routers; i++) {
        int64_t *skew_ms = world_wall_skew_ms(&s->run.world, i);
        if (s->run.plan.limiters > 0)
            *skew_ms /= 2;
        if (plan_has(&s->run.plan, SIM_SHORT_TIMES))
            *skew_ms %= SIM_SHORT_SKEW_MS;
    }
}

static bool lists_are_followed(const struct plan *p)
{
    return p->transacts > 0 && plan_has(p, SIM_MIXED) && p->transact_keys <= FOLLOW_KEYS;
}

/* Numbers the clients that come behind the workload's and the one of tables. Returns how many. */
static uint32_t set_groups(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const uint32_t counts[GROUPS] = {[GROUP_TRANSACTS] = p->transacts,
                                     [GROUP_EXPIRIES] = p->expiries,
                                     [GROUP_TALLIES] = p->tallies,
                                     [GROUP_FOLLOWS] = p->follows > 0 ? p->follows + 1 : 0,
                                     [GROUP_LIMITS] = p->limiters,
                                     [GROUP_SWITCHES] =
                                         plan_has(p, SIM_SWITCHES) ? SWITCHES_CLIENTS : 0,
                                     [GROUP_LIST_FOLLOWER] = lists_are_followed(p),
                                     [GROUP_FILLS] = p->fills};
    static const enum world_stream streams[GROUPS] = {
        WORLD_TRANSACTS, WORLD_EXPIRIES, WORLD_TALLIES, WORLD_FOLLOWS,
        WORLD_LIMITS,    WORLD_SWITCHES, WORLD_LISTS,   WORLD_FILLS};
    uint32_t first = p->clients + 1;
    for (int i = 0; i < GROUPS; i++) {
        s->groups[i] = (struct client_group){&s->run.world, first, counts[i], streams[i]};
        first += counts[i];
    }
    return first - p->clients - 1;
}

static struct http_client_options group_http(void *context, uint32_t client)
{
    const struct client_group *g = context;
    return world_http(g->world, g->first + client, world_seed(g->world, g->stream, 1 + client));
}

static void create_world(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct world_plan world = {
        .seed = p->seed,
        .nodes = p->nodes,
        .routers = p->routers,
        .gac = p->gac,
        .clients = p->clients + 1 + set_groups(s), /* the one makes and deletes tables */
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
        s->run.world.nodes[id]->medium.hides_errors = p->mistake == SIM_MISTAKE_READ_ERRORS;
}

static void create_transacts(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const uint64_t seed = world_seed(&s->run.world, WORLD_TRANSACTS, 0);
    const struct transacts_options transacts = {
        .scheduler = &s->run.world.scheduler,
        .http = group_http,
        .context = &s->groups[GROUP_TRANSACTS],
        .failed = not_whole,
        .failed_context = &s->run,
        .clients = p->transacts,
        .keys = p->transact_keys,
        .pad = lists_are_followed(p) ? 0 : p->transact_pad,
        .units = plan_side_units(p),
        .think_ns = p->workload.think_ns,
        .indexed = p->workload.indexed,
        .sharded = p->workload.sharded,
        .global_indexes = p->workload.global_indexes,
        .index_units = p->workload.index_units,
        .streams = lists_are_followed(p),
        .tokens_last = plan_keeps_tokens(p),
        .leaves_ns = plan_has(p, SIM_LEAVING_TABLE) ? p->length_ns * 2 / 3 : 0,
        .seed = seed};
    s->transacts = transacts_create(&transacts);
}

static bool may_switch(void *sim, enum switch_of which)
{
    const struct sim *s = sim;
    return which == SWITCH_TTL || which == SWITCH_STREAM_OF_TTL ? expiries_are_made(s->expiries)
                                                                : follows_are_made(s->follows);
}

static void create_switches(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const bool items = p->expiries > 0, stream = p->follows > 0;
    const struct switches_options switches = {.scheduler = &s->run.world.scheduler,
                                              .http = group_http,
                                              .context = &s->groups[GROUP_SWITCHES],
                                              .may_switch = may_switch,
                                              .sim = s,
                                              .clients = s->groups[GROUP_SWITCHES].count,
                                              .has = {[SWITCH_TTL] = items,
                                                      [SWITCH_STREAM] = stream,
                                                      [SWITCH_TTL_OF_STREAM] = stream,
                                                      [SWITCH_STREAM_OF_TTL] = items},
                                              .pause_ns = SWITCH_PAUSE_MS * NS_PER_MS,
                                              .seed = world_seed(&s->run.world, WORLD_SWITCHES, 0)};
    s->switches = switches_create(&switches);
}

static void create_expiries(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct expiries_options expiries = {.scheduler = &s->run.world.scheduler,
                                              .http = group_http,
                                              .context = &s->groups[GROUP_EXPIRIES],
                                              .clients = p->expiries,
                                              .units = plan_side_units(p),
                                              .world = &s->run.world,
                                              .window_ms = config_expiry(&p->config)->ttl_window_ms,
                                              .mixed = plan_has(p, SIM_MIXED),
                                              .switches = s->switches,
                                              .think_ns = p->workload.think_ns,
                                              .seed = world_seed(&s->run.world, WORLD_EXPIRIES, 0)};
    s->expiries = expiries_create(&expiries);
}

static void create_tallies(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct tallies_options tallies = {.scheduler = &s->run.world.scheduler,
                                            .http = group_http,
                                            .context = &s->groups[GROUP_TALLIES],
                                            .clients = p->tallies,
                                            .units = plan_tally_units(p),
                                            .think_ns = p->workload.think_ns,
                                            .seed = world_seed(&s->run.world, WORLD_TALLIES, 0)};
    s->tallies = tallies_create(&tallies);
}

/* How long a record is there after its write was begun, whoever judges that by which clock. */
static int64_t stream_kept_ms(const struct plan *p)
{
    const int64_t ms = config_streams(&p->config)->stream_retention_ms;
    return ms > TRIM_NEVER_MS ? INT64_MAX : ms - 2 * SIM_SHORT_SKEW_MS;
}

static void create_follows(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct follows_options follows = {.scheduler = &s->run.world.scheduler,
                                            .http = group_http,
                                            .context = &s->groups[GROUP_FOLLOWS],
                                            .clients = p->follows,
                                            .units = p->workload.partitions * p->workload.units,
                                            .kept_ms = stream_kept_ms(p),
                                            .switches = s->switches,
                                            .think_ns = p->workload.think_ns,
                                            .seed = world_seed(&s->run.world, WORLD_FOLLOWS, 0)};
    s->follows = follows_create(&follows);
}

static bool lists_are_written(const void *transacts)
{
    return transacts_are_done(transacts);
}

static void create_list_follower(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct follows_options follows = {
        .scheduler = &s->run.world.scheduler,
        .http = group_http,
        .context = &s->groups[GROUP_LIST_FOLLOWER],
        .table = lists_are_followed(p) ? transacts_tables[TRANSACT_TABLES - 1] : NULL,
        .writes_are_over = lists_are_written,
        .writers = s->transacts,
        .kept_ms = stream_kept_ms(p),
        .switches = s->switches,
        .think_ns = p->workload.think_ns,
        .seed = world_seed(&s->run.world, WORLD_FOLLOWS, 50)};
    s->list_follower = follows_create(&follows);
}

static void create_limits(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct limits_options limits = {.scheduler = &s->run.world.scheduler,
                                          .http = group_http,
                                          .context = &s->groups[GROUP_LIMITS],
                                          .clients = p->limiters,
                                          .nodes_spread_ms =
                                              world_wall_spread_ms(&s->run.world, false),
                                          .spread_ms = world_wall_spread_ms(&s->run.world, true),
                                          .merge_ms = config_limiter(&p->config)->limiter_merge_ms,
                                          .think_ns = p->workload.think_ns,
                                          .seed = world_seed(&s->run.world, WORLD_LIMITS, 0)};
    s->limits = limits_create(&limits);
}

static void create_clients(struct sim *s)
{
    const struct plan *p = &s->run.plan;
    const struct tables_options tables = {
        .http = world_http(&s->run.world, p->clients, world_seed(&s->run.world, WORLD_TABLES, 0)),
        .history = &s->history,
        .workload = &p->workload,
        .seed = world_seed(&s->run.world, WORLD_TABLES, 1),
        .failed = not_whole,
        .context = &s->run};
    s->tables = tables_create(&tables);
    for (uint32_t i = 0; i < p->clients; i++) {
        const struct sim_client_options client = {
            .http = world_http(&s->run.world, i, world_seed(&s->run.world, WORLD_CLIENTS, 2 * i)),
            .history = &s->history,
            .workload = &p->workload,
            .tables = s->tables,
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
        told_add(&s->told, tables_name(i), i == 0 && p->workload.global_indexes);
    for (int i = 0; i < TRANSACT_TABLES && p->transacts > 0; i++)
        told_add(&s->told, transacts_tables[i],
                 i == TRANSACT_TABLES - 1 && p->workload.global_indexes);
    if (p->expiries > 0)
        told_add(&s->told, expiries_table, plan_has(p, SIM_MIXED));
    if (p->follows > 0)
        told_add(&s->told, follows_table, false);
    if (p->tallies > 0)
        told_add(&s->told, tallies_table, false);
    if (p->limiters > 0)
        told_add(&s->told, limits_table, false);
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
    create_switches(s);
    create_transacts(s);
    create_expiries(s);
    create_tallies(s);
    create_follows(s);
    create_list_follower(s);
    create_limits(s);
    s->fills = fills_create(&s->run, group_http, &s->groups[GROUP_FILLS]);
    s->faults = faults_create(&s->run);
    s->splits = splits_create(&s->run);
    s->drains = drains_create(&s->run);
    s->saltings = saltings_create(&s->run);
    leader_kill_init(&s->leader_kill, &s->run, s->faults);
    return s;
}

void sim_destroy(struct sim *s)
{
    for (uint32_t i = 0; i < s->run.plan.clients; i++)
        sim_client_destroy(s->clients[i]);
    faults_destroy(s->faults);
    splits_destroy(s->splits);
    tables_destroy(s->tables);
    drains_destroy(s->drains);
    saltings_destroy(s->saltings);
    transacts_destroy(s->transacts);
    expiries_destroy(s->expiries);
    tallies_destroy(s->tallies);
    follows_destroy(s->follows);
    follows_destroy(s->list_follower);
    switches_destroy(s->switches);
    limits_destroy(s->limits);
    fills_destroy(s->fills);
    told_deinit(&s->told);
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

static void watch(struct sim *s)
{
    for (uint32_t i = 0; gac_watch_applies(&s->run.plan) && i < s->watch_count; i++)
        gac_watch_look(&s->watches[i], s->run.world.scheduler.now, s->run.world.routers,
                       s->run.plan.routers);
}

/* Runs until `until`, a violation, or `done`. True: `done` holds. */
static bool sim_pass(struct sim *s, struct instant until, bool (*done)(const struct sim *s))
{
    uint64_t steps = 0;
    while (s->run.violation.size == 0 && scheduler_step(&s->run.world.scheduler, until)) {
        s->events++;
        watch(s);
        if (s->events % EVENTS_BETWEEN_DEBTS == 0)
            admission_watch_look(&s->run, tables_made(s->tables));
        if (++steps % STEPS_BETWEEN_LOOKS == 0 && done != NULL && done(s))
            return true;
    }
    return done != NULL && done(s);
}

static struct instant sim_after(const struct sim *s, int64_t ns)
{
    return instant_add(s->run.world.scheduler.now, (struct duration){ns});
}

static void waited_in_vain(struct sim *s, const char *what)
{
    if (s->run.violation.size > 0)
        return;
    buffer_append_format(&s->run.violation, "%s\n", what);
    for (uint32_t i = 0; i < s->run.plan.clients; i++) {
        if (!sim_client_is_done(s->clients[i]))
            sim_client_describe(s->clients[i], &s->run.violation);
    }
    if (!tables_are_settled(s->tables))
        tables_describe(s->tables, &s->run.violation);
    transacts_describe(s->transacts, &s->run.violation);
    expiries_describe(s->expiries, &s->run.violation);
    tallies_describe(s->tallies, &s->run.violation);
    follows_describe(s->follows, &s->run.violation);
    follows_describe(s->list_follower, &s->run.violation);
    limits_describe(s->limits, &s->run.violation);
    switches_describe(s->switches, &s->run.violation);
    fills_describe(s->fills, &s->run.violation);
}

static void sim_set_up(struct sim *s)
{
    world_start(&s->run.world);
    begin_watch(s);
    sim_client_set_plan(s->clients[0], CLIENT_SETUP);
    if (!sim_pass(s, sim_after(s, SETUP_S * NS_PER_S), clients_done))
        waited_in_vain(s, "the table does not become active");
}

static bool is_told(const struct sim *s)
{
    return s->answer->size > 0;
}

/* The leader of the catalog answers, once it knows that it still leads. */
static void sim_table_ask(struct sim *s, const char *name, struct buffer *told)
{
    const struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of(name)};
    buffer_clear(told);
    s->answer = told;
    for (int tries = 0; tries < ASK_TRIES && told->size == 0 && s->run.violation.size == 0;
         tries++) {
        world_ask(&s->run.world, &r, told);
        sim_pass(s, sim_after(s, NS_PER_S), is_told);
    }
}

static void sim_tables_ask(struct sim *s)
{
    for (uint32_t i = 0; i < s->told.count; i++)
        sim_table_ask(s, s->told.all[i].name, &s->told.all[i].bytes);
}

/* Waits until the replicas agree and nodes keep nothing for work that is done; what is wrong then,
 * `judge` tells. Replicas may still be moving, because of drained and silent nodes, and indexes may
 * lag. */
static void await_rest(struct sim *s)
{
    struct buffer why = {0};
    const int64_t moves_ns = s->run.plan.moves ? MOVES_S * NS_PER_S : 0;
    const int64_t lag_ns = s->run.plan.workload.global_indexes ? waits_indexes_ns(&s->run.plan) : 0;
    const int64_t more_ns = moves_ns > lag_ns ? moves_ns : lag_ns;
    const struct instant until = sim_after(s, REST_S * NS_PER_S + more_ns);
    bool good = false;
    do {
        sim_pass(s, sim_after(s, REST_LOOK_MS * NS_PER_MS), NULL);
        sim_tables_ask(s);
        buffer_clear(&why);
        good = s->run.violation.size > 0 ||
               (check_nodes(s->run.world.nodes, s->run.plan.nodes, &why) &&
                told_check(&s->told, &s->run, &why));
    } while (!good && instant_before(s->run.world.scheduler.now, until));
    buffer_deinit(&why);
}

/* Before anything is written again: a new index has the items from before. */
static void check_filled(struct sim *s)
{
    struct buffer why = {0};
    bool good = !s->run.plan.workload.index_churn;
    const struct instant until = sim_after(s, waits_indexes_ns(&s->run.plan));
    while (!good && s->run.violation.size == 0 &&
           instant_before(s->run.world.scheduler.now, until)) {
        sim_tables_ask(s);
        buffer_clear(&why);
        good = told_check_first(&s->told, &s->run, &why);
        if (!good)
            sim_pass(s, sim_after(s, NS_PER_S), NULL);
    }
    if (!good && s->run.violation.size == 0)
        run_violate(&s->run, "%.*s", TEXT_OF(why));
    buffer_deinit(&why);
}

static bool is_settled(const struct sim *s)
{
    return tables_are_settled(s->tables) && drains_are_over(s->drains) &&
           saltings_are_over(s->saltings) && transacts_are_done(s->transacts) &&
           expiries_are_done(s->expiries) && tallies_are_done(s->tallies) &&
           follows_are_done(s->follows) && follows_are_done(s->list_follower) &&
           switches_are_over(s->switches) && limits_are_quiet(s->limits) && clients_done(s);
}

static bool limits_are_looked_at(const struct sim *s)
{
    return limits_are_done(s->limits);
}

static bool stores_are_left(const struct sim *s)
{
    return fills_are_done(s->fills);
}

/* Before anything else is expected: the other clients need space, too. */
static void leave_stores(struct sim *s)
{
    fills_end(s->fills);
    if (!sim_pass(s, sim_after(s, FILLS_ENDS_S * NS_PER_S), stores_are_left))
        waited_in_vain(s, "the clients that fill stores do not come to their end");
}

static bool silence_is_broken(const struct sim *s)
{
    return silence_is_over(&s->silence);
}

static void keep_silent(struct sim *s)
{
    s->silence = (struct silence){
        .run = &s->run, .tables = s->tables, .saltings = s->saltings, .splits = s->splits};
    set_plans(s, CLIENT_IDLE);
    sim_pass(s, sim_after(s, SILENCE_S * NS_PER_S), NULL);
    silence_break(&s->silence);
    const int64_t ns = SILENCE_ENDS_S * NS_PER_S + waits_indexes_ns(&s->run.plan);
    if (!sim_pass(s, sim_after(s, ns), silence_is_broken))
        waited_in_vain(s, "a change does not end while nothing is written");
    check_filled(s);
}

static void calm(struct sim *s)
{
    int64_t begun = s->run.world.scheduler.now.ns;
    faults_end(s->faults);
    splits_end(s->splits);
    drains_end(s->drains);
    saltings_end(s->saltings);
    transacts_end(s->transacts);
    expiries_end(s->expiries);
    tallies_end(s->tallies);
    follows_end(s->follows);
    follows_end(s->list_follower);
    limits_end(s->limits);
    switches_end(s->switches);
    if (s->run.plan.fills > 0)
        leave_stores(s);
    if (s->run.plan.workload.tables > 1 || s->run.plan.workload.index_churn ||
        s->run.plan.transacts > 0 || s->run.plan.expiries > 0 || s->run.plan.tallies > 0 ||
        s->run.plan.follows > 0 || s->run.plan.limiters > 0 || !drains_are_over(s->drains) ||
        !saltings_are_over(s->saltings)) {
        set_plans(s, CLIENT_IDLE);
        tables_end(s->tables);
        /* A shard of a bucket waits until its leader's clock has reached that of an earlier one. */
        const int64_t behind_ms =
            s->run.plan.limiters > 0 ? world_wall_spread_ms(&s->run.world, false) : 0;
        if (!sim_pass(s, sim_after(s, TABLES_S * NS_PER_S + behind_ms * NS_PER_MS), is_settled))
            waited_in_vain(s, "not every table is there after the faults have ended");
        if (!sim_pass(s, sim_after(s, limits_time(s->limits).ns), limits_are_looked_at))
            waited_in_vain(s, "the buckets of the rate limiter do not come to rest");
        check_filled(s);
        begun = s->run.world.scheduler.now.ns;
    }
    if (plan_has(&s->run.plan, SIM_SILENCE)) {
        keep_silent(s);
        begun = s->run.world.scheduler.now.ns;
    }
    s->history.calm_ns = s->run.world.scheduler.now.ns;
    set_plans(s, CLIENT_PROBE);
    if (!sim_pass(s, sim_after(s, waits_calm_ns(&s->run.plan)), clients_done))
        waited_in_vain(s, "not every key answers after the faults have ended");
    s->calm_ns = s->run.world.scheduler.now.ns - begun;
    set_plans(s, CLIENT_IDLE);
    await_rest(s);
}

/* Work, splits and everything else goes on, but no fault strikes: strong reads must be answered. */
static void go_on_without_faults(struct sim *s)
{
    if (s->run.plan.transacts == 0 || s->run.plan.steady_ns == 0)
        return;
    faults_end(s->faults);
    sim_pass(s, sim_after(s, RECOVER_S * NS_PER_S), NULL);
    transacts_expect_answers(s->transacts);
    sim_pass(s, sim_after(s, s->run.plan.steady_ns), NULL);
}

/* Whether no eventual read may have missed a write: the only router has always remembered its writes,
 * and has never given up waiting for them. */
static bool own_writes_were_shown(const struct sim *s)
{
    return plan_has(&s->run.plan, SIM_OWN_READS) && s->run.plan.routers == 1 &&
           (s->run.plan.faults & SIM_FAULT_BIT(SIM_ROUTER)) == 0 &&
           router_process_is_up(s->run.world.routers[0]) &&
           router_process_late_reads(s->run.world.routers[0]) == 0;
}

static void judge(struct sim *s)
{
    struct buffer *why = &s->run.violation;
    if (why->size > 0 || !check_nodes(s->run.world.nodes, s->run.plan.nodes, why) ||
        !told_check(&s->told, &s->run, why) || !transacts_check(s->transacts, why) ||
        !expiries_check(s->expiries, why) || !tallies_check(s->tallies, why) ||
        !follows_check(s->follows, why) || !follows_check(s->list_follower, why) ||
        !limits_check(s->limits, why))
        return;
    const uint64_t strikes = faults_strikes(s->faults);
    for (uint32_t i = 0; gac_watch_applies(&s->run.plan) && i < s->watch_count; i++) {
        if (!gac_watch_check(&s->watches[i], &s->run.plan, strikes, why))
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
        splits_begin(s->splits);
        tables_begin(s->tables);
        transacts_begin(s->transacts);
        expiries_begin(s->expiries);
        tallies_begin(s->tallies);
        follows_begin(s->follows);
        follows_begin(s->list_follower);
        limits_begin(s->limits);
        switches_begin(s->switches);
        fills_begin(s->fills);
        drains_begin(s->drains);
        saltings_begin(s->saltings);
        sim_pass(s, sim_after(s, s->run.plan.length_ns), NULL);
        go_on_without_faults(s);
        calm(s);
    }
    judge(s);
    *out = (struct sim_result){.violated = s->run.violation.size > 0,
                               .undecided = s->history.undecided,
                               .hash = world_hash(&s->run.world) * 31 + s->events,
                               .leader_killed_at = s->leader_kill.killed_at,
                               .strikes = faults_strikes(s->faults),
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
