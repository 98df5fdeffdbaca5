/* node/heat.c - what partitions led here are asked for, and advice on where to cut them.
 *
 * Eventual reads that followers serve are not seen: a follower's heat would be its own, and the
 * leader's is what reaches a limit first. Range reads count at the key they begin with. */
#include "engine/heat/split_point.h"
#include "engine/node/node_internal.h"

static struct instant cool_at(const struct node *n)
{
    return instant_add(n->now, duration_ms(n->config->heat_half_life_ms));
}

static int64_t maximum_mcu(const struct node *n, enum admit_kind kind)
{
    return MCU_PER_UNIT *
           (kind == ADMIT_READ ? n->config->partition_max_rcu : n->config->partition_max_wcu);
}

/* A load that has just lasted long enough to be a reason for a split is reported at once. */
static void count_excess(struct node *n, struct partition *p, enum admit_kind kind,
                         int64_t cost_mcu)
{
    struct excess *e = &p->excess[kind];
    const struct excess_rule rule = {.max_mcu = maximum_mcu(n, kind),
                                     .lull_ms = n->config->split_lull_ms,
                                     .gap_ms = n->config->split_gap_ms};
    excess_add(e, n->now, cost_mcu, &rule);
    if (excess_ms(e, n->now) < n->config->split_hold_ms || p->excess_told[kind].ns == e->since.ns)
        return;
    p->excess_told[kind] = e->since;
    node_report_soon(n);
}

void node_heat_add(struct node *n, struct partition *p, enum admit_kind kind, struct slice key,
                   int64_t cost_mcu)
{
    if (p->led == 0 || !partition_holds(p, key))
        return;
    if (p->heat.state == NULL)
        heat_init(&p->heat, p->info.lo, p->info.hi, p->info.id, n->config);
    heat_add(&p->heat, n->now, kind, key, cost_mcu);
    count_excess(n, p, kind, cost_mcu);
    if (n->heat_at.ns == INSTANT_NEVER.ns)
        n->heat_at = cool_at(n);
}

/* Without heat anywhere there is no deadline. */
void node_heat_tick(struct node *n)
{
    bool any = false;
    if (instant_before(n->now, n->heat_at))
        return;
    for (uint32_t i = 0; i < n->partitions_size; i++)
        any = (n->partitions[i] != NULL && heat_cool(&n->partitions[i]->heat, n->now)) || any;
    n->heat_at = any ? cool_at(n) : INSTANT_NEVER;
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
    struct split_question question = split_question_of(n->config, p->info.lo, p->info.hi);
    question.children = q->items_max;
    question.whole_collections = p->info.whole_collections;
    if (q->op == REQUEST_PARTITION_MIDDLE)
        node_middle_advise(n, p, &advice);
    else
        split_advise(&p->heat, n->now, &question, &n->lent, &advice);
    buffer_clear(&n->range_out);
    split_advice_encode(&n->range_out, &advice);
    struct slice body = arena_copy(&n->lent, buffer_slice(&n->range_out));
    node_push_reply(n, o->from, q->id, REPLY_OK)->body = body;
}
