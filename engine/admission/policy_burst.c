/* policy_burst.c - the allocated throughput, and more if the node has headroom.
 *
 * burst: as much as the partition has saved (DynamoDB, USENIX ATC 2022, section 4.1).
 * always-burst: as much as is asked for, because routers keep the table's limit (section 4.3). */
#include "include/weir/policy_partition.h"

/* Every request comes here: what is called is compiled in. */
#define HOT   __attribute__((flatten))
#define APART __attribute__((flatten, noinline))

extern const struct weir_partition_policy weir_partition_burst;
extern const struct weir_partition_policy weir_partition_always_burst;

static int64_t shorter_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline void burst_debit(struct weir_case *c, int64_t cost_mcu, uint32_t flags, bool saves)
{
    bool burst = flags & WEIR_VERDICT_BURST;
    if (!burst)
        weir_case_debit(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    else if (saves)
        weir_case_debit(c, WEIR_BUCKET_BURST, cost_mcu);
    weir_case_debit(c, WEIR_BUCKET_CAP, cost_mcu);
    weir_case_node_debit(c, cost_mcu, burst, flags & WEIR_VERDICT_RESERVED);
}

/* The time until the cap has the cost, and the allocation has it or both burst and node have it.
 * The burst bucket grows only while the allocation is full, and a full allocation has any cost. So
 * a burst bucket that is short now never lets the request pass first. */
static int64_t burst_earliest(struct weir_case *c, int64_t cost_mcu, bool burst)
{
    int64_t wait_ns = weir_case_wait_ns(c, WEIR_BUCKET_ALLOCATION, cost_mcu);
    if (burst)
        wait_ns = shorter_ns(wait_ns, weir_case_burst_wait_ns(c, cost_mcu));
    int64_t cap_ns = weir_case_wait_ns(c, WEIR_BUCKET_CAP, cost_mcu);
    return wait_ns > cap_ns ? wait_ns : cap_ns;
}

/* What the allocation does not have. */
static inline void burst_beyond(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict,
                                bool saves)
{
    bool cap = weir_case_has(c, WEIR_BUCKET_CAP, cost_mcu);
    bool burst = !saves || weir_case_has(c, WEIR_BUCKET_BURST, cost_mcu);
    bool node = false;
    if (cap && burst) {
        bool reserved = weir_case_has(c, WEIR_BUCKET_RESERVED, cost_mcu);
        verdict->flags = reserved ? WEIR_VERDICT_RESERVED : 0;
        if (!reserved)
            weir_case_burst_enter(c);
        node = weir_case_burst_has(c, cost_mcu, reserved);
        if (node && weir_case_members_have(c, cost_mcu, verdict)) {
            verdict->flags |= WEIR_VERDICT_BURST;
            burst_debit(c, cost_mcu, verdict->flags, saves);
            weir_case_members_spend(c, cost_mcu);
            return;
        }
    }
    if (node) { /* wait for the member's headroom or for the allocation, whichever comes first */
        verdict->wait_ns =
            shorter_ns(verdict->wait_ns, weir_case_wait_ns(c, WEIR_BUCKET_ALLOCATION, cost_mcu));
        verdict->reason = WEIR_POLICY_MEMBER;
        return;
    }
    verdict->wait_ns = burst_earliest(c, cost_mcu, burst);
    if (!cap)
        verdict->reason = WEIR_POLICY_KEY_RANGE;
    else
        verdict->reason = burst ? WEIR_POLICY_NODE : WEIR_POLICY_ALLOCATION;
}

static inline bool burst_allocated(struct weir_case *c, int64_t cost_mcu, bool saves)
{
    if (!weir_case_has(c, WEIR_BUCKET_CAP, cost_mcu) ||
        !weir_case_has(c, WEIR_BUCKET_ALLOCATION, cost_mcu))
        return false;
    burst_debit(c, cost_mcu, 0, saves);
    return true;
}

static inline void burst_settle_extra(struct weir_case *c, const struct weir_verdict *verdict,
                                      int64_t extra_mcu, bool saves)
{
    burst_debit(c, extra_mcu, verdict->flags, saves);
    if (verdict->flags & WEIR_VERDICT_BURST)
        weir_case_members_spend(c, extra_mcu);
}

APART static void burst_saved(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    burst_beyond(c, cost_mcu, verdict, true);
}

APART static void burst_always(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    burst_beyond(c, cost_mcu, verdict, false);
}

HOT static void burst_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    if (!burst_allocated(c, cost_mcu, true))
        burst_saved(c, cost_mcu, verdict);
}

HOT static void always_burst_decide(struct weir_case *c, int64_t cost_mcu,
                                    struct weir_verdict *verdict)
{
    if (!burst_allocated(c, cost_mcu, false))
        burst_always(c, cost_mcu, verdict);
}

static void burst_settle(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra_mcu)
{
    burst_settle_extra(c, verdict, extra_mcu, true);
}

static void always_burst_settle(struct weir_case *c, const struct weir_verdict *verdict,
                                int64_t extra_mcu)
{
    burst_settle_extra(c, verdict, extra_mcu, false);
}

const struct weir_partition_policy weir_partition_burst = {.size = sizeof weir_partition_burst,
                                                           .name = "burst",
                                                           .flags = WEIR_PARTITION_SAVES |
                                                                    WEIR_PARTITION_SAVED_ONLY,
                                                           .decide = burst_decide,
                                                           .settle = burst_settle};
const struct weir_partition_policy weir_partition_always_burst = {
    .size = sizeof weir_partition_always_burst,
    .name = "always-burst",
    .flags = WEIR_PARTITION_SHARES,
    .decide = always_burst_decide,
    .settle = always_burst_settle};
