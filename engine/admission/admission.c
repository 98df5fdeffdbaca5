/* admission.c - a partition's buckets, on which the policies decide.
 *
 * Invariants
 *   ADMIT-1  A decision debits partition and node, or neither.
 *   ADMIT-2  Tokens reach the burst bucket only from a full allocation bucket. While the burst
 *            bucket has room, no token is lost on the way.
 *   ADMIT-3  Refilling forgives no debt.
 *   ADMIT-4  A wait that was told is not made longer by a higher rate. */
#include "engine/admission/admission.h"

#include "base/limits.h"
#include "base/settings/admission.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/capacity.h"
#include "include/weir/policy_partition.h"

const char *admit_reason_name(enum admit_reason reason)
{
    static const char *const names[] = {
        [ADMIT_OK] = "ok",
        [ADMIT_REFUSED_KEY_RANGE] = "key-range",
        [ADMIT_REFUSED_ALLOCATION] = "allocation",
        [ADMIT_REFUSED_NODE] = "node",
        [ADMIT_REFUSED_MEMBER] = "member",
        [ADMIT_REFUSED_TABLE] = "table",
        [ADMIT_REFUSED_OVERLOAD] = "overload",
        [ADMIT_REFUSED_INDEX] = "index",
    };
    must((unsigned)reason < ADMIT_REASONS);
    return names[reason];
}

/* On a partition of a few units per second, a request passes once the bucket is full, and then owes
 * the rest. So the limit is at least the cost of one largest item: otherwise debt would be
 * forgiven. */
int64_t admission_debt_max(const struct config *config, int64_t rate_mcu)
{
    const int64_t min = 2 * (ITEM_SIZE_MAX / 1024) * MCU_PER_UNIT; /* a transactional write */
    int64_t debt;
    if (__builtin_mul_overflow(rate_mcu, config_admission(config)->debt_max_s, &debt) ||
        debt > INT64_MAX / 4)
        debt = INT64_MAX / 4;
    return MAX(debt, min);
}

static int64_t burst_capacity(const struct admission_meter *m, const struct config *config,
                              int64_t rate)
{
    int64_t capacity;
    if (!(m->policy->flags & WEIR_PARTITION_SAVES))
        return 0;
    if (__builtin_mul_overflow(rate, config_admission(config)->burst_max_s, &capacity) ||
        capacity > INT64_MAX / 4)
        capacity = INT64_MAX / 4;
    return capacity;
}

int64_t admission_depth(int64_t rate_mcu, int64_t depth_ms)
{
    __int128 depth = (__int128)rate_mcu * depth_ms / 1000;
    if (depth == 0 && rate_mcu > 0)
        return 1;
    return depth > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)depth;
}

static void admission_set_rates(struct admission *a, const struct config *config,
                                const struct admission_rates *rates)
{
    a->weight = rates->weight > 0 ? rates->weight : 1;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter *m = &a->meters[kind];
        int64_t cap = partition_cap_mcu(config, kind, rates->maximum_mcu[kind]);
        int64_t rate = rates->rate_mcu[kind], debt_max = admission_debt_max(config, rate);
        must(rate >= 0);
        token_bucket_change_rate(&m->cap,
                                 admission_depth(cap, config_admission(config)->cap_depth_ms), cap,
                                 admission_debt_max(config, cap));
        token_bucket_change_rate(
            &m->allocation, admission_depth(rate, config_admission(config)->allocation_depth_ms),
            rate, debt_max);
        token_bucket_change_rate(&m->burst, burst_capacity(m, config, rate), 0, debt_max);
    }
}

static void meter_begin(struct admission_meter *m, const struct weir_partition_policy *policy)
{
    must(policy != NULL);
    m->policy = policy;
    memset(m->state, 0, sizeof m->state);
    if (policy->begin != NULL)
        policy->begin(m->state);
}

void admission_init(struct admission *a, struct admission_policies policies,
                    const struct config *config, const struct admission_rates *rates,
                    struct instant now)
{
    *a = (struct admission){.sharing = node_policy_of(config)};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        meter_begin(&a->meters[kind], policies.of[kind]);
    admission_set_rates(a, config, rates);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter *m = &a->meters[kind];
        m->cap.balance = m->cap.capacity;
        m->allocation.balance = m->allocation.capacity;
        m->cap.updated_at = m->allocation.updated_at = m->burst.updated_at = now;
        if (a->sharing->begin != NULL)
            a->sharing->begin(m->share);
    }
}

