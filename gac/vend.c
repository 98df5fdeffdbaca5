/* vend.c - the max-min level that the policies share. */
#include "gac/vend.h"

/* Rises from one level of demand to the next until the rate is used up. There are as many steps as
 * levels, and routers are few. */
int64_t vend_level(const struct ledger *l, struct instant now, const struct ledger_terms *terms,
                   int64_t rate)
{
    int64_t level = 0, left = rate;
    for (;;) {
        int64_t next = INT64_MAX, above = 0;
        for (uint32_t i = 0; i < l->count; i++) {
            const struct holder *h = &l->holders[i];
            if (!holder_claims(h, now, terms) || h->ask.demand <= level)
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
