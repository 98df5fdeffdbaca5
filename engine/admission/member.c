/* member.c - what a node knows of the other nodes' headroom for writes: reports and leases. */
#include "engine/admission/member.h"

#include <stdlib.h>

#include "base/policies.h"
#include "base/policy_value.h"
#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/reports.h"
#include "base/token_bucket.h"
#include "include/weir/policy_base.h"
#include "include/weir/policy_headroom.h"

/* The member that a policy is asked about. */
struct weir_member {
    struct members *members;
    struct member *member;
    struct instant now;
    bool leased;
};

/* The least amount of a request for tokens. As units per second it would be a very small burst. */
#define LEASE_MIN_MCU INT64_C(20000)

void members_init(struct members *m, const struct config *config, uint32_t node_count)
{
    *m = (struct members){.policy = headroom_policy_of(config),
                          .policies = config->policies,
                          .dead = (enum dead_member)config_choices(config)->dead_member,
                          .deadline = duration_ms(config_reports(config)->report_deadline_ms),
                          .lease = duration_ms(config_reports(config)->member_lease_ms),
                          .depth = duration_ms(config_admission(config)->node_depth_ms),
                          .count = node_count};
    m->nodes = must_calloc(node_count + 1, sizeof m->nodes[0]);
}

void members_deinit(struct members *m)
{
    free(m->nodes);
    m->nodes = NULL;
}

static struct member *member_of(struct members *m, uint32_t node)
{
    must(node >= 1 && node <= m->count);
    return &m->nodes[node];
}

static bool is_unresponsive(const struct members *m, const struct member *member,
                            struct instant now)
{
    return !member->is_known || instant_since(now, member->received_at).ns > m->deadline.ns;
}

bool member_is_unresponsive(struct members *m, uint32_t node, struct instant now)
{
    return is_unresponsive(m, member_of(m, node), now);
}

void members_reported(struct members *m, uint32_t node, struct instant now, int64_t balance_mcu,
                      int64_t capacity_mcu, bool shared)
{
    struct member *member = member_of(m, node);
    if (is_unresponsive(m, member, now)) {
        member->back = true;
        member->requesting = false; /* a request meanwhile is lost: send another */
    }
    member->is_known = true;
    member->received_at = now;
    member->balance_mcu = balance_mcu;
    member->capacity_mcu = capacity_mcu;
    member->shared = shared;
}

/* ---- what policies see ---- */

POLICY_VALUE(int64_t, weir_member_balance, struct weir_member *m, m->member->balance_mcu)
POLICY_VALUE(int64_t, weir_member_capacity, struct weir_member *m, m->member->capacity_mcu)
POLICY_VALUE(bool, weir_member_is_shared, struct weir_member *m, m->member->shared)

int64_t weir_member_report_age_ns(const struct weir_member *m)
{
    return m->member->is_known ? instant_since(m->now, m->member->received_at).ns
                               : WEIR_POLICY_NEVER;
}

POLICY_VALUE(bool, weir_member_is_leased, struct weir_member *m, m->leased)

int64_t weir_member_held(const struct weir_member *m)
{
    return instant_before(m->now, m->member->held_until) ? m->member->held_mcu : 0;
}

POLICY_VALUE(int64_t, weir_member_lease_ns, struct weir_member *m, m->members->lease.ns)

void weir_member_add_demand(struct weir_member *m, int64_t cost_mcu)
{
    int64_t *lacked = &m->member->lacked_mcu;
    if (cost_mcu > 0 && __builtin_add_overflow(*lacked, cost_mcu, lacked))
        *lacked = INT64_MAX / 4;
}

