/* policy_none.c - never throttles. Charges nothing, so that no debt remains when another policy
 * takes over. */
#include "include/weir/policy_partition.h"

extern const struct weir_partition_policy weir_partition_none;

static void none_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    (void)c;
    (void)cost_mcu;
    (void)verdict;
}

static void none_settle(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra_mcu)
{
    (void)c;
    (void)verdict;
    (void)extra_mcu;
}

const struct weir_partition_policy weir_partition_none = {.size = sizeof weir_partition_none,
                                                          .name = "none",
                                                          .flags = WEIR_PARTITION_UNLIMITED,
                                                          .decide = none_decide,
                                                          .settle = none_settle};
