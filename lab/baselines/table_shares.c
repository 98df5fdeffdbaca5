/* table_shares.c - baselines: other systems' ways to share a limit among clients
 * (gac_policy).
 *
 * one-bucket     One bucket of the table, at one server: what a router needs at once, and what it
 *                spends in a tenth of gac_grant_ms. With one GAC server and no delay it is the
 *                ideal bucket. Simplified: that time spares a message for each request.
 * doorman        Source: youtube/doorman, go/server/doorman/algorithm.go, ProportionalShare. While
 *                all wants fit, each client gets what it wants. Otherwise each gets an even share,
 *                and those who want more get a part, in proportion to what they want beyond it, of
 *                what the others leave. No more is given than other leases leave.
 *                Simplified: a capacity is a rate there. Here a router gets the tokens of its rate
 *                for a period, which is lease and refresh interval in one; no learning mode.
 * tenant-bucket  Source: CockroachDB, docs/RFCS/20210604_distributed_token_bucket.md. Tokens for a
 *                period are granted at once while the bucket has them. Otherwise they trickle, at
 *                the client's share of the refill. Shares follow the load.
 *                Simplified: routers know no trickle, so they get it in slices of gac_grant_ms. A
 *                share is the demand, without the term for old backlog. The bank never owes what
 *                trickles: it gives no more than it has.
 * pd-group       Source: TiKV's PD, pkg/mcs/resourcemanager/server/token_buckets.go: the bucket of
 *                a resource group has a slot for each client. Slots are even at first, and
 *                whenever a client comes or goes. Then a slot gets the part (1 - a + 1/N) / N of
 *                what comes in; a is the client's part of all that was asked for since. So a
 *                client that asks for more gets less. What is above a slot's part of the capacity
 *                goes to all slots. Simplified: no loans, which PD gives at up to twice the rate
 *                of a slot: the bank gives no more than it has. What trickles comes in slices of
 *                gac_grant_ms. A client goes once it claims nothing, not after ten minutes. Units
 *                are mcu instead of RU. */
#include "include/weir/policy_table.h"

#define NS_PER_S INT64_C(1000000000)

extern const struct weir_table_policy weir_table_one_bucket;
extern const struct weir_table_policy weir_table_doorman;
extern const struct weir_table_policy weir_table_tenant_bucket;
extern const struct weir_table_policy weir_table_pd_group;

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

/* Grants `missing`, or what the bank has; the whole need of the costliest request once the bank has
 * enough to let it in. False: nothing was granted. */
static bool grant_from_bank(struct weir_ledger *l, struct weir_holder *h, int64_t missing)
{
    int64_t bank = weir_ledger_bank(l), held = weir_holder_held(h), need = weir_holder_need(h);
    int64_t tokens = min_of(missing, max_of(bank, 0));
    if (bank > 0 && bank >= weir_ledger_grant_threshold(l, need) - held)
        tokens = max_of(tokens, need - held);
    else if (held + tokens < need)
        return false; /* it would let no request in */
    if (tokens <= 0)
        return false;
    weir_ledger_grant(l, h, min_of(tokens, INT64_C(1) << 55));
    return true;
}

/* ---- one-bucket ---- */

enum {
    ONE_BUCKET_PARTS = 10 /* of gac_grant_ms */
};

static void one_bucket_grant(struct weir_ledger *l, struct weir_holder *h)
{
    const int64_t spent_ns = weir_ledger_grant_ns(l) / ONE_BUCKET_PARTS;
    int64_t ahead = in_span(weir_holder_demand(h), spent_ns);
    int64_t missing = max_of(weir_holder_need(h), ahead) - weir_holder_held(h);
    if (weir_holder_demand(h) > 0 && missing > 0 && !grant_from_bank(l, h, missing))
        weir_holder_wait(h, spent_ns);
}

/* ---- doorman ---- */

struct doorman_lease {
    int64_t has; /* mcu per second */
};

static int64_t doorman_share(const struct weir_ledger *l, const struct weir_holder *requester)
{
    const int64_t capacity = weir_ledger_bank_rate(l), demand = weir_holder_demand(requester);
    __int128 demands = 0, given = 0, extra = 0, need = 0;
    int64_t count = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *h = weir_ledger_holder(l, i);
        if (!weir_holder_claims(l, h))
            continue;
        count++;
        demands += weir_holder_demand(h);
        given += h == requester ? 0 : ((const struct doorman_lease *)weir_holder_state(h))->has;
    }
    int64_t even = capacity / max_of(count, 1);
    int64_t unused = given < capacity ? (int64_t)(capacity - given) : 0;
    if (demands <= capacity || demand <= even)
        return min_of(demand, unused);
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *h = weir_ledger_holder(l, i);
        if (!weir_holder_claims(l, h))
            continue;
        int64_t beyond = weir_holder_demand(h) - even;
        extra += beyond < 0 ? -beyond : 0;
        need += beyond > 0 ? beyond : 0;
    }
    __int128 top_up = need > 0 ? (demand - even) * extra / need : 0;
    return min_of(even + (int64_t)top_up, unused);
}

static void doorman_grant(struct weir_ledger *l, struct weir_holder *h)
{
    const int64_t period_ns = weir_ledger_lifetime_ns(l);
    struct doorman_lease *lease = weir_holder_state(h);
    lease->has = doorman_share(l, h);
    weir_holder_wait(h, period_ns);
    if (weir_holder_demand(h) > 0)
        grant_from_bank(l, h, in_span(lease->has, period_ns) - weir_holder_held(h));
}

/* ---- tenant-bucket ---- */