int64_t weir_member_refill_ns(const struct weir_member *m, int64_t mcu)
{
    if (mcu <= 0)
        return 0;
    if (m->member->capacity_mcu <= 0)
        return WEIR_POLICY_NEVER;
    __int128 ns = (__int128)mcu * m->members->depth.ns / m->member->capacity_mcu + 1;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* ---- decisions ---- */

bool members_lease(const struct members *m)
{
    return (m->policy->flags & WEIR_HEADROOM_LEASES) != 0;
}

/* Whether the member's work is paid with the tokens that it has set aside. */
static bool is_leased(const struct members *m, const struct member *member, struct instant now)
{
    return members_lease(m) && !member->back && !is_unresponsive(m, member, now);
}

/* Nobody knows when the member has headroom. What is known of the leader's buckets still counts. */
static const struct duration member_unknown = {INT64_MAX};

/* What the policy says. */
static bool headroom_has(struct weir_member *wm, int64_t cost_mcu, int64_t taken_mcu,
                         struct duration *wait)
{
    struct members *m = wm->members;
    bool loaded = m->policy->flags & POLICY_LOADED;
    wait->ns = 0;
    int64_t begun_ns = loaded ? policies_begin(m->policies, m->policy) : -1;
    bool has = m->policy->has(wm, cost_mcu, taken_mcu, &wait->ns);
    if (loaded)
        policies_end(m->policies, m->policy, begun_ns);
    if (has || wait->ns >= 0)
        return has;
    policies_report_invalid(m->policies, m->policy, "returns a time below zero");
    *wait = member_unknown;
    return false;
}

bool member_has(struct members *m, uint32_t node, struct instant now, int64_t cost_mcu,
                int64_t taken_mcu, struct duration *wait)
{
    struct member *member = member_of(m, node);
    if (m->policy->flags & WEIR_HEADROOM_UNCHECKED)
        return true;
    struct weir_member wm = {m, member, now, is_leased(m, member, now)};
    if (!is_unresponsive(m, member, now))
        return headroom_has(&wm, cost_mcu, taken_mcu, wait);
    if (m->dead == DEAD_MEMBER_EXCLUDE)
        return true;
    if (m->dead == DEAD_MEMBER_LAST_KNOWN && member->is_known &&
        headroom_has(&wm, cost_mcu, taken_mcu, wait))
        return true;
    *wait = member_unknown; /* until the member is heard again, or is replaced */
    return false;
}

/* Counts spending at an unresponsive member too, so that its first request afterwards asks for
 * enough. */
void member_spend(struct members *m, uint32_t node, struct instant now, int64_t cost_mcu)
{
    struct member *member = member_of(m, node);
    if (!members_lease(m))
        return;
    if (is_leased(m, member, now))
        member->held_mcu -= cost_mcu;
    member->spent_mcu += cost_mcu;
}

/* ---- leases ---- */

bool member_is_request_due(struct members *m, uint32_t node, struct instant now, uint64_t *number,
                           int64_t *demand_mcu)
{
    struct member *member = member_of(m, node);
    if (!members_lease(m))
        return false;
    int64_t age_ns = instant_since(now, member->requested_at).ns;
    if (is_unresponsive(m, member, now)) {
        if (age_ns >= m->lease.ns) { /* count spending for the length of one lease, no longer */
            member->requested_at = now;
            member->spent_mcu = member->lacked_mcu = 0;
        }
        return false;
    }
    bool short_now = member->held_mcu < member->spent_mcu / 2 || member->lacked_mcu > 0;
    bool running_out = member->spent_mcu > 0 && age_ns > m->lease.ns / 2;
    if ((member->requesting && age_ns < m->lease.ns) || !(short_now || running_out))
        return false;
    int64_t demand = member->spent_mcu + member->spent_mcu / 2 + 2 * member->lacked_mcu;
    int64_t min = LEASE_MIN_MCU;
    if (instant_before(now, member->held_until)) { /* a grant prolongs the tokens that are left */
        demand -= member->held_mcu;
        min = LEASE_MIN_MCU / 4;
    }
    *demand_mcu = MAX(demand, min);
    *number = ++member->number;
    member->requesting = true;
    member->requested_at = now;
    member->spent_mcu = member->lacked_mcu = 0;
    return true;
}

void member_granted(struct members *m, uint32_t node, struct instant now, uint64_t number,
                    int64_t granted_mcu)
{
    struct member *member = member_of(m, node);
    if (!member->requesting || number != member->number || granted_mcu < 0)
        return;
    member->requesting = false;
    if (!instant_before(now, member->held_until))
        member->held_mcu = 0; /* the rest of the last grant has expired */
    struct instant until = instant_add(member->requested_at, m->lease);
    if (!instant_before(now, until) || granted_mcu == 0)
        return;
    member->held_mcu += granted_mcu;
    member->held_until = until;
    member->back = false;
}

int64_t member_grant(struct token_bucket *node, struct instant now, int64_t demand_mcu)
{
    token_bucket_refill(node, now);
    int64_t max = node->balance > 0 ? node->balance / 2 : 0;
    int64_t granted = MIN(demand_mcu, max);
    if (granted > 0)
        token_bucket_debit(node, granted);
    return MAX(granted, 0);
}
