/* vend.c - the policies of tables by name, and what they may see and do: the functions of
 * include/weir/policy.h about ledgers.
 *
 * Each function checks its arguments: a policy reaches no must(). */
#include "gac/vend.h"

#include <string.h>

#include "base/config.h"
#include "base/gac_policy.h"
#include "base/policies.h"
#include "base/square_root.h"
#include "include/weir/policy_table.h"

/* A ledger for the time of one answer. */
struct weir_ledger {
    struct ledger *ledger;
    const struct ledger_terms *terms;
    struct instant now;
    struct weir_holder *asking;
    bool granted;
    const char *nonsense; /* the first; NULL: none */
};

/* ---- by name ---- */

static const struct weir_table_policy *const table_policies[] = {
    [GAC_OFF] = &weir_table_off,
    [GAC_STATIC] = &weir_table_static,
    [GAC_PERIODIC] = &weir_table_periodic,
    [GAC_LEASE] = &weir_table_lease,
};

/* Only by name: for gac = named. */
static const struct weir_table_policy *const baselines[] = {
    &weir_table_one_bucket, &weir_table_doorman, &weir_table_tenant_bucket,
    &weir_table_pd_group,   &weir_table_gossip,
};

const struct weir_table_policy *table_policy_find(struct slice name)
{
    for (int i = 0; i < GAC_NAMED; i++) {
        if (slice_is(name, table_policies[i]->name))
            return table_policies[i];
    }
    for (size_t i = 0; i < sizeof baselines / sizeof baselines[0]; i++) {
        if (slice_is(name, baselines[i]->name))
            return baselines[i];
    }
    return NULL;
}

static const struct weir_table_policy *table_policy_named(const struct config *config)
{
    const struct slice name = slice_of(config->gac_policy);
    const struct weir_table_policy *own = table_policy_find(name);
    struct policy_entry *e = policies_find(config->policies, POLICY_TABLE, name);
    return own != NULL ? own : policies_policy(e);
}

const struct weir_table_policy *table_policy_of(const struct config *config, enum gac_policy policy)
{
    must((unsigned)policy < GAC_POLICIES);
    if (policy != GAC_NAMED)
        return table_policies[policy];
    const struct weir_table_policy *named = table_policy_named(config);
    must(named != NULL);
    return named;
}

bool table_policy_limits(const struct config *config, enum gac_policy policy)
{
    return (table_policy_of(config, policy)->flags & WEIR_TABLE_LIMITS) != 0;
}

bool table_policy_asks(const struct config *config, enum gac_policy policy)
{
    return (table_policy_of(config, policy)->flags & WEIR_TABLE_ASKS) != 0;
}

enum status table_policy_check(const struct config *config, struct buffer *error)
{
    if (table_policy_named(config) != NULL)
        return STATUS_OK;
    buffer_append_format(error,
                         "gac_policy '%s' is not known: it must be one of off, static, periodic, "
                         "lease, one-bucket, doorman, tenant-bucket, pd-group, gossip",
                         config->gac_policy);
    policies_append_names(config->policies, POLICY_TABLE, error);
    buffer_append_text(error, ". --policy FILE.so loads more");
    return STATUS_MALFORMED;
}

const struct weir_table_policy weir_table_off = {.size = sizeof weir_table_off, .name = "off"};
const struct weir_table_policy weir_table_static = {
    .size = sizeof weir_table_static, .name = "static", .flags = WEIR_TABLE_LIMITS};

/* ---- what policies see of a ledger ---- */

int64_t weir_ledger_now_ns(const struct weir_ledger *l)
{
    return l->now.ns;
}

int64_t weir_ledger_rate(const struct weir_ledger *l)
{
    return l->ledger->rate;
}

int64_t weir_ledger_bank(const struct weir_ledger *l)
{
    return l->ledger->bank.balance;
}

int64_t weir_ledger_bank_capacity(const struct weir_ledger *l)
{
    return l->ledger->bank.capacity;
}

int64_t weir_ledger_bank_rate(const struct weir_ledger *l)
{
    return l->ledger->bank.rate;
}

int64_t weir_ledger_enough(const struct weir_ledger *l, int64_t cost_mcu)
{
    return ledger_enough(l->ledger, cost_mcu);
}

int64_t weir_ledger_lifetime_ns(const struct weir_ledger *l)
{
    return l->terms->lifetime.ns;
}

int64_t weir_ledger_longest_ns(const struct weir_ledger *l)
{
    return l->terms->longest.ns;
}

int64_t weir_ledger_grant_ns(const struct weir_ledger *l)
{
    return l->terms->grant.ns;
}

int64_t weir_ledger_requests(const struct weir_ledger *l)
{
    return l->terms->requests;
}

uint32_t weir_ledger_routers(const struct weir_ledger *l)
{
    return l->terms->routers;
}

void *weir_ledger_state(const struct weir_ledger *l)
{
    return l->ledger->state;
}

uint32_t weir_ledger_holders(const struct weir_ledger *l)
{
    return l->ledger->count;
}

struct weir_holder *weir_ledger_holder(const struct weir_ledger *l, uint32_t index)
{
    return index < l->ledger->count ? &l->ledger->holders[index] : NULL;
}

