/* measure_value.c - the measures by name. A row of MEASURES is all that a new measure needs, beside
 * its sentence in docs/measures.md (a test compares the two). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/instant.h"
#include "base/must.h"
#include "lab/measure/measure_internal.h"
#include "lab/measure/statistics.h"

#define MCU        1000.0 /* in a capacity unit */
#define MTOK       1000.0 /* in a token of the rate limiter */
#define S_PER_HOUR 3600.0

/* DynamoDB's prices in US East (N. Virginia), 2025: $0.00065 for a write unit for an hour, $0.00013
 * for a read unit, $0.625 for a million writes on demand, $0.125 for a million reads. */
#define READ_PRICE      0.2                            /* of a write unit's */
#define ON_DEMAND_PRICE (0.625 / 1e6 / 0.00065 * 3600) /* of a unit for a second: 3.46 */

/* What the selector takes: slots [first, last), `span_s` of the run. */
struct selection {
    const struct measure *m;
    const struct measure_selector *selector;
    size_t first, last;
    double span_s;
    bool all_streams;
};

static struct selection select_slots(const struct measure *m, const struct measure_selector *q)
{
    int64_t end_ns = q->to_ns > 0 && q->to_ns < m->end_ns ? q->to_ns : m->end_ns;
    int64_t from_ns = q->from_ns > m->options.begin_ns ? q->from_ns : m->options.begin_ns;
    struct selection s = {.m = m, .selector = q};
    s.first = (size_t)(from_ns / m->slot_ns);
    s.last = (size_t)((end_ns + m->slot_ns - 1) / m->slot_ns);
    s.last = s.last < s.first ? s.first : s.last;
    int64_t start_ns = (int64_t)s.first * m->slot_ns, stop_ns = (int64_t)s.last * m->slot_ns;
    start_ns = start_ns > m->options.begin_ns ? start_ns : m->options.begin_ns;
    stop_ns = stop_ns < m->end_ns ? stop_ns : m->end_ns;
    s.span_s = stop_ns > start_ns ? (double)(stop_ns - start_ns) / (double)NS_PER_S : 0;
    s.all_streams = q->tenant == MEASURE_ANY && q->table == MEASURE_ANY && q->kind == MEASURE_ANY;
    return s;
}

static struct measure_point sum_of(const struct selection *s)
{
    struct measure_point p = {0};
    for (size_t slot = s->first; slot < s->last; slot++)
        point_add(&p, s->m, s->selector, slot);
    return p;
}

static struct complete_slot total_of(const struct selection *s)
{
    struct complete_slot sum = {.min_max_worst = 1, .jain_worst = 1};
    for (size_t i = s->first; i < s->last && i < s->m->whole_capacity; i++) {
        const struct complete_slot *slot = &s->m->whole[i];
        sum.lost_mcu += slot->lost_mcu;
        sum.used_mcu += slot->used_mcu;
        sum.usable_mcu += slot->usable_mcu;
        sum.min_max += slot->min_max;
        sum.jain += slot->jain;
        sum.min_max_worst = fmin(sum.min_max_worst, slot->min_max_worst);
        sum.jain_worst = fmin(sum.jain_worst, slot->jain_worst);
        sum.periods += slot->periods;
        sum.idle_periods += slot->idle_periods;
        sum.violations += slot->violations;
    }
    return sum;
}

static double measure_ratio(double over, double under)
{
    return under > 0 ? over / under : NAN;
}

/* ---- measures; `which` tells apart those that share a function ---- */

static double value_false_throttle(const struct selection *s, int which)
{
    struct measure_point p = sum_of(s);
    int64_t over = which == 0 ? p.false_mcu : which == 1 ? total_of(s).lost_mcu : p.false_floor_mcu;
    return measure_ratio((double)over, (double)p.in_budget_mcu);
}

static double value_over_admission(const struct selection *s, int which)
{
    double worst = NAN;
    for (size_t i = 0; i < s->m->stream_count; i++) {
        const struct stream *stream = &s->m->streams[i];
        if (stream->limit != MEASURE_ANY && stream_is_selected(stream, s->selector))
            worst = fmax(worst, s->m->limits[stream->limit].worst[which]);
    }
    return worst;
}

