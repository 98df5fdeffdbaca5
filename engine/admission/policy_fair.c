/* policy_fair.c - how bursting partitions share what allocations leave of a node.
 *
 * Allocated work debits the node's bucket without a check. Bursts take the rest, the residual.
 * First come, first served would give the residual to the partition that asks most often. So each
 * partition counts what its bursts took lately, divided by the weight of its table. While more than
 * one partition bursts, the node admits a burst only if as much as the partition has taken would
 * remain for the others:
 *
 *     balance >= max(cost, min(taken lately by the partition + cost / weight, capacity))
 *
 * Why this is fair (max-min): all partitions have the same bound. Of two partitions that are
 * refused, the one that has taken less by its weight passes first. Partitions that want less than
 * their share get all they ask for. The others come to amounts in proportion to their weights. The
 * rule needs no list of partitions. If only one partition bursts, it may take everything: its
 * condition is `balance >= cost`.
 * Source: the aim is that of deficit round robin, the means are dynamic buffer thresholds
 * (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A refused request is not
 * queued here, so there is no queue to go round.
 *
 * Bursts that a leader elsewhere admitted, and that this node follows, count like its own. A leader
 * applies the rule to the other members' nodes, too, if more than one partition bursts there, with
 * half of what was taken (policy_headroom.c).
 *
 * The allocations of a table's partitions here are reserved for the table. If routers keep
 * the table's limit, a hot partition may use what the others leave of it. This takes
 * nothing from other tables. So such a burst needs only its cost, and does not count as taken.
 *
 * Invariants
 *   RESIDUAL-1  The burst of a partition that took nothing lately needs only its cost.
 *   RESIDUAL-2  If only one partition bursts, its burst needs only its cost.
 *   RESIDUAL-3  A full node admits every cost.
 *   RESIDUAL-4  A burst within what is reserved for the table needs only its cost
 *               (policy_context.c). */
#include "include/weir/policy_partition.h"

extern const struct weir_node_policy weir_node_fair;

#define NS_PER_US INT64_C(1000)

/* Every burst comes here: what is called is compiled in. */
#define HOT __attribute__((flatten))

/* The partitions that share the residual. */
struct fair_node {
    int64_t round; /* the last round in which a partition burst, and when it began */
    int64_t began_ns;
    int32_t bursters;        /* partitions that asked for a burst in this round, admitted or not */
    int32_t bursters_before; /* in the round before */
};

struct fair_partition {
    int64_t round;      /* in which the partition burst last */
    int64_t taken_mcu;  /* by bursts in that round, by the weight of the table */
    int64_t before_mcu; /* in the round before */
};

_Static_assert(sizeof(struct fair_node) <= WEIR_POLICY_STATE_MAX &&
                   sizeof(struct fair_partition) <= WEIR_POLICY_STATE_MAX,
               "states are bounded");

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* "Lately" is the time of one round before now. Two counters estimate it: all that this round took,
 * and of the round before the part that lies in this time.
 * So the start of a round is no better moment than another, and nodes need not start their rounds
 * together. A round is as long as the bucket is deep: shorter rounds would forget what a partition
 * took before the tokens came back, and favour small requests. */
static int64_t round_of(const struct fair_node *n, int64_t now_ns, int64_t depth_ns)
{
    if ((uint64_t)(now_ns - n->began_ns) < (uint64_t)depth_ns)
        return n->round; /* saves a division, which costs as much as all the rest */
    return now_ns / depth_ns;
}

static int64_t round_now(struct weir_case *c)
{
    return round_of(weir_case_node_state(c), weir_case_now_ns(c), weir_case_depth_ns(c));
}

HOT static void fair_enter(struct weir_case *c)
{
    struct fair_node *n = weir_case_node_state(c);
    struct fair_partition *p = weir_case_share_state(c);
    int64_t round = round_now(c);
    if (n->round != round) {
        n->bursters_before = n->round + 1 == round ? n->bursters : 0;
        n->bursters = 0;
        n->round = round;
    }
    n->began_ns = round * weir_case_depth_ns(c);
    if (p->round != round) {
        p->before_mcu = p->round + 1 == round ? p->taken_mcu : 0;
        p->taken_mcu = 0;
        p->round = round;
        n->bursters++;
    }
}

/* Whether more than one partition bursts in this round, or did in the round before. */
static bool is_shared(const struct fair_node *n, int64_t round)
{
    if (n->round == round)
        return n->bursters > 1 || n->bursters_before > 1;
    return n->round + 1 == round && n->bursters > 1;
}

static bool fair_is_shared(const void *node_state, int64_t now_ns, int64_t depth_ns)
{
    const struct fair_node *n = node_state;
    return is_shared(n, round_of(n, now_ns, depth_ns));
}

