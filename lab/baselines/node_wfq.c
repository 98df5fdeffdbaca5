/* node_wfq.c - baselines: weighted fair queueing and start-time fair queueing among the
 * partitions that burst on a node. The weight of a partition is its allocation, times the weight
 * of its table.
 *
 * Sources
 *   wfq  Demers, Keshav and Shenker, Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM
 *        1989, with the weights of Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3),
 *        1993. Virtual time runs at the rate of service, divided by the weights of all active
 *        flows.
 *   sfq  Goyal, Vin and Cheng, Start-time Fair Queueing, SIGCOMM 1996. Virtual time is the start
 *        tag of what is served.
 * In both a request has the tags start = max(virtual time, the flow's last finish) and finish =
 * start + cost / weight, and the least tag is served first.
 *
 * Simplified, because weir refuses and does not queue:
 *   - There are no waiting requests to choose from. A burst passes if its start tag is at most a
 *     lead ahead of virtual time: what an even service gives in an eighth of a round. A round is
 *     the time in which the node's empty bucket fills. So both order by start tags.
 *   - A burst ahead of virtual time must leave the tokens with which the other partitions would
 *     catch up: their requests would be served before it. So one that asks seldom finds tokens.
 *   - A partition is active if it asked for a burst in this round or in the round before.
 *   - wfq: the rate of service is what bursts took in the round before, and what the node's bucket
 *     held when the round began, less a sixteenth. If virtual time ran ahead of the service, all
 *     start tags would be equal.
 *   - sfq: refused requests stand for the queue. At the end of an eighth of a round virtual time
 *     rises to the least start tag that was refused in it.
 *   - Followers' and merged partitions' tags are taken over as they are. */
#include "include/weir/policy_partition.h"

extern const struct weir_node_policy weir_node_wfq;
extern const struct weir_node_policy weir_node_sfq;

#define TAG        INT64_C(1000000) /* tags are mcu per weight, times this */
#define WEIGHT_MIN INT64_C(1000)    /* one unit a second */
#define LEADS      8                /* of a round */
#define SPARED     16               /* virtual time runs slower by this part */

struct tag_node {
    int64_t round;
    int64_t virtual; /* at `at_ns` */
    int64_t at_ns;
    int64_t served;  /* mcu of a round: the estimate for this one */
    int64_t taken;   /* by bursts in this round */
    int64_t weights; /* of the partitions that asked in this round */
    int64_t weights_before;
    int64_t min; /* sfq: the least start tag refused in this part of a round; 0: none */
};

struct tag_partition {
    int64_t round; /* plus 1; 0: never asked */
    int64_t finish;
};

_Static_assert(sizeof(struct tag_node) <= WEIR_POLICY_STATE_MAX, "states are bounded");

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t weight_of(const struct weir_case *c)
{
    return max_of(weir_case_rate(c, WEIR_BUCKET_ALLOCATION), WEIGHT_MIN) * weir_case_weight(c);
}

static int64_t tag_of(int64_t mcu, int64_t weight)
{
    __int128 tag = (__int128)mcu * TAG / max_of(weight, 1);
    return tag > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)tag;
}

static int64_t weights_of(const struct tag_node *n)
{
    return max_of(max_of(n->weights, n->weights_before), WEIGHT_MIN);
}

/* What an even service adds to virtual time in a round. */
static int64_t round_tag(const struct tag_node *n)
{
    return max_of(tag_of(n->served, weights_of(n)), LEADS);
}

static int64_t lead_of(const struct tag_node *n)
{
    return round_tag(n) / LEADS;
}

static int64_t start_of(struct weir_case *c)
{
    const struct tag_node *n = weir_case_node_state(c);
    const struct tag_partition *p = weir_case_share_state(c);
    return max_of(n->virtual, p->finish);
}

static void begin_round(struct weir_case *c, struct tag_node *n, int64_t round)
{
    bool next = n->round + 1 == round;
    int64_t residual = (next ? n->taken : 0) + max_of(weir_case_balance(c, WEIR_BUCKET_NODE), 0);
    n->served = residual - residual / SPARED;
    n->weights_before = next ? n->weights : 0;
    n->weights = n->taken = 0;
    n->round = round;
}

static void wfq_join(struct weir_case *c)
{
    struct tag_node *n = weir_case_node_state(c);
    struct tag_partition *p = weir_case_share_state(c);
    int64_t round = weir_case_now_ns(c) / weir_case_depth_ns(c);
    if (n->round != round)
        begin_round(c, n, round);
    if (p->round != round + 1)
        n->weights += weight_of(c);
    p->round = round + 1;
}

