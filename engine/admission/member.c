/* member.c - what a node knows of the other nodes' headroom for writes: reports and leases. */
#include "engine/admission/member.h"

#include <stdlib.h>

/* The least amount of a request for tokens. As units per second it would be a very small burst. */
#define LEASE_LEAST_MCU INT64_C(20000)

void members_init(struct members *m, const struct config *config, uint32_t node_count)
{
    *m = (struct members){.mode = (enum write_check)config->write_check,
                          .dead = (enum dead_member)config->dead_member,
                          .deadline = duration_ms(config->report_deadline_ms),
                          .lease = duration_ms(config->member_lease_ms),
                          .depth = duration_ms(config->node_depth_ms),
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

static bool is_silent(const struct members *m, const struct member *member, struct instant now)
{
    return !member->heard || instant_since(now, member->heard_at).ns > m->deadline.ns;
}

bool member_is_silent(struct members *m, uint32_t node, struct instant now)
{
    return is_silent(m, member_of(m, node), now);
}

void members_reported(struct members *m, uint32_t node, struct instant now, int64_t balance_mcu,
                      int64_t capacity_mcu, bool shared)
{
    struct member *member = member_of(m, node);
    if (is_silent(m, member, now)) {
        member->back = true;
        member->asking = false; /* a request during the silence is lost: ask again */
    }
    member->heard = true;
    member->heard_at = now;
    member->balance_mcu = balance_mcu;
    member->capacity_mcu = capacity_mcu;
    member->shared = shared;
}

/* The time in which the node's bucket gets `lacking_mcu`. */
static struct duration refill_time(const struct members *m, const struct member *member,
                                   int64_t lacking_mcu)
{
    if (member->capacity_mcu <= 0)
        return (struct duration){INT64_MAX};
    __int128 ns = (__int128)lacking_mcu * m->depth.ns / member->capacity_mcu + 1;
    return (struct duration){ns > INT64_MAX ? INT64_MAX : (int64_t)ns};
}

static bool lease_has(struct members *m, struct member *member, struct instant now,
                      int64_t cost_mcu, struct duration *wait)
{
    if (instant_before(now, member->held_until) && member->held_mcu >= cost_mcu)
        return true;
    if (__builtin_add_overflow(member->lacked_mcu, cost_mcu, &member->lacked_mcu))
        member->lacked_mcu = INT64_MAX / 4;
    *wait = (struct duration){m->lease.ns / 8}; /* a grant may have come by then */
    return false;
}

/* Whether the last report has headroom. On a shared node as much as the partition has taken must
 * remain for the others: node_admission.c. */
static bool gauge_has(const struct members *m, const struct member *member, int64_t cost_mcu,
                      int64_t taken_mcu, struct duration *wait)
{
    int64_t needed = cost_mcu;
    if (member->shared && __builtin_add_overflow(cost_mcu, taken_mcu, &needed))
        needed = INT64_MAX;
    if (needed > member->capacity_mcu)
        needed = member->capacity_mcu;
    if (member->balance_mcu >= needed)
        return true;
    *wait = refill_time(m, member, needed - member->balance_mcu);
    return false;
}

/* Whether the member's work is paid with the tokens that it has set aside. */
static bool is_leased(const struct members *m, const struct member *member, struct instant now)
{
    return m->mode == WRITE_CHECK_LEASE && !member->back && !is_silent(m, member, now);
}

bool member_has(struct members *m, uint32_t node, struct instant now, int64_t cost_mcu,
                int64_t taken_mcu, struct duration *wait)
{
    struct member *member = member_of(m, node);
    if (m->mode == WRITE_CHECK_OFF)
        return true;
    if (is_leased(m, member, now)) {
        bool fair = !member->shared || gauge_has(m, member, cost_mcu, taken_mcu, wait);
        return fair && lease_has(m, member, now, cost_mcu, wait);
    }
    if (!is_silent(m, member, now))
        return gauge_has(m, member, cost_mcu, taken_mcu, wait);
    if (m->dead == DEAD_MEMBER_EXCLUDE)
        return true;
    if (m->dead == DEAD_MEMBER_LAST_KNOWN && member->heard &&
        gauge_has(m, member, cost_mcu, taken_mcu, wait))
        return true;
    *wait = m->deadline; /* by then the member may be heard again, or be replaced */
    return false;
}

/* Counts spending at a silent member too, so that the first request after its silence asks for
 * enough. */
void member_spend(struct members *m, uint32_t node, struct instant now, int64_t cost_mcu)
{
    struct member *member = member_of(m, node);
    if (m->mode != WRITE_CHECK_LEASE)
        return;
    if (is_leased(m, member, now))
        member->held_mcu -= cost_mcu;
    member->spent_mcu += cost_mcu;
}

/* ---- leases ---- */

bool member_asks(struct members *m, uint32_t node, struct instant now, uint64_t *number,
                 int64_t *wanted_mcu)
{
    struct member *member = member_of(m, node);
    if (m->mode != WRITE_CHECK_LEASE)
        return false;
    int64_t age_ns = instant_since(now, member->asked_at).ns;
    if (is_silent(m, member, now)) {
        if (age_ns >= m->lease.ns) { /* count spending for the length of one lease, no longer */
            member->asked_at = now;
            member->spent_mcu = member->lacked_mcu = 0;
        }
        return false;
    }
    bool short_now = member->held_mcu < member->spent_mcu / 2 || member->lacked_mcu > 0;
    bool running_out = member->spent_mcu > 0 && age_ns > m->lease.ns / 2;
    if ((member->asking && age_ns < m->lease.ns) || !(short_now || running_out))
        return false;
    int64_t wanted = member->spent_mcu + member->spent_mcu / 2 + 2 * member->lacked_mcu;
    int64_t least = LEASE_LEAST_MCU;
    if (instant_before(now, member->held_until)) { /* a grant prolongs the tokens that are left */
        wanted -= member->held_mcu;
        least = LEASE_LEAST_MCU / 4;
    }
    *wanted_mcu = wanted > least ? wanted : least;
    *number = ++member->number;
    member->asking = true;
    member->asked_at = now;
    member->spent_mcu = member->lacked_mcu = 0;
    return true;
}

void member_granted(struct members *m, uint32_t node, struct instant now, uint64_t number,
                    int64_t granted_mcu)
{
    struct member *member = member_of(m, node);
    if (!member->asking || number != member->number || granted_mcu < 0)
        return;
    member->asking = false;
    if (!instant_before(now, member->held_until))
        member->held_mcu = 0; /* the rest of the last grant has expired */
    struct instant until = instant_add(member->asked_at, m->lease);
    if (!instant_before(now, until) || granted_mcu == 0)
        return;
    member->held_mcu += granted_mcu;
    member->held_until = until;
    member->back = false;
}

int64_t member_grant(struct token_bucket *node, struct instant now, int64_t wanted_mcu)
{
    token_bucket_refill(node, now);
    int64_t most = node->balance > 0 ? node->balance / 2 : 0;
    int64_t granted = wanted_mcu < most ? wanted_mcu : most;
    if (granted > 0)
        token_bucket_debit(node, granted);
    return granted > 0 ? granted : 0;
}
