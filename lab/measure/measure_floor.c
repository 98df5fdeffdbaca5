/* measure_floor.c - what false_throttle has of a policy without a fault: requests are served in the
 * order in which they come, from one ideal bucket for each resource.
 *
 * The max-min optimum knows a whole window before it divides it. Nobody who decides at once can be
 * as equal: where Poisson arrivals exceed a limit, some windows give a flow less than its share.
 *
 * Processors are buckets, too: a request debits the time that it takes.
 *
 * A bucket is refilled at its rate up to its depth, and begins with what the policy's bucket had. A
 * resource without a rate has its capacity in each window. A request is admitted if all resources
 * of its flow have something left. */
#include "base/instant.h"
#include "base/must.h"
#include "lab/measure/measure_internal.h"

static void ideal_begin(const struct measure *m, struct resource *r)
{
    const __int128 inflow = (__int128)r->rate_mcu * m->options.window_ns / NS_PER_S;
    r->ideal_begun = true;
    r->ideal_mcu = r->capacity_mcu - (int64_t)inflow;
    r->ideal_at_ns = m->window_start_ns;
    r->ideal_window = m->window;
}

static void ideal_refill(const struct measure *m, struct resource *r, int64_t now_ns)
{
    if (!r->ideal_begun)
        ideal_begin(m, r);
    if (r->rate_mcu > 0) {
        const int64_t gained =
            (int64_t)((__int128)r->rate_mcu * (now_ns - r->ideal_at_ns) / NS_PER_S);
        r->ideal_mcu += gained;
        r->ideal_at_ns += (int64_t)((__int128)gained * NS_PER_S / r->rate_mcu);
        r->ideal_mcu = r->ideal_mcu > r->depth_mcu ? r->depth_mcu : r->ideal_mcu;
    } else if (r->ideal_window != m->window) {
        r->ideal_mcu = r->capacity_mcu;
    }
    r->ideal_window = m->window;
}

static bool ideal_has(const struct measure *m, struct resource *r, int64_t now_ns)
{
    if (r->capacity_mcu == OPTIMUM_UNLIMITED)
        return true;
    ideal_refill(m, r, now_ns);
    return r->ideal_mcu > 0;
}

static bool ideal_admits(const struct measure *m, const struct flow *f, int64_t now_ns)
{
    bool admits = true;
    for (uint32_t k = 0; k < f->path_count; k++)
        admits &= ideal_has(m, &m->resources[f->path[k]], now_ns);
    for (uint32_t k = 0; k < f->processor_count; k++)
        admits &= ideal_has(m, &m->resources[f->processors[k].resource], now_ns);
    return admits;
}

void floor_request(struct measure *m, struct flow *f, const struct measure_request *q)
{
    const bool admitted = ideal_admits(m, f, q->at_ns);
    tally_request(&f->ideal, q->cost_mcu, admitted);
    for (uint32_t k = 0; k < f->path_count && admitted; k++)
        m->resources[f->path[k]].ideal_mcu -= q->cost_mcu;
    for (uint32_t k = 0; k < f->processor_count && admitted; k++)
        m->resources[f->processors[k].resource].ideal_mcu -=
            q->work_ns[f->processors[k].work] * MEASURE_PS_PER_NS;
}
