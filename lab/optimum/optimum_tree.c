/* optimum_tree.c - the max-min allocation where flows belong to groups: accounts and their tenants.
 *
 * All flows rise together. A group without a parent rises by its weight. It divides its speed among
 * those of its members that still rise, by their weights, and so do groups in it. A flow stops when
 * it has its demand, and all flows of a resource stop when the resource is full. What a flow that
 * stops leaves goes first to its own group.
 *
 * On a single resource this is the hierarchical max-min allocation: each group gets its weighted
 * part of its parent's share, or what its members want if that is less, and shares it likewise.
 * Over several resources a group has one speed in all: its weight is one of the whole cluster. If
 * each flow is a group of its own, the allocation is that of optimum_fair.c.
 * Source: Parekh and Gallager's fluid server (IEEE/ACM Transactions on Networking 1(3), 1993), with
 * the hierarchy of Bennett and Zhang, Hierarchical Packet Fair Queueing Algorithms, SIGCOMM 1996.
 *
 * Doubles carry the levels. The amounts are cut to whole mcu at the end, so that no capacity and no
 * demand is exceeded: then the rest is handed out mcu by mcu in the order of the flows, at most 2
 * each. Costs (flows + resources) * flows in the worst case. */
#include <math.h>

#include "base/must.h"
#include "lab/optimum/optimum_internal.h"

#define AT_ONCE (1 + 1e-9) /* events that are so near to the next one happen with it */

struct tree_group {
    double speed;
    double weights; /* of members that rise */
};

struct tree_row {
    double rest;
    double speed;  /* at which the flows that rise debit it */
    int64_t whole; /* what is left at the end, by whole mcu of the flows */
    bool full;
};

struct tree_flow {
    double amount, speed;
    bool rises;
};

struct tree_filling {
    const struct optimum_problem *p;
    const struct optimum_tree *tree;
    struct tree_group *groups;
    struct tree_row *rows;
    struct tree_flow *flows;
    uint32_t rising;
};

static void tree_read(struct tree_filling *f, struct optimum *o)
{
    const struct optimum_problem *p = f->p;
    f->groups = optimum_room(o, BLOCK_HEAP, f->tree->group_count, sizeof *f->groups);
    f->rows = optimum_room(o, BLOCK_ROWS, p->resource_count, sizeof *f->rows);
    f->flows = optimum_room(o, BLOCK_AMOUNTS, p->flow_count, sizeof *f->flows);
    for (uint32_t g = 0; g < f->tree->group_count; g++) {
        const struct optimum_group *group = &f->tree->groups[g];
        must(group->weight > 0 && group->weight <= OPTIMUM_WEIGHT_MAX);
        must(group->parent == OPTIMUM_NO_GROUP || group->parent < g);
    }
    for (uint32_t r = 0; r < p->resource_count; r++) {
        f->rows[r].whole = optimum_capacity(p, r);
        f->rows[r].rest =
            f->rows[r].whole == OPTIMUM_UNLIMITED ? HUGE_VAL : (double)f->rows[r].whole;
        f->rows[r].full = f->rows[r].whole == 0;
    }
    for (uint32_t i = 0; i < p->flow_count; i++) {
        must(f->tree->group_of[i] < f->tree->group_count);
        must(p->flows[i].demand_mcu >= 0 && p->flows[i].demand_mcu <= OPTIMUM_MAX);
        must(p->flows[i].weight > 0 && p->flows[i].weight <= OPTIMUM_WEIGHT_MAX);
        must(p->flows[i].count <= OPTIMUM_PATH_MAX);
        f->flows[i].rises = p->flows[i].demand_mcu > 0;
    }
}

/* Stops the flows of full resources. */
static void tree_stop_full(struct tree_filling *f)
{
    f->rising = 0;
    for (uint32_t i = 0; i < f->p->flow_count; i++) {
        const struct optimum_flow *flow = &f->p->flows[i];
        for (uint32_t k = 0; k < flow->count; k++) {
            if (f->rows[flow->resources[k]].full)
                f->flows[i].rises = false;
        }
        f->rising += f->flows[i].rises;
    }
}

