/* measure_window.c - closes windows: what the policy admitted beside what the optimum admits.
 *
 * optimum_fair, with capacities as they are, tells what each flow should have had: false throttles,
 * goodput, fairness, utilisation, relief and convergence compare with it. optimum_total, with the
 * slack of the buckets added, is what no policy exceeds.
 *
 * Processors: a flow debits the mean time of its offered requests in the max-min optimum. In the
 * greatest total it debits the least, so that no choice among its requests exceeds the bound.
 *
 * Whole requests: the optimum admits parts of a request, a policy does not. So a refusal counts as
 * false only if the optimum has room for the whole request, and a stream whose rate is one request
 * off counts as equal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "base/must.h"
#include "lab/measure/measure_internal.h"
#include "lab/measure/statistics.h"

static struct complete_slot *complete_slot_now(struct measure *m)
{
    const size_t before = m->whole_capacity;
    m->whole = must_grow_zeroed(m->whole, m->slot, &m->whole_capacity, sizeof *m->whole);
    for (size_t i = before; i < m->whole_capacity; i++)
        m->whole[i].min_max_worst = m->whole[i].jain_worst = 1;
    return &m->whole[m->slot];
}

/* ---- slots: twice as long when there are too many ---- */

static void add_complete_slot(struct complete_slot *to, const struct complete_slot *from)
{
    to->lost_mcu += from->lost_mcu;
    to->used_mcu += from->used_mcu;
    to->usable_mcu += from->usable_mcu;
    to->min_max += from->min_max;
    to->jain += from->jain;
    to->min_max_worst = fmin(to->min_max_worst, from->min_max_worst);
    to->jain_worst = fmin(to->jain_worst, from->jain_worst);
    to->periods += from->periods;
    to->idle_periods += from->idle_periods;
    to->violations += from->violations;
}

static void halve_slots(struct measure *m)
{
    for (size_t i = 0; i < m->stream_count; i++) {
        struct stream *s = &m->streams[i];
        for (size_t k = 0; k < s->slot_capacity; k++) {
            const struct measure_point slot = s->slots[k];
            memset(&s->slots[k], 0, sizeof slot);
            point_sum(&s->slots[k / 2], &slot);
        }
    }
    for (size_t k = 0; k < m->whole_capacity; k++) {
        struct complete_slot slot = m->whole[k];
        m->whole[k] = (struct complete_slot){.min_max_worst = 1, .jain_worst = 1};
        add_complete_slot(&m->whole[k / 2], &slot);
    }
    index_halve_slots(m);
    m->slot_ns *= 2;
}

/* ---- the problem of the window ---- */

static void make_room(struct measure *m)
{
    if (m->active_count > m->problem_capacity) {
        size_t n = m->problem_capacity = m->active_count * 2;
        m->problem_flows = must_have(realloc(m->problem_flows, n * sizeof *m->problem_flows));
        m->problem_groups = must_have(realloc(m->problem_groups, n * sizeof *m->problem_groups));
        m->fair = must_have(realloc(m->fair, n * sizeof *m->fair));
        m->in_budget = must_have(realloc(m->in_budget, n * sizeof *m->in_budget));
    }
    if (m->resource_count > m->window_resource_capacity) {
        size_t n = m->window_resource_capacity = m->resource_count * 2;
        m->capacities = must_have(realloc(m->capacities, n * sizeof *m->capacities));
        m->capacities_slack =
            must_have(realloc(m->capacities_slack, n * sizeof *m->capacities_slack));
        m->window_resources =
            must_have(realloc(m->window_resources, n * sizeof *m->window_resources));
    }
}

static int64_t inflow_of(const struct measure *m, const struct resource *r, uint64_t windows)
{
    __int128 mcu = (__int128)r->rate_mcu * m->options.window_ns * windows / NS_PER_S;
    return mcu > OPTIMUM_MAX ? OPTIMUM_MAX : (int64_t)mcu;
}