static double value_limit_share(const struct selection *s, int which)
{
    double min = NAN;
    (void)which;
    for (size_t i = 0; i < s->m->stream_count; i++) {
        const struct stream *stream = &s->m->streams[i];
        if (stream->limit == MEASURE_ANY || !stream_is_selected(stream, s->selector))
            continue;
        const struct limit *l = &s->m->limits[stream->limit];
        min = fmin(min, measure_ratio(l->admitted_all, l->allowed_all));
    }
    return min;
}

static double value_goodput(const struct selection *s, int which)
{
    (void)which;
    struct measure_point p = sum_of(s);
    return measure_ratio((double)p.good_mcu, (double)p.fair_mcu);
}

static double value_utilisation(const struct selection *s, int which)
{
    (void)which;
    struct complete_slot w = total_of(s);
    return w.usable_mcu > 0 ? (double)w.used_mcu / (double)w.usable_mcu : 1;
}

enum {
    MIN_MAX,
    JAIN,
    MIN_MAX_WORST,
    JAIN_WORST
};

static double value_fairness(const struct selection *s, int which)
{
    struct complete_slot w = total_of(s);
    if (w.periods == 0)
        return w.idle_periods > 0 ? NAN : 1;
    const double values[] = {w.min_max / (double)w.periods, w.jain / (double)w.periods,
                             w.min_max_worst, w.jain_worst};
    return values[which];
}

static double value_violations(const struct selection *s, int which)
{
    (void)which;
    return (double)total_of(s).violations;
}

enum {
    IMBALANCE_MEAN,
    IMBALANCE_P99,
    FLOOR_MEAN,
    FLOOR_P99
};

static double value_imbalance(const struct selection *s, int which)
{
    const struct measure *m = s->m;
    if (m->evaluated_splits == 0)
        return NAN;
    switch (which) {
    case IMBALANCE_MEAN:
        return m->imbalance_sum / (double)m->evaluated_splits;
    case FLOOR_MEAN:
        return m->imbalance_floor_sum / (double)m->evaluated_splits;
    default:
        break;
    }
    const struct histogram *h = which == IMBALANCE_P99 ? m->imbalance : m->imbalance_floor;
    return (double)histogram_percentile(h, 99000) / IMBALANCE_SCALE;
}

enum {
    USELESS,
    SPLITS,
    PARTITIONS
};

static double value_splits(const struct selection *s, int which)
{
    const struct measure *m = s->m;
    const double values[] = {measure_ratio((double)m->useless_splits, (double)m->evaluated_splits),
                             (double)m->splits, (double)m->partitions};
    return values[which];
}

/* Steps that a selector takes: those between its times; the start of the run if no other was
 * told. */
static bool takes_step(const struct selection *s, size_t i)
{
    const struct measure_selector *q = s->selector;
    if (s->m->step_count == 1)
        return true;
    int64_t at_ns = s->m->steps[i].at_ns;
    return i > 0 && at_ns >= q->from_ns && (q->to_ns <= 0 || at_ns < q->to_ns);
}

enum {
    RELIEF,
    CONVERGENCE
};

static double value_steps(const struct selection *s, int which)
{
    double worst = NAN;
    for (size_t i = 0; i < s->m->step_count; i++) {
        const struct step *step = &s->m->steps[i];
        if (takes_step(s, i))
            worst = fmax(worst, which == RELIEF ? step->relief_s : step->convergence_s);
    }
    return worst;
}

static double value_burst(const struct selection *s, int which)
{
    (void)which;
    size_t step = 0;
    while (step < s->m->step_count && !takes_step(s, step))
        step++;
    if (step >= s->m->step_count || step >= MEASURE_STEPS)
        return NAN;
    double min = INFINITY;
    for (size_t i = 0; i < s->m->stream_count; i++) {
        const struct stream *stream = &s->m->streams[i];
        int64_t at_ns = stream->first_refusal_ns[step];
        if (stream_is_selected(stream, s->selector) && at_ns != NEVER_YET)
            min = fmin(min, (double)(at_ns - s->m->steps[step].at_ns) / (double)NS_PER_S);
    }
    return min;
}

enum {
    COST,
    COST_SHARE,
    MESSAGES,
    STRANDED
};