/* The part of what the last round took that lies less than a round before now. */
static int64_t part_of(int64_t taken_mcu, int64_t depth_ns, int64_t now_ns)
{
    int64_t whole_us = depth_ns / NS_PER_US, left_us = (depth_ns - now_ns % depth_ns) / NS_PER_US;
    int64_t product;
    if (!__builtin_mul_overflow(taken_mcu, left_us, &product))
        return product / whole_us;
    return (int64_t)((__int128)taken_mcu * left_us / whole_us);
}

static int64_t taken_in(struct weir_case *c, int64_t round)
{
    const struct fair_partition *p = weir_case_share_state(c);
    int64_t now_ns = weir_case_now_ns(c), depth_ns = weir_case_depth_ns(c);
    if (p->round + 1 == round)
        return part_of(p->taken_mcu, depth_ns, now_ns);
    if (p->round != round)
        return 0;
    return sum_of(p->taken_mcu, part_of(p->before_mcu, depth_ns, now_ns));
}

static int64_t fair_taken(struct weir_case *c)
{
    return taken_in(c, round_now(c));
}

/* What a burst counts in the bound. */
static int64_t cost_by_weight(const struct weir_case *c, int64_t cost_mcu)
{
    const int64_t weight = weir_case_weight(c);
    return weight > 1 ? cost_mcu / weight + 1 : cost_mcu; /* a division costs as much as the rest */
}

/* The balance that the node must have for the burst. */
static int64_t cost_with_reserve(struct weir_case *c, int64_t cost_mcu)
{
    int64_t round = round_now(c);
    if (!is_shared(weir_case_node_state(c), round))
        return cost_mcu;
    int64_t bound = sum_of(cost_by_weight(c, cost_mcu), taken_in(c, round));
    return bound > cost_mcu ? bound : cost_mcu;
}

HOT static bool fair_has(struct weir_case *c, int64_t cost_mcu)
{
    return weir_case_has(c, WEIR_BUCKET_NODE, cost_with_reserve(c, cost_mcu));
}

/* An upper bound: it assumes that the reserve stays as it is until the next round has ended,
 * although it falls all the time. Finding the exact time would cost ten times as much. */
HOT static int64_t fair_wait_ns(struct weir_case *c, int64_t cost_mcu)
{
    int64_t alone_ns = weir_case_wait_ns(c, WEIR_BUCKET_NODE, cost_mcu);
    int64_t reserved_ns = weir_case_wait_ns(c, WEIR_BUCKET_NODE, cost_with_reserve(c, cost_mcu));
    int64_t ns = (round_now(c) + 2) * weir_case_depth_ns(c) - weir_case_now_ns(c);
    int64_t table_ns = weir_case_wait_ns(c, WEIR_BUCKET_RESERVED, cost_mcu);
    if (table_ns < ns)
        ns = table_ns;
    if (ns < alone_ns)
        ns = alone_ns;
    return ns < reserved_ns ? ns : reserved_ns;
}

HOT static void fair_took(struct weir_case *c, int64_t cost_mcu)
{
    struct fair_partition *p = weir_case_share_state(c);
    if (p->round == round_now(c))
        p->taken_mcu = sum_of(p->taken_mcu, cost_by_weight(c, cost_mcu));
}

static void fair_begin(void *state)
{
    ((struct fair_partition *)state)->round = -1;
}

/* What bursts took in that round. It is the last round with a burst, or the round before. */
static int64_t taken_of(const struct fair_partition *p, int64_t round)
{
    if (p->round == round)
        return p->taken_mcu;
    return p->round == round + 1 ? p->before_mcu : 0;
}

/* Adds up what both took by bursts. Otherwise the node would give the merged partition too much. */
static void fair_absorb(void *into, const void *from)
{
    struct fair_partition *p = into;
    const struct fair_partition own = *p, *other = from;
    int64_t last = own.round > other->round ? own.round : other->round;
    p->round = last;
    p->taken_mcu = sum_of(taken_of(&own, last), taken_of(other, last));
    p->before_mcu = sum_of(taken_of(&own, last - 1), taken_of(other, last - 1));
}

const struct weir_node_policy weir_node_fair = {.size = sizeof weir_node_fair,
                                                .node_bytes = sizeof(struct fair_node),
                                                .partition_bytes = sizeof(struct fair_partition),
                                                .name = "fair",
                                                .enter = fair_enter,
                                                .has = fair_has,
                                                .wait_ns = fair_wait_ns,
                                                .took = fair_took,
                                                .taken = fair_taken,
                                                .is_shared = fair_is_shared,
                                                .begin = fair_begin,
                                                .absorb = fair_absorb};
