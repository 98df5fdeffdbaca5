/* table_gossip.c - a baseline: each router keeps a share of the limit of its own accord.
 *
 * A router reports its demand every gac_grant_ms, and hears what the other routers reported. It
 * lets the part own demand / (own demand + what it heard) of the limit through, from a bucket of
 * its own. While nothing was heard yet, the part is even. A router that hears nothing more goes on
 * with what it heard last. Nothing bounds the sum of all shares: what was heard is old, so routers
 * whose demand rises exceed the limit of the table until the others have heard of it.
 * Source: Raghavan et al., "Cloud Control with Distributed Rate Limiting", SIGCOMM 2007: limiters
 * gossip their demand, and each enforces its share of the global limit locally.
 * Simplified: a share follows demand, where the paper's flow proportional share weighs TCP flows.
 * There are no links between routers: the GAC server is the place where the reports meet. Each
 * router hears all reports, up to two intervals and two messages' ways late. A server whose ledger
 * is new tells nothing for two intervals, because not all routers have reported yet. A router
 * saves up its part of what the table may save; it begins to do so at the first request that it
 * gets. */
#include "include/weir/policy_table.h"

extern const struct weir_table_policy weir_table_gossip;

static const int64_t demand_max = INT64_C(1) << 55; /* of all others together */

struct gossip_ledger {
    int64_t begun_ns;
    bool begun;
};
_Static_assert(sizeof(struct gossip_ledger) <= WEIR_POLICY_STATE_MAX, "the state fits");

/* What the other routers reported, those that are unresponsive left out. */
static int64_t gossip_others(const struct weir_ledger *l, const struct weir_holder *requester)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *h = weir_ledger_holder(l, i);
        if (h == requester || !weir_holder_claims(l, h))
            continue;
        const int64_t demand = weir_holder_demand(h);
        sum = demand < demand_max - sum ? sum + demand : demand_max;
    }
    return sum;
}

static void gossip_grant(struct weir_ledger *l, struct weir_holder *h)
{
    struct gossip_ledger *g = weir_ledger_state(l);
    const int64_t now_ns = weir_ledger_now_ns(l), interval_ns = weir_ledger_grant_ns(l);
    if (!g->begun)
        *g = (struct gossip_ledger){.begun_ns = now_ns, .begun = true};
    weir_holder_wait(h, interval_ns);
    if (now_ns - g->begun_ns >= 2 * interval_ns)
        weir_holder_notify_demand(h, gossip_others(l, h));
}

static int64_t gossip_share(int64_t rate_mcu, uint32_t routers, int64_t demand_mcu,
                            int64_t others_mcu)
{
    if (others_mcu < 0)
        return rate_mcu / routers;
    const int64_t own = demand_mcu > 0 ? demand_mcu : 1;
    const int64_t share = (int64_t)((__int128)rate_mcu * own / ((__int128)own + others_mcu));
    return share > 0 ? share : 1; /* a bucket without a size would let all through */
}

const struct weir_table_policy weir_table_gossip = {.size = sizeof weir_table_gossip,
                                                    .ledger_bytes = sizeof(struct gossip_ledger),
                                                    .name = "gossip",
                                                    .flags = WEIR_TABLE_LIMITS |
                                                             WEIR_TABLE_REQUESTS_GRANTS,
                                                    .grant = gossip_grant,
                                                    .share = gossip_share};
