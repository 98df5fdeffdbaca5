/* node_heat.c - what partitions led here are asked for, and advice on where to cut them.
 *
 * Eventual reads that followers serve are not seen: a follower's heat would be its own, and the
 * leader's is what reaches a limit first. Range reads count at the key they begin with. */
#include "engine/heat/split_point.h"
#include "engine/node_internal.h"

static const int64_t cool_ns = HEAT_HALF_LIFE_S * NS_PER_S;

void node_heat_add(struct node *n, struct partition *p, enum admit_kind kind, struct slice key,
                   int64_t cost_mcu)
{
    if (p->led == 0 || !partition_holds(p, key))
        return;
    heat_add(&p->heat, n->now, kind, key, cost_mcu);
    if (n->heat_at.ns == INSTANT_NEVER.ns)
        n->heat_at = instant_add(n->now, (struct duration){cool_ns});
}

/* Without heat anywhere there is no deadline. */
void node_heat_tick(struct node *n)
{
    bool any = false;
    if (instant_before(n->now, n->heat_at))
        return;
    for (uint32_t i = 0; i < n->partitions_size; i++)
        any = (n->partitions[i] != NULL && heat_cool(&n->partitions[i]->heat, n->now)) || any;
    n->heat_at = any ? instant_add(n->now, (struct duration){cool_ns}) : INSTANT_NEVER;
}

static struct split_question question_of(const struct node *n, const struct partition *p,
                                         uint32_t children)
{
    return (struct split_question){
        .lo = p->info.lo,
        .hi = p->info.hi,
        .max_mcu = {[ADMIT_READ] = n->config->partition_max_rcu * MCU_PER_UNIT,
                    [ADMIT_WRITE] = n->config->partition_max_wcu * MCU_PER_UNIT},
        .children = children,
        .whole_collections = p->info.whole_collections,
        .sequential = (enum split_sequential)n->config->split_sequential,
    };
}

void node_run_advice(struct node *n, const struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = node_partition(n, q->partition);
    struct split_advice advice;
    if (p == NULL || p->closing || p->info.epoch != q->epoch || p->info.id == CATALOG_GROUP) {
        node_refuse(n, o->from, q->id, REPLY_WRONG_PARTITION,
                    "node %u does not hold partition %u at epoch %llu", n->options.id, q->partition,
                    (unsigned long long)q->epoch);
        return;
    }
    if (p->led == 0) {
        node_refuse_not_leader(n, o, p);
        return;
    }
    if (q->items_max == 1 || q->items_max > SPLIT_CUTS_MAX + 1) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED,
                    "a partition is cut into 2 to %d children, not %u", SPLIT_CUTS_MAX + 1,
                    q->items_max);
        return;
    }
    const struct split_question question = question_of(n, p, q->items_max);
    if (q->op == REQUEST_PARTITION_MIDDLE)
        node_middle_advise(n, p, &advice);
    else
        split_advise(&p->heat, n->now, &question, &n->lent, &advice);
    buffer_clear(&n->range_out);
    split_advice_encode(&n->range_out, &advice);
    struct slice body = arena_copy(&n->lent, buffer_slice(&n->range_out));
    node_push_reply(n, o->from, q->id, REPLY_OK)->body = body;
}
