/* table_published.c - a baseline: global admission control as published.
 *
 * gac-paper  A router that has run out of tokens, because it spent them or because they expired,
 *            asks for more. It gets its share of all tokens of the next period: what it wants and
 *            its part of what nobody wants, in proportion to the demands.
 *            Source: Elhemali et al., "Amazon DynamoDB: A Scalable, Predictably Performant, and
 *            Fully Managed NoSQL Database Service", USENIX ATC 2022, section 4.3.
 *            Simplified: a router asks at most ten times in gac_grant_ms. The paper has no bound;
 *            a shorter one costs messages, a longer one throttles. */
#include "include/weir/policy_table.h"

#define NS_PER_S INT64_C(1000000000)

extern const struct weir_table_policy weir_table_published;

enum {
    REQUESTS_IN_GRANT = 10 /* in gac_grant_ms */
};

/* The demand of all routers that have asked within the period. */
static __int128 published_demand(const struct weir_ledger *l)
{
    __int128 sum = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *h = weir_ledger_holder(l, i);
        sum += weir_holder_claims(l, h) ? weir_holder_demand(h) : 0;
    }
    return sum;
}

/* Mcu a second. */
static int64_t published_share(const struct weir_ledger *l, const struct weir_holder *h)
{
    const int64_t demand = weir_holder_demand(h), rate = weir_ledger_rate(l);
    const __int128 all = published_demand(l);
    if (all > rate) {
        const int64_t level = weir_ledger_fair_share(l, rate);
        return demand < level ? demand : level;
    }
    return all > demand ? (int64_t)((__int128)rate * demand / all) : rate;
}

static void published_grant(struct weir_ledger *l, struct weir_holder *h)
{
    const int64_t period_ns = weir_ledger_lifetime_ns(l), bank = weir_ledger_bank(l);
    weir_holder_wait(h, weir_ledger_grant_ns(l) / REQUESTS_IN_GRANT);
    if (weir_holder_demand(h) == 0)
        return;
    const int64_t held = weir_holder_held(h), need = weir_holder_need(h);
    int64_t tokens = (int64_t)((__int128)published_share(l, h) * period_ns / NS_PER_S) +
                     weir_holder_debt(h) - held;
    if (tokens > bank)
        tokens = bank;
    /* The costliest request is let in once the bank has enough for it. */
    if (bank > 0 && bank >= weir_ledger_grant_threshold(l, need) - held && tokens < need - held)
        tokens = need - held;
    if (tokens > 0)
        weir_ledger_grant(l, h, tokens);
}

const struct weir_table_policy weir_table_published = {
    .size = sizeof weir_table_published,
    .name = "gac-paper",
    .flags =
        WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST | WEIR_TABLE_PERIODS,
    .grant = published_grant};
