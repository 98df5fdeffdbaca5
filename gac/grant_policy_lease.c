/* grant_policy_lease.c - the policy lease: grants with the square root of demand. */
#include "include/weir/policy_table.h"

#define NS_PER_S INT64_C(1000000000)
/* The most that is granted at once. */
#define AMOUNT_MAX (INT64_C(1) << 55)

extern const struct weir_table_policy weir_table_lease;

enum {
    ONE_UNIT = 1000, /* mcu */
    ROUNDED = 2,     /* mcu by which sums may be short, because each is rounded down */
    BANK_PARTS = 2,  /* all holders get at most this part of the bank */
    MILLION = 1000000
};

static const int64_t cost_max = INT64_C(1) << 32; /* mcu; more than a request can cost */

struct lease_holder {
    int64_t credit; /* its part of the recent refill, not yet granted */
    int64_t root;   /* square root of its demand */
    int64_t credited_ns;
    uint64_t epoch;
    bool known;
};

_Static_assert(sizeof(struct lease_holder) <= WEIR_POLICY_STATE_MAX, "states are bounded");

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t in_span(int64_t rate, int64_t ns)
{
    __int128 tokens = (__int128)rate * ns / NS_PER_S;
    return tokens < INT64_MAX / 16 ? (int64_t)tokens : INT64_MAX / 16;
}

/* A holder gets the root of its demand times this scale, in millionths. Scaling every grant by the
 * same factor does not change (requests per second) x (idle tokens), so the scale is chosen to make
 * asks rare. Upper bound: a part of the bank. Lower bound: what comes in for an even part of the
 * rate within `grant`. */
static int64_t scale_of(const struct weir_ledger *l, int64_t cost)
{
    __int128 roots = 0, demands = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *h = weir_ledger_holder(l, i);
        const struct lease_holder *s = weir_holder_state(h);
        bool live = weir_holder_is_live(l, h);
        roots += live ? s->root : 0;
        demands += live ? weir_holder_demand(h) : 0;
    }
    if (demands == 0 || roots == 0)
        return 0;
    __int128 rare = roots * min_of(cost, cost_max) * weir_ledger_requests(l) * MILLION / demands;
    __int128 part = (__int128)weir_ledger_bank(l) * MILLION / roots / BANK_PARTS;
    int64_t even = weir_policy_root(weir_ledger_rate(l) / weir_ledger_routers(l));
    __int128 min = (__int128)in_span(even * MILLION, weir_ledger_grant_ns(l));
    __int128 scale = rare < part ? rare : part;
    scale = scale > min ? scale : min;
    return scale < INT64_MAX / 16 ? (int64_t)scale : INT64_MAX / 16;
}

/* What this holder would get if the bank had enough for all. */
static int64_t tokens_for(const struct weir_ledger *l, const struct weir_holder *h, int64_t scale)
{
    const struct lease_holder *s = weir_holder_state(h);
    const int64_t ns_min = weir_ledger_lifetime_ns(l);
    if (weir_holder_demand(h) == 0)
        return 0;
    int64_t spent_ns = max_of((weir_ledger_lifetime_max_ns(l) - ns_min) / 2, ns_min);
    int64_t max = in_span(weir_holder_demand(h), spent_ns);
    __int128 tokens = (__int128)scale * s->root / MILLION;
    max = tokens < max ? (int64_t)tokens : max;
    return max_of(max_of(max, ONE_UNIT), weir_holder_need(h));
}

static int64_t tokens_for_all(const struct weir_ledger *l, int64_t scale)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *h = weir_ledger_holder(l, i);
        if (weir_holder_claims(l, h))
            sum = min_of(sum + tokens_for(l, h, scale), INT64_MAX / 4);
    }
    return sum;
}

/* This holder's part of the rate. If not all demand can be met: the max-min level. Otherwise: its
 * demand, and an even part of the rest. */
