/* policy_headroom.c - whether another member's node has room for a burst write.
 *
 * off    Members are not asked.
 * gauge  The node's last report of its bucket. It costs nothing, but is old: meanwhile many leaders
 *        may spend the same tokens (DynamoDB, USENIX ATC 2022, section 4.3).
 * lease  Tokens that the other node has set aside, and debited, before they are spent here. All
 *        leaders together never spend more than was set aside, whatever the reports' age (ours).
 *        Until the node has set tokens aside, its reports replace the lease.
 * refilled  A baseline: the last report, plus what the node's bucket refilled since. Source: none;
 *        it is what a reader of an old report would assume first. It assumes that nobody has spent
 *        anything since the report. */
#include "include/weir/policy_headroom.h"

extern const struct weir_headroom_policy weir_headroom_off;
extern const struct weir_headroom_policy weir_headroom_gauge;
extern const struct weir_headroom_policy weir_headroom_lease;
extern const struct weir_headroom_policy weir_headroom_refilled;

/* What the last report lacks; not above 0: nothing. On a shared node half as much as the partition
 * has taken must remain for the others. It is less than at the own node (policy_fair.c), because a
 * report is old: all of it would leave an even share unused whenever the balance is low by
 * chance. */
static int64_t headroom_lacks(const struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu)
{
    int64_t needed = cost_mcu;
    if (weir_member_is_shared(m) && __builtin_add_overflow(cost_mcu, taken_mcu / 2, &needed))
        needed = INT64_MAX;
    if (needed > weir_member_capacity(m))
        needed = weir_member_capacity(m);
    return needed - weir_member_balance(m);
}

static bool gauge_has(struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu, int64_t *wait_ns)
{
    const int64_t lacks = headroom_lacks(m, cost_mcu, taken_mcu);
    if (lacks <= 0)
        return true;
    *wait_ns = weir_member_refill_ns(m, lacks);
    return false;
}

static bool refilled_has(struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu,
                         int64_t *wait_ns)
{
    const int64_t refill_ns = weir_member_refill_ns(m, headroom_lacks(m, cost_mcu, taken_mcu));
    const int64_t age_ns = weir_member_report_age_ns(m);
    if (refill_ns <= age_ns)
        return true;
    *wait_ns = refill_ns - age_ns;
    return false;
}

static bool lease_has(struct weir_member *m, int64_t cost_mcu, int64_t taken_mcu, int64_t *wait_ns)
{
    if (!weir_member_is_leased(m))
        return gauge_has(m, cost_mcu, taken_mcu, wait_ns);
    if (weir_member_is_shared(m) && !gauge_has(m, cost_mcu, taken_mcu, wait_ns))
        return false;
    if (weir_member_held(m) >= cost_mcu)
        return true;
    weir_member_add_demand(m, cost_mcu);
    *wait_ns = WEIR_POLICY_NEVER; /* the member grants more when it likes */
    return false;
}

const struct weir_headroom_policy weir_headroom_off = {
    .size = sizeof weir_headroom_off, .name = "off", .flags = WEIR_HEADROOM_UNCHECKED};
const struct weir_headroom_policy weir_headroom_gauge = {
    .size = sizeof weir_headroom_gauge, .name = "gauge", .has = gauge_has};
const struct weir_headroom_policy weir_headroom_lease = {.size = sizeof weir_headroom_lease,
                                                         .name = "lease",
                                                         .flags = WEIR_HEADROOM_LEASES,
                                                         .has = lease_has};
const struct weir_headroom_policy weir_headroom_refilled = {
    .size = sizeof weir_headroom_refilled, .name = "refilled", .has = refilled_has};
