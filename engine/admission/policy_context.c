/* policy_context.c - what policies may see and do: the functions of include/weir/policy.h about a
 * case.
 *
 * Each function checks its arguments: a policy reaches no must(). What makes no sense does nothing,
 * and the decision becomes a refusal (admission.c). */
#include "base/policy_value.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/member.h"
#include "include/weir/policy_partition.h"

static struct token_bucket *case_bucket(const struct weir_case *c, enum weir_bucket b)
{
    switch (b) {
    case WEIR_BUCKET_CAP:
        return &c->meter->cap;
    case WEIR_BUCKET_ALLOCATION:
        return &c->meter->allocation;
    case WEIR_BUCKET_BURST:
        return &c->meter->burst;
    case WEIR_BUCKET_NODE:
        return &c->node->buckets[c->kind];
    case WEIR_BUCKET_RESERVED:
        return c->reserved;
    case WEIR_BUCKETS:
        break;
    }
    return NULL;
}

static bool case_report_invalid(const struct weir_case *c, const char *what)
{
    struct weir_case *own = (struct weir_case *)(uintptr_t)c;
    if (own->invalid == NULL)
        own->invalid = what;
    return false;
}

static bool case_fits(const struct weir_case *c, int64_t cost_mcu)
{
    return __builtin_expect(cost_mcu >= 0, 1) || case_report_invalid(c, "passes a cost below zero");
}

uint32_t weir_case_kind(const struct weir_case *c)
{
    _Static_assert((int)WEIR_POLICY_WRITE == (int)ADMIT_WRITE, "the kinds are the same");
    return c->kind;
}

POLICY_VALUE(int64_t, weir_case_now_ns, struct weir_case *c, c->now.ns)

int64_t weir_case_balance(const struct weir_case *c, enum weir_bucket b)
{
    const struct token_bucket *bucket = case_bucket(c, b);
    return bucket == NULL ? 0 : bucket->balance;
}

int64_t weir_case_capacity(const struct weir_case *c, enum weir_bucket b)
{
    const struct token_bucket *bucket = case_bucket(c, b);
    return bucket == NULL ? 0 : bucket->capacity;
}

int64_t weir_case_rate(const struct weir_case *c, enum weir_bucket b)
{
    const struct token_bucket *bucket = case_bucket(c, b);
    return bucket == NULL ? 0 : bucket->rate;
}

bool weir_case_has(const struct weir_case *c, enum weir_bucket b, int64_t cost_mcu)
{
    const struct token_bucket *bucket = case_bucket(c, b);
    return case_fits(c, cost_mcu) && bucket != NULL && token_bucket_has(bucket, cost_mcu);
}

int64_t weir_case_wait_ns(const struct weir_case *c, enum weir_bucket b, int64_t cost_mcu)
{
    const struct token_bucket *bucket = case_bucket(c, b);
    if (!case_fits(c, cost_mcu) || bucket == NULL)
        return WEIR_POLICY_NEVER;
    return token_bucket_wait(bucket, cost_mcu).ns;
}

void weir_case_debit(struct weir_case *c, enum weir_bucket b, int64_t cost_mcu)
{
    struct token_bucket *bucket = case_bucket(c, b);
    if (!case_fits(c, cost_mcu) || bucket == NULL)
        return;
    const int64_t before = bucket->balance;
    token_bucket_debit(bucket, cost_mcu);
    if (b == WEIR_BUCKET_RESERVED)
        c->reserved_debited_mcu += before - bucket->balance;
}

POLICY_VALUE(void *, weir_case_state, struct weir_case *c, c->meter->state)

/* ---- the node ---- */

POLICY_VALUE(void *, weir_case_share_state, struct weir_case *c, c->meter->share)
POLICY_VALUE(void *, weir_case_node_state, struct weir_case *c, c->node->state[c->kind])
POLICY_VALUE(int64_t, weir_case_depth_ns, struct weir_case *c, c->node->depth_ns)
POLICY_VALUE(int64_t, weir_case_weight, struct weir_case *c, c->weight)

void weir_case_burst_enter(struct weir_case *c)
{
    if (c->node->sharing->enter != NULL)
        c->node->sharing->enter(c);
}

/* A burst within what is reserved for the table takes nothing from other tables: it needs only its
 * cost. */
bool weir_case_burst_has(struct weir_case *c, int64_t cost_mcu, bool reserved)
{
    if (!case_fits(c, cost_mcu))
        return false;
    return reserved ? token_bucket_has(&c->node->buckets[c->kind], cost_mcu)
                    : c->node->sharing->has(c, cost_mcu);
}

int64_t weir_case_burst_wait_ns(struct weir_case *c, int64_t cost_mcu)
{
    if (!case_fits(c, cost_mcu))
        return WEIR_POLICY_NEVER;
    int64_t ns = c->node->sharing->wait_ns(c, cost_mcu);
    if (ns >= 0)
        return ns;
    policies_report_invalid(c->node->policies, c->node->sharing, "returns a time below zero");
    return NS_PER_S;
}

void weir_case_node_debit(struct weir_case *c, int64_t cost_mcu, bool burst, bool reserved)
{
    if (!case_fits(c, cost_mcu))
        return;
    token_bucket_debit(&c->node->buckets[c->kind], cost_mcu);
    if (c->reserved != NULL && (!burst || reserved))
        weir_case_debit(c, WEIR_BUCKET_RESERVED, cost_mcu);
    if (burst && !reserved && c->node->sharing->took != NULL)
        c->node->sharing->took(c, cost_mcu);
}

/* ---- other members ---- */

static int64_t case_taken_mcu(struct weir_case *c)
{
    int64_t mcu = c->node->sharing->taken == NULL ? 0 : c->node->sharing->taken(c);
    if (mcu >= 0)
        return mcu;
    policies_report_invalid(c->node->policies, c->node->sharing,
                            "reports that less than zero was taken");
    return 0;
}

bool weir_case_members_have(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    if (!case_fits(c, cost_mcu))
        return false;
    if (c->group == NULL || c->group->count == 0)
        return true;
    int64_t taken_mcu = verdict->flags & WEIR_VERDICT_RESERVED ? 0 : case_taken_mcu(c);
    bool all = true;
    for (uint32_t i = 0; i < c->group->count; i++) {
        struct duration wait;
        if (member_has(c->group->members, c->group->nodes[i], c->now, cost_mcu, taken_mcu, &wait))
            continue;
        if (all || wait.ns > verdict->wait_ns) {
            verdict->member = c->group->nodes[i];
            verdict->wait_ns = wait.ns;
        }
        all = false; /* the others are tried, too: each hears at once that it is short */
    }
    return all;
}

void weir_case_members_spend(struct weir_case *c, int64_t cost_mcu)
{
    for (uint32_t i = 0; case_fits(c, cost_mcu) && c->group != NULL && i < c->group->count; i++)
        member_spend(c->group->members, c->group->nodes[i], c->now, cost_mcu);
}
