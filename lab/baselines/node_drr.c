/* node_drr.c - baseline: deficit round robin among the partitions that burst on a node.
 *
 * Source: Shreedhar and Varghese, Efficient Fair Queueing Using Deficit Round-Robin, IEEE/ACM
 * Transactions on Networking 4(3), 1996. Each queue gets a quantum in each round, and sends while
 * its deficit has the next packet's cost. What is left stays for the next round, unless the queue
 * is empty.
 *
 * Simplified, because weir refuses and does not queue:
 *   - A round is a time: that in which the node's empty bucket fills. There is no list of queues.
 *     So what a partition leaves of its quantum is not used by others before the next round.
 *   - A partition that asks for no burst in a round counts as an empty queue: its deficit is lost.
 *   - The quantum is a part of what bursts may take in a round, by the weights of tables. That is
 *     estimated: what bursts took in the round before, and what the node's bucket holds when the
 *     round begins.
 *   - Within a round, the partitions that have a deficit take what the node's bucket holds first
 *     come, first served. One that asks seldom may find the bucket empty before it has had its
 *     quantum.
 *   - A cost above two quanta passes when the deficit has two, and the deficit goes below zero. */
#include "include/weir/policy_partition.h"

extern const struct weir_node_policy weir_node_drr;

struct drr_node {
    int64_t round;
    int64_t quantum; /* of a table's weight of 1 */
    int64_t taken;   /* by bursts in this round */
    int64_t weights; /* of the partitions that asked in this round */
    int64_t active;  /* partitions that asked in this round; in the round before */
    int64_t active_before;
};

struct drr_partition {
    int64_t round; /* plus 1; 0: never asked */
    int64_t deficit;
};

_Static_assert(sizeof(struct drr_node) <= WEIR_POLICY_STATE_MAX, "states are bounded");

static void drr_begin_round(struct weir_case *c, struct drr_node *n, int64_t round)
{
    bool next = n->round + 1 == round;
    int64_t left = weir_case_balance(c, WEIR_BUCKET_NODE);
    int64_t residual = (next ? n->taken : 0) + (left > 0 ? left : 0);
    n->active_before = next ? n->active : 0;
    n->quantum = residual / (next && n->weights > 0 ? n->weights : 1);
    n->taken = n->active = n->weights = 0;
    n->round = round;
}

static int64_t quantum_of(struct weir_case *c)
{
    const struct drr_node *n = weir_case_node_state(c);
    return n->quantum * weir_case_weight(c);
}

static void drr_enter(struct weir_case *c)
{
    struct drr_node *n = weir_case_node_state(c);
    struct drr_partition *p = weir_case_share_state(c);
    int64_t round = weir_case_now_ns(c) / weir_case_depth_ns(c);
    if (n->round != round)
        drr_begin_round(c, n, round);
    if (p->round == round + 1)
        return;
    int64_t kept = p->round == round ? p->deficit : 0;
    int64_t quantum = quantum_of(c);
    p->deficit = kept + quantum < 2 * quantum ? kept + quantum : 2 * quantum;
    p->round = round + 1;
    n->active++;
    n->weights += weir_case_weight(c);
}

static bool drr_is_shared(const void *state, int64_t now_ns, int64_t depth_ns)
{
    const struct drr_node *n = state;
    int64_t round = now_ns / depth_ns;
    if (n->round == round)
        return n->active > 1 || n->active_before > 1;
    return n->round + 1 == round && n->active > 1;
}

static bool drr_has(struct weir_case *c, int64_t cost_mcu)
{
    const struct drr_node *n = weir_case_node_state(c);
    const struct drr_partition *p = weir_case_share_state(c);
    if (!weir_case_has(c, WEIR_BUCKET_NODE, cost_mcu))
        return false;
    if (!drr_is_shared(n, weir_case_now_ns(c), weir_case_depth_ns(c)))
        return true;
    int64_t needed = cost_mcu < 2 * quantum_of(c) ? cost_mcu : 2 * quantum_of(c);
    return p->deficit > 0 && p->deficit >= needed;
}

/* The next round may bring it. */
static int64_t drr_wait_ns(struct weir_case *c, int64_t cost_mcu)
{
    int64_t node_ns = weir_case_wait_ns(c, WEIR_BUCKET_NODE, cost_mcu);
    int64_t depth_ns = weir_case_depth_ns(c);
    int64_t round_ns = depth_ns - weir_case_now_ns(c) % depth_ns;
    return node_ns > round_ns ? node_ns : round_ns;
}

static void drr_took(struct weir_case *c, int64_t cost_mcu)
{
    struct drr_node *n = weir_case_node_state(c);
    struct drr_partition *p = weir_case_share_state(c);
    n->taken += cost_mcu;
    p->deficit -= cost_mcu;
}

static void drr_absorb(void *into, const void *from)
{
    struct drr_partition *p = into;
    const struct drr_partition *other = from;
    if (other->round > p->round)
        *p = *other;
    else if (other->round == p->round)
        p->deficit += other->deficit;
}

const struct weir_node_policy weir_node_drr = {.size = sizeof weir_node_drr,
                                               .node_bytes = sizeof(struct drr_node),
                                               .partition_bytes = sizeof(struct drr_partition),
                                               .name = "drr",
                                               .enter = drr_enter,
                                               .has = drr_has,
                                               .wait_ns = drr_wait_ns,
                                               .took = drr_took,
                                               .is_shared = drr_is_shared,
                                               .absorb = drr_absorb};
