/* partition_careless.c - adversaries that decide without a look at any bucket.
 *
 * refuse-all refuses, admit-all admits, every-other does both in turn. What is admitted is debited
 * as usual, so that reports to other nodes and the controller's decisions stay true. */
#include "include/weir/policy_partition.h"

extern const struct weir_partition_policy weir_partition_refuse_all, weir_partition_every_other,
    weir_partition_admit_all;

#define NS_PER_S INT64_C(1000000000)

struct every_other {
    uint64_t requests;
};

static void careless_debit(struct weir_case *c, int64_t cost_mcu)
{
    weir_case_debit(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
    weir_case_node_debit(c, cost_mcu, false, false);
}

static void careless_settle(struct weir_case *c, const struct weir_verdict *verdict,
                            int64_t extra_mcu)
{
    (void)verdict;
    careless_debit(c, extra_mcu);
}

static void refuse_all_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    (void)c;
    (void)cost_mcu;
    verdict->reason = WEIR_POLICY_ALLOCATION;
    verdict->wait_ns = NS_PER_S;
}

static void admit_all_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    (void)verdict;
    careless_debit(c, cost_mcu);
}

static void every_other_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    struct every_other *state = weir_case_state(c);
    if (state->requests++ % 2 == 0)
        admit_all_decide(c, cost_mcu, verdict);
    else
        refuse_all_decide(c, cost_mcu, verdict);
}

const struct weir_partition_policy weir_partition_refuse_all = {
    .size = sizeof weir_partition_refuse_all,
    .name = "refuse-all",
    .flags = WEIR_PARTITION_SHARES,
    .decide = refuse_all_decide,
    .settle = careless_settle};
const struct weir_partition_policy weir_partition_every_other = {
    .size = sizeof weir_partition_every_other,
    .state_bytes = sizeof(struct every_other),
    .name = "every-other",
    .flags = WEIR_PARTITION_SHARES,
    .decide = every_other_decide,
    .settle = careless_settle};
const struct weir_partition_policy weir_partition_admit_all = {.size =
                                                                   sizeof weir_partition_admit_all,
                                                               .name = "admit-all",
                                                               .flags = WEIR_PARTITION_SHARES,
                                                               .decide = admit_all_decide,
                                                               .settle = careless_settle};
