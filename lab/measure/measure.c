/* measure.c - counts what a run does. Nothing here depends on the number of requests (MEASURE-1).
 *
 * The excess over a limit is kept in bins of 10 ms: a window of W begins at a multiple of 10 ms. */
#include "lab/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "base/must.h"
#include "lab/measure/measure_internal.h"

static int64_t or_default(int64_t value, int64_t usual)
{
    return value != 0 ? value : usual;
}

struct measure *measure_create(const struct measure_options *options)
{
    struct measure *m = must_calloc(1, sizeof *m);
    struct measure_options *o = &m->options;
    *o = *options;
    o->window_ns = or_default(o->window_ns, 100 * NS_PER_MS);
    o->slot_ns = or_default(o->slot_ns, NS_PER_S);
    o->slots_max = (uint32_t)or_default(o->slots_max, 4096);
    o->settle_ns = or_default(o->settle_ns, NS_PER_S);
    o->gain_ppm = (uint32_t)or_default(o->gain_ppm, 20000);
    must(o->window_ns > 0 && o->slot_ns > 0);
    must(o->slot_ns % o->window_ns == 0);
    must(o->slots_max >= 2);
    o->begin_ns = (o->begin_ns + o->window_ns - 1) / o->window_ns * o->window_ns;
    m->optimum = optimum_create();
    m->slot_ns = o->slot_ns;
    m->window = 1;
    m->relieved.since_ns = m->converged.since_ns = NEVER_YET;
    m->imbalance = must_calloc(1, sizeof *m->imbalance);
    m->imbalance_floor = must_calloc(1, sizeof *m->imbalance_floor);
    histogram_init(m->imbalance);
    histogram_init(m->imbalance_floor);
    measure_step(m, o->begin_ns);
    return m;
}

void measure_destroy(struct measure *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->stream_count; i++) {
        free(m->streams[i].slots);
        free(m->streams[i].latency);
    }
    for (size_t i = 0; i < m->limit_count; i++)
        free(m->limits[i].bins);
    for (size_t i = 0; i < m->phase_count; i++)
        free(m->phases[i]);
    index_destroy(m);
    optimum_destroy(m->optimum);
    void *owned[] = {
        m->resources, m->flows,     m->streams,         m->limits,           m->groups,
        m->steps,     m->active,    m->problem_flows,   m->problem_groups,   m->fair,
        m->in_budget, m->whole,     m->capacities,      m->capacities_slack, m->window_resources,
        m->shares,    m->imbalance, m->imbalance_floor, m->on_demand,        m};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

uint32_t measure_add_resource(struct measure *m, enum measure_resource_kind kind)
{
    m->resources =
        must_grow(m->resources, m->resource_count, &m->resource_capacity, sizeof *m->resources);
    m->resources[m->resource_count] =
        (struct resource){.kind = kind, .capacity_mcu = OPTIMUM_UNLIMITED};
    return (uint32_t)m->resource_count++;
}

void measure_set_capacity(struct measure *m, uint32_t resource, int64_t mcu)
{
    must(resource < m->resource_count);
    must(mcu <= OPTIMUM_MAX || mcu == OPTIMUM_UNLIMITED);
    m->resources[resource].capacity_mcu = mcu;
}

void measure_set_slack(struct measure *m, uint32_t resource, int64_t mcu)
{
    must(resource < m->resource_count);
    must(mcu >= 0 && mcu <= OPTIMUM_MAX);
    m->resources[resource].slack_mcu = mcu;
}

void measure_set_bucket(struct measure *m, uint32_t resource, int64_t rate_mcu, int64_t depth_mcu)
{
    must(resource < m->resource_count);
    must(rate_mcu >= 0 && rate_mcu <= OPTIMUM_MAX);
    must(depth_mcu >= 0 && depth_mcu <= OPTIMUM_MAX);
    m->resources[resource].rate_mcu = rate_mcu;
    m->resources[resource].depth_mcu = depth_mcu;
}

