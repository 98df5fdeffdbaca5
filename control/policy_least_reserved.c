/* policy_least_reserved.c - a replica goes to the node on which the least is reserved, and an
 * overloaded node gives its most expensive one away: weir's own relocate_policy.
 *
 * Least: of writes, which every member carries. Of equal nodes, the one with less work: replicas,
 * and those that lead twice. */

#include "include/weir/policy_relocate.h"

extern const struct weir_relocate_policy weir_relocate_least_reserved;

static uint32_t least_reserved_place(const struct weir_move *m)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < weir_move_nodes(m); i++) {
        int64_t reserved = weir_move_reserved(m, i, WEIR_POLICY_WRITE);
        int64_t min = weir_move_reserved(m, best, WEIR_POLICY_WRITE);
        if (reserved < min ||
            (reserved == min && weir_move_replicas(m, i) < weir_move_replicas(m, best)))
            best = i;
    }
    return best;
}

static int64_t least_reserved_rank(const struct weir_move *m, enum weir_policy_kind kind)
{
    return weir_move_cost(m, kind);
}

const struct weir_relocate_policy weir_relocate_least_reserved = {
    .size = sizeof weir_relocate_least_reserved,
    .name = "least-reserved",
    .place = least_reserved_place,
    .rank = least_reserved_rank};