static void tenant_bucket_grant(struct weir_ledger *l, struct weir_holder *h)
{
    const int64_t demand = weir_holder_demand(h), held = weir_holder_held(h);
    __int128 shares = 0;
    if (demand == 0)
        return;
    int64_t missing =
        max_of(in_span(demand, weir_ledger_lifetime_max_ns(l) / 2), weir_holder_need(h));
    if (missing <= held)
        return;
    if (weir_ledger_bank(l) >= missing - held) {
        weir_ledger_grant(l, h, min_of(missing - held, INT64_C(1) << 55));
        return;
    }
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        const struct weir_holder *other = weir_ledger_holder(l, i);
        shares += weir_holder_claims(l, other) ? weir_holder_demand(other) : 0;
    }
    int64_t rate = (int64_t)((__int128)weir_ledger_bank_rate(l) * demand /
                             (shares > demand ? shares : demand));
    int64_t slice_ns = max_of(weir_ledger_grant_ns(l), NS_PER_S / 100);
    grant_from_bank(l, h, in_span(rate, slice_ns) - held);
    weir_holder_wait(h, slice_ns);
}

/* ---- pd-group ---- */

struct pd_slot {
    int64_t requested; /* since the slots were even; mcu */
    int64_t tokens;
};

struct pd_group {
    int64_t at_ns; /* what came in before is in the slots */
    int64_t spare; /* what was above the slots' parts of the capacity */
    uint32_t count;
};

static const int64_t pd_requested_max = INT64_C(1) << 54;

/* The clients' number; adds up what they asked for. */
static uint32_t pd_count(const struct weir_ledger *l, __int128 *requested)
{
    uint32_t count = 0;
    *requested = 0;
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        struct weir_holder *h = weir_ledger_holder(l, i);
        if (!weir_holder_claims(l, h))
            continue;
        count++;
        *requested += ((const struct pd_slot *)weir_holder_state(h))->requested;
    }
    return count;
}

/* The slot's part of `tokens`: (1 - a + 1/N) / N. */
static int64_t pd_part(int64_t tokens, const struct pd_slot *s, uint32_t count, __int128 requested)
{
    if (requested == 0)
        return tokens / count;
    const __int128 part =
        ((requested - s->requested) << 20) / requested + ((INT64_C(1) << 20) / count);
    return (int64_t)(((__int128)tokens * part / count) >> 20);
}

static void pd_even(struct weir_ledger *l, struct pd_group *g, uint32_t count)
{
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        struct pd_slot *s = weir_holder_state(weir_ledger_holder(l, i));
        *s = (struct pd_slot){.tokens = weir_ledger_bank(l) / count};
    }
    *g = (struct pd_group){.at_ns = weir_ledger_now_ns(l), .count = count};
}

/* Gives the slots what came in. */
static void pd_fill(struct weir_ledger *l)
{
    struct pd_group *g = weir_ledger_state(l);
    __int128 requested;
    const uint32_t count = pd_count(l, &requested);
    if (count == 0)
        return;
    if (g->count != count || count == 1 || requested == 0 || requested > pd_requested_max) {
        pd_even(l, g, count);
        return;
    }
    const int64_t now_ns = weir_ledger_now_ns(l);
    const int64_t came = in_span(weir_ledger_bank_rate(l), now_ns - g->at_ns) + g->spare;
    *g = (struct pd_group){.at_ns = now_ns, .count = count};
    for (uint32_t i = 0; i < weir_ledger_holders(l); i++) {
        struct weir_holder *h = weir_ledger_holder(l, i);
        struct pd_slot *s = weir_holder_state(h);
        if (!weir_holder_claims(l, h))
            continue;
        const int64_t max = pd_part(weir_ledger_bank_capacity(l), s, count, requested);
        s->tokens += pd_part(came, s, count, requested);
        g->spare += max_of(s->tokens - max, 0);
        s->tokens = min_of(s->tokens, max);
    }
}

static void pd_group_grant(struct weir_ledger *l, struct weir_holder *h)
{
    struct pd_slot *s = weir_holder_state(h);
    const int64_t demand = weir_holder_demand(h), held = weir_holder_held(h);
    if (demand == 0)
        return;
    pd_fill(l);
    const int64_t period = in_span(demand, weir_ledger_lifetime_max_ns(l) / 2);
    const int64_t missing = max_of(period, weir_holder_need(h)) - held;
    if (missing <= 0)
        return;
    s->requested += min_of(missing, pd_requested_max);
    const int64_t bank = weir_ledger_bank(l);
    const int64_t slice_ns = max_of(weir_ledger_grant_ns(l), NS_PER_S / 100);
    if (s->tokens > 0)
        grant_from_bank(l, h, min_of(missing, s->tokens));
    s->tokens -= bank - weir_ledger_bank(l);
    if (bank - weir_ledger_bank(l) < missing)
        weir_holder_wait(h, slice_ns);
}

const struct weir_table_policy weir_table_one_bucket = {
    .size = sizeof weir_table_one_bucket,
    .name = "one-bucket",
    .flags = WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST,
    .grant = one_bucket_grant};
const struct weir_table_policy weir_table_doorman = {
    .size = sizeof weir_table_doorman,
    .holder_bytes = sizeof(struct doorman_lease),
    .name = "doorman",
    .flags =
        WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST | WEIR_TABLE_PERIODS,
    .grant = doorman_grant};
const struct weir_table_policy weir_table_tenant_bucket = {
    .size = sizeof weir_table_tenant_bucket,
    .name = "tenant-bucket",
    .flags = WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST,
    .grant = tenant_bucket_grant};
const struct weir_table_policy weir_table_pd_group = {
    .size = sizeof weir_table_pd_group,
    .ledger_bytes = sizeof(struct pd_group),
    .holder_bytes = sizeof(struct pd_slot),
    .name = "pd-group",
    .flags = WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST,
    .grant = pd_group_grant};