void meter_refill(struct admission_meter *m, struct instant now)
{
    token_bucket_refill(&m->cap, now);
    int64_t unused = token_bucket_refill(&m->allocation, now);
    if (unused > 0) {
        must_in_tests(m->allocation.balance == m->allocation.capacity); /* ADMIT-2 */
        const int64_t lost = token_bucket_add(&m->burst, unused);
        must_in_tests(lost == 0 || m->burst.balance == m->burst.capacity); /* ADMIT-2 */
        (void)lost;
    }
}

void admission_change(struct admission *a, struct admission_policies policies,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now)
{
    admission_leave(a, now);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter *m = &a->meters[kind];
        meter_refill(m, now);
        if (m->policy != policies.of[kind])
            meter_begin(m, policies.of[kind]);
    }
    admission_set_rates(a, config, rates);
}

/* ---- what is reserved for a table ---- */

static inline bool meter_shares(const struct admission_meter *m)
{
    return (m->policy->flags & WEIR_PARTITION_SHARES) != 0;
}

/* NULL: the kind has no reserved bucket of the table. */
static inline struct token_bucket *reserved_bucket_of(const struct admission *a,
                                                      enum admit_kind kind)
{
    return a->table != NULL && meter_shares(&a->meters[kind]) ? &a->table->buckets[kind] : NULL;
}

void admission_join(struct admission *a, struct table_share *share, struct instant now)
{
    must(a->table == NULL);
    if (!meter_shares(&a->meters[ADMIT_READ]) && !meter_shares(&a->meters[ADMIT_WRITE]))
        return;
    a->table = share;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        if (share->partitions == 0)
            token_bucket_init(&share->buckets[kind], 0, 0, INT64_MAX / 4, 0, now);
        struct token_bucket *b = reserved_bucket_of(a, kind);
        const struct token_bucket *own = &a->meters[kind].allocation;
        if (b == NULL)
            continue;
        token_bucket_refill(b, now);
        token_bucket_set_rate(b, b->capacity + own->capacity, b->rate + own->rate, b->debt_max);
        b->balance += own->balance;
    }
    share->partitions++;
}

/* Takes the partition's allocation, and its balance, out of the table's reserved bucket. A debt
 * goes too: admission_join brings it back. */
void admission_leave(struct admission *a, struct instant now)
{
    struct table_share *share = a->table;
    if (share == NULL)
        return;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct token_bucket *b = reserved_bucket_of(a, kind);
        const struct token_bucket *own = &a->meters[kind].allocation;
        if (b == NULL)
            continue;
        token_bucket_refill(b, now);
        if (own->balance > 0)
            token_bucket_debit(b, own->balance);
        else
            token_bucket_add(b, -own->balance);
        token_bucket_set_rate(b, b->capacity - own->capacity, b->rate - own->rate, b->debt_max);
    }
    share->partitions--;
    a->table = NULL;
}

/* ---- decisions ---- */

/* A balance alone, as one word: refilling has just written it, and the processor waits for a wider
 * load of what was written in parts. */
static inline int64_t balance_of(const struct token_bucket *b)
{
    int64_t balance = b->balance;
    __asm__("" : "+r"(balance));
    return balance;
}

static inline struct admit_balances admission_balances_of(const struct admission_meter *m,
                                                          const struct token_bucket *node)
{
    return (struct admit_balances){.cap_mcu = balance_of(&m->cap),
                                   .allocation_mcu = balance_of(&m->allocation),
                                   .burst_mcu = balance_of(&m->burst),
                                   .node_mcu = balance_of(node)};
}

/* A case with all buckets refilled up to now. */
static struct weir_case case_of(struct admission *a, struct node_admission *node,
                                enum admit_kind kind, struct instant now,
                                const struct admit_group *group)
{
    struct weir_case c = {.policy = a->meters[kind].policy,
                          .meter = &a->meters[kind],
                          .reserved = reserved_bucket_of(a, kind),
                          .node = node,
                          .weight = a->weight,
                          .kind = kind,
                          .now = now,
                          .group = group};
    meter_refill(c.meter, now);
    token_bucket_refill(&node->buckets[kind], now);
    if (c.reserved != NULL)
        token_bucket_refill(c.reserved, now);
    return c;
}

