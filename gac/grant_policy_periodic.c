/* grant_policy_periodic.c - the policy periodic: the bank is divided by max-min in every period. */
#include "include/weir/policy_table.h"

#define NS_PER_S INT64_C(1000000000)

extern const struct weir_table_policy weir_table_periodic;

/* The bank is divided by max-min over what each would spend in a period. */
static void periodic_grant(struct weir_ledger *l, struct weir_holder *h)
{
    const int64_t period_ns = weir_ledger_lifetime_ns(l), bank = weir_ledger_bank(l);
    weir_holder_wait(h, period_ns);
    if (weir_holder_demand(h) == 0)
        return;
    __int128 bank_rate = (__int128)bank * NS_PER_S / period_ns;
    int64_t rate = weir_ledger_rate(l);
    if (bank_rate <= rate)
        rate = bank_rate > 0 ? (int64_t)bank_rate : 0;
    int64_t level = weir_ledger_fair_share(l, rate);
    int64_t share = weir_holder_demand(h) < level ? weir_holder_demand(h) : level;
    int64_t missing = weir_holder_debt(h) - weir_holder_held(h);
    int64_t tokens = (int64_t)((__int128)share * period_ns / NS_PER_S) + missing;
    if (tokens > bank)
        tokens = bank;
    /* The costliest request is let in once the bank has enough for it. */
    const int64_t need = weir_holder_need(h), held = weir_holder_held(h);
    if (bank > 0 && bank >= weir_ledger_grant_threshold(l, need) - held && tokens < need - held)
        tokens = need - held;
    if (tokens > 0)
        weir_ledger_grant(l, h, tokens);
}

const struct weir_table_policy weir_table_periodic = {
    .size = sizeof weir_table_periodic,
    .name = "periodic",
    .flags =
        WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST | WEIR_TABLE_PERIODS,
    .grant = periodic_grant};