uint32_t measure_add_stream(struct measure *m, uint32_t tenant, uint32_t table, uint32_t kind)
{
    must(kind < MEASURE_KINDS);
    m->streams = must_grow(m->streams, m->stream_count, &m->stream_capacity, sizeof *m->streams);
    m->shares = must_have(realloc(m->shares, m->stream_capacity * 2 * sizeof *m->shares));
    struct stream *s = &m->streams[m->stream_count];
    *s = (struct stream){.tenant = tenant,
                         .table = table,
                         .kind = kind,
                         .limit = MEASURE_ANY,
                         .group = MEASURE_ANY,
                         .largest_mcu = 1};
    for (int i = 0; i < MEASURE_STEPS; i++)
        s->first_refusal_ns[i] = NEVER_YET;
    return (uint32_t)m->stream_count++;
}

uint32_t measure_add_group(struct measure *m, uint32_t parent, int64_t weight)
{
    _Static_assert(MEASURE_ANY == OPTIMUM_NO_GROUP, "no parent is no group");
    must(parent == MEASURE_ANY || parent < m->group_count);
    must(weight > 0 && weight <= OPTIMUM_WEIGHT_MAX);
    m->groups = must_grow(m->groups, m->group_count, &m->group_capacity, sizeof *m->groups);
    m->groups[m->group_count] = (struct optimum_group){parent, weight};
    return (uint32_t)m->group_count++;
}

void measure_set_stream_group(struct measure *m, uint32_t stream, uint32_t group)
{
    must(stream < m->stream_count);
    must(group < m->group_count);
    m->streams[stream].group = group;
}

void measure_set_path(struct measure *m, uint32_t flow, int64_t weight, const uint32_t *resources,
                      uint32_t count)
{
    must(flow < m->flow_count);
    must(count <= MEASURE_PATH_MAX);
    must(weight > 0 && weight <= OPTIMUM_WEIGHT_MAX);
    struct flow *f = &m->flows[flow];
    f->weight = weight;
    f->path_count = count;
    for (uint32_t i = 0; i < count; i++) {
        must(resources[i] < m->resource_count);
        f->path[i] = resources[i];
    }
}

uint32_t measure_add_flow(struct measure *m, uint32_t stream, int64_t weight,
                          const uint32_t *resources, uint32_t count)
{
    must(stream < m->stream_count);
    m->flows = must_grow(m->flows, m->flow_count, &m->flow_capacity, sizeof *m->flows);
    m->flows[m->flow_count] = (struct flow){.stream = stream};
    m->flow_count++;
    measure_set_path(m, (uint32_t)m->flow_count - 1, weight, resources, count);
    return (uint32_t)m->flow_count - 1;
}

void measure_set_processors(struct measure *m, uint32_t flow,
                            const struct measure_processor *processors, uint32_t count)
{
    must(flow < m->flow_count);
    must(count <= MEASURE_PATH_MAX);
    struct flow *f = &m->flows[flow];
    bool same = f->processor_count == count;
    for (uint32_t i = 0; i < count; i++) {
        must(processors[i].resource < m->resource_count);
        must(processors[i].work < MEASURE_MAJORITY);
        same = same && f->processors[i].resource == processors[i].resource;
        f->processors[i] = processors[i];
    }
    f->processor_count = count;
    m->has_processors |= count > 0;
    if (!same && f->active)
        f->moved_in = m->window;
}

uint32_t measure_add_limit(struct measure *m, int64_t rate_mcu, int64_t capacity_mcu,
                           int64_t balance_mcu)
{
    must(rate_mcu >= 0 && capacity_mcu >= 0);
    must(balance_mcu >= 0);
    m->limits = must_grow(m->limits, m->limit_count, &m->limit_capacity, sizeof *m->limits);
    struct limit *l = &m->limits[m->limit_count];
    *l = (struct limit){.rate = (double)rate_mcu,
                        .capacity = (double)capacity_mcu,
                        .bank = fmin((double)balance_mcu, (double)capacity_mcu)};
    l->bins = must_calloc(LIMIT_BINS, sizeof *l->bins);
    l->bin = m->window_start_ns / LIMIT_BIN_NS;
    l->first_bin =
        (m->window_start_ns > m->options.begin_ns ? m->window_start_ns : m->options.begin_ns) /
        LIMIT_BIN_NS;
    l->bins[l->bin % LIMIT_BINS].bank = l->bank;
    return (uint32_t)m->limit_count++;
}

void measure_set_stream_limit(struct measure *m, uint32_t stream, uint32_t limit)
{
    must(stream < m->stream_count);
    must(limit < m->limit_count);
    m->streams[stream].limit = limit;
}

