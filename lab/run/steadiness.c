#include "lab/run/steadiness.h"

#include <math.h>
#include <stdlib.h>

#include "base/must.h"

static bool demand_is_constant(const struct scenario *s, const struct scenario_workload *w)
{
    const struct traffic_options *t = &w->traffic;
    return w->trace_count == 0 && t->rate.kind == RATE_CONSTANT && t->start_ns <= s->warm_ns &&
           t->end_ns >= s->duration_ns && t->keys.kind != LOAD_KEYS_SHIFTING &&
           w->routers.kind != SPREAD_MOVING;
}

bool steadiness_is_expected(const struct scenario *s)
{
    bool constant = s->fault_count == 0;
    for (uint32_t i = 0; i < s->workload_count; i++)
        constant &= demand_is_constant(s, &s->workloads[i]);
    for (uint32_t i = 0; i < s->table_count; i++)
        constant &= !s->tables[i].autoscaling.on;
    return constant;
}

struct statistics_trend steadiness_of(const struct measure *m, int64_t from_ns, int64_t to_ns)
{
    const struct measure_selector all = MEASURE_ALL;
    const int64_t slot_ns = measure_slot_ns(m);
    const size_t first = (size_t)((from_ns + slot_ns - 1) / slot_ns);
    const size_t end = (size_t)(to_ns / slot_ns); /* of the slots that the run has in whole */
    double *admitted = must_calloc(end + 1, sizeof *admitted);
    size_t count = 0;
    for (size_t slot = first; slot < end; slot++)
        admitted[count++] = (double)measure_point(m, &all, slot).admitted_mcu;
    const struct statistics_trend trend = statistics_halves(admitted, count);
    free(admitted);
    return trend;
}

bool steadiness_holds(const struct statistics_trend *t)
{
    return !(t->p < STEADINESS_P && fabs(t->change) > STEADINESS_CHANGE);
}
