/* vend_periodic.c - the policy periodic: the bank is divided by max-min in every period. */
#include "gac/vend.h"

/* The bank is divided by max-min over what each would spend in a period. */
void vend_periodic(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                   struct holder *h)
{
    h->answer.wait = terms->lifetime;
    if (h->ask.demand == 0)
        return;
    __int128 bank_rate = (__int128)l->bank.balance * NS_PER_S / terms->lifetime.ns;
    int64_t rate = bank_rate > l->rate ? l->rate : bank_rate > 0 ? (int64_t)bank_rate : 0;
    int64_t level = vend_level(l, now, terms, rate);
    int64_t share = h->ask.demand < level ? h->ask.demand : level;
    int64_t tokens = (int64_t)((__int128)share * terms->lifetime.ns / NS_PER_S) - h->held;
    if (tokens > l->bank.balance)
        tokens = l->bank.balance;
    if (tokens > 0)
        ledger_grant(l, h, tokens);
}