/* What the max-min optimum has of the resource in this window. */
static int64_t fair_capacity(const struct measure *m, struct resource *r)
{
    if (r->rate_mcu == 0 || r->capacity_mcu == OPTIMUM_UNLIMITED)
        return r->capacity_mcu;
    int64_t now_mcu = inflow_of(m, r, 1);
    if (!r->begun) {
        r->begun = true;
        r->balance_mcu = r->capacity_mcu - now_mcu;
    } else {
        r->balance_mcu += inflow_of(m, r, m->window - r->balanced_in - 1);
    }
    if (r->balance_mcu > r->depth_mcu)
        r->balance_mcu = r->depth_mcu;
    return r->balance_mcu + now_mcu;
}

/* The max-min optimum keeps what it did not use. */
static void keep_balances(struct measure *m)
{
    for (size_t i = 0; i < m->window_resource_count; i++) {
        struct resource *r = &m->resources[m->window_resources[i]];
        r->balance_mcu = r->fair_capacity_mcu - r->fair_mcu;
        r->balanced_in = m->window;
        if (r->balance_mcu > r->depth_mcu)
            r->balance_mcu = r->depth_mcu;
    }
}

/* The resource's number among those of this window. */
static uint32_t use_resource(struct measure *m, uint32_t index)
{
    struct resource *r = &m->resources[index];
    if (r->seen_in == m->window)
        return r->local;
    r->seen_in = m->window;
    r->local = (uint32_t)m->window_resource_count++;
    r->offered_mcu = r->admitted_mcu = r->fair_mcu = r->waiting_mcu = 0;
    m->window_resources[r->local] = index;
    bool limited = r->capacity_mcu != OPTIMUM_UNLIMITED;
    m->capacities[r->local] = r->fair_capacity_mcu = fair_capacity(m, r);
    m->capacities_slack[r->local] = limited ? r->capacity_mcu + r->slack_mcu : OPTIMUM_UNLIMITED;
    return r->local;
}

static void add_debit(struct measure *m, struct optimum_flow *p, uint32_t resource,
                      int64_t coefficient)
{
    if (coefficient == 0)
        return;
    p->resources[p->count] = use_resource(m, resource);
    p->coefficients[p->count++] = (uint32_t)coefficient;
}

/* What the mean of the offered requests takes. */
static void add_mean_work(struct measure *m, const struct flow *f, struct optimum_flow *p)
{
    for (uint32_t k = 0; k < f->processor_count; k++)
        add_debit(m, p, f->processors[k].resource,
                  work_of_unit(f->work_ns[f->processors[k].work], f->offered_mcu));
}

/* What a request takes that is served in time, at least. Followers may be late. The work of a flow
 * whose processors changed in the window is not known to be where they are now. */
static void add_least_work(struct measure *m, const struct flow *f, struct optimum_flow *p)
{
    p->count = f->path_count;
    for (uint32_t k = 0; k < f->processor_count && f->moved_in != m->window; k++) {
        const enum measure_work work = f->processors[k].work;
        if (work != MEASURE_FOLLOWING)
            add_debit(m, p, f->processors[k].resource,
                      f->work_least[work == MEASURE_MEMBERS ? MEASURE_MAJORITY : work]);
    }
}

static void build_problem(struct measure *m)
{
    make_room(m);
    m->window_resource_count = 0;
    for (size_t i = 0; i < m->active_count; i++) {
        const struct flow *f = &m->flows[m->active[i]];
        struct optimum_flow *p = &m->problem_flows[i];
        *p = (struct optimum_flow){
            .demand_mcu = f->offered_mcu, .weight = f->weight, .count = f->path_count};
        m->problem_groups[i] = m->streams[f->stream].group;
        for (uint32_t k = 0; k < f->path_count; k++) {
            p->resources[k] = use_resource(m, f->path[k]);
            m->resources[f->path[k]].offered_mcu += f->offered_mcu;
            m->resources[f->path[k]].admitted_mcu += f->served.admitted_mcu;
        }
        add_mean_work(m, f, p);
    }
}

