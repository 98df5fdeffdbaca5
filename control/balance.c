/* balance.c - replicas leave overloaded nodes.
 *
 * A node that consumes more than balance_percent of its capacity gives one replica away: the one
 * that a policy ranks highest (relocate.c) among those whose new node stays below balance_percent
 * itself. The next move waits until the consumption of both nodes shows the last move. Every
 * member carries the writes, the first member the reads: a leader's replica takes its leadership
 * along. */
#include "base/settings/control.h"
#include "control/controller_internal.h"

enum {
    AGAIN_MS = 15000
};

static bool is_above(const struct controller *c, uint32_t node, enum admit_kind kind,
                     int64_t more_mcu)
{
    int64_t capacity = control_capacity_mcu(c, node, kind);
    return c->nodes[node].rate_mcu[kind] + more_mcu >
           capacity / 100 * config_control(c->config)->balance_percent;
}

/* A node that can take the partition and stays below balance_percent; 0: none. */
static uint32_t find_target(const struct controller *c, const struct control_replica *r)
{
    uint32_t to = control_find_node(c, r);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && to != 0; kind++) {
        if (is_above(c, to, kind, control_replica_cost(c, r->partition, r->from, kind)))
            to = 0;
    }
    return to;
}

struct candidate {
    const struct table *table;
    const struct partition_info *partition;
    uint32_t to;
    int64_t rank;
};

static void balance_consider(const struct controller *c, const struct table *t, uint32_t node,
                             enum admit_kind kind, struct candidate *best)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct control_replica replica = {p, node, WEIR_MOVE_BALANCE, p->rate_mcu};
        if (partition_member_on(p, node) == 0 || p->leaving != 0 || control_is_decided(c, p->id) ||
            table_partition_is_changing(t, p))
            continue;
        int64_t rank = control_rank(c, &replica, kind);
        uint32_t to = rank > best->rank ? find_target(c, &replica) : 0;
        if (to != 0)
            *best = (struct candidate){t, p, to, rank};
    }
}

static void balance_relieve(struct controller *c, uint32_t node, enum admit_kind kind)
{
    struct candidate best = {0};
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        if (t->status == TABLE_ACTIVE)
            balance_consider(c, t, node, kind, &best);
    }
    if (best.table == NULL)
        return;
    must_in_tests(best.to != node && partition_member_on(best.partition, node) != 0);
    struct decision d = {0};
    int64_t cost = control_replica_cost(c, best.partition, node, kind);
    control_event(
        c, &d, EVENT_REPLICA_MOVED, best.table, best.partition->id,
        "node %u consumes %lld %s units a second of %lld, this replica %lld: move to node %u", node,
        (long long)(c->nodes[node].rate_mcu[kind] / MCU_PER_UNIT), control_kind_name(kind),
        (long long)(control_capacity_mcu(c, node, kind) / MCU_PER_UNIT),
        (long long)(cost / MCU_PER_UNIT), best.to);
    control_figures(&d, "node", node, best.to);
    control_move(c, best.table, best.partition, node, best.to, &d);
    c->balanced_at = instant_add_ms(c->now, AGAIN_MS);
}

bool control_is_above(const struct controller *c, uint32_t node)
{
    return is_above(c, node, ADMIT_READ, 0) || is_above(c, node, ADMIT_WRITE, 0);
}

void control_balance(struct controller *c)
{
    for (uint32_t node = 1; node <= c->view->node_count; node++) {
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            if (instant_before(c->now, c->balanced_at) || !control_has_room(c) ||
                control_moving(c) >= (uint32_t)config_control(c->config)->moves_max)
                return;
            if (is_above(c, node, (enum admit_kind)kind, 0))
                balance_relieve(c, node, (enum admit_kind)kind);
        }
    }
}