static int64_t share_of(const struct weir_ledger *l, const struct weir_holder *h, int64_t rate,
                        int64_t level)
{
    if (level != INT64_MAX)
        return level;
    int64_t left = rate, live = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *other = weir_ledger_holder(l, i);
        if (!weir_holder_claims(l, other) || weir_holder_demand(other) == 0)
            continue;
        left -= weir_holder_demand(other);
        live++;
    }
    return weir_holder_demand(h) + (live > 0 ? left / live : 0);
}

static int64_t time_for(int64_t tokens, int64_t rate, int64_t ns_max)
{
    if (tokens <= 0 || rate <= 0)
        return tokens <= 0 ? 0 : ns_max;
    __int128 ns = ((__int128)tokens * NS_PER_S + rate - 1) / rate;
    return ns < ns_max ? (int64_t)ns : ns_max;
}

/* Adds the holder's part of the refill since the last time, up to its demand. */
static void add_credit(int64_t now_ns, struct lease_holder *s, int64_t share, int64_t max)
{
    int64_t came = in_span(share, now_ns - s->credited_ns);
    s->credit = min_of(s->credit + came, max);
    s->credited_ns = now_ns;
}

/* The least grant worth a message if more can come. If the costliest request needs more, that need
 * is enough. */
static int64_t worth_granting(const struct weir_ledger *l, const struct weir_holder *h,
                              int64_t missing)
{
    int64_t need = weir_holder_need(h), held = weir_holder_held(h);
    int64_t enough = weir_ledger_grant_threshold(l, need);
    if (enough < need)
        return max_of(enough - held, 0);
    int64_t min =
        min_of(min_of(missing, max_of(ONE_UNIT, missing / 2)), weir_ledger_bank_capacity(l));
    return max_of(min, enough - held);
}

/* The grant from `tokens` available: the whole need of the costliest request once `tokens` admit
 * it. */
static int64_t with_debt(const struct weir_ledger *l, const struct weir_holder *h, int64_t tokens,
                         int64_t min)
{
    int64_t need = weir_holder_need(h) - weir_holder_held(h);
    bool lets_in = tokens >= min && weir_ledger_bank(l) > 0 && weir_ledger_bank_capacity(l) > 0;
    return lets_in && need > tokens ? min_of(need, AMOUNT_MAX) : tokens;
}

/* The time until it is worth to ask for `tokens` again. */
static int64_t time_until(const struct weir_ledger *l, const struct lease_holder *s, int64_t tokens,
                          int64_t ahead, int64_t share)
{
    const int64_t ns_max = weir_ledger_lifetime_ns(l);
    int64_t credit_ns = time_for(tokens - ahead - s->credit, share, ns_max);
    int64_t bank_ns = time_for(tokens - weir_ledger_bank(l), weir_ledger_bank_rate(l), ns_max);
    return max_of(credit_ns, bank_ns);
}

/* Twice the time to spend the tokens, and a while more. */
static int64_t lifetime_of(const struct weir_ledger *l, const struct weir_holder *h)
{
    const int64_t longest_ns = weir_ledger_lifetime_max_ns(l);
    int64_t span_ns = time_for(weir_holder_held(h), weir_holder_demand(h), longest_ns);
    return min_of(2 * span_ns + weir_ledger_lifetime_ns(l), longest_ns);
}

/* The credit of an earlier epoch is lost. */
static struct lease_holder *lease_holder_of(const struct weir_ledger *l, struct weir_holder *h)
{
    struct lease_holder *s = weir_holder_state(h);
    if (!s->known)
        s->credited_ns = weir_ledger_now_ns(l);
    if (s->epoch != weir_holder_epoch(h))
        s->credit = 0;
    s->known = true;
    s->epoch = weir_holder_epoch(h);
    return s;
}

/* When the costliest request is let in: as lease_grant will, when bank and credit have grown for so
 * long. A holder without rivals gets it when the bank has it: 0. `target`: what the holder is to
 * hold; `all`: what all are to hold. */
