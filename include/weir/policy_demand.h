/* weir/policy_demand.h - the controller: peaks of tables on demand. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table on demand, at one evaluation of the controller. Amounts are mcu per second. */
struct weir_peak;

WEIR_POLICY_API int64_t weir_peak_now_ns(const struct weir_peak *p);
/* What the table's partitions consumed, as a mean over the last `window_ns`, 15 s at most; whole
 * units, rounded up. */
WEIR_POLICY_API int64_t weir_peak_consumed(const struct weir_peak *p, enum weir_policy_kind kind,
                                           int64_t window_ns);
WEIR_POLICY_API int64_t weir_peak_window_ns(const struct weir_peak *p); /* on_demand_peak_ms */
/* The allocation of the table, mcu per second: by its highest peak so far. */
WEIR_POLICY_API int64_t weir_peak_allocated(const struct weir_peak *p, enum weir_policy_kind kind);
/* What the table has partitions for, or will have: its warm throughput. */
WEIR_POLICY_API int64_t weir_peak_warm(const struct weir_peak *p, enum weir_policy_kind kind);
/* The maximum warm throughput of a table. */
WEIR_POLICY_API int64_t weir_peak_maximum(const struct weir_peak *p, enum weir_policy_kind kind);

/* Chosen by the setting demand_policy. */
struct weir_demand_policy {
    uint32_t size;
    uint32_t unused; /* 0 */
    const char *name;
    uint64_t flags; /* 0 */
    /* Every on_demand_peak_ms, about each table on demand. `allocation_mcu`, by kind, is zero at
     * first. The table's allocation is raised to it, and the table is made ready for twice as much.
     * A lower value lowers nothing. At most the larger one of weir_peak_maximum and what was
     * consumed over weir_peak_window_ns. False: nothing changes. Required. */
    bool (*raise)(const struct weir_peak *p, int64_t allocation_mcu[2]);
};

#ifdef __cplusplus
}
#endif