/* Who rises how fast. Parents come before their members. */
static void tree_set_speeds(struct tree_filling *f)
{
    const struct optimum_tree *t = f->tree;
    for (uint32_t g = 0; g < t->group_count; g++)
        f->groups[g].weights = 0;
    for (uint32_t i = 0; i < f->p->flow_count; i++) {
        if (f->flows[i].rises)
            f->groups[t->group_of[i]].weights += (double)f->p->flows[i].weight;
    }
    for (uint32_t g = t->group_count; g-- > 0;) {
        if (f->groups[g].weights > 0 && t->groups[g].parent != OPTIMUM_NO_GROUP)
            f->groups[t->groups[g].parent].weights += (double)t->groups[g].weight;
    }
    for (uint32_t g = 0; g < t->group_count; g++) {
        const struct tree_group *parent =
            t->groups[g].parent == OPTIMUM_NO_GROUP ? NULL : &f->groups[t->groups[g].parent];
        f->groups[g].speed = (double)t->groups[g].weight;
        if (parent != NULL && parent->weights > 0)
            f->groups[g].speed *= parent->speed / parent->weights;
    }
    for (uint32_t r = 0; r < f->p->resource_count; r++)
        f->rows[r].speed = 0;
    for (uint32_t i = 0; i < f->p->flow_count; i++) {
        const struct optimum_flow *flow = &f->p->flows[i];
        const struct tree_group *group = &f->groups[t->group_of[i]];
        if (!f->flows[i].rises)
            continue;
        f->flows[i].speed = group->speed * (double)flow->weight / group->weights;
        for (uint32_t k = 0; k < flow->count; k++)
            f->rows[flow->resources[k]].speed +=
                f->flows[i].speed * (double)optimum_coefficient(flow, k);
    }
}

/* The time until the first flow has its demand or the first resource is full. */
static double tree_next(const struct tree_filling *f)
{
    double min = HUGE_VAL;
    for (uint32_t i = 0; i < f->p->flow_count; i++) {
        const struct tree_flow *flow = &f->flows[i];
        if (flow->rises)
            min = fmin(min, ((double)f->p->flows[i].demand_mcu - flow->amount) / flow->speed);
    }
    for (uint32_t r = 0; r < f->p->resource_count; r++) {
        if (f->rows[r].speed > 0)
            min = fmin(min, f->rows[r].rest / f->rows[r].speed);
    }
    return fmax(min, 0);
}

static void tree_advance(struct tree_filling *f, double time)
{
    for (uint32_t r = 0; r < f->p->resource_count; r++) {
        struct tree_row *row = &f->rows[r];
        if (row->speed == 0)
            continue;
        row->full = row->rest / row->speed <= time * AT_ONCE;
        row->rest = fmax(0, row->rest - row->speed * time);
    }
    for (uint32_t i = 0; i < f->p->flow_count; i++) {
        struct tree_flow *flow = &f->flows[i];
        const double demand = (double)f->p->flows[i].demand_mcu;
        if (!flow->rises)
            continue;
        flow->rises = (demand - flow->amount) / flow->speed > time * AT_ONCE;
        flow->amount = flow->rises ? flow->amount + flow->speed * time : demand;
    }
}

static int64_t rest_min(const struct tree_filling *f, const struct optimum_flow *flow)
{
    int64_t min = INT64_MAX;
    for (uint32_t k = 0; k < flow->count; k++) {
        int64_t rest = f->rows[flow->resources[k]].whole;
        if (rest != OPTIMUM_UNLIMITED && rest / optimum_coefficient(flow, k) < min)
            min = rest / optimum_coefficient(flow, k);
    }
    return min;
}

static int64_t tree_give(struct tree_filling *f, const struct optimum_flow *flow, int64_t requested)
{
    const int64_t rest = rest_min(f, flow), mcu = requested < rest ? requested : rest;
    for (uint32_t k = 0; k < flow->count; k++)
        if (f->rows[flow->resources[k]].whole != OPTIMUM_UNLIMITED)
            f->rows[flow->resources[k]].whole -= mcu * optimum_coefficient(flow, k);
    return mcu;
}

/* Whole amounts, within all capacities. Returns their sum. */
static int64_t tree_settle(struct tree_filling *f, int64_t *amounts)
{
    int64_t total = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < f->p->flow_count; i++) {
            const struct optimum_flow *flow = &f->p->flows[i];
            const double whole = floor(f->flows[i].amount);
            int64_t requested =
                whole < (double)flow->demand_mcu ? (int64_t)whole : flow->demand_mcu;
            if (pass > 0)
                requested = amounts[i] < flow->demand_mcu;
            const int64_t mcu = tree_give(f, flow, requested);
            amounts[i] = pass == 0 ? mcu : amounts[i] + mcu;
            total += mcu;
        }
    }
    return total;
}

struct optimum_result optimum_fair_tree(struct optimum *o, const struct optimum_problem *p,
                                        const struct optimum_tree *tree, int64_t *admitted_mcu)
{
    struct tree_filling f = {.p = p, .tree = tree};
    int64_t *amounts = admitted_mcu;
    tree_read(&f, o);
    if (amounts == NULL)
        amounts = optimum_room(o, BLOCK_AMOUNTS_BELOW, p->flow_count, sizeof *amounts);
    for (tree_stop_full(&f); f.rising > 0; tree_stop_full(&f)) {
        tree_set_speeds(&f);
        tree_advance(&f, tree_next(&f));
    }
    const int64_t total = tree_settle(&f, amounts);
    return (struct optimum_result){total, total};
}