static double value_control(const struct selection *s, int which)
{
    const struct measure *m = s->m;
    double span_s = (double)(m->end_ns - m->options.begin_ns) / (double)NS_PER_S;
    if (span_s <= 0)
        return NAN;
    double messages = (double)m->gac_messages / span_s;
    double stranded_mcu = m->stranded_integral / span_s;
    struct measure_selector all = MEASURE_ALL;
    struct selection whole = select_slots(m, &all);
    const double values[] = {messages * stranded_mcu / MCU,
                             measure_ratio((double)m->gac_messages, (double)sum_of(&whole).offered),
                             messages, stranded_mcu / MCU};
    return values[which];
}

static double value_memory(const struct selection *s, int which)
{
    (void)which;
    return measure_ratio((double)s->m->items_hit, (double)s->m->items_read);
}

enum {
    UNIT_HOURS,
    PRICE
};

static double value_provisioned(const struct selection *s, int which)
{
    const struct measure *m = s->m;
    const double *units = m->provisioned_integral; /* times seconds */
    if (!m->provisioned_known)
        return NAN;
    double reads = units[0] + ON_DEMAND_PRICE * m->on_demand_mcu[0] / MCU;
    double writes = units[1] + ON_DEMAND_PRICE * m->on_demand_mcu[1] / MCU;
    const double values[] = {(units[0] + units[1]) / S_PER_HOUR,
                             (READ_PRICE * reads + writes) / S_PER_HOUR};
    return values[which];
}

enum {
    OFFERED,
    ADMITTED,
    REFUSED,
    FAIR,
    GOOD
};

/* Of the selected reason, or of the index that it stands for. */
static struct measure_index_point refused_in(const struct measure *m,
                                             const struct measure_selector *q,
                                             const struct measure_point *p, size_t slot)
{
    struct measure_index_point sum = {0};
    if (q->reason != MEASURE_ANY && q->reason >= MEASURE_REASONS)
        return measure_index_point(m, q->reason - MEASURE_REASONS, slot);
    for (uint32_t r = 1; r < MEASURE_REASONS; r++) {
        if (q->reason != MEASURE_ANY && q->reason != r)
            continue;
        sum.refused += p->refused[r];
        sum.refused_mcu += p->refused_mcu[r];
    }
    return sum;
}

static struct measure_index_point refused_of(const struct selection *s)
{
    struct measure_index_point sum = {0};
    for (size_t slot = s->first; slot < s->last; slot++) {
        struct measure_point p = {0};
        point_add(&p, s->m, s->selector, slot);
        const struct measure_index_point one = refused_in(s->m, s->selector, &p, slot);
        sum.refused += one.refused;
        sum.refused_mcu += one.refused_mcu;
    }
    return sum;
}

static double mcu_of(const struct selection *s, int which)
{
    struct measure_point p = sum_of(s);
    double refused = which == REFUSED ? (double)refused_of(s).refused_mcu : 0;
    const double values[] = {(double)p.offered_mcu, (double)p.admitted_mcu, refused,
                             (double)p.fair_mcu, (double)p.good_mcu};
    return values[which];
}

static double value_units(const struct selection *s, int which)
{
    return mcu_of(s, which) / MCU;
}

static double value_rate(const struct selection *s, int which)
{
    return measure_ratio(mcu_of(s, which) / MCU, s->span_s);
}

static double value_requests(const struct selection *s, int which)
{
    struct measure_point p = sum_of(s);
    double refused = which == REFUSED ? (double)refused_of(s).refused : 0;
    const double values[] = {(double)p.offered, (double)p.admitted, refused};
    return values[which];
}

static double value_throttle(const struct selection *s, int which)
{
    return which == 0 ? measure_ratio(mcu_of(s, REFUSED), mcu_of(s, OFFERED))
                      : measure_ratio(value_requests(s, REFUSED), value_requests(s, OFFERED));
}

/* The last slot of [first, end) in which 1 % of what was offered is refused; `end`: none. */
static size_t last_refusing_slot(const struct selection *s, size_t first, size_t end)
{
    for (size_t slot = end; slot > first; slot--) {
        struct measure_point p = {0};
        point_add(&p, s->m, s->selector, slot - 1);
        const int64_t refused_mcu = refused_in(s->m, s->selector, &p, slot - 1).refused_mcu;
        if (refused_mcu > 0 && refused_mcu * 100 >= p.offered_mcu)
            return slot - 1;
    }
    return end;
}

