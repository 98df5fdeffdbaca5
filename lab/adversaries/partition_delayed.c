/* partition_delayed.c - adversaries: a policy of weir whose decisions take effect two seconds late.
 *
 * The policy decides about each request, and debits what it admits. In each quarter of a second the
 * partition then admits as many units as the policy admitted in the quarter two seconds before, in
 * the order in which requests come. So a partition admits nothing in its first two seconds, and
 * serves a changed demand by the decisions about the old one.
 *
 *   delayed-allocation, delayed-burst, delayed-always-burst   by the name of the delayed policy
 *
 * What routers and nodes refuse before the partition decides is not delayed. */
#include "include/weir/policy_partition.h"

extern const struct weir_partition_policy weir_partition_allocation, weir_partition_burst,
    weir_partition_always_burst;
extern const struct weir_partition_policy weir_partition_delayed_allocation,
    weir_partition_delayed_burst, weir_partition_delayed_always_burst;

enum {
    DELAY_SLOTS = 8
};

static const int64_t slot_ns = 250000000; /* so the delay is 2 s */

struct delayed {
    int64_t slot;                 /* the number of the current one; 0: nothing was decided yet */
    int32_t decided[DELAY_SLOTS]; /* mcu that the policy has admitted in the last slots */
    int32_t left;                 /* mcu that may still be admitted in the current slot */
};
_Static_assert(sizeof(struct delayed) <= WEIR_POLICY_STATE_MAX, "the state fits");

static void delayed_advance(struct delayed *d, int64_t now_ns)
{
    const int64_t now = now_ns / slot_ns + 1;
    if (now - d->slot > DELAY_SLOTS)
        *d = (struct delayed){.slot = now};
    while (d->slot < now) {
        d->slot++;
        d->left = d->decided[d->slot % DELAY_SLOTS];
        d->decided[d->slot % DELAY_SLOTS] = 0;
    }
}

static void delayed_count(struct delayed *d, int64_t mcu)
{
    int32_t *decided = &d->decided[d->slot % DELAY_SLOTS];
    *decided = mcu < INT32_MAX - *decided ? *decided + (int32_t)mcu : INT32_MAX;
}

static void delayed_decide(const struct weir_partition_policy *policy, struct weir_case *c,
                           int64_t cost_mcu, struct weir_verdict *verdict)
{
    struct delayed *d = weir_case_state(c);
    delayed_advance(d, weir_case_now_ns(c));
    policy->decide(c, cost_mcu, verdict);
    if (verdict->reason == WEIR_POLICY_ADMIT)
        delayed_count(d, cost_mcu);
    const bool admits = d->left >= cost_mcu;
    *verdict = (struct weir_verdict){.reason = admits ? WEIR_POLICY_ADMIT : WEIR_POLICY_ALLOCATION,
                                     .wait_ns = admits ? 0 : slot_ns};
    d->left -= admits ? (int32_t)cost_mcu : 0;
}

/* A request that cost more than was known. */
static void delayed_settle(const struct weir_partition_policy *policy, struct weir_case *c,
                           const struct weir_verdict *verdict, int64_t extra_mcu)
{
    struct delayed *d = weir_case_state(c);
    delayed_count(d, extra_mcu);
    policy->settle(c, verdict, extra_mcu);
    d->left -= extra_mcu < d->left ? (int32_t)extra_mcu : d->left;
}

#define DELAYED(function, text, saves)                                                             \
    static void delayed_##function##_decide(struct weir_case *c, int64_t cost_mcu,                 \
                                            struct weir_verdict *verdict)                          \
    {                                                                                              \
        delayed_decide(&weir_partition_##function, c, cost_mcu, verdict);                          \
    }                                                                                              \
    static void delayed_##function##_settle(struct weir_case *c,                                   \
                                            const struct weir_verdict *verdict, int64_t extra_mcu) \
    {                                                                                              \
        delayed_settle(&weir_partition_##function, c, verdict, extra_mcu);                         \
    }                                                                                              \
    const struct weir_partition_policy weir_partition_delayed_##function = {                       \
        .size = sizeof weir_partition_delayed_##function,                                          \
        .state_bytes = sizeof(struct delayed),                                                     \
        .name = "delayed-" text,                                                                   \
        .flags = WEIR_PARTITION_SHARES | (saves),                                                  \
        .decide = delayed_##function##_decide,                                                     \
        .settle = delayed_##function##_settle};

DELAYED(allocation, "allocation", 0)
DELAYED(burst, "burst", WEIR_PARTITION_SAVES)
DELAYED(always_burst, "always-burst", 0)
