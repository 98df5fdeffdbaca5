/* grant_policy.c - the policies of tables by name, and what they may see and do: the functions of
 * include/weir/policy.h about ledgers.
 *
 * Each function checks its arguments: a policy reaches no must(). */
#include "gac/grant_policy.h"

#include "base/policy_setting.h"
#include "base/policy_value.h"
#include "base/square_root.h"
#include "include/weir/policy_table.h"

/* A ledger for the time of one answer. */
struct weir_ledger {
    struct ledger *ledger;
    const struct ledger_terms *terms;
    struct instant now;
    struct weir_holder *requester;
    bool granted;
    const char *invalid; /* the first; NULL: none */
};

/* ---- by name ---- */

/* By enum gac_policy. */
static const struct policy_setting setting = {POLICY_TABLE,
                                              "gac_policy",
                                              offsetof(struct config, gac_policy),
                                              {[GAC_OFF] = POLICY_OWN(weir_table_off),
                                               [GAC_STATIC] = POLICY_OWN(weir_table_static),
                                               [GAC_PERIODIC] = POLICY_OWN(weir_table_periodic),
                                               [GAC_LEASE] = POLICY_OWN(weir_table_lease)}};

const struct weir_table_policy *table_policy_of(const struct config *config, enum gac_policy policy)
{
    must((unsigned)policy < GAC_POLICIES);
    return policy == GAC_NAMED ? policy_configured(&setting, config) : setting.own[policy].policy;
}

bool table_policy_is_own(enum policy_point point, const char *name)
{
    return policy_settings_own(&setting, 1, point, name);
}

bool table_policy_limits(const struct config *config, enum gac_policy policy)
{
    return (table_policy_of(config, policy)->flags & WEIR_TABLE_LIMITS) != 0;
}

bool table_policy_requests_grants(const struct config *config, enum gac_policy policy)
{
    return (table_policy_of(config, policy)->flags & WEIR_TABLE_REQUESTS_GRANTS) != 0;
}

enum status table_policy_check(const struct config *config, struct buffer *error)
{
    return policy_settings_check(&setting, 1, config, error);
}

const struct weir_table_policy weir_table_off = {.size = sizeof weir_table_off, .name = "off"};
const struct weir_table_policy weir_table_static = {
    .size = sizeof weir_table_static, .name = "static", .flags = WEIR_TABLE_LIMITS};

/* ---- what policies see of a ledger ---- */

POLICY_VALUE(int64_t, weir_ledger_now_ns, struct weir_ledger *l, l->now.ns)
POLICY_VALUE(int64_t, weir_ledger_rate, struct weir_ledger *l, l->ledger->rate)
POLICY_VALUE(int64_t, weir_ledger_bank, struct weir_ledger *l, l->ledger->bank.balance)
POLICY_VALUE(int64_t, weir_ledger_bank_capacity, struct weir_ledger *l, l->ledger->bank.capacity)
POLICY_VALUE(int64_t, weir_ledger_bank_rate, struct weir_ledger *l, l->ledger->bank.rate)

int64_t weir_ledger_grant_threshold(const struct weir_ledger *l, int64_t cost_mcu)
{
    return ledger_grant_threshold(l->ledger, cost_mcu);
}

POLICY_VALUE(int64_t, weir_ledger_lifetime_ns, struct weir_ledger *l, l->terms->lifetime.ns)
POLICY_VALUE(int64_t, weir_ledger_lifetime_max_ns, struct weir_ledger *l, l->terms->lifetime_max.ns)
POLICY_VALUE(int64_t, weir_ledger_grant_ns, struct weir_ledger *l, l->terms->grant.ns)
POLICY_VALUE(int64_t, weir_ledger_requests, struct weir_ledger *l, l->terms->requests)
POLICY_VALUE(uint32_t, weir_ledger_routers, struct weir_ledger *l, l->terms->routers)
POLICY_VALUE(void *, weir_ledger_state, struct weir_ledger *l, l->ledger->state)
POLICY_VALUE(uint32_t, weir_ledger_holders, struct weir_ledger *l, l->ledger->count)

struct weir_holder *weir_ledger_holder(const struct weir_ledger *l, uint32_t index)
{
    return index < l->ledger->count ? &l->ledger->holders[index] : NULL;
}

/* Water filling: rises from one level of demand to the next until the rate is used up. There are as
 * many steps as levels, and routers are few. */
