/* policy_burst.c - the allocated throughput, and more if the node has headroom.
 *
 * burst: as much as the partition has saved (DynamoDB, USENIX ATC 2022, section 4.1).
 * always-burst: as much as is asked for, because routers keep the table's limit (section 4.3). */
#include "engine/admission/admission_internal.h"

static bool burst_saves(const struct admission_case *c)
{
    return c->policy->saves;
}

static void burst_debit(const struct admission_case *c, int64_t cost_mcu, bool burst, bool promised)
{
    if (!burst)
        token_bucket_debit(&c->meter->allocation, cost_mcu);
    else if (burst_saves(c))
        token_bucket_debit(&c->meter->burst, cost_mcu);
    token_bucket_debit(&c->meter->cap, cost_mcu);
    node_debit(c, cost_mcu, burst, promised);
}

/* The time until the cap has the cost, and the allocation has it or both burst and node have it.
 * The burst bucket grows only while the allocation is full, and a full allocation has any cost. So
 * a burst bucket that is short now never lets the request pass first. */
static struct duration burst_earliest(const struct admission_case *c, int64_t cost_mcu, bool burst)
{
    struct duration wait = token_bucket_wait(&c->meter->allocation, cost_mcu);
    if (burst)
        wait = duration_shorter(wait, node_burst_wait(c, cost_mcu));
    return duration_longer(wait, token_bucket_wait(&c->meter->cap, cost_mcu));
}

static void burst_decide(const struct admission_case *c, int64_t cost_mcu,
                         struct admit_verdict *verdict)
{
    const struct admission_meter *m = c->meter;
    bool cap = token_bucket_has(&m->cap, cost_mcu);
    if (cap && token_bucket_has(&m->allocation, cost_mcu)) {
        burst_debit(c, cost_mcu, false, false);
        verdict->reason = ADMIT_OK;
        return;
    }
    bool burst = !burst_saves(c) || token_bucket_has(&m->burst, cost_mcu);
    bool node = false;
    if (cap && burst) {
        verdict->promised = promise_has(c, cost_mcu);
        if (!verdict->promised)
            node_burst_enter(c);
        node = node_burst_has(c, cost_mcu, verdict->promised);
        if (node && group_has(c, cost_mcu, verdict)) {
            burst_debit(c, cost_mcu, true, verdict->promised);
            group_spend(c, cost_mcu);
            verdict->reason = ADMIT_OK;
            verdict->burst = true;
            return;
        }
    }
    if (node) { /* wait for the member's headroom or for the allocation, whichever comes first */
        verdict->wait =
            duration_shorter(verdict->wait, token_bucket_wait(&m->allocation, cost_mcu));
        verdict->reason = ADMIT_REFUSED_MEMBER;
        return;
    }
    verdict->wait = burst_earliest(c, cost_mcu, burst);
    if (!cap)
        verdict->reason = ADMIT_REFUSED_KEY_RANGE;
    else
        verdict->reason = burst ? ADMIT_REFUSED_NODE : ADMIT_REFUSED_ALLOCATION;
}

static void burst_settle(const struct admission_case *c, const struct admit_verdict *verdict,
                         int64_t extra_mcu)
{
    burst_debit(c, extra_mcu, verdict->burst, verdict->promised);
    if (verdict->burst)
        group_spend(c, extra_mcu);
}

const struct admission_policy admission_policy_burst = {
    .name = "burst", .saves = true, .decide = burst_decide, .settle = burst_settle};
const struct admission_policy admission_policy_always_burst = {
    .name = "always-burst", .shares = true, .decide = burst_decide, .settle = burst_settle};
