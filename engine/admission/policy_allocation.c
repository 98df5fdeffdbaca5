/* policy_allocation.c - only the allocated throughput: unused tokens are lost. */
#include "include/weir/policy_partition.h"

/* Every request comes here: what is called is compiled in. */
#define HOT   __attribute__((flatten))
#define APART __attribute__((flatten, noinline))

extern const struct weir_partition_policy weir_partition_allocation;

static void allocation_debit(struct weir_case *c, int64_t cost_mcu)
{
    weir_case_debit(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
    weir_case_node_debit(c, cost_mcu, false, false);
}

APART static void allocation_refuse(struct weir_case *c, int64_t cost_mcu,
                                    struct weir_verdict *verdict)
{
    bool cap = weir_case_has(c, WEIR_BUCKET_CAP, cost_mcu);
    int64_t cap_ns = weir_case_wait_ns(c, WEIR_BUCKET_CAP, cost_mcu);
    int64_t allocation_ns = weir_case_wait_ns(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    verdict->reason = cap ? WEIR_POLICY_ALLOCATION : WEIR_POLICY_KEY_RANGE;
    verdict->wait_ns = cap_ns > allocation_ns ? cap_ns : allocation_ns;
}

HOT static void allocation_decide(struct weir_case *c, int64_t cost_mcu,
                                  struct weir_verdict *verdict)
{
    if (weir_case_has(c, WEIR_BUCKET_CAP, cost_mcu) &&
        weir_case_has(c, WEIR_BUCKET_ALLOCATION, cost_mcu))
        allocation_debit(c, cost_mcu);
    else
        allocation_refuse(c, cost_mcu, verdict);
}

static void allocation_settle(struct weir_case *c, const struct weir_verdict *verdict,
                              int64_t extra_mcu)
{
    (void)verdict;
    allocation_debit(c, extra_mcu);
}

const struct weir_partition_policy weir_partition_allocation = {
    .size = sizeof weir_partition_allocation,
    .name = "allocation",
    .decide = allocation_decide,
    .settle = allocation_settle};
