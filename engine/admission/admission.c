/* admission.c - a partition's buckets: what every policy decides on.
 *
 * Invariants:
 *   A1  a decision debits partition and node, or neither.
 *   A2  tokens reach the burst bucket only from a full allocation bucket, and none is lost on the
 *       way while there is room.
 *   A3  refilling forgives no debt. */
#include "engine/admission/admission.h"

#include "base/must.h"
#include "engine/admission/policy_internal.h"

static const struct admission_policy *const policies[] = {
    &admission_policy_allocation,
    &admission_policy_burst,
    &admission_policy_always_burst,
    &admission_policy_none,
};

const struct admission_policy *admission_policy_find(struct slice name)
{
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        if (slice_is(name, policies[i]->name))
            return policies[i];
    }
    return NULL;
}

const struct admission_policy *admission_policy_of(const struct config *config, uint8_t gac)
{
    const struct admission_policy *p = admission_policy_find(slice_of(config->partition_policy));
    must(p != NULL);
    bool limited = gac_policy_of(config, gac) != GAC_OFF;
    return limited && p == &admission_policy_burst ? &admission_policy_always_burst : p;
}

const char *admission_policy_names(void)
{
    return "allocation, burst, always-burst, none";
}

const char *admit_reason_name(enum admit_reason reason)
{
    static const char *const names[] = {
        [ADMIT_OK] = "ok",
        [ADMIT_REFUSED_KEY_RANGE] = "key-range",
        [ADMIT_REFUSED_ALLOCATION] = "allocation",
        [ADMIT_REFUSED_NODE] = "node",
        [ADMIT_REFUSED_MEMBER] = "member",
        [ADMIT_REFUSED_TABLE] = "table",
    };
    must((unsigned)reason < ADMIT_REASONS);
    return names[reason];
}

/* A debt of less than one largest item would forgive what a request admitted by min(cost, capacity)
 * still owes on a partition of a few units per second. */
int64_t admission_debt_max(const struct config *config, int64_t rate_mcu)
{
    const int64_t least = 2 * (ITEM_SIZE_MAX / 1024) * MCU_PER_UNIT; /* a transactional write */
    int64_t debt;
    if (__builtin_mul_overflow(rate_mcu, config->debt_max_s, &debt) || debt > INT64_MAX / 4)
        debt = INT64_MAX / 4;
    return debt < least ? least : debt;
}

static int64_t burst_capacity(const struct admission *a, const struct config *config, int64_t rate)
{
    int64_t capacity;
    if (!a->policy->saves)
        return 0;
    if (__builtin_mul_overflow(rate, config->burst_max_s, &capacity) || capacity > INT64_MAX / 4)
        capacity = INT64_MAX / 4;
    return capacity;
}

static int64_t cap_rate(const struct config *config, enum admit_kind kind)
{
    return (kind == ADMIT_READ ? config->partition_max_rcu : config->partition_max_wcu) *
           MCU_PER_UNIT;
}

void admission_init(struct admission *a, const struct admission_policy *policy,
                    const struct config *config, const struct admission_rates *rates,
                    struct instant now)
{
    must(policy != NULL);
    *a = (struct admission){.policy = policy};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter *m = &a->meters[kind];
        int64_t cap = cap_rate(config, kind), rate = rates->rate_mcu[kind];
        int64_t debt_max = admission_debt_max(config, rate);
        must(rate >= 0);
        token_bucket_init(&m->cap, cap, cap, admission_debt_max(config, cap), cap, now);
        token_bucket_init(&m->allocation, rate, rate, debt_max, rate, now);
        token_bucket_init(&m->burst, burst_capacity(a, config, rate), 0, debt_max, 0, now);
        m->burst_round = -1;
    }
}

static void meter_refill(struct admission_meter *m, struct instant now)
{
    token_bucket_refill(&m->cap, now);
    token_bucket_add(&m->burst, token_bucket_refill(&m->allocation, now));
}

void admission_set_rates(struct admission *a, const struct config *config,
                         const struct admission_rates *rates, struct instant now)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter *m = &a->meters[kind];
        int64_t cap = cap_rate(config, kind), rate = rates->rate_mcu[kind];
        int64_t debt_max = admission_debt_max(config, rate);
        must(rate >= 0);
        meter_refill(m, now);
        token_bucket_set_rate(&m->cap, cap, cap, admission_debt_max(config, cap));
        token_bucket_set_rate(&m->allocation, rate, rate, debt_max);
        token_bucket_set_rate(&m->burst, burst_capacity(a, config, rate), 0, debt_max);
    }
}