void measure_set_limit(struct measure *m, uint32_t limit, int64_t now_ns, int64_t rate_mcu,
                       int64_t capacity_mcu)
{
    must(limit < m->limit_count);
    must(rate_mcu >= 0 && capacity_mcu >= 0);
    struct limit *l = &m->limits[limit];
    limit_advance(l, now_ns);
    l->rate = (double)rate_mcu;
    l->capacity = (double)capacity_mcu;
}

/* The windows that end with the open bin. An excess of up to one request does not count: a bucket
 * may be left with the debt of one. */
static void limit_close_windows(struct limit *l, const struct limit_bin *b)
{
    static const int64_t lengths[LIMIT_WINDOWS] = {10, 100, 1000};
    l->admitted_all += b->admitted;
    l->allowed_all += b->allowed;
    for (int w = 0; w < LIMIT_WINDOWS; w++) {
        l->sum_admitted[w] += b->admitted;
        l->sum_allowed[w] += b->allowed;
        int64_t start = l->bin - lengths[w] + 1;
        if (start < l->first_bin)
            continue;
        const struct limit_bin *first = &l->bins[start % LIMIT_BINS];
        double excess = l->sum_admitted[w] - l->sum_allowed[w] - first->bank - l->largest;
        if (excess > 1 && /* whole mcu of a rate's fractions */ l->sum_allowed[w] > 0)
            l->worst[w] = fmax(l->worst[w], excess / l->sum_allowed[w]);
        l->sum_admitted[w] -= first->admitted;
        l->sum_allowed[w] -= first->allowed;
    }
}

void limit_advance(struct limit *l, int64_t now_ns)
{
    for (; l->bin < now_ns / LIMIT_BIN_NS; l->bin++) {
        struct limit_bin *b = &l->bins[l->bin % LIMIT_BINS];
        b->admitted = l->admitted;
        b->allowed = l->rate * (double)LIMIT_BIN_NS / (double)NS_PER_S;
        l->admitted = 0;
        l->bank = fmin(l->capacity, fmax(0, l->bank + b->allowed - b->admitted));
        if (l->bin >= l->first_bin)
            limit_close_windows(l, b);
        l->bins[(l->bin + 1) % LIMIT_BINS] = (struct limit_bin){.bank = l->bank};
    }
}

struct measure_point *stream_slot_now(struct measure *m, struct stream *s)
{
    s->slots = must_grow_zeroed(s->slots, m->slot, &s->slot_capacity, sizeof *s->slots);
    return &s->slots[m->slot];
}

static void add_latency(struct measure *m, struct stream *s, int64_t latency_ns)
{
    if (s->latency == NULL) {
        s->latency = must_have(malloc(sizeof *s->latency));
        histogram_init(s->latency);
    }
    histogram_record(s->latency, latency_ns);
    if (m->phase_count > 0)
        histogram_record(&m->phases[m->phase_count - 1]->latency, latency_ns);
}

void tally_request(struct tally *t, int64_t cost_mcu, bool admitted)
{
    if (admitted) {
        t->admitted_mcu += cost_mcu;
        return;
    }
    if (t->refused_mcu == 0 || cost_mcu < t->refused_min_mcu)
        t->refused_min_mcu = cost_mcu;
    t->refused_mcu += cost_mcu;
}

static void count_refusal(struct measure *m, struct stream *s, struct measure_point *slot,
                          const struct measure_request *r)
{
    size_t step = m->step_count - 1;
    slot->refused_mcu[r->reason] += r->cost_mcu;
    slot->refused[r->reason]++;
    if (r->index > 0)
        index_refused(m, r);
    m->period_refused = true;
    if (step < MEASURE_STEPS && s->first_refusal_ns[step] == NEVER_YET)
        s->first_refusal_ns[step] = r->at_ns;
}

static void report_event(const struct measure *m, uint32_t flow, struct measure_event row)
{
    if (m->options.row == NULL)
        return;
    const struct stream *s = &m->streams[m->flows[flow].stream];
    row.tenant = s->tenant;
    row.table = s->table;
    row.kind = s->kind;
    m->options.row(m->options.context, &row);
}

/* The latency of an admitted request is known. */
static void count_latency(struct measure *m, uint32_t flow, int64_t cost_mcu, int64_t latency_ns)
{
    must(latency_ns >= 0);
    struct stream *s = &m->streams[m->flows[flow].stream];
    add_latency(m, s, latency_ns);
    if (m->options.objective_ns == 0 || latency_ns <= m->options.objective_ns)
        stream_slot_now(m, s)->good_mcu += cost_mcu;
}