static double value_refusals_end(const struct selection *s, int which)
{
    const struct measure *m = s->m;
    double worst = NAN;
    (void)which;
    for (size_t i = 0; i < m->step_count; i++) {
        if (!takes_step(s, i))
            continue;
        const int64_t at_ns = m->steps[i].at_ns;
        const bool last = i + 1 == m->step_count;
        const size_t end = last ? measure_slots(m) : (size_t)(m->steps[i + 1].at_ns / m->slot_ns);
        const size_t slot = last_refusing_slot(s, (size_t)(at_ns / m->slot_ns), end);
        const int64_t end_ns = (int64_t)(slot + 1) * m->slot_ns;
        worst = fmax(worst, slot == end       ? 0
                            : slot + 1 == end ? INFINITY
                                              : (double)(end_ns - at_ns) / (double)NS_PER_S);
    }
    return worst;
}

enum {
    LAG,
    BACKLOG,
    SHARDS,
    REFILL_LAG,
    MISCOUNTED,
    MINTED
};

static double value_state(const struct selection *s, int which)
{
    double max = NAN;
    struct measure_state state;
    for (size_t slot = s->first; slot < s->last; slot++) {
        if (!measure_state_point(s->m, s->selector->table, slot, &state))
            continue;
        const double values[] = {[LAG] = (double)state.behind_ns / (double)NS_PER_S,
                                 [BACKLOG] = (double)state.backlog_bytes,
                                 [SHARDS] = (double)state.shards,
                                 [REFILL_LAG] = (double)state.refill_lag_ns / (double)NS_PER_S,
                                 [MISCOUNTED] = (double)state.miscounted_mtok / MTOK,
                                 [MINTED] = (double)state.minted_mtok / MTOK};
        max = fmax(max, values[which]);
    }
    return max;
}

/* Refusals for an index that name none. */
static double value_unnamed(const struct selection *s, int which)
{
    struct selection one = *s;
    struct measure_selector q = *s->selector;
    (void)which;
    q.reason = MEASURE_REASON_INDEX;
    one.selector = &q;
    double unnamed = (double)refused_of(&one).refused;
    for (uint32_t i = 0; i < s->m->index_count; i++) {
        q.reason = MEASURE_REASONS + i;
        unnamed -= (double)refused_of(&one).refused;
    }
    return s->m->index_count > 0 ? unnamed : NAN;
}

enum {
    HEDGES,
    HEDGES_WON,
    HEDGE_FRACTION,
    HEDGE_LOAD
};

static double value_hedges(const struct selection *s, int which)
{
    struct measure_point p = sum_of(s);
    const double values[] = {
        (double)p.hedges, (double)p.hedges_won,
        measure_ratio((double)p.hedges, (double)(p.offered - p.hedges)),
        measure_ratio((double)p.hedge_mcu, (double)(p.admitted_mcu - p.hedge_mcu))};
    return values[which];
}

static double percentile_ms(const struct measure *m, const struct measure_selector *q,
                            uint32_t percentile)
{
    struct histogram *h = must_have(malloc(sizeof *h));
    histogram_init(h);
    measure_latency(m, q, h);
    double value = h->count > 0 ? (double)histogram_percentile(h, percentile) / 1e6 : NAN;
    free(h);
    return value;
}

static double value_latency(const struct selection *s, int which)
{
    uint32_t percentile = s->selector->percentile > 0 ? s->selector->percentile : (uint32_t)which;
    return percentile_ms(s->m, s->selector, percentile);
}

static double value_slope(const struct selection *s, int which)
{
    double loads[MEASURE_STEPS], latencies[MEASURE_STEPS];
    size_t count = 0;
    for (size_t i = 0; i < s->m->phase_count; i++) {
        const struct phase *p = s->m->phases[i];
        if (p->latency.count == 0)
            continue;
        loads[count] = p->load;
        latencies[count++] = (double)histogram_percentile(&p->latency, (uint32_t)which);
    }
    return count > 1 ? statistics_fit(loads, latencies, count).rise : NAN;
}

/* ---- the table ---- */

struct measure_row {
    struct measure_definition definition;
    double (*value)(const struct selection *s, int which);
    int which;
    const char *ignores; /* parts of the selector that the measure cannot take, one letter each:
                            s: tenant, table, kind; t: times; r: reason; p: percentile */
};