/* Rises from one level of demand to the next until the rate is used up. There are as many steps as
 * levels, and routers are few. */
int64_t weir_ledger_level(const struct weir_ledger *l, int64_t rate)
{
    int64_t level = 0, left = rate;
    for (;;) {
        int64_t next = INT64_MAX, above = 0;
        for (uint32_t i = 0; i < l->ledger->count; i++) {
            const struct weir_holder *h = &l->ledger->holders[i];
            if (!holder_claims(h, l->now, l->terms) || h->ask.demand <= level)
                continue;
            above++;
            if (h->ask.demand < next)
                next = h->ask.demand;
        }
        if (above == 0)
            return INT64_MAX;
        if (next - level > left / above)
            return level + left / above;
        left -= (next - level) * above;
        level = next;
    }
}

/* ---- and of a holder ---- */

int64_t weir_holder_demand(const struct weir_holder *h)
{
    return h->ask.demand;
}

int64_t weir_holder_owed(const struct weir_holder *h)
{
    return h->held < 0 ? -h->held : 0;
}

int64_t weir_holder_need(const struct weir_holder *h)
{
    return h->ask.need + weir_holder_owed(h);
}

int64_t weir_holder_cost(const struct weir_holder *h)
{
    return h->ask.cost;
}

int64_t weir_holder_held(const struct weir_holder *h)
{
    return h->held > 0 ? h->held : 0;
}

uint64_t weir_holder_epoch(const struct weir_holder *h)
{
    return h->ask.epoch;
}

bool weir_holder_claims(const struct weir_ledger *l, const struct weir_holder *h)
{
    return holder_claims(h, l->now, l->terms);
}

bool weir_holder_is_live(const struct weir_ledger *l, const struct weir_holder *h)
{
    return holder_is_live(h, l->now);
}

void *weir_holder_state(const struct weir_holder *h)
{
    return ((struct weir_holder *)(uintptr_t)h)->state;
}

int64_t weir_policy_root(int64_t value)
{
    return value <= 0 ? 0 : (int64_t)square_root((unsigned __int128)value);
}

/* ---- what they may do ---- */

static void ledger_complain(struct weir_ledger *l, const char *what)
{
    if (l->nonsense == NULL)
        l->nonsense = what;
}

void weir_ledger_grant(struct weir_ledger *l, struct weir_holder *h, int64_t tokens_mcu)
{
    if (h != l->asking)
        ledger_complain(l, "grants tokens to a router that did not ask");
    else if (l->granted)
        ledger_complain(l, "grants twice in one answer");
    else if (tokens_mcu < 0)
        ledger_complain(l, "grants less than nothing");
    else if (tokens_mcu > GAC_AMOUNT_MAX || !ledger_may_grant(l->ledger, h, tokens_mcu))
        ledger_complain(l, "grants more than the bank has");
    else
        ledger_grant(l->ledger, h, tokens_mcu);
    l->granted = true;
}

void weir_holder_wait(struct weir_holder *h, int64_t wait_ns)
{
    h->answer.wait.ns = wait_ns;
}

void weir_holder_live(struct weir_holder *h, int64_t lifetime_ns)
{
    h->answer.lifetime.ns = lifetime_ns;
}

void weir_holder_tell(struct weir_holder *h, int64_t others_mcu)
{
    h->answer.others = others_mcu;
}

/* States of another policy mean nothing to this one. */
static void vend_begin(struct ledger *l, const struct weir_table_policy *policy)
{
    if (l->policy == policy)
        return;
    memset(l->state, 0, sizeof l->state);
    for (uint32_t i = 0; i < l->count; i++)
        memset(l->holders[i].state, 0, sizeof l->holders[i].state);
    l->policy = policy;
}

void ledger_vend(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                 struct policies *policies, const struct weir_table_policy *policy,
                 struct weir_holder *h)
{
    const struct token_bucket bank = l->bank;
    const struct gac_answer answer = h->answer;
    const int64_t held = h->held;
    if (!(policy->flags & WEIR_TABLE_ASKS))
        policy = &weir_table_lease;
    vend_begin(l, policy);
    struct weir_ledger view = {.ledger = l, .terms = terms, .now = now, .asking = h};
    bool loaded = policy->flags & POLICY_LOADED;
    int64_t begun_ns = loaded ? policies_begin(policies, policy) : -1;
    policy->vend(&view, h);
    if (loaded)
        policies_end(policies, policy, begun_ns);
    if (h->answer.wait.ns < 0 || h->answer.lifetime.ns < 0)
        ledger_complain(&view, "answers with a time below zero");
    if (h->answer.others < GAC_NOT_TOLD || h->answer.others > GAC_AMOUNT_MAX)
        ledger_complain(&view, "tells a demand that cannot be");
    if (h->answer.lifetime.ns > terms->longest.ns && h->answer.lifetime.ns > terms->lifetime.ns)
        h->answer.lifetime = terms->longest;
    if (view.nonsense == NULL)
        return;
    policies_nonsense(policies, policy, view.nonsense);
    l->bank = bank;
    h->answer = answer;
    h->answer.wait = terms->lifetime;
    h->held = held;
}
