/* clients.c - arrivals, retries and measures of a scenario's clients. */
#include "lab/clients/clients.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "lab/clients/clients_internal.h"
#include "lab/scenario/scenario_limit.h"

int64_t clients_now_ns(const struct clients *c)
{
    return c->options.scheduler->now.ns - c->watch.begin_ns;
}

void clients_consumed(const struct clients *c, uint32_t place, uint32_t copy,
                      int64_t mcu[ADMIT_KINDS])
{
    mcu[ADMIT_READ] = mcu[ADMIT_WRITE] = 0;
    for (uint32_t i = 0; i < c->workload_count; i++) {
        const struct clients_workload *w = &c->workloads[i];
        for (int kind = 0; kind < ADMIT_KINDS && w->scenario->table_place == place; kind++)
            mcu[kind] += w->consumed_mcu[copy][kind];
    }
}

void clients_acquired(const struct clients *c, uint32_t limit, int64_t *mcu, int64_t *unknown_mcu)
{
    *mcu = *unknown_mcu = 0;
    for (uint32_t i = 0; i < c->workload_count; i++) {
        const struct clients_workload *w = &c->workloads[i];
        if (w->scenario->limiter == NULL ||
            scenario_limit_of_workload(c->options.scenario, w->scenario) != limit)
            continue;
        *mcu += w->consumed_mcu[0][ADMIT_WRITE];
        *unknown_mcu += (int64_t)w->unknown * MCU_PER_UNIT;
    }
}

uint64_t clients_requests(const struct clients *c)
{
    return c->requests;
}

static struct clients *clients_of(const struct clients_source *s)
{
    return s->workload->clients;
}

/* `at_ns`: of the run. */
static void clients_at(struct clients *c, int64_t at_ns, scheduler_run *run, void *context,
                       uint64_t argument)
{
    scheduler_at(c->options.scheduler, (struct instant){c->watch.begin_ns + at_ns}, run, context,
                 argument);
}

/* ---- attempts ---- */

struct attempt *attempt_take(struct clients *c)
{
    struct attempt *a = STAILQ_FIRST(&c->spare);
    if (a != NULL)
        STAILQ_REMOVE_HEAD(&c->spare, spare);
    else
        a = arena_alloc(&c->arena, sizeof *a);
    *a = (struct attempt){0};
    return a;
}

/* Each write of a transaction costs twice as much as a single one. */
static int64_t attempt_cost_mcu(const struct attempt *a)
{
    const int64_t items = a->source->workload->scenario->transact;
    const bool in_transaction = items > 0 && traffic_kind_writes(a->traffic.kind);
    return demand_cost_mcu(&a->traffic) * (in_transaction ? 2 * items : 1);
}

/* `received`: the client has waited for this answer. */
static void attempt_measure(struct clients *c, const struct attempt *a, uint32_t reason,
                            uint32_t index, bool received)
{
    const struct clients_source *s = a->source;
    const int64_t now_ns = clients_now_ns(c), cost_mcu = attempt_cost_mcu(a);
    const uint32_t kind = traffic_kind_writes(a->traffic.kind) ? ADMIT_WRITE : ADMIT_READ;
    if (reason == 0)
        s->workload->consumed_mcu[a->copy][kind] += cost_mcu;
    const struct measure_request request = {.flow = s->flows[kind],
                                            .reason = reason,
                                            .index = index,
                                            .at_ns = now_ns,
                                            .cost_mcu = cost_mcu,
                                            .latency_ns =
                                                reason == 0 && received ? now_ns - a->due_ns : -1,
                                            .unawaited = !received,
                                            .hedge = a->hedge};
    measure_request(c->options.measure, &request);
    if (a->hedge && received && reason == 0)
        measure_hedge_won(c->options.measure, request.flow);
}

static void client_sends(void *context, uint64_t argument);

static void request_over(struct clients *c, struct attempt *a)
{
    struct clients_source *s = a->source;
    if (s->traffic.options.clients.count > 0)
        clients_at(c, clients_now_ns(c) + traffic_think_ns(&s->traffic), client_sends, s,
                   a->client);
    STAILQ_INSERT_HEAD(&c->spare, a, spare);
}

static void attempt_submit(struct clients *c, struct attempt *a)
{
    struct clients_source *s = a->source;
    uint32_t router = demand_router(&s->workload->scenario->routers, clients_now_ns(c),
                                    c->router_count, &s->spread, &s->router_next);
    a->pool = &s->workload->pools[router];
    hedges_begin(c, a);
    pool_submit(c, a);
}

static void attempt_submit_later(void *context, uint64_t argument)
{
    struct attempt *a = context;
    (void)argument;
    attempt_submit(clients_of(a->source), a);
}