static void limit_debit(struct limit *l, const struct measure_request *r)
{
    limit_advance(l, r->at_ns);
    l->admitted += (double)r->cost_mcu;
    l->largest = fmax(l->largest, (double)r->cost_mcu);
}

/* What the request would take of processors, admitted or not. */
static void count_work(struct flow *f, const struct measure_request *r)
{
    for (int i = 0; i < MEASURE_WORKS; i++) {
        must(r->work_ns[i] >= 0);
        const int64_t each = work_of_unit(r->work_ns[i], r->cost_mcu);
        f->work_ns[i] += r->work_ns[i];
        if (f->offered_mcu == 0 || each < f->work_least[i])
            f->work_least[i] = (uint32_t)each;
    }
}

void measure_request(struct measure *m, const struct measure_request *r)
{
    must(r->flow < m->flow_count);
    must(r->reason < MEASURE_REASONS);
    must(r->index <= m->index_count);
    must(r->cost_mcu > 0);
    must(!m->ended);
    struct flow *f = &m->flows[r->flow];
    struct stream *s = &m->streams[f->stream];
    report_event(
        m, r->flow,
        (struct measure_event){
            .request = r, .at_ns = r->at_ns, .cost_mcu = r->cost_mcu, .latency_ns = r->latency_ns});
    if (r->reason == 0 && s->limit != MEASURE_ANY)
        limit_debit(&m->limits[s->limit], r);
    if (r->at_ns < m->options.begin_ns)
        return;
    measure_advance(m, r->at_ns);
    struct measure_point *slot = stream_slot_now(m, s);
    if (!f->active) {
        f->active = true;
        m->active = must_grow(m->active, m->active_count, &m->active_capacity, sizeof *m->active);
        m->active[m->active_count++] = r->flow;
    }
    s->largest_mcu = r->cost_mcu > s->largest_mcu ? r->cost_mcu : s->largest_mcu;
    count_work(f, r);
    f->offered_mcu += r->cost_mcu;
    tally_request(&f->served, r->cost_mcu, r->reason == 0);
    if (!m->options.no_optimum)
        floor_request(m, f, r);
    slot->offered_mcu += r->cost_mcu;
    slot->offered++;
    slot->hedges += r->hedge;
    if (r->reason != 0) {
        count_refusal(m, s, slot, r);
        return;
    }
    slot->admitted_mcu += r->cost_mcu;
    slot->admitted++;
    if (s->table < m->on_demand_count && m->on_demand[s->table])
        m->on_demand_mcu[s->kind] += (double)r->cost_mcu;
    slot->hedge_mcu += r->hedge ? r->cost_mcu : 0;
    if (r->latency_ns >= 0 && r->latency_ns <= m->options.objective_ns)
        m->good_mcu += r->cost_mcu;
    if (r->latency_ns >= 0)
        count_latency(m, r->flow, r->cost_mcu, r->latency_ns);
    else if (m->options.objective_ns == 0 && !r->unawaited)
        slot->good_mcu += r->cost_mcu;
}

void measure_finish(struct measure *m, uint32_t flow, int64_t cost_mcu, int64_t latency_ns)
{
    must(flow < m->flow_count);
    report_event(m, flow,
                 (struct measure_event){
                     .at_ns = m->window_start_ns, .cost_mcu = cost_mcu, .latency_ns = latency_ns});
    if (m->window_start_ns >= m->options.begin_ns)
        count_latency(m, flow, cost_mcu, latency_ns);
}

void measure_hedge_won(struct measure *m, uint32_t flow)
{
    must(flow < m->flow_count);
    stream_slot_now(m, &m->streams[m->flows[flow].stream])->hedges_won++;
}

void measure_step(struct measure *m, int64_t now_ns)
{
    const size_t count = m->step_count; /* the first is the start of the run */
    const bool same = count > 1 && now_ns - m->steps[count - 1].at_ns < m->options.settle_ns;
    if (count == STEPS_MAX || same || now_ns < m->options.begin_ns)
        return;
    m->steps = must_grow(m->steps, m->step_count, &m->step_capacity, sizeof *m->steps);
    m->steps[m->step_count++] = (struct step){now_ns, INFINITY, INFINITY};
    m->relieved.since_ns = m->converged.since_ns = NEVER_YET;
}

