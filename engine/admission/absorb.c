/* absorb.c - merges the buckets of two partitions that have become one: the inverse of divide.c.
 *
 * Invariants
 *   SUM-1  A balance is the sum of both balances, or the capacity if the sum is more. A debt is
 *          never cut.
 *   SUM-2  If two replicas have the same buckets, they get the same merged buckets. */
#include "engine/admission/admission_internal.h"

static int64_t saturated_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What bursts took in that round. It is the last round with a burst, or the round before. */
static int64_t taken_in(const struct admission_meter *m, int64_t round)
{
    if (m->burst_round == round)
        return m->burst_mcu;
    return m->burst_round == round + 1 ? m->burst_before_mcu : 0;
}

/* Adds up what both took by bursts. Otherwise the node would give the merged partition too much. */
static void join_bursts(struct admission_meter *m, const struct admission_meter *other)
{
    const struct admission_meter own = *m;
    int64_t last = own.burst_round > other->burst_round ? own.burst_round : other->burst_round;
    m->burst_round = last;
    m->burst_mcu = saturated_sum(taken_in(&own, last), taken_in(other, last));
    m->burst_before_mcu = saturated_sum(taken_in(&own, last - 1), taken_in(other, last - 1));
}

void admission_absorb(struct admission *into, const struct admission *from,
                      const struct config *config, const struct admission_rates *rates,
                      struct instant now)
{
    must(into != from);
    must(into->table == NULL);
    struct admission_balances sums[ADMIT_KINDS];
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_balances own = admission_balances(into, kind, now);
        struct admission_balances other = admission_balances(from, kind, now);
        sums[kind] = (struct admission_balances){
            .cap_mcu = own.cap_mcu + other.cap_mcu,
            .allocation_mcu = own.allocation_mcu + other.allocation_mcu,
            .burst_mcu = own.burst_mcu + other.burst_mcu,
        };
    }
    admission_change(into, into->policy, config, rates, now);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        admission_restore(into, kind, now, &sums[kind]);
        join_bursts(&into->meters[kind], &from->meters[kind]);
    }
}