/* Sends an attempt now, or when the client's own limiter lets it go. */
static void attempt_begin(struct clients *c, struct attempt *a)
{
    struct clients_source *s = a->source;
    const int64_t now_ns = clients_now_ns(c);
    struct retry_verdict v = retry_send(&s->states[a->client], &a->retry, now_ns, &s->retries);
    if (!v.again) {
        attempt_measure(c, a, REASON_CLIENT, 0, true);
        request_over(c, a);
    } else if (v.at_ns > now_ns) {
        clients_at(c, v.at_ns, attempt_submit_later, a, 0);
    } else {
        attempt_submit(c, a);
    }
}

static void attempt_again(void *context, uint64_t argument)
{
    struct attempt *a = context;
    (void)argument;
    attempt_begin(clients_of(a->source), a);
}

void attempt_over(struct clients *c, struct attempt *a, const struct attempt_end *end)
{
    struct clients_source *s = a->source;
    const struct retry_outcome outcome = {end->result, end->hint_ns};
    const bool counts = hedges_answered(c, a, end->result);
    attempt_measure(c, a, end->reason, end->index, counts);
    if (!counts) {
        STAILQ_INSERT_HEAD(&c->spare, a, spare);
        return;
    }
    a->hedge = false; /* what follows is a first attempt again */
    struct retry_verdict v =
        retry_after(&s->states[a->client], &a->retry, &outcome, clients_now_ns(c), &s->retries);
    if (v.again)
        clients_at(c, v.at_ns, attempt_again, a, 0);
    else
        request_over(c, a);
}

/* ---- arrivals ---- */

static void attempt_make(struct clients_source *s, uint32_t client, uint32_t copy,
                         const struct traffic_request *t, int64_t due_ns)
{
    struct attempt *a = attempt_take(clients_of(s));
    a->source = s;
    a->copy = copy;
    a->traffic = *t;
    a->due_ns = due_ns;
    a->client = client;
    indexes_draw(s, a);
    attempt_begin(clients_of(s), a);
}

/* A read-modify-write is a read and an update of the same item. In a closed loop only the update is
 * sent, as at the fidelity `admission`. */
static void request_make(struct clients_source *s, uint32_t client, const struct traffic_request *t,
                         int64_t due_ns)
{
    struct traffic_request one = *t;
    uint32_t copy = s->copy;
    if (copy == UINT32_MAX)
        copy = (uint32_t)prng_below(&s->spread, s->workload->copies);
    if (t->kind == TRAFFIC_READ_MODIFY_WRITE) {
        one.kind = TRAFFIC_READ;
        one.scan_length = 1;
        if (s->traffic.options.clients.count == 0)
            attempt_make(s, client, copy, &one, due_ns);
        one.kind = TRAFFIC_UPDATE;
    }
    attempt_make(s, client, copy, &one, due_ns);
}

static void source_read_ahead(struct clients_source *s);

static void source_arrives(void *context, uint64_t argument)
{
    struct clients_source *s = context;
    (void)argument;
    request_make(s, s->state_next++ % s->state_count, &s->next, s->next.at_ns);
    source_read_ahead(s);
}

static void source_read_ahead(struct clients_source *s)
{
    if (traffic_next(&s->traffic, &s->next))
        clients_at(clients_of(s), s->next.at_ns, source_arrives, s, 0);
}

static void client_sends(void *context, uint64_t argument)
{
    struct clients_source *s = context;
    struct clients *c = clients_of(s);
    struct traffic_request t;
    const int64_t now_ns = clients_now_ns(c);
    if (now_ns >= s->traffic.options.end_ns)
        return;
    traffic_make(&s->traffic, now_ns, &t);
    request_make(s, (uint32_t)argument, &t, now_ns);
}

static void source_begin(struct clients *c, struct clients_source *s)
{
    const struct traffic_options *o = &s->traffic.options;
    if (o->clients.count == 0) {
        source_read_ahead(s);
        return;
    }
    int64_t spread_ns = o->clients.think_ns > 0 ? o->clients.think_ns : NS_PER_MS;
    for (uint32_t i = 0; i < s->state_count; i++)
        clients_at(c, o->start_ns + (int64_t)prng_below(&s->spread, (uint64_t)spread_ns),
                   client_sends, s, i);
}

void clients_begin(struct clients *c)
{
    c->watch.begin_ns = c->options.scheduler->now.ns;
    for (uint32_t i = 0; i < c->workload_count; i++)
        demand_watch_workload(&c->watch, c->workloads[i].scenario, i == 0);
    for (uint32_t i = 0; i < c->source_count; i++)
        source_begin(c, &c->sources[i]);
}

/* ---- what the measures know ---- */

