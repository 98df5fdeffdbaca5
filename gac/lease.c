/* lease.c - the demand of the clients, and the watermark. */
#include "gac/lease.h"

#include "base/square_root.h"

enum {
    SLOT_MS = 100,      /* least length of a slot */
    SLOT_ENOUGH = 16,   /* requests in a slot, for a rate within a quarter */
    SLOT_MAX_MS = 2000, /* greatest length of a slot */
    ONE_UNIT = 1000     /* mcu */
};

static const int64_t demand_max = GAC_AMOUNT_MAX;

/* What the router spends while a grant request and its answer are on their way, plus two standard
 * deviations. */
static int64_t watermark_of(const struct lease *l)
{
    must_in_tests(l->round_trip.ns >= 0 && l->demand >= 0 && l->demand <= demand_max);
    int64_t ns = l->round_trip.ns + NS_PER_MS;
    int64_t meanwhile = (int64_t)((__int128)l->demand * ns / NS_PER_S);
    return meanwhile + 2 * (int64_t)square_root((uint64_t)(meanwhile * ONE_UNIT)) + ONE_UNIT;
}

/* The demand that the slot has seen, in mcu per second. */
static int64_t lease_rate_of(const struct lease *l, int64_t ns)
{
    if (ns < SLOT_MS * NS_PER_MS)
        ns = SLOT_MS * NS_PER_MS;
    __int128 rate = (__int128)l->slot_sum * NS_PER_S / ns;
    return rate < 0 ? 0 : rate < demand_max ? (int64_t)rate : demand_max;
}

/* The slot counts for half; after a long idle time demand is 0. */
static void end_slot(struct lease *l, struct instant now, int64_t ns)
{
    int64_t rate = lease_rate_of(l, ns);
    if (ns >= 2 * SLOT_MAX_MS * NS_PER_MS)
        l->demand = 0;
    else
        l->demand = l->demand == 0 ? rate : (l->demand + rate) / 2;
    if (l->slot_count > 0 && l->slot_sum > 0)
        l->cost += (l->slot_sum / l->slot_count - l->cost) / (l->cost == 0 ? 1 : 4);
    l->slot_sum = l->slot_count = 0;
    l->slot_at = now;
    l->watermark = watermark_of(l);
    must_in_tests(l->watermark >= ONE_UNIT && l->cost >= 0);
}

static void lease_roll(struct lease *l, struct instant now)
{
    int64_t ns = instant_since(now, l->slot_at).ns;
    int64_t min = l->slot_count >= SLOT_ENOUGH ? SLOT_MS : SLOT_MAX_MS;
    if (ns >= min * NS_PER_MS)
        end_slot(l, now, ns);
}

void lease_add_demand(struct lease *l, struct instant now, int64_t cost)
{
    must_in_tests(cost >= 0);
    lease_roll(l, now);
    if (l->slot_count++ == 0)
        l->slot_at = now;
    l->slot_sum += cost;
}

int64_t lease_demand(struct lease *l, struct instant now)
{
    lease_roll(l, now);
    int64_t slot = lease_rate_of(l, instant_since(now, l->slot_at).ns);
    bool reports = l->demand == 0 || l->slot_count >= SLOT_ENOUGH;
    return reports && slot > l->demand ? slot : l->demand;
}