/* Unit, bounds, and the half width of an interval that is precise enough near 0. */
#define FRACTION            "1", {0, 1}, 0.0001
#define RATIO               "1", {0, HUGE_VAL}, 0.0001
#define SIGNED_RATIO        "1", {-HUGE_VAL, HUGE_VAL}, 0.001
#define AMOUNT(unit, floor) unit, {0, HUGE_VAL}, floor

#define ROW(name, quantity, definition, better, target, value, which, ignores) \
    {                                                                          \
        {name, quantity, definition, better, target}, value, which, ignores    \
    }

static const struct measure_row MEASURES[] = {
    ROW("false_throttle", FRACTION,
        "refused units that the max-min optimum admits / offered units within the limits",
        MEASURE_LOWER, 0.0001, value_false_throttle, 0, "rp"),
    ROW("false_throttle_floor", FRACTION,
        "false_throttle of ideal buckets that serve the same requests in their order",
        MEASURE_NEITHER, NAN, value_false_throttle, 2, "rp"),
    ROW("lost_throughput", FRACTION,
        "units that the max-min optimum admits in total and the policy does not / "
        "offered units within the limits",
        MEASURE_LOWER, NAN, value_false_throttle, 1, "srp"),
    ROW("over_admission_100ms", RATIO,
        "maximum excess of admitted units over rate and bank in any 0.1 s / units of the rate in "
        "0.1 s",
        MEASURE_LOWER, 0, value_over_admission, 0, "trp"),
    ROW("over_admission_1s", RATIO, "the same for 1 s", MEASURE_LOWER, 0, value_over_admission, 1,
        "trp"),
    ROW("over_admission_10s", RATIO, "the same for 10 s", MEASURE_LOWER, 0, value_over_admission, 2,
        "trp"),
    ROW("goodput_ratio", RATIO,
        "units served within the latency objective / units that the max-min optimum admits",
        MEASURE_HIGHER, 0.99, value_goodput, 0, "rp"),
    ROW("utilisation", FRACTION,
        "node use / node use of the max-min optimum, in windows and nodes where refused requests "
        "fit",
        MEASURE_HIGHER, 0.98, value_utilisation, 0, "srp"),
    ROW("fairness_min_max", FRACTION,
        "minimum / maximum of the streams' shares of their optimum over 1 s; mean over seconds "
        "with refusals",
        MEASURE_HIGHER, 0.995, value_fairness, MIN_MAX, "srp"),
    ROW("fairness_jain", FRACTION,
        "Jain's index of streams' shares of their optimum over 1 s; mean over seconds with "
        "refusals",
        MEASURE_HIGHER, 0.995, value_fairness, JAIN, "srp"),
    ROW("fairness_min_max_worst", FRACTION, "fairness_min_max of the worst second", MEASURE_HIGHER,
        NAN, value_fairness, MIN_MAX_WORST, "srp"),
    ROW("fairness_jain_worst", FRACTION, "fairness_jain of the worst second", MEASURE_HIGHER, NAN,
        value_fairness, JAIN_WORST, "srp"),
    ROW("split_imbalance", FRACTION,
        "excess of the largest piece's later load over the best split's; mean over splits",
        MEASURE_LOWER, NAN, value_imbalance, IMBALANCE_MEAN, "strp"),
    ROW("split_imbalance_p99", FRACTION, "99 of 100 splits have at most this split_imbalance",
        MEASURE_LOWER, NAN, value_imbalance, IMBALANCE_P99, "strp"),
    ROW("split_imbalance_floor", RATIO,
        "split_imbalance / (0.80/sqrt(n)), n observations; mean over splits", MEASURE_LOWER, 1.5,
        value_imbalance, FLOOR_MEAN, "strp"),
    ROW("split_imbalance_floor_p99", RATIO,
        "99 of 100 splits have at most this split_imbalance / (0.80/sqrt(n))", MEASURE_LOWER, 5,
        value_imbalance, FLOOR_P99, "strp"),
    ROW("useless_splits", FRACTION,
        "splits after which less than 2 % more of the load is served / splits with 10 s of load",
        MEASURE_LOWER, 0.001, value_splits, USELESS, "strp"),
    ROW("time_to_relief", AMOUNT("s", 0.01),
        "from a step to the begin of the first second in which no window falsely refuses 1 %; the "
        "worst of the steps",
        MEASURE_LOWER, 3, value_steps, RELIEF, "srp"),
    ROW("convergence", AMOUNT("s", 0.01),
        "from a step to the begin of the first second in which each stream's rate is within 5 % of "
        "its optimum; the worst of the steps",
        MEASURE_LOWER, NAN, value_steps, CONVERGENCE, "srp"),
    ROW("control_cost", AMOUNT("units/s", 1),
        "GAC messages a second, times the mean of idle tokens at routers", MEASURE_LOWER, NAN,
        value_control, COST, "strp"),
    ROW("control_share", RATIO, "GAC messages / offered requests", MEASURE_LOWER, 0.01,
        value_control, COST_SHARE, "strp"),
    ROW("optimum_violations", AMOUNT("windows", 0.5),
        "windows that admit more than the optimum's greatest total: capacities were set too low",
        MEASURE_LOWER, 0, value_violations, 0, "srp"),
    ROW("throttle_fraction", FRACTION, "refused units / offered units", MEASURE_LOWER, NAN,
        value_throttle, 0, "p"),
    ROW("throttle_fraction_requests", FRACTION, "refused requests / offered requests",
        MEASURE_LOWER, NAN, value_throttle, 1, "p"),
    ROW("offered_rate", AMOUNT("units/s", 1), "offered units a second", MEASURE_NEITHER, NAN,
        value_rate, OFFERED, "rp"),
    ROW("admitted_rate", AMOUNT("units/s", 1), "admitted units a second", MEASURE_HIGHER, NAN,
        value_rate, ADMITTED, "rp"),
    ROW("goodput_rate", AMOUNT("units/s", 1), "units a second served within the latency objective",
        MEASURE_HIGHER, NAN, value_rate, GOOD, "rp"),
    ROW("refused_rate", AMOUNT("units/s", 1), "refused units a second", MEASURE_LOWER, NAN,
        value_rate, REFUSED, "p"),
    ROW("fair_rate", AMOUNT("units/s", 1), "units a second of the max-min optimum", MEASURE_NEITHER,
        NAN, value_rate, FAIR, "rp"),
    ROW("offered_units", AMOUNT("units", 1), "offered units", MEASURE_NEITHER, NAN, value_units,
        OFFERED, "rp"),
    ROW("admitted_units", AMOUNT("units", 1), "admitted units", MEASURE_HIGHER, NAN, value_units,
        ADMITTED, "rp"),
    ROW("refused_units", AMOUNT("units", 1), "refused units", MEASURE_LOWER, NAN, value_units,
        REFUSED, "p"),
    ROW("offered_requests", AMOUNT("requests", 1), "offered requests", MEASURE_NEITHER, NAN,
        value_requests, OFFERED, "rp"),
    ROW("admitted_requests", AMOUNT("requests", 1), "admitted requests", MEASURE_HIGHER, NAN,
        value_requests, ADMITTED, "rp"),
    ROW("refused_requests", AMOUNT("requests", 1), "refused requests", MEASURE_LOWER, NAN,
        value_requests, REFUSED, "p"),
    ROW("refusals_end", AMOUNT("s", 0.01),
        "from a step to the end of the last second, before the next step, in which 1 % of the "
        "offered units are refused; the worst of the steps",
        MEASURE_LOWER, NAN, value_refusals_end, 0, "p"),
    ROW("index_lag", AMOUNT("s", 0.01),
        "the greatest age of a change of a table's items that a global index lacks", MEASURE_LOWER,
        NAN, value_state, LAG, "nrp"),
    ROW("index_backlog", AMOUNT("bytes", 1024),
        "maximum bytes of changes of one partition that global indexes lack", MEASURE_LOWER, NAN,
        value_state, BACKLOG, "nrp"),
    ROW("shards", AMOUNT("shards", 0.1),
        "maximum number of shards of a sharded key or of a rate limiter's bucket; 1: none has "
        "several",
        MEASURE_NEITHER, NAN, value_state, SHARDS, "nrp"),
    ROW("limit_share", RATIO,
        "admitted units of a limit / units of its rate; the minimum of the limits", MEASURE_HIGHER,
        NAN, value_limit_share, 0, "trp"),
    ROW("refill_lag", AMOUNT("s", 0.01),
        "the greatest age of the last refill of a shard, in the rate limiter's buckets with "
        "several shards",
        MEASURE_LOWER, NAN, value_state, REFILL_LAG, "nrp"),
    ROW("tokens_miscounted", AMOUNT("tokens", 0.5),
        "maximum difference between the tokens that items of the rate limiter have counted and "
        "those that clients can have taken",
        MEASURE_LOWER, 0, value_state, MISCOUNTED, "nrp"),
    ROW("tokens_minted", AMOUNT("tokens", 0.5),
        "maximum of the tokens that the rate limiter's buckets have, and have given, beyond "
        "capacity and refill",
        MEASURE_LOWER, 0, value_state, MINTED, "nrp"),
    ROW("index_unnamed", AMOUNT("requests", 1),
        "requests refused for a global index that their answer does not name", MEASURE_LOWER, 0,
        value_unnamed, 0, "srp"),
    ROW("hedges", AMOUNT("requests", 1),
        "second attempts that were sent while the first one was in flight", MEASURE_NEITHER, NAN,
        value_hedges, HEDGES, "rp"),
    ROW("hedges_won", AMOUNT("requests", 1), "hedges whose answer came first", MEASURE_NEITHER, NAN,
        value_hedges, HEDGES_WON, "rp"),
    ROW("hedge_fraction", RATIO, "hedges / all other offered requests", MEASURE_LOWER, NAN,
        value_hedges, HEDGE_FRACTION, "rp"),
    ROW("hedge_load", RATIO, "admitted units of hedges / all other admitted units", MEASURE_LOWER,
        NAN, value_hedges, HEDGE_LOAD, "rp"),
    ROW("latency", AMOUNT("ms", 0.01),
        "latency of admitted requests at the selected percentile; without a percentile: the median",
        MEASURE_LOWER, NAN, value_latency, 50000, "tr"),
    ROW("latency_p50", AMOUNT("ms", 0.01), "median latency of admitted requests", MEASURE_LOWER,
        NAN, value_latency, 50000, "trp"),
    ROW("latency_p99", AMOUNT("ms", 0.01), "p99 latency of admitted requests", MEASURE_LOWER, NAN,
        value_latency, 99000, "trp"),
    ROW("latency_p999", AMOUNT("ms", 0.01), "p99.9 latency of admitted requests", MEASURE_LOWER,
        NAN, value_latency, 99900, "trp"),
    ROW("latency_slope_p50", SIGNED_RATIO,
        "the rise of the median from the least load of the phases to the greatest, on the line of "
        "least squares",
        MEASURE_LOWER, 0.05, value_slope, 50000, "strp"),
    ROW("latency_slope_p99", SIGNED_RATIO, "the rise of the p99, likewise", MEASURE_LOWER, 0.05,
        value_slope, 99000, "strp"),
    ROW("burst_duration", AMOUNT("s", 0.01), "from the first selected step to the first refusal",
        MEASURE_HIGHER, NAN, value_burst, 0, "rp"),
    ROW("splits", AMOUNT("splits", 0.1), "splits", MEASURE_NEITHER, NAN, value_splits, SPLITS,
        "strp"),
    ROW("partitions", AMOUNT("partitions", 0.1), "partitions at the end", MEASURE_NEITHER, NAN,
        value_splits, PARTITIONS, "strp"),
    ROW("gac_messages", AMOUNT("messages/s", 0.1), "GAC messages a second", MEASURE_LOWER, NAN,
        value_control, MESSAGES, "strp"),
    ROW("stranded_units", AMOUNT("units", 1), "the mean of idle tokens at routers", MEASURE_LOWER,
        NAN, value_control, STRANDED, "strp"),
    ROW("memory_hits", FRACTION, "items read from the node's memory / all items read",
        MEASURE_HIGHER, NAN, value_memory, 0, "strp"),
    ROW("provisioned_unit_hours", AMOUNT("units h", 0.01),
        "provisioned units of all tables, times hours; on demand: none", MEASURE_LOWER, NAN,
        value_provisioned, UNIT_HOURS, "strp"),
    ROW("price", AMOUNT("WCU h", 0.01),
        "provisioned write units times hours; a read unit counts a fifth, an admitted unit on "
        "demand 3.46 times a provisioned one for a second",
        MEASURE_LOWER, NAN, value_provisioned, PRICE, "strp"),
};