/* Takes back what a policy has debited in a case that makes no sense. The tokens of other members
 * that it spent are lost: they expire. */
static void case_undo(struct weir_case *c, const struct admit_balances *before)
{
    c->meter->cap.balance = before->cap_mcu;
    c->meter->allocation.balance = before->allocation_mcu;
    c->meter->burst.balance = before->burst_mcu;
    c->node->buckets[c->kind].balance = before->node_mcu;
    if (c->reserved != NULL)
        token_bucket_add(c->reserved, c->reserved_debited_mcu);
}

static bool is_member(const struct weir_case *c, uint32_t node)
{
    for (uint32_t i = 0; c->group != NULL && i < c->group->count; i++) {
        if (c->group->nodes[i] == node)
            return true;
    }
    return false;
}

/* What is wrong with a verdict; NULL: nothing. */
static const char *verdict_fault(const struct weir_case *c, const struct weir_verdict *v)
{
    if (c->invalid != NULL)
        return c->invalid;
    if (v->reason > WEIR_POLICY_MEMBER)
        return "returns a reason that does not exist";
    if (v->wait_ns < 0)
        return "returns a time below zero";
    if (v->flags & ~(uint32_t)(WEIR_VERDICT_BURST | WEIR_VERDICT_RESERVED))
        return "returns flags that do not exist";
    if (v->reason == WEIR_POLICY_MEMBER && !is_member(c, v->member))
        return "refuses for a member that is not of the group";
    return NULL;
}

/* Whether verdict_fault must look: one branch for all that is rare. */
static inline bool verdict_is_rare(const struct weir_case *c, const struct weir_verdict *v)
{
    return (v->reason >= WEIR_POLICY_MEMBER) | (v->wait_ns < 0) | (v->flags > 3) |
           (c->invalid != NULL);
}

/* A decision of a policy from a file: its calls are timed, and it may return anything. */
static __attribute__((noinline)) void decide_loaded(struct weir_case *c, int64_t cost_mcu,
                                                    struct weir_verdict *v)
{
    int64_t begun_ns = policies_begin(c->node->policies, c->policy);
    c->policy->decide(c, cost_mcu, v);
    policies_end(c->node->policies, c->policy, begun_ns);
}

/* The reason of a decision that makes no sense is the allocation: the client should try again. */
static __attribute__((noinline)) void refuse_invalid(struct weir_case *c, const char *fault,
                                                     struct admit_verdict *verdict)
{
    policies_report_invalid(c->node->policies, c->policy, fault);
    case_undo(c, &verdict->balances);
    *verdict =
        (struct admit_verdict){.reason = ADMIT_REFUSED_ALLOCATION, .balances = verdict->balances};
}

_Static_assert((int)WEIR_POLICY_MEMBER == (int)ADMIT_REFUSED_MEMBER, "the reasons are the same");
_Static_assert((WEIR_VERDICT_BURST | WEIR_VERDICT_RESERVED) == 3, "verdict_is_rare says so");
_Static_assert(sizeof(enum admit_reason) == sizeof(uint32_t) &&
                   offsetof(struct admit_verdict, flags) == offsetof(struct weir_verdict, flags) &&
                   offsetof(struct admit_verdict, member) ==
                       offsetof(struct weir_verdict, member) &&
                   offsetof(struct admit_verdict, wait) == offsetof(struct weir_verdict, wait_ns) &&
                   offsetof(struct admit_verdict, balances) == sizeof(struct weir_verdict),
               "a verdict begins like that of a policy");

struct admit_verdict admission_try(struct admission *a, struct node_admission *node,
                                   enum admit_kind kind, struct instant now, int64_t cost_mcu,
                                   const struct admit_group *group)
{
    must((unsigned)kind < ADMIT_KINDS);
    must(cost_mcu >= 0);
    struct weir_case c = case_of(a, node, kind, now, group);
    struct admit_verdict verdict = {.balances =
                                        admission_balances_of(c.meter, &node->buckets[kind])};
    struct weir_verdict *v = (struct weir_verdict *)(void *)&verdict;
    if (__builtin_expect((c.policy->flags & POLICY_LOADED) != 0, 0))
        decide_loaded(&c, cost_mcu, v);
    else
        c.policy->decide(&c, cost_mcu, v);
    if (__builtin_expect(verdict_is_rare(&c, v), 0)) {
        const char *fault = verdict_fault(&c, v);
        if (fault != NULL)
            refuse_invalid(&c, fault, &verdict);
    }
    return verdict;
}

