/* weir/policy_adaptive.h - the controller: allocations of a table's partitions. Part of
 * weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The allocations of one table for reads or for writes, at one evaluation of the controller.
 * Partitions have indices from 0 on, in the order of their keys. Amounts are mcu per second. An
 * index that does not exist gives 0 or NULL. */
struct weir_rates;

WEIR_POLICY_API uint32_t weir_rates_kind(const struct weir_rates *r); /* enum weir_policy_kind */
WEIR_POLICY_API int64_t weir_rates_now_ns(const struct weir_rates *r);
WEIR_POLICY_API int64_t weir_rates_limit(const struct weir_rates *r);   /* of the table */
WEIR_POLICY_API int64_t weir_rates_maximum(const struct weir_rates *r); /* of each partition */
WEIR_POLICY_API uint32_t weir_rates_count(const struct weir_rates *r);  /* partitions */
/* Of a partition: its allocation, and its equal part of the table's limit. */
WEIR_POLICY_API int64_t weir_rates_allocation(const struct weir_rates *r, uint32_t index);
WEIR_POLICY_API int64_t weir_rates_base(const struct weir_rates *r, uint32_t index);
/* What was consumed and refused over the setting adaptive_window_ms; 0 while that is unknown. */
WEIR_POLICY_API int64_t weir_rates_demand(const struct weir_rates *r, uint32_t index);
/* The part of its allocation that the partition uses: min(allocation, demand). After a split all of
 * it, until demand is known. */
WEIR_POLICY_API int64_t weir_rates_use(const struct weir_rates *r, uint32_t index);
/* For how long its allocation has refused requests, without a break of the setting
 * adaptive_calm_ms. Below 0: it has refused none. */
WEIR_POLICY_API int64_t weir_rates_throttled_ns(const struct weir_rates *r, uint32_t index);
/* The state of the partition for this kind. Zero at first, and when another node leads the catalog.
 * A split or merge leaves it as it is. NULL: no load was reported yet. */
WEIR_POLICY_API void *weir_rates_state(const struct weir_rates *r, uint32_t index);

enum weir_rates_setting {
    WEIR_RATES_AFTER_NS,       /* adaptive_after_ms */
    WEIR_RATES_STEP_PERCENT,   /* adaptive_step_percent */
    WEIR_RATES_MARGIN_PERCENT, /* adaptive_margin_percent */
    WEIR_RATES_DECAY_NS,       /* adaptive_decay_ms */
    WEIR_RATES_DECAY_PERCENT,  /* adaptive_decay_percent */
    WEIR_RATES_USED_PERCENT    /* adaptive_used_percent */
};

WEIR_POLICY_API int64_t weir_rates_setting(const struct weir_rates *r, enum weir_rates_setting s);

/* Why an allocation is lowered: an event names the reason. */
enum weir_rates_why {
    WEIR_RATES_ABOVE_LIMIT, /* the table uses more than its limit */
    WEIR_RATES_UNUSED       /* the partition does not need it */
};

/* Changes the allocation to `rate_mcu`; a partition at most once in a call. A raise ends at the
 * maximum, and at what the nodes can carry: if a node cannot, the host moves the replica to a node
 * that can, if there is one. */
WEIR_POLICY_API void weir_rates_raise(struct weir_rates *r, uint32_t index, int64_t rate_mcu);
WEIR_POLICY_API void weir_rates_lower(struct weir_rates *r, uint32_t index, int64_t rate_mcu,
                                      enum weir_rates_why why);

/* Chosen by the setting adaptive_policy, for tables with provisioned throughput. */
struct weir_adaptive_policy {
    uint32_t size;
    uint32_t partition_bytes;
    const char *name;
    uint64_t flags; /* 0 */
    /* Every adaptive_every_ms, for reads and for writes of each table. Required. */
    void (*adapt)(struct weir_rates *r);
};

#ifdef __cplusplus
}
#endif