enum {
    MEASURE_COUNT = sizeof MEASURES / sizeof *MEASURES
};

const struct measure_definition *measure_definition_at(size_t index)
{
    return index < MEASURE_COUNT ? &MEASURES[index].definition : NULL;
}

static const struct measure_row *row_find(const char *name)
{
    const size_t place =
        name_place(slice_of(name), &MEASURES[0].definition.name, MEASURE_COUNT, sizeof MEASURES[0]);
    return place < MEASURE_COUNT ? &MEASURES[place] : NULL;
}

static bool row_needs_optimum(const struct measure_row *row)
{
    static double (*const values[])(const struct selection *s, int which) = {
        value_false_throttle, value_goodput,    value_utilisation, value_fairness,
        value_steps,          value_violations, value_imbalance,   value_control};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (row->value == values[i])
            return true;
    return (row->value == value_splits && row->which != PARTITIONS) ||
           (row->value == value_rate && row->which == FAIR);
}

bool measure_needs_optimum(const char *name)
{
    const struct measure_row *row = row_find(name);
    return row != NULL && row_needs_optimum(row);
}

static const char *report_unknown(const char *name, char *error, size_t size)
{
    struct buffer near = {0};
    nearest_name_suggest(slice_of(name), "", &MEASURES[0].definition.name, MEASURE_COUNT,
                         sizeof MEASURES[0], &near);
    snprintf(error, size, "there is no measure `%s`%.*s; `weir lab list measures` lists them", name,
             (int)near.size, near.size > 0 ? (const char *)near.data : "");
    buffer_deinit(&near);
    return error;
}

