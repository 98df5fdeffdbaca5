/* partition_requests.c - a baseline: a limiter that counts requests.
 *
 * count-requests  A request debits what the least request of its kind costs. What a page of a scan
 *                 costs beyond that, known only once it was read, is debited nowhere: not from the
 *                 partition, not from its node.
 *                 Source: limiters of proxies, whose limits are in requests per second.
 *                 Simplified: the limit is the partition's allocation. A write debits its estimate,
 *                 which is its whole cost unless the old item is larger. */
#include "include/weir/policy_partition.h"

extern const struct weir_partition_policy weir_partition_count_requests;

static void requests_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    if (!weir_case_has(c, WEIR_BUCKET_ALLOCATION, cost_mcu)) {
        verdict->reason = WEIR_POLICY_ALLOCATION;
        verdict->wait_ns = weir_case_wait_ns(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
        return;
    }
    weir_case_debit(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
    weir_case_node_debit(c, cost_mcu, false, false);
}

static void requests_settle(struct weir_case *c, const struct weir_verdict *verdict,
                            int64_t extra_mcu)
{
    (void)c;
    (void)verdict;
    (void)extra_mcu;
}

const struct weir_partition_policy weir_partition_count_requests = {
    .size = sizeof weir_partition_count_requests,
    .name = "count-requests",
    .decide = requests_decide,
    .settle = requests_settle};