void measure_phase(struct measure *m, int64_t now_ns, double load)
{
    if (m->phase_count == MEASURE_STEPS || now_ns < m->options.begin_ns)
        return;
    struct phase *p = must_calloc(1, sizeof *p);
    p->load = load;
    histogram_init(&p->latency);
    m->phases[m->phase_count++] = p;
}

bool measure_split_is_useful(const struct measure *m, const struct measure_split *s)
{
    int64_t sum = 0, after = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        sum += s->pieces_mcu[i];
        after += s->pieces_mcu[i] < s->cap_mcu ? s->pieces_mcu[i] : s->cap_mcu;
    }
    const int64_t before = sum < s->cap_mcu ? sum : s->cap_mcu;
    return (double)after > (double)before * (1 + (double)m->options.gain_ppm / 1e6);
}

/* How far the largest piece is beyond an even share, from 0 to 1. */
static double split_imbalance(double largest, double sum, uint32_t count)
{
    return ((double)count * largest / sum - 1) / (double)(count - 1);
}

/* Beyond the best split of the load: no split divides a key. */
static double split_excess(const struct measure_split *s)
{
    double sum = 0, largest = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        must(s->pieces_mcu[i] >= 0);
        sum += (double)s->pieces_mcu[i];
        largest = fmax(largest, (double)s->pieces_mcu[i]);
    }
    if (sum <= 0)
        return 0;
    const double best = fmax(sum / (double)s->count, (double)s->key_mcu);
    return fmax(0, split_imbalance(largest, sum, s->count) - split_imbalance(best, sum, s->count));
}

void measure_split_made(struct measure *m)
{
    m->splits++;
}

void measure_split_evaluated(struct measure *m, const struct measure_split *s)
{
    must(s->count >= 2);
    const double imbalance = split_excess(s);
    const double floors = imbalance * sqrt((double)s->observations) / 0.80;
    m->evaluated_splits++;
    m->useless_splits += !measure_split_is_useful(m, s);
    m->imbalance_sum += imbalance;
    m->imbalance_floor_sum += floors;
    histogram_record(m->imbalance, (int64_t)(imbalance * IMBALANCE_SCALE + 0.5));
    histogram_record(m->imbalance_floor, (int64_t)(floors * IMBALANCE_SCALE + 0.5));
}

void measure_partitions(struct measure *m, int64_t count)
{
    m->partitions = count;
}

void measure_gac_messages(struct measure *m, uint64_t count)
{
    if (m->window_start_ns >= m->options.begin_ns)
        m->gac_messages += count;
}

void measure_stranded(struct measure *m, int64_t now_ns, int64_t mcu)
{
    int64_t since_ns =
        m->stranded_since_ns > m->options.begin_ns ? m->stranded_since_ns : m->options.begin_ns;
    if (now_ns > since_ns)
        m->stranded_integral +=
            (double)m->stranded_mcu * (double)(now_ns - since_ns) / (double)NS_PER_S;
    m->stranded_since_ns = now_ns;
    m->stranded_mcu = mcu;
}

void measure_provisioned(struct measure *m, int64_t now_ns, const int64_t units[MEASURE_KINDS])
{
    int64_t since_ns = m->provisioned_since_ns > m->options.begin_ns ? m->provisioned_since_ns
                                                                     : m->options.begin_ns;
    for (int kind = 0; kind < MEASURE_KINDS; kind++) {
        if (now_ns > since_ns)
            m->provisioned_integral[kind] +=
                (double)m->provisioned[kind] * (double)(now_ns - since_ns) / (double)NS_PER_S;
        m->provisioned[kind] = units[kind];
    }
    m->provisioned_since_ns = now_ns;
    m->provisioned_known = true;
}

void measure_set_on_demand(struct measure *m, uint32_t table, bool on_demand)
{
    while (table >= m->on_demand_count) {
        m->on_demand =
            must_grow(m->on_demand, m->on_demand_count, &m->on_demand_capacity, sizeof(bool));
        m->on_demand[m->on_demand_count++] = false;
    }
    m->on_demand[table] = on_demand;
}

void measure_memory(struct measure *m, int64_t at_ns, int64_t items, int64_t hits)
{
    if (at_ns < m->options.begin_ns)
        return;
    m->items_read += items;
    m->items_hit += hits;
}