static int64_t lease_until(const struct weir_ledger *l, const struct weir_holder *h,
                           const struct lease_holder *s, int64_t target, int64_t share, int64_t all)
{
    const int64_t bank = weir_ledger_bank(l), rate = weir_ledger_bank_rate(l);
    const int64_t need = weir_holder_need(h), enough = weir_ledger_grant_threshold(l, need);
    if (all <= target)
        return 0;
    const __int128 ahead = all > 0 ? (__int128)bank * target / all : 0;
    const __int128 ahead_rate = all > 0 ? (__int128)rate * target / all : 0;
    const int64_t debt_ns = time_for(-bank, rate, INT64_MAX);
    const int64_t both_ns = time_for(enough - s->credit - (int64_t)ahead + ROUNDED,
                                     share + (int64_t)ahead_rate, INT64_MAX);
    const int64_t alone_ns = time_for(enough - s->credit, share, INT64_MAX);
    return min_of(alone_ns, max_of(both_ns, debt_ns));
}

/* Without a server the holder may go on with its part of the whole rate: by its demand, and an even
 * part of the rest. `level`: of the rate that refills here. */
static int64_t reserve_of(const struct weir_ledger *l, const struct weir_holder *h, int64_t level)
{
    const int64_t rate = weir_ledger_rate(l);
    if (rate != weir_ledger_bank_rate(l))
        level = weir_ledger_fair_share(l, rate);
    return level == INT64_MAX ? share_of(l, h, rate, level) : min_of(level, weir_holder_demand(h));
}

static void lease_grant(struct weir_ledger *l, struct weir_holder *h)
{
    struct lease_holder *s = lease_holder_of(l, h);
    if (weir_holder_demand(h) == 0) {
        s->root = 0;
        weir_holder_set_reserve(l, h, 0);
        return;
    }
    const int64_t rate = weir_ledger_bank_rate(l), level = weir_ledger_fair_share(l, rate);
    const int64_t share = share_of(l, h, rate, level);
    s->root = weir_policy_root(min_of(weir_holder_demand(h), share));
    int64_t scale = scale_of(l, weir_holder_cost(h) > 0 ? weir_holder_cost(h) : ONE_UNIT);
    int64_t held = weir_holder_held(h), missing = tokens_for(l, h, scale) - held;
    add_credit(weir_ledger_now_ns(l), s, share, max_of(missing, 0));
    int64_t all = tokens_for_all(l, scale), bank = max_of(weir_ledger_bank(l), 0);
    bool enough = bank >= all;
    if (enough)
        s->credit = max_of(s->credit, 0);
    int64_t ahead = enough ? missing : (int64_t)((__int128)(missing + held) * bank / all);
    int64_t tokens = min_of(min_of(missing, s->credit + ahead), bank);
    int64_t min = worth_granting(l, h, missing);
    if (weir_holder_is_due(l, h)) {
        min = max_of(weir_ledger_grant_threshold(l, weir_holder_need(h)) - held, 0);
        tokens = max_of(tokens, min_of(weir_holder_need(h) - held, bank));
    }
    tokens = with_debt(l, h, tokens, min);
    if (missing > 0 && tokens > 0 && tokens >= min) {
        weir_ledger_grant(l, h, tokens);
        s->credit -= tokens;
    }
    const int64_t until_ns = lease_until(l, h, s, missing + held, share, all);
    weir_holder_admit_within(h, until_ns);
    /* Not for what is hardly worth a message, but for the costliest request. */
    const int64_t soon_ns = max_of(until_ns, weir_ledger_grant_ns(l));
    if (missing > 0 && !enough)
        weir_holder_wait(h, min_of(time_until(l, s, min, ahead, share), soon_ns));
    weir_holder_set_lifetime(h, lifetime_of(l, h));
    weir_holder_set_reserve(l, h, reserve_of(l, h, level));
}

const struct weir_table_policy weir_table_lease = {
    .size = sizeof weir_table_lease,
    .holder_bytes = sizeof(struct lease_holder),
    .name = "lease",
    .flags = WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST |
             WEIR_TABLE_TAKES_REPORTS,
    .grant = lease_grant};