/* The word for what the selector sets and the measure cannot take; NULL: nothing. */
static const char *surplus_of(const struct measure_row *row, const struct measure_selector *q)
{
    const struct {
        char letter;
        bool set;
        const char *word;
    } parts[] = {
        {'s', q->tenant != MEASURE_ANY, "a tenant"}, {'s', q->table != MEASURE_ANY, "a table"},
        {'s', q->kind != MEASURE_ANY, "a kind"},     {'n', q->tenant != MEASURE_ANY, "a tenant"},
        {'n', q->kind != MEASURE_ANY, "a kind"},     {'t', q->from_ns > 0 || q->to_ns > 0, "times"},
        {'r', q->reason != MEASURE_ANY, "a reason"}, {'p', q->percentile != 0, "a percentile"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].set && strchr(row->ignores, parts[i].letter) != NULL)
            return parts[i].word;
    return NULL;
}

const char *measure_check(const char *name, const struct measure_selector *selector, char *error,
                          size_t error_size)
{
    const struct measure_row *row = row_find(name);
    if (row == NULL)
        return report_unknown(name, error, error_size);
    const char *surplus = surplus_of(row, selector);
    if (surplus != NULL) {
        snprintf(error, error_size, "%s cannot be selected with %s", name, surplus);
        return error;
    }
    const bool names = selector->reason != MEASURE_ANY && selector->reason >= MEASURE_REASONS;
    if (names && (selector->tenant != MEASURE_ANY || selector->kind != MEASURE_ANY)) {
        snprintf(error, error_size, "%s of an index cannot be selected with a tenant or a kind",
                 name);
        return error;
    }
    return NULL;
}

const char *measure_value(const struct measure *m, const char *name,
                          const struct measure_selector *selector, double *value, char *error,
                          size_t error_size)
{
    must(m->ended);
    const char *fault = measure_check(name, selector, error, error_size);
    *value = NAN;
    if (fault != NULL)
        return fault;
    const struct measure_row *row = row_find(name);
    const size_t reasons = MEASURE_REASONS + m->index_count;
    if (selector->reason != MEASURE_ANY && (selector->reason == 0 || selector->reason >= reasons)) {
        snprintf(error, error_size, "%s: a reason is a number from 1 to %zu", name, reasons - 1);
        return error;
    }
    if (m->options.no_optimum && row_needs_optimum(row))
        return NULL;
    struct selection s = select_slots(m, selector);
    *value = row->value(&s, row->which);
    return NULL;
}