/* A flow's share of what its table may have in this window. */
static int64_t in_budget_of(const struct measure *m, const struct flow *f)
{
    int64_t min = f->offered_mcu;
    for (uint32_t k = 0; k < f->path_count; k++) {
        const struct resource *r = &m->resources[f->path[k]];
        if (r->kind != MEASURE_TABLE || r->fair_capacity_mcu >= r->offered_mcu)
            continue;
        int64_t capacity = r->fair_capacity_mcu > 0 ? r->fair_capacity_mcu : 0;
        int64_t share = (int64_t)((__int128)f->offered_mcu * capacity / r->offered_mcu);
        min = share < min ? share : min;
    }
    return min;
}

/* The refused requests that fit into what the optimum gives the flow beyond what it got. */
static int64_t falsely_refused(const struct tally *t, int64_t fair_mcu)
{
    int64_t room = fair_mcu - t->admitted_mcu;
    if (t->refused_mcu == 0 || room < t->refused_min_mcu)
        return 0;
    room -= room % t->refused_min_mcu;
    return room < t->refused_mcu ? room : t->refused_mcu;
}

/* ---- what the window tells ---- */

struct window_sums {
    int64_t in_budget_mcu, false_mcu, admitted_mcu, refused_mcu, fair_mcu;
    bool converged;
};

static void debit_processors(struct measure *m, const struct optimum_flow *p, uint32_t first,
                             int64_t fair_mcu)
{
    for (uint32_t k = first; k < p->count; k++) {
        struct resource *r = &m->resources[m->window_resources[p->resources[k]]];
        if (r->capacity_mcu != OPTIMUM_UNLIMITED)
            r->fair_mcu += fair_mcu * p->coefficients[k];
    }
}

static void compare_flows(struct measure *m, struct window_sums *sums)
{
    for (size_t i = 0; i < m->active_count; i++) {
        struct flow *f = &m->flows[m->active[i]];
        struct stream *s = &m->streams[f->stream];
        struct measure_point *slot = stream_slot_now(m, s);
        int64_t in_budget = in_budget_of(m, f);
        int64_t fair = m->options.no_optimum ? 0 : m->fair[i];
        int64_t wrong = m->options.no_optimum ? 0 : falsely_refused(&f->served, fair);
        slot->in_budget_mcu += in_budget;
        slot->fair_mcu += fair;
        slot->false_mcu += wrong;
        slot->false_floor_mcu += m->options.no_optimum ? 0 : falsely_refused(&f->ideal, fair);
        s->window_admitted_mcu += f->served.admitted_mcu;
        s->window_fair_mcu += fair;
        sums->in_budget_mcu += in_budget;
        sums->false_mcu += wrong;
        sums->admitted_mcu += f->served.admitted_mcu;
        sums->refused_mcu += f->served.refused_mcu;
        sums->fair_mcu += fair;
        for (uint32_t k = 0; k < f->path_count; k++) {
            m->resources[f->path[k]].fair_mcu += fair;
            m->resources[f->path[k]].waiting_mcu += wrong;
        }
        debit_processors(m, &m->problem_flows[i], f->path_count, fair);
    }
}

static void compare_nodes(struct measure *m)
{
    struct complete_slot *whole = complete_slot_now(m);
    for (size_t i = 0; i < m->window_resource_count; i++) {
        const struct resource *r = &m->resources[m->window_resources[i]];
        if (r->kind != MEASURE_NODE || r->waiting_mcu == 0)
            continue;
        whole->used_mcu += r->admitted_mcu < r->fair_mcu ? r->admitted_mcu : r->fair_mcu;
        whole->usable_mcu += r->fair_mcu;
    }
}

static bool is_one_request_off(const struct stream *s, int64_t admitted_mcu, int64_t fair_mcu)
{
    return llabs(admitted_mcu - fair_mcu) <= s->largest_mcu;
}