static void wfq_enter(struct weir_case *c)
{
    struct tag_node *n = weir_case_node_state(c);
    int64_t now_ns = weir_case_now_ns(c), depth_ns = weir_case_depth_ns(c);
    int64_t spent_ns = now_ns - n->at_ns < depth_ns ? now_ns - n->at_ns : depth_ns;
    n->virtual += (int64_t)((__int128)round_tag(n) * spent_ns / depth_ns);
    n->at_ns = now_ns;
    wfq_join(c);
}

static void sfq_enter(struct weir_case *c)
{
    struct tag_node *n = weir_case_node_state(c);
    int64_t part_ns = weir_case_depth_ns(c) / LEADS;
    if (weir_case_now_ns(c) / part_ns != n->at_ns / part_ns) {
        n->virtual = max_of(n->virtual, n->min);
        n->min = 0;
    }
    n->at_ns = weir_case_now_ns(c);
    wfq_join(c);
}

/* A partition that is alone may take everything. */
static bool is_alone(struct weir_case *c, const struct tag_node *n)
{
    return max_of(n->weights, n->weights_before) <= weight_of(c);
}

/* The cost, and the tokens with which the others would catch up with the request's start tag. */
static int64_t needed_by(struct weir_case *c, const struct tag_node *n, int64_t cost_mcu)
{
    __int128 ahead = start_of(c) - n->virtual;
    __int128 mcu = ahead * max_of(weights_of(n) - weight_of(c), 0) / TAG + cost_mcu;
    return mcu > INT64_MAX ? INT64_MAX : (int64_t)mcu;
}

static bool wfq_has(struct weir_case *c, int64_t cost_mcu)
{
    const struct tag_node *n = weir_case_node_state(c);
    if (is_alone(c, n))
        return weir_case_has(c, WEIR_BUCKET_NODE, cost_mcu);
    return start_of(c) <= n->virtual + lead_of(n) &&
           weir_case_has(c, WEIR_BUCKET_NODE, needed_by(c, n, cost_mcu));
}

static bool sfq_has(struct weir_case *c, int64_t cost_mcu)
{
    struct tag_node *n = weir_case_node_state(c);
    int64_t start = start_of(c);
    if (wfq_has(c, cost_mcu))
        return true;
    if (n->min == 0 || start < n->min)
        n->min = start;
    return false;
}

static int64_t wfq_wait_ns(struct weir_case *c, int64_t cost_mcu)
{
    const struct tag_node *n = weir_case_node_state(c);
    int64_t node_ns = weir_case_wait_ns(c, WEIR_BUCKET_NODE, cost_mcu);
    int64_t ahead = max_of(start_of(c) - n->virtual - lead_of(n), 0);
    __int128 ns = (__int128)ahead * weir_case_depth_ns(c) / round_tag(n);
    int64_t tag_ns = ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
    return max_of(node_ns, tag_ns);
}

static void wfq_charge(struct weir_case *c, int64_t cost_mcu)
{
    struct tag_node *n = weir_case_node_state(c);
    struct tag_partition *p = weir_case_share_state(c);
    n->taken += cost_mcu;
    p->finish = start_of(c) + tag_of(cost_mcu, weight_of(c));
}

static void sfq_took(struct weir_case *c, int64_t cost_mcu)
{
    struct tag_node *n = weir_case_node_state(c);
    int64_t start = start_of(c);
    wfq_charge(c, cost_mcu);
    if (is_alone(c, n))
        n->virtual = start; /* nobody else has a lesser tag */
}

static bool tag_is_shared(const void *state, int64_t now_ns, int64_t depth_ns)
{
    (void)state;
    (void)now_ns;
    (void)depth_ns;
    return false; /* members' nodes ask for the cost alone */
}

static void tag_absorb(void *into, const void *from)
{
    struct tag_partition *p = into;
    const struct tag_partition *other = from;
    p->finish = max_of(p->finish, other->finish);
    p->round = max_of(p->round, other->round);
}

const struct weir_node_policy weir_node_wfq = {.size = sizeof weir_node_wfq,
                                               .node_bytes = sizeof(struct tag_node),
                                               .partition_bytes = sizeof(struct tag_partition),
                                               .name = "wfq",
                                               .enter = wfq_enter,
                                               .has = wfq_has,
                                               .wait_ns = wfq_wait_ns,
                                               .took = wfq_charge,
                                               .is_shared = tag_is_shared,
                                               .absorb = tag_absorb};
const struct weir_node_policy weir_node_sfq = {.size = sizeof weir_node_sfq,
                                               .node_bytes = sizeof(struct tag_node),
                                               .partition_bytes = sizeof(struct tag_partition),
                                               .name = "sfq",
                                               .enter = sfq_enter,
                                               .has = sfq_has,
                                               .wait_ns = wfq_wait_ns,
                                               .took = sfq_took,
                                               .is_shared = tag_is_shared,
                                               .absorb = tag_absorb};