static struct admit_levels levels_of(const struct admission_meter *m,
                                     const struct token_bucket *node)
{
    return (struct admit_levels){.cap_mcu = m->cap.balance,
                                 .allocation_mcu = m->allocation.balance,
                                 .burst_mcu = m->burst.balance,
                                 .node_mcu = node->balance};
}

bool group_has(const struct admission_case *c, int64_t cost_mcu, struct admit_verdict *verdict)
{
    for (uint32_t i = 0; c->group != NULL && i < c->group->count; i++) {
        struct duration wait;
        if (member_has(c->group->members, c->group->nodes[i], c->now, cost_mcu, &wait))
            continue;
        verdict->member = c->group->nodes[i];
        verdict->wait = wait;
        return false;
    }
    return true;
}

void group_spend(const struct admission_case *c, int64_t cost_mcu)
{
    for (uint32_t i = 0; c->group != NULL && i < c->group->count; i++)
        member_spend(c->group->members, c->group->nodes[i], c->now, cost_mcu);
}

struct admit_verdict admission_try(struct admission *a, struct node_admission *node,
                                   enum admit_kind kind, struct instant now, int64_t cost_mcu,
                                   const struct admit_group *group)
{
    must((unsigned)kind < ADMIT_KINDS);
    must(cost_mcu >= 0);
    struct admission_meter *m = &a->meters[kind];
    meter_refill(m, now);
    token_bucket_refill(&node->buckets[kind], now);
    struct admit_verdict verdict = {.levels = levels_of(m, &node->buckets[kind])};
    a->policy->decide(&(struct admission_case){a->policy, m, node, kind, now, group}, cost_mcu,
                      &verdict);
    return verdict;
}

void admission_settle(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, const struct admit_verdict *verdict, int64_t extra_mcu,
                      const struct admit_group *group)
{
    must((unsigned)kind < ADMIT_KINDS);
    must(verdict->reason == ADMIT_OK);
    must(extra_mcu >= 0);
    struct admission_meter *m = &a->meters[kind];
    meter_refill(m, now);
    token_bucket_refill(&node->buckets[kind], now);
    a->policy->settle(&(struct admission_case){a->policy, m, node, kind, now, group}, verdict,
                      extra_mcu);
}

/* Late writes come all at once, though the leader admitted them one after the other while its
 * buckets refilled. So a late write leaves a bucket here with no more debt than its own cost leaves
 * in a full bucket. Returns how much of the debit that took back. */
static int64_t spare_late(struct token_bucket *b, int64_t before_mcu, int64_t cost_mcu)
{
    int64_t least = b->capacity - cost_mcu < 0 ? b->capacity - cost_mcu : 0;
    if (before_mcu < least)
        least = before_mcu;
    int64_t spared = b->balance < least ? least - b->balance : 0;
    b->balance += spared;
    return spared;
}

static void follow_late(struct admission_meter *m, const struct admit_levels *before,
                        int64_t cost_mcu)
{
    spare_late(&m->cap, before->cap_mcu, cost_mcu);
    spare_late(&m->burst, before->burst_mcu, cost_mcu);
    int64_t spared = spare_late(&m->allocation, before->allocation_mcu, cost_mcu);
    /* The tokens that the leader spent overflowed here into the burst bucket. */
    int64_t saved = m->burst.balance > 0 ? m->burst.balance : 0;
    token_bucket_debit(&m->burst, spared < saved ? spared : saved);
}

void admission_follow(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, int64_t cost_mcu, uint32_t follow)
{
    const struct admit_verdict verdict = {.reason = ADMIT_OK, .burst = follow & FOLLOW_BURST};
    struct admission_meter *m = &a->meters[kind];
    struct token_bucket *bucket = &node->buckets[kind];
    meter_refill(m, now);
    token_bucket_refill(bucket, now);
    const struct admit_levels before = levels_of(m, bucket);
    admission_settle(a, node, kind, now, &verdict, cost_mcu, NULL);
    if (follow & FOLLOW_PAID)
        bucket->balance = before.node_mcu;
    if ((follow & (FOLLOW_PAID | FOLLOW_LATE)) == FOLLOW_LATE)
        spare_late(bucket, before.node_mcu, cost_mcu);
    if (follow & FOLLOW_LATE)
        follow_late(m, &before, cost_mcu);
}

struct admit_levels admission_levels(const struct admission *a, const struct node_admission *node,
                                     enum admit_kind kind, struct instant now)
{
    struct admission_meter m = a->meters[kind];
    struct token_bucket bucket = node->buckets[kind];
    meter_refill(&m, now);
    token_bucket_refill(&bucket, now);
    return levels_of(&m, &bucket);
}
