/* vend_lease.c - the policy lease: grants with the square root of demand. */
#include "base/square_root.h"
#include "gac/vend.h"

enum {
    ONE_UNIT = 1000, /* mcu */
    BANK_PARTS = 2,  /* all holders get at most this part of the bank */
    MILLION = 1000000
};

static const int64_t cost_max = INT64_C(1) << 32; /* mcu; more than a request can cost */

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t in_span(int64_t rate, struct duration span)
{
    __int128 tokens = (__int128)rate * span.ns / NS_PER_S;
    return tokens < INT64_MAX / 16 ? (int64_t)tokens : INT64_MAX / 16;
}

/* A holder gets the root of its demand times this scale, in millionths. Scaling every grant by the
 * same factor does not change (requests per second) x (idle tokens), so the scale is chosen to make
 * asks rare. Upper bound: a part of the bank. Lower bound: what comes in for an even part of the
 * rate within `grant`. */
static int64_t scale_of(const struct ledger *l, struct instant now,
                        const struct ledger_terms *terms, int64_t cost)
{
    __int128 roots = 0, demands = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        bool live = holder_is_live(&l->holders[i], now);
        roots += live ? l->holders[i].root : 0;
        demands += live ? l->holders[i].ask.demand : 0;
    }
    if (demands == 0)
        return 0;
    __int128 rare = roots * least_of(cost, cost_max) * terms->requests * MILLION / demands;
    __int128 part = (__int128)l->bank.balance * MILLION / roots / BANK_PARTS;
    int64_t even = (int64_t)square_root((unsigned __int128)(l->rate / terms->routers));
    __int128 least = (__int128)in_span(even * MILLION, terms->grant);
    __int128 scale = rare < part ? rare : part;
    scale = scale > least ? scale : least;
    return scale < INT64_MAX / 16 ? (int64_t)scale : INT64_MAX / 16;
}

/* What this holder would get if the bank had enough for all. */
static int64_t vend_lease_wanted(const struct ledger_terms *terms, const struct holder *h,
                                 int64_t scale)
{
    if (h->ask.demand == 0)
        return 0;
    int64_t spent_ns = most_of((terms->longest.ns - terms->lifetime.ns) / 2, terms->lifetime.ns);
    int64_t most = in_span(h->ask.demand, (struct duration){spent_ns});
    __int128 tokens = (__int128)scale * h->root / MILLION;
    most = tokens < most ? (int64_t)tokens : most;
    return most_of(most_of(most, ONE_UNIT), h->ask.need);
}

static int64_t wanted_by_all(const struct ledger *l, struct instant now,
                             const struct ledger_terms *terms, int64_t scale)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (holder_claims(&l->holders[i], now, terms))
            sum = least_of(sum + vend_lease_wanted(terms, &l->holders[i], scale), INT64_MAX / 4);
    }
    return sum;
}

/* This holder's part of the rate. If not all demand can be met: the max-min level, or its demand if
 * that is less. Otherwise: its demand, and an even part of the rest. */
static int64_t vend_lease_share_of(const struct ledger *l, struct instant now,
                                   const struct ledger_terms *terms, const struct holder *h)
{
    int64_t level = vend_level(l, now, terms, l->bank.rate);
    if (level != INT64_MAX)
        return level;
    int64_t left = l->bank.rate, live = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!holder_claims(&l->holders[i], now, terms) || l->holders[i].ask.demand == 0)
            continue;
        left -= l->holders[i].ask.demand;
        live++;
    }
    return h->ask.demand + (live > 0 ? left / live : 0);
}

static struct duration time_for(int64_t tokens, int64_t rate, struct duration most)
{
    if (tokens <= 0 || rate <= 0)
        return tokens <= 0 ? (struct duration){0} : most;
    __int128 ns = ((__int128)tokens * NS_PER_S + rate - 1) / rate;
    return ns < most.ns ? (struct duration){(int64_t)ns} : most;
}

/* Adds the holder's part of the refill since the last time, up to its demand. */
static void add_credit(struct instant now, struct holder *h, int64_t share, int64_t most)
{
    int64_t came = in_span(share, instant_since(now, h->credited_at));
    h->credit = least_of(h->credit + came, most);
    h->credited_at = now;
}

/* The least grant worth a message if more can come. If the dearest request needs more, that need is
 * enough. */
static int64_t worth_granting(const struct ledger *l, const struct holder *h, int64_t want)
{
    int64_t enough = ledger_enough(l, h->ask.need);
    if (enough < h->ask.need)
        return most_of(enough - h->held, 0);
    int64_t least = least_of(least_of(want, most_of(ONE_UNIT, want / 2)), l->bank.capacity);
    return most_of(least, enough - h->held);
}

/* The grant from `tokens` available: the whole need of the dearest request once `tokens` admit
 * it. */
static int64_t with_debt(const struct ledger *l, const struct holder *h, int64_t tokens,
                         int64_t least)
{
    int64_t need = h->ask.need - h->held;
    bool lets_in = tokens >= least && l->bank.balance > 0 && l->bank.capacity > 0;
    return lets_in && need > tokens ? least_of(need, GAC_AMOUNT_MAX) : tokens;
}

/* The time until the holder can be granted `tokens`. */
static struct duration time_until(const struct ledger *l, const struct ledger_terms *terms,
                                  const struct holder *h, int64_t tokens, int64_t ahead,
                                  int64_t share)
{
    struct duration credit = time_for(tokens - ahead - h->credit, share, terms->lifetime);
    struct duration bank = time_for(tokens - l->bank.balance, l->bank.rate, terms->lifetime);
    return credit.ns > bank.ns ? credit : bank;
}

/* Twice the time to spend the tokens, and a while more. */
static struct duration lifetime_of(const struct ledger_terms *terms, const struct holder *h)
{
    struct duration span = time_for(h->held, h->ask.demand, terms->longest);
    int64_t ns = 2 * span.ns + terms->lifetime.ns;
    return ns < terms->longest.ns ? (struct duration){ns} : terms->longest;
}

void vend_lease(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                struct holder *h)
{
    h->root = (int64_t)square_root((unsigned __int128)h->ask.demand);
    if (h->ask.demand == 0)
        return;
    int64_t scale = scale_of(l, now, terms, h->ask.cost > 0 ? h->ask.cost : ONE_UNIT);
    int64_t want = vend_lease_wanted(terms, h, scale) - h->held,
            share = vend_lease_share_of(l, now, terms, h);
    add_credit(now, h, share, most_of(want, 0));
    int64_t all = wanted_by_all(l, now, terms, scale), bank = most_of(l->bank.balance, 0);
    bool enough = bank >= all;
    if (enough)
        h->credit = most_of(h->credit, 0);
    int64_t ahead = enough ? want : (int64_t)((__int128)(want + h->held) * bank / all);
    int64_t tokens = least_of(least_of(want, h->credit + ahead), bank);
    int64_t least = worth_granting(l, h, want);
    tokens = with_debt(l, h, tokens, least);
    if (want > 0 && tokens > 0 && tokens >= least) {
        ledger_grant(l, h, tokens);
        h->credit -= tokens;
    }
    if (want > 0 && !enough)
        h->answer.wait = time_until(l, terms, h, least, ahead, share);
    h->answer.lifetime = lifetime_of(terms, h);
}
