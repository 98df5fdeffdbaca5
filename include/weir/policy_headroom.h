/* weir/policy_headroom.h - the room of other members, for burst writes. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a node knows of another node, at the decision. */
struct weir_member;

/* The node's last report of its bucket for writes, and whether several partitions burst there. */
WEIR_POLICY_API int64_t weir_member_balance(const struct weir_member *m);
WEIR_POLICY_API int64_t weir_member_capacity(const struct weir_member *m);
WEIR_POLICY_API bool weir_member_is_shared(const struct weir_member *m);
WEIR_POLICY_API int64_t weir_member_report_age_ns(const struct weir_member *m);
/* The node sets tokens aside for this one (WEIR_HEADROOM_LEASES). False: it has set none aside
 * since it was unresponsive last. */
WEIR_POLICY_API bool weir_member_is_leased(const struct weir_member *m);
WEIR_POLICY_API int64_t weir_member_held(const struct weir_member *m); /* tokens that are alive */
WEIR_POLICY_API int64_t weir_member_lease_ns(const struct weir_member *m);
/* Tokens were missing: the demand of the next request for tokens is higher by the cost. */
WEIR_POLICY_API void weir_member_add_demand(struct weir_member *m, int64_t cost_mcu);
/* The time in which the node's bucket gets `mcu`. */
WEIR_POLICY_API int64_t weir_member_refill_ns(const struct weir_member *m, int64_t mcu);

enum weir_headroom_flag {
    WEIR_HEADROOM_LEASES = 1, /* nodes set tokens aside for each other, and the host spends them */
    WEIR_HEADROOM_UNCHECKED = 2 /* members are not checked, not even unresponsive ones */
};

/* Chosen by the setting write_check. What an unresponsive member admits is decided by the
 * setting dead_member, not by the policy. */
struct weir_headroom_policy {
    uint32_t size;
    uint32_t unused;
    const char *name;
    uint64_t flags; /* bits of enum weir_headroom_flag */
    /* Whether the node has room for `cost_mcu` of a partition that must leave `taken_mcu` there for
     * others. If not, sets `wait_ns` to the time until it has, if nobody else comes;
     * WEIR_POLICY_NEVER: not known. Required, unless WEIR_HEADROOM_UNCHECKED. */
    bool (*has)(struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu, int64_t *wait_ns);
};

#ifdef __cplusplus
}
#endif