/* What a table may save: routers' policies save it in one bank, partitions in their buckets. */
static int64_t bank_mcu(const struct scenario *s, const struct scenario_table *t, int64_t rate_mcu)
{
    const struct config *config = &s->cluster.config;
    int64_t policy = t->gac > 0 ? t->gac - 1 : config_choices(config)->gac;
    int64_t saved_ms = policy == GAC_OFF ? config_admission(config)->burst_max_s * 1000 +
                                               config_admission(config)->allocation_depth_ms
                                         : config_gac(config)->gac_bank_ms;
    return (int64_t)((__int128)rate_mcu * saved_ms / 1000);
}

/* Of the same table, or of the same limit of the rate limiter. */
static bool have_one_limit(const struct scenario *s, const struct clients_source *a,
                           const struct clients_source *b)
{
    const struct scenario_workload *v = a->workload->scenario, *w = b->workload->scenario;
    if (v->limiter == NULL || w->limiter == NULL)
        return v->limiter == w->limiter && v->table_place == w->table_place && a->copy == b->copy;
    return scenario_limit_of_workload(s, v) == scenario_limit_of_workload(s, w);
}

/* The limit that the source's requests are held to. MEASURE_ANY: none, or each entity has its
 * own. What is banked as the run begins is not known here: the greatest value counts. */
static uint32_t source_limit(struct clients *c, const struct clients_source *s, uint32_t kind)
{
    const struct scenario *scenario = c->options.scenario;
    const struct scenario_workload *w = s->workload->scenario;
    const struct scenario_table *t = &scenario->tables[w->table_place];
    int64_t rate = (kind == ADMIT_READ ? t->rcu : t->wcu) * MCU_PER_UNIT;
    int64_t bank = bank_mcu(scenario, t, rate);
    if (w->limiter != NULL) {
        if (kind == ADMIT_READ || scenario_limit_entity(w).size == 0)
            return MEASURE_ANY;
        const struct scenario_limit *l = &scenario->limits[scenario_limit_of_workload(scenario, w)];
        rate = scenario_limit_rate_mcu(l);
        bank = l->capacity * MCU_PER_UNIT;
    } else if (t->on_demand || s->copy == UINT32_MAX) {
        return MEASURE_ANY;
    }
    for (const struct clients_source *other = c->sources; other != s; other++) {
        if (other->limits[kind] != MEASURE_ANY && have_one_limit(scenario, other, s))
            return other->limits[kind];
    }
    return measure_add_limit(c->options.measure, rate, bank, bank);
}

/* A stream of each kind, with one flow that no capacity bounds. `table` numbers the copies of all
 * tables. */
static void source_declare(struct clients *c, struct clients_source *s, uint32_t table)
{
    const struct scenario *scenario = c->options.scenario;
    const struct scenario_workload *w = s->workload->scenario;
    struct measure *m = c->options.measure;
    for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++) {
        uint32_t stream = measure_add_stream(m, demand_tenant(scenario, w), table, kind);
        s->limits[kind] = source_limit(c, s, kind);
        if (s->limits[kind] != MEASURE_ANY)
            measure_set_stream_limit(m, stream, s->limits[kind]);
        s->flows[kind] = measure_add_flow(m, stream, 1, NULL, 0);
    }
}

void clients_set_limit(struct clients *c, const struct scaling_update *u)
{
    const struct scenario *scenario = c->options.scenario;
    for (uint32_t i = 0; i < c->source_count; i++) {
        const struct clients_source *s = &c->sources[i];
        const struct scenario_workload *w = s->workload->scenario;
        if (w->table_place != u->place || s->copy != u->copy || w->limiter != NULL)
            continue;
        for (uint32_t kind = 0; kind < ADMIT_KINDS; kind++) {
            const int64_t rate = u->units[kind] * MCU_PER_UNIT;
            if (s->limits[kind] != MEASURE_ANY)
                measure_set_limit(c->options.measure, s->limits[kind], clients_now_ns(c), rate,
                                  bank_mcu(scenario, &scenario->tables[u->place], rate));
        }
    }
}

/* ---- life ---- */

static void template_init(struct clients_workload *w, uint32_t copy)
{
    const struct scenario *s = w->clients->options.scenario;
    const struct scenario_table *t = &s->tables[w->scenario->table_place];
    static const struct client_url url = {.host = "weir"};
    struct load_workload_options *o = &w->template_options[copy];
    o->traffic = w->scenario->traffic;
    demand_table_name(t, copy, o->table, sizeof o->table);
    snprintf(o->key_name, sizeof o->key_name, "pk");
    o->transact = w->scenario->transact;
    if (w->scenario->trace_count > 0) /* then items may be of any size */
        snprintf(o->replay, sizeof o->replay, "trace");
    if (demand_has_sort_key(s, w->scenario->table_place))
        snprintf(o->sort_name, sizeof o->sort_name, "sk");
    load_template_init(&w->templates[copy], o, &url, true);
}