bool admission_is_within_limit(struct admission *a, enum admit_kind kind, struct instant now,
                               int64_t cost_mcu)
{
    struct admission_meter *m = &a->meters[kind];
    struct token_bucket *reserved = reserved_bucket_of(a, kind);
    if (m->policy->flags & WEIR_PARTITION_UNLIMITED)
        return false; /* its buckets are never debited */
    meter_refill(m, now);
    if (token_bucket_has(&m->allocation, cost_mcu))
        return true;
    if (reserved == NULL)
        return false;
    token_bucket_refill(reserved, now);
    return token_bucket_has(reserved, cost_mcu);
}

static void case_settle(struct weir_case *c, uint32_t flags, int64_t extra_mcu)
{
    const struct weir_verdict v = {.flags = flags};
    c->policy->settle(c, &v, extra_mcu);
    if (c->invalid != NULL)
        policies_report_invalid(c->node->policies, c->policy, c->invalid);
}

void admission_settle(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, const struct admit_verdict *verdict, int64_t extra_mcu,
                      const struct admit_group *group)
{
    must((unsigned)kind < ADMIT_KINDS);
    must(verdict->reason == ADMIT_OK);
    must(extra_mcu >= 0);
    struct weir_case c = case_of(a, node, kind, now, group);
    case_settle(&c, verdict->flags, extra_mcu);
}

/* `b` was debited since its balance was `before`: the other way about. */
static void bucket_give_back(struct token_bucket *b, int64_t before)
{
    token_bucket_add(b, 2 * (before - b->balance));
}

void admission_give_back(struct admission *a, struct node_admission *node, enum admit_kind kind,
                         struct instant now, const struct admit_verdict *verdict, int64_t cost_mcu,
                         const struct admit_group *group)
{
    must((unsigned)kind < ADMIT_KINDS);
    must(cost_mcu >= 0);
    struct weir_case c = case_of(a, node, kind, now, group);
    struct token_bucket *const buckets[] = {&c.meter->cap, &c.meter->allocation, &c.meter->burst,
                                            &node->buckets[kind], c.reserved};
    int64_t before[COUNT_OF(buckets)];
    for (size_t i = 0; i < COUNT_OF(buckets); i++)
        before[i] = buckets[i] != NULL ? buckets[i]->balance : 0;
    case_settle(&c, verdict->flags, cost_mcu);
    for (size_t i = 0; i < COUNT_OF(buckets); i++) {
        if (buckets[i] != NULL)
            bucket_give_back(buckets[i], before[i]);
    }
}

/* Late writes come all at once, but the leader admitted them one after the other while its buckets
 * refilled. So a late write leaves no more debt in the node's bucket than it would leave in a full
 * bucket. */
static void spare_late(struct token_bucket *b, int64_t before_mcu, int64_t cost_mcu)
{
    int64_t min = b->capacity - cost_mcu < 0 ? b->capacity - cost_mcu : 0;
    min = MIN(min, before_mcu);
    b->balance = MAX(b->balance, min);
}

/* Leaves the counts of bursts as they are: they belong to the node. */
static void set_balances(struct admission_meter *m, const struct admission_balances *b)
{
    m->cap.balance = b->cap_mcu;
    m->allocation.balance = b->allocation_mcu;
    m->burst.balance = b->burst_mcu;
}

static struct admission_balances balances_of(const struct admission_meter *m)
{
    return (struct admission_balances){m->cap.balance, m->allocation.balance, m->burst.balance};
}

