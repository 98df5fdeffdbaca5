/* bucket_merge.c - merges the buckets of two partitions that have become one: the inverse of
 * bucket_split.c.
 *
 * Invariants
 *   SUM-1  A balance is the sum of both balances, or the capacity if the sum is more. A debt is
 *          never cut.
 *   SUM-2  If two replicas have the same buckets, they get the same merged buckets. */
#include "engine/admission/admission_internal.h"
#include "include/weir/policy_partition.h"

static void merge_states(struct admission *into, const struct admission *from)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_meter *m = &into->meters[kind];
        const struct admission_meter *other = &from->meters[kind];
        if (m->policy == other->policy && m->policy->absorb != NULL)
            m->policy->absorb(m->state, other->state);
        if (into->sharing->absorb != NULL)
            into->sharing->absorb(m->share, other->share);
    }
}

void admission_merge(struct admission *into, const struct admission *from,
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
    admission_change(into, admission_policies_of(into), config, rates, now);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        admission_restore(into, kind, now, &sums[kind]);
    merge_states(into, from);
}