/* Adds the window to the streams' fairness periods, and tells whether all rates are near. */
static bool close_streams(struct measure *m)
{
    bool converged = true;
    for (size_t i = 0; i < m->stream_count; i++) {
        struct stream *s = &m->streams[i];
        int64_t admitted = s->window_admitted_mcu, fair = s->window_fair_mcu;
        if (!is_one_request_off(s, admitted, fair) && llabs(admitted - fair) * 20 > fair)
            converged = false;
        s->second_admitted_mcu += admitted;
        s->second_fair_mcu += fair;
        s->window_admitted_mcu = s->window_fair_mcu = 0;
    }
    return converged;
}

/* Every second. */
static void close_period(struct measure *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->stream_count; i++) {
        struct stream *s = &m->streams[i];
        int64_t admitted = s->second_admitted_mcu, fair = s->second_fair_mcu;
        s->second_admitted_mcu = s->second_fair_mcu = 0;
        if (fair > 0)
            m->shares[count++] =
                is_one_request_off(s, admitted, fair) ? 1 : (double)admitted / (double)fair;
    }
    struct complete_slot *whole = complete_slot_now(m);
    double greatest = 0;
    for (size_t i = 0; i < count; i++)
        greatest = fmax(greatest, m->shares[i]);
    if (m->period_refused && greatest == 0) {
        whole->idle_periods++;
    } else if (m->period_refused && count > 1) {
        double min_max = statistics_min_max_ratio(m->shares, count);
        double jain = statistics_jain(m->shares, count);
        whole->min_max += min_max;
        whole->jain += jain;
        whole->min_max_worst = fmin(whole->min_max_worst, min_max);
        whole->jain_worst = fmin(whole->jain_worst, jain);
        whole->periods++;
    }
    m->period_refused = false;
    m->period_windows = 0;
}

/* `value_s` is set once the state has held for settle_ns: the time from the step to its begin. */
static void steady_watch(const struct measure *m, struct steady *state, bool holds, double *value_s)
{
    int64_t end_ns = m->window_start_ns + m->options.window_ns;
    const struct step *step = &m->steps[m->step_count - 1];
    if (!holds) {
        state->since_ns = NEVER_YET;
        return;
    }
    if (state->since_ns == NEVER_YET)
        state->since_ns = m->window_start_ns;
    if (isinf(*value_s) && end_ns - state->since_ns >= m->options.settle_ns)
        *value_s = fmax(0, (double)(state->since_ns - step->at_ns) / (double)NS_PER_S);
}

struct measure_flow_state measure_flow_state(const struct measure *m, uint32_t flow)
{
    must(flow < m->flow_count);
    const struct flow *f = &m->flows[flow];
    const struct stream *s = &m->streams[f->stream];
    return (struct measure_flow_state){s->tenant,
                                       s->table,
                                       s->kind,
                                       f->served.admitted_mcu,
                                       f->served.refused_mcu,
                                       f->served.refused_min_mcu};
}

struct measure_resource_state measure_resource_state(const struct measure *m, uint32_t resource)
{
    must(resource < m->resource_count);
    const struct resource *r = &m->resources[resource];
    return (struct measure_resource_state){r->kind, r->rate_mcu, r->depth_mcu};
}

static void report_problem(const struct measure *m, struct measure_problem p)
{
    if (m->options.solved == NULL)
        return;
    p.at_ns = m->window_start_ns;
    p.flows = m->active;
    p.resources = m->window_resources;
    m->options.solved(m->options.solved_context, m, &p);
}

/* Whether the policy had more than the greatest total. */
static bool is_beyond_total(struct measure *m, const struct optimum_problem *problem,
                            enum measure_solved kind, int64_t policy_mcu)
{
    const int64_t bound = optimum_total(m->optimum, problem, NULL).bound_mcu;
    report_problem(
        m, (struct measure_problem){
               .kind = kind, .problem = problem, .bound_mcu = bound, .policy_mcu = policy_mcu});
    return policy_mcu > bound;
}

/* Whether a policy was beyond what its buckets allow, or more was served in time than processors
 * can do. */