int64_t weir_ledger_fair_share(const struct weir_ledger *l, int64_t rate)
{
    int64_t level = 0, left = rate;
    for (;;) {
        int64_t next = INT64_MAX, above = 0;
        for (uint32_t i = 0; i < l->ledger->count; i++) {
            const struct weir_holder *h = &l->ledger->holders[i];
            if (!holder_claims(h, l->now, l->terms) || h->request.demand <= level)
                continue;
            above++;
            next = MIN(next, h->request.demand);
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

POLICY_VALUE(int64_t, weir_holder_demand, struct weir_holder *h, h->request.demand)
POLICY_VALUE(int64_t, weir_holder_debt, struct weir_holder *h, h->held < 0 ? -h->held : 0)

int64_t weir_holder_need(const struct weir_holder *h)
{
    return h->request.need + weir_holder_debt(h);
}

POLICY_VALUE(int64_t, weir_holder_cost, struct weir_holder *h, h->request.cost)
POLICY_VALUE(int64_t, weir_holder_held, struct weir_holder *h, MAX(h->held, 0))
POLICY_VALUE(uint64_t, weir_holder_epoch, struct weir_holder *h, h->request.epoch)

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

static void ledger_report_invalid(struct weir_ledger *l, const char *what)
{
    if (l->invalid == NULL)
        l->invalid = what;
}

void weir_ledger_grant(struct weir_ledger *l, struct weir_holder *h, int64_t tokens_mcu)
{
    if (h != l->requester)
        ledger_report_invalid(l, "grants tokens to a router that requested none");
    else if (l->granted)
        ledger_report_invalid(l, "grants twice in one answer");
    else if (tokens_mcu < 0)
        ledger_report_invalid(l, "grants less than zero");
    else if (tokens_mcu > GAC_AMOUNT_MAX || !ledger_may_grant(l->ledger, h, tokens_mcu))
        ledger_report_invalid(l, "grants more than the bank has");
    else
        ledger_grant(l->ledger, h, tokens_mcu);
    l->granted = true;
}

void weir_holder_wait(struct weir_holder *h, int64_t wait_ns)
{
    h->answer.wait.ns = wait_ns;
}

void weir_holder_admit_within(struct weir_holder *h, int64_t wait_ns)
{
    h->answer.until.ns = wait_ns;
}

void weir_holder_set_lifetime(struct weir_holder *h, int64_t lifetime_ns)
{
    h->answer.lifetime.ns = lifetime_ns;
}

void weir_holder_notify_demand(struct weir_holder *h, int64_t others_mcu)
{
    h->answer.others = others_mcu;
}

void weir_holder_set_reserve(struct weir_ledger *l, struct weir_holder *h, int64_t rate_mcu)
{
    if (h != l->requester || rate_mcu < 0)
        ledger_report_invalid(l, "reserves for another router, or less than zero");
    else if (l->ledger->rate > 0)
        ledger_set_share(
            l->ledger, l->terms, h,
            (int64_t)((__int128)MIN(rate_mcu, l->ledger->rate) * GAC_WHOLE / l->ledger->rate));
}

/* States of another policy mean nothing to this one. */
static void grant_policy_begin(struct ledger *l, const struct weir_table_policy *policy)
{
    if (l->policy == policy)
        return;
    memset(l->state, 0, sizeof l->state);
    for (uint32_t i = 0; i < l->count; i++)
        memset(l->holders[i].state, 0, sizeof l->holders[i].state);
    l->policy = policy;
}

/* ---- retry times: LEDGER-8 ---- */

static bool retry_is_due(const struct ledger *l, const struct weir_holder *h, struct instant now)
{
    const struct duration more = gac_refill_time(h->request.need - h->retry_cost, l->rate);
    return h->retry_cost > 0 && h->request.need > 0 &&
           !instant_before(now, instant_add(h->retry_at, more));
}

/* One second of the limit, which lets any request in. A request whose retry time was given at a
 * lower rate needs no more than it needed then. */
static int64_t retry_second(const struct ledger *l, const struct weir_holder *h)
{
    return h->retry_cost > 0 && h->retry_rate < l->rate ? h->retry_rate : l->rate;
}

/* Whether bank and router together have enough to let the costliest request in. A bank that owes
 * makes no further debt. */
static bool retry_can_be_granted(const struct ledger *l, const struct weir_holder *h)
{
    const int64_t enough = ledger_grant_threshold(l, weir_holder_need(h)),
                  second = retry_second(l, h);
    const int64_t min = MIN(enough, second);
    return l->bank.balance >= 0 && l->bank.balance + weir_holder_held(h) >= (min > 0 ? min : 1);
}

bool weir_holder_is_due(const struct weir_ledger *l, const struct weir_holder *h)
{
    return retry_is_due(l->ledger, h, l->now);
}

static void retry_grant(struct ledger *l, struct instant now, struct weir_holder *h)
{
    const int64_t missing = weir_holder_need(h) - weir_holder_held(h);
    if (missing <= 0 || !retry_is_due(l, h, now) || !retry_can_be_granted(l, h))
        return;
    if (missing <= GAC_AMOUNT_MAX && ledger_may_grant(l, h, missing))
        ledger_grant(l, h, missing);
}

/* When retry_can_be_granted, if nobody else asks. The bank's capacity is left out: it may grow
 * until then. */
static struct duration retry_wait_of_bank(const struct ledger *l, const struct weir_holder *h)
{
    const int64_t need = weir_holder_need(h), second = retry_second(l, h);
    const int64_t enough = MIN(need, second);
    const int64_t missing = (enough > 0 ? enough : 1) - weir_holder_held(h);
    struct token_bucket bank = l->bank;
    token_bucket_set_rate(&bank, INT64_MAX / 4, bank.rate, bank.debt_max);
    return token_bucket_wait(&bank, MAX(missing, 0));
}

/* When the costliest request is let in: none before the next grant request, unless it can be let in
 * now. An earlier retry time is not put off, unless what was there for it has been spent. */
static int64_t retry_wait_ns(const struct ledger *l, struct instant now,
                             const struct weir_holder *h)
{
    const int64_t bank_ns = retry_wait_of_bank(l, h).ns, wait_ns = h->answer.wait.ns;
    const int64_t left_ns = instant_since(h->retry_at, now).ns;
    int64_t ns = MAX(h->answer.until.ns, bank_ns);
    if ((ns > 0 || h->request.reports) && ns < wait_ns)
        ns = wait_ns;
    const bool holds = h->request.need <= h->retry_cost && left_ns > 0 && left_ns >= bank_ns;
    must_in_tests(bank_ns >= 0 && wait_ns >= 0);
    return holds && left_ns < ns ? left_ns : ns;
}

/* A request that can be let in now gets its tokens now. Granted tokens stay due until some are
 * spent (ledger_take): a router that gives them back gets them again. */
static void grant_policy_set_retry_time(struct ledger *l, struct instant now, struct weir_holder *h)
{
    retry_grant(l, now, h);
    const bool missing = weir_holder_held(h) < weir_holder_need(h);
    if (missing)
        h->answer.until.ns = retry_wait_ns(l, now, h);
    else if (h->request.need == 0)
        return;
    h->retry_rate = retry_second(l, h);
    h->retry_at = missing ? instant_add(now, h->answer.until) : now;
    h->retry_cost = h->request.need;
    if (missing)
        retry_grant(l, now, h);
}

/* ---- an answer ---- */

static void grant_policy_check(struct weir_ledger *view, const struct gac_answer *answer)
{
    if (answer->wait.ns < 0 || answer->lifetime.ns < 0 || answer->until.ns < GAC_UNKNOWN)
        ledger_report_invalid(view, "answers with a time below zero");
    if (answer->others < GAC_UNKNOWN || answer->others > GAC_AMOUNT_MAX)
        ledger_report_invalid(view, "reports an impossible demand");
}

/* The policy's part. What makes no sense is undone. */
static void grant_by_policy(struct weir_ledger *view, struct policies *policies,
                            const struct weir_table_policy *policy, struct weir_holder *h)
{
    const struct ledger_terms *terms = view->terms;
    const struct token_bucket bank = view->ledger->bank;
    const struct gac_answer answer = h->answer;
    const int64_t held = h->held;
    const bool loaded = policy->flags & POLICY_LOADED;
    const int64_t begun_ns = loaded ? policies_begin(policies, policy) : -1;
    policy->grant(view, h);
    if (loaded)
        policies_end(policies, policy, begun_ns);
    grant_policy_check(view, &h->answer);
    if (h->answer.lifetime.ns > terms->lifetime_max.ns &&
        h->answer.lifetime.ns > terms->lifetime.ns)
        h->answer.lifetime = terms->lifetime_max;
    if (view->invalid == NULL)
        return;
    policies_report_invalid(policies, policy, view->invalid);
    view->ledger->bank = bank;
    h->answer = answer;
    h->answer.wait = h->answer.until = terms->lifetime;
    h->held = held;
}

void ledger_grant_by_policy(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                            struct policies *policies, const struct weir_table_policy *policy,
                            struct weir_holder *h)
{
    if (!(policy->flags & WEIR_TABLE_REQUESTS_GRANTS))
        policy = &weir_table_lease;
    grant_policy_begin(l, policy);
    struct weir_ledger view = {.ledger = l, .terms = terms, .now = now, .requester = h};
    if (!h->request.reports || policy->flags & WEIR_TABLE_TAKES_REPORTS)
        grant_by_policy(&view, policies, policy, h);
    if (policy->share == NULL)
        grant_policy_set_retry_time(l, now, h);
    h->answer.until.ns = MAX(h->answer.until.ns, 0);
    must_in_tests(h->answer.wait.ns >= 0 && h->answer.lifetime.ns >= 0);
    must_in_tests(h->answer.others >= GAC_UNKNOWN && h->answer.others <= GAC_AMOUNT_MAX);
}
