/* policy_peak.c - a table on demand is allocated what it consumes, if that is a new peak: weir's
 * own demand_policy.
 *
 * A table's average consumption over on_demand_peak_ms is a peak if it is higher than ever before.
 * Documented of DynamoDB: twice the previous peak is served at once, and peaks are kept. The
 * duration of a peak is ours. */

#include "include/weir/policy_demand.h"

#define STEP_PERCENT 1 /* a new peak is higher than the last by more than this */

extern const struct weir_demand_policy weir_demand_peak;

static bool peak_exceeds(int64_t mcu, int64_t before_mcu)
{
    return mcu / 1000 * 100 > before_mcu / 1000 * (100 + STEP_PERCENT);
}

static bool peak_raise(const struct weir_peak *p, int64_t allocation_mcu[2])
{
    bool higher = false;
    for (enum weir_policy_kind kind = WEIR_POLICY_READ; kind <= WEIR_POLICY_WRITE; kind++) {
        int64_t peak = weir_peak_consumed(p, kind, weir_peak_window_ns(p));
        int64_t max = weir_peak_maximum(p, kind), ready = 2 * peak < max ? 2 * peak : max;
        higher |= peak_exceeds(ready, weir_peak_warm(p, kind));
        higher |= peak_exceeds(peak, weir_peak_allocated(p, kind));
        allocation_mcu[kind] = peak;
    }
    return higher;
}

const struct weir_demand_policy weir_demand_peak = {
    .size = sizeof weir_demand_peak, .name = "peak", .raise = peak_raise};