void admission_follow(struct admission *a, struct node_admission *node, enum admit_kind kind,
                      struct instant now, int64_t cost_mcu, uint32_t follow)
{
    struct weir_case c = case_of(a, node, kind, now, NULL);
    struct token_bucket *bucket = &node->buckets[kind];
    const int64_t node_mcu = bucket->balance;
    const struct admission_balances before = balances_of(c.meter);
    bool burst = follow & FOLLOW_BURST;
    bool reserved = burst && weir_case_has(&c, WEIR_BUCKET_RESERVED, cost_mcu);
    if (burst && !reserved)
        weir_case_burst_enter(&c); /* the burst takes its part of the residual here too */
    case_settle(&c, (burst ? WEIR_VERDICT_BURST : 0U) | (reserved ? WEIR_VERDICT_RESERVED : 0U),
                cost_mcu);
    if (follow & FOLLOW_PAID)
        bucket->balance = node_mcu;
    if ((follow & (FOLLOW_PAID | FOLLOW_LATE)) == FOLLOW_LATE)
        spare_late(bucket, node_mcu, cost_mcu);
    if (follow &
        (FOLLOW_LATE | FOLLOW_COUNTED)) /* the leader's balances count the write, or will */
        set_balances(c.meter, &before);
}

/* ---- balances of another replica, or of an earlier life ---- */

struct admission_balances admission_balances(const struct admission *a, enum admit_kind kind,
                                             struct instant now)
{
    struct admission_meter m = a->meters[kind];
    meter_refill(&m, now);
    return balances_of(&m);
}

static void admission_restore_bucket(struct token_bucket *b, int64_t mcu)
{
    b->balance = MIN(mcu, b->capacity);
    b->debt_max = MAX(b->debt_max, -mcu);
}

void admission_restore(struct admission *a, enum admit_kind kind, struct instant now,
                       const struct admission_balances *b)
{
    struct admission_meter *m = &a->meters[kind];
    meter_refill(m, now);
    admission_restore_bucket(&m->cap, b->cap_mcu);
    admission_restore_bucket(&m->allocation, b->allocation_mcu);
    admission_restore_bucket(&m->burst, b->burst_mcu);
}

static bool are_full(const struct admission *a, struct instant now, bool saved)
{
    bool full = true;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter m = a->meters[kind];
        meter_refill(&m, now);
        full &= m.cap.balance == m.cap.capacity && m.allocation.balance == m.allocation.capacity &&
                m.burst.balance == (saved ? m.burst.capacity : 0);
    }
    return full;
}

bool admission_is_new(const struct admission *a, struct instant now)
{
    return are_full(a, now, false);
}

bool admission_refills(const struct admission *a, struct instant now)
{
    return !are_full(a, now, true);
}

int64_t admission_left_mcu(const struct admission *a, enum admit_kind kind)
{
    const struct admission_meter *m = &a->meters[kind];
    int64_t left = m->cap.balance;
    if (!meter_shares(m) && m->allocation.balance + m->burst.balance < left)
        left = m->allocation.balance + m->burst.balance;
    return MAX(left, 0);
}

static int64_t admission_lesser(int64_t cost_mcu, int64_t balance_mcu)
{
    int64_t had = MAX(balance_mcu, 0);
    return MIN(cost_mcu, had);
}

/* First takes from the allocation, then, as a burst, from what is saved. The allocation owes the
 * rest. */
void admission_spend(struct admission *a, struct node_admission *node, enum admit_kind kind,
                     struct instant now, int64_t cost_mcu)
{
    struct weir_case c = case_of(a, node, kind, now, NULL);
    const int64_t node_mcu = node->buckets[kind].balance;
    int64_t rest = cost_mcu - admission_lesser(cost_mcu, c.meter->allocation.balance);
    int64_t saved = c.policy->flags & WEIR_PARTITION_SAVES
                        ? admission_lesser(rest, c.meter->burst.balance)
                        : rest;
    c.reserved = NULL;
    case_settle(&c, 0, cost_mcu - saved);
    case_settle(&c, WEIR_VERDICT_BURST | WEIR_VERDICT_RESERVED, saved);
    node->buckets[kind].balance = node_mcu;
}

void admission_spare_cap(struct admission *a, enum admit_kind kind, int64_t mcu)
{
    token_bucket_add(&a->meters[kind].cap, mcu);
}

struct admit_balances admission_balances_with_node(const struct admission *a,
                                                   const struct node_admission *node,
                                                   enum admit_kind kind, struct instant now)
{
    struct admission_meter m = a->meters[kind];
    struct token_bucket bucket = node->buckets[kind];
    meter_refill(&m, now);
    token_bucket_refill(&bucket, now);
    return admission_balances_of(&m, &bucket);
}