static void workload_init(struct clients *c, const struct scenario_workload *scenario)
{
    struct clients_workload *w = &c->workloads[c->workload_count++];
    *w = (struct clients_workload){.clients = c, .scenario = scenario};
    w->copies = (uint32_t)c->options.scenario->tables[scenario->table_place].copies;
    w->templates = must_calloc(w->copies, sizeof w->templates[0]);
    w->template_options = must_calloc(w->copies, sizeof w->template_options[0]);
    w->consumed_mcu = must_calloc(w->copies, sizeof w->consumed_mcu[0]);
    for (uint32_t i = 0; i < w->copies; i++)
        template_init(w, i);
    pools_create(c, w);
}

static void source_init(struct clients *c, struct clients_workload *w, uint32_t copy,
                        uint32_t first_table)
{
    const uint64_t seed = c->options.seed;
    const struct traffic_options *o = &w->scenario->traffic;
    uint32_t place = c->source_count++;
    struct clients_source *s = &c->sources[place];
    *s = (struct clients_source){.workload = w, .copy = copy, .router_next = place};
    s->spread = prng_seeded(demand_seed(seed, DEMAND_SPREAD, place));
    s->retries = prng_seeded(demand_seed(seed, DEMAND_RETRIES, place));
    traffic_init(&s->traffic, o, demand_seed(seed, DEMAND_SOURCES, place));
    s->state_count = o->clients.count > 0 ? (uint32_t)o->clients.count : DEMAND_OPEN_CLIENTS;
    s->states = must_calloc(s->state_count, sizeof s->states[0]);
    for (uint32_t i = 0; i < s->state_count; i++)
        retry_init(&s->states[i], &w->scenario->retry, o->start_ns);
    s->hedging = prng_seeded(demand_seed(seed, DEMAND_HEDGES, place));
    if (w->scenario->hedge.on)
        s->hedges = must_calloc(s->state_count, sizeof s->hedges[0]);
    indexes_start(s, demand_seed(seed, DEMAND_INDEXES, place));
    source_declare(c, s, first_table + (copy == UINT32_MAX ? 0 : copy));
}

static void sources_init(struct clients *c, struct clients_workload *w)
{
    const struct scenario *s = c->options.scenario;
    uint32_t first_table = 0;
    for (uint32_t i = 0; i < w->scenario->table_place; i++)
        first_table += (uint32_t)s->tables[i].copies;
    if (!w->scenario->each)
        source_init(c, w, w->copies == 1 ? 0 : UINT32_MAX, first_table);
    for (uint32_t copy = 0; w->scenario->each && copy < w->copies; copy++)
        source_init(c, w, copy, first_table);
}

struct clients *clients_create(const struct clients_options *options)
{
    const struct scenario *s = options->scenario;
    struct clients *c = must_calloc(1, sizeof *c);
    uint32_t sources = 0;
    c->options = *options;
    c->watch = (struct demand_watch){.scheduler = options->scheduler, .measure = options->measure};
    c->router_count = (uint32_t)s->cluster.routers;
    STAILQ_INIT(&c->spare);
    for (uint32_t i = 0; i < s->workload_count; i++) {
        const struct scenario_workload *w = &s->workloads[i];
        sources += w->each ? (uint32_t)s->tables[w->table_place].copies : 1;
    }
    c->workloads = must_calloc(s->workload_count + 1, sizeof c->workloads[0]);
    c->sources = must_calloc(sources + 1, sizeof c->sources[0]);
    indexes_declare(c);
    for (uint32_t i = 0; i < s->workload_count; i++) {
        workload_init(c, &s->workloads[i]);
        sources_init(c, &c->workloads[i]);
    }
    return c;
}

static void workload_deinit(struct clients *c, struct clients_workload *w)
{
    for (uint32_t i = 0; i < w->copies; i++)
        load_template_deinit(&w->templates[i]);
    free(w->templates);
    free(w->template_options);
    free(w->consumed_mcu);
    pools_destroy(c, w);
}

void clients_destroy(struct clients *c)
{
    for (uint32_t i = 0; i < c->workload_count; i++)
        workload_deinit(c, &c->workloads[i]);
    for (uint32_t i = 0; i < c->source_count; i++) {
        traffic_deinit(&c->sources[i].traffic);
        free(c->sources[i].states);
        free(c->sources[i].hedges);
        indexes_stop(&c->sources[i]);
    }
    id_map_deinit(&c->connections);
    arena_deinit(&c->arena);
    buffer_deinit(&c->bytes);
    buffer_deinit(&c->members);
    free(c->workloads);
    free(c->sources);
    free(c);
}
