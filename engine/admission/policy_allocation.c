/* policy_allocation.c - only the allocated throughput: unused tokens are lost. */
#include "engine/admission/admission_internal.h"

static void allocation_debit(const struct admission_case *c, int64_t cost_mcu)
{
    token_bucket_debit(&c->meter->allocation, cost_mcu);
    token_bucket_debit(&c->meter->cap, cost_mcu);
    node_debit(c, cost_mcu, false, false);
}

static void allocation_decide(const struct admission_case *c, int64_t cost_mcu,
                              struct admit_verdict *verdict)
{
    bool cap = token_bucket_has(&c->meter->cap, cost_mcu);
    if (cap && token_bucket_has(&c->meter->allocation, cost_mcu)) {
        allocation_debit(c, cost_mcu);
        verdict->reason = ADMIT_OK;
        return;
    }
    verdict->reason = cap ? ADMIT_REFUSED_ALLOCATION : ADMIT_REFUSED_KEY_RANGE;
    verdict->wait = duration_longer(token_bucket_wait(&c->meter->cap, cost_mcu),
                                    token_bucket_wait(&c->meter->allocation, cost_mcu));
}

static void allocation_settle(const struct admission_case *c, const struct admit_verdict *verdict,
                              int64_t extra_mcu)
{
    (void)verdict;
    allocation_debit(c, extra_mcu);
}

const struct admission_policy admission_policy_allocation = {
    .name = "allocation", .saves = false, .decide = allocation_decide, .settle = allocation_settle};