static bool is_violated(struct measure *m, struct optimum_problem *problem, int64_t admitted_mcu)
{
    problem->capacities = m->capacities_slack;
    for (size_t i = 0; i < m->active_count; i++)
        m->problem_flows[i].count = m->flows[m->active[i]].path_count;
    if (is_beyond_total(m, problem, MEASURE_LIMITS, admitted_mcu))
        return true;
    if (!m->has_processors)
        return false;
    for (size_t i = 0; i < m->active_count; i++)
        add_least_work(m, &m->flows[m->active[i]], &m->problem_flows[i]);
    return is_beyond_total(m, problem, MEASURE_IN_TIME, m->good_mcu);
}

static void solve_window(struct measure *m, struct window_sums *sums)
{
    struct complete_slot *whole = complete_slot_now(m);
    struct optimum_problem problem = {m->problem_flows, (uint32_t)m->active_count, m->capacities,
                                      (uint32_t)m->window_resource_count};
    const struct optimum_tree tree = {m->groups, (uint32_t)m->group_count, m->problem_groups};
    if (m->group_count > 0)
        optimum_fair_tree(m->optimum, &problem, &tree, m->fair);
    else
        optimum_fair(m->optimum, &problem, m->fair);
    report_problem(m, (struct measure_problem){
                          .kind = MEASURE_MAX_MIN, .problem = &problem, .fair_mcu = m->fair});
    compare_flows(m, sums);
    compare_nodes(m);
    keep_balances(m);
    whole->violations += is_violated(m, &problem, sums->admitted_mcu);
    int64_t lost = sums->fair_mcu - sums->admitted_mcu;
    lost = lost < sums->refused_mcu ? lost : sums->refused_mcu;
    whole->lost_mcu += lost > 0 ? lost : 0;
}

static void close_window(struct measure *m)
{
    struct window_sums sums = {0};
    if (m->active_count > 0) {
        build_problem(m);
        if (m->options.no_optimum)
            compare_flows(m, &sums);
        else
            solve_window(m, &sums);
    }
    for (size_t i = 0; i < m->active_count; i++) {
        struct flow *f = &m->flows[m->active[i]];
        f->active = false;
        f->offered_mcu = 0;
        memset(f->work_ns, 0, sizeof f->work_ns);
        f->served = f->ideal = (struct tally){0};
    }
    m->active_count = 0;
    m->good_mcu = 0;
    if (m->options.no_optimum)
        return;
    struct step *step = &m->steps[m->step_count - 1];
    bool converged = close_streams(m);
    bool relieved = sums.false_mcu == 0 || sums.false_mcu * 100 < sums.in_budget_mcu;
    steady_watch(m, &m->relieved, relieved, &step->relief_s);
    steady_watch(m, &m->converged, converged, &step->convergence_s);
    m->period_windows++;
    if (m->period_windows * m->options.window_ns >= NS_PER_S)
        close_period(m);
}

void measure_advance(struct measure *m, int64_t now_ns)
{
    while (m->window_start_ns + m->options.window_ns <= now_ns) {
        if (m->window_start_ns >= m->options.begin_ns)
            close_window(m);
        m->window_start_ns += m->options.window_ns;
        m->window++;
        if (m->window_start_ns / m->slot_ns >= (int64_t)m->options.slots_max)
            halve_slots(m);
        m->slot = (size_t)(m->window_start_ns / m->slot_ns);
    }
}

void measure_end(struct measure *m, int64_t now_ns)
{
    must(!m->ended);
    measure_advance(m, now_ns);
    if (m->active_count > 0) /* a last, short window */
        close_window(m);
    while (m->step_count > 1 && now_ns - m->steps[m->step_count - 1].at_ns < m->options.settle_ns)
        m->step_count--;
    for (size_t i = 0; i < m->limit_count; i++)
        limit_advance(&m->limits[i], now_ns);
    measure_stranded(m, now_ns, 0);
    if (m->provisioned_known)
        measure_provisioned(m, now_ns, m->provisioned);
    m->end_ns = now_ns;
    m->ended = true;
}
