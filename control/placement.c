/* placement.c - gives every partition its replicas, on nodes that stay.
 *
 * In this order:
 *   - a replica on a node that has been unresponsive for node_unresponsive_ms gets another node;
 *   - a replica on a node that is being drained gets another node;
 *   - a partition with too few replicas gets one more.
 * The catalog's own group comes first. */
#include "base/settings/control.h"
#include "base/settings/replication.h"
#include "control/controller_internal.h"

enum {
    REPORT_AGAIN_MS = 600000 /* between events about a missing target node */
};

static bool is_gone(const struct controller *c, uint32_t node)
{
    const struct node_history *w = &c->nodes[node];
    struct instant long_ago =
        instant_add_ms(w->unresponsive_since, config_control(c->config)->node_unresponsive_ms);
    return instant_before(w->unresponsive_since, INSTANT_NEVER) &&
           !instant_before(c->now, long_ago);
}

/* Nodes that may hold replicas. */
static uint32_t usable_nodes(const struct controller *c)
{
    uint32_t count = 0;
    for (uint32_t node = 1; node <= c->view->node_count; node++)
        count += catalog_generation(c->view->catalog, node) != 0 &&
                 !catalog_is_drained(c->view->catalog, node) && !is_gone(c, node);
    return count;
}

static void report_no_place(struct controller *c, const struct table *t,
                            const struct partition_info *p, uint32_t node)
{
    struct decision d = {0};
    struct node_history *w = &c->nodes[node];
    if (instant_before(c->now, w->quiet_until) || !control_has_room(c))
        return;
    w->quiet_until = instant_add_ms(c->now, REPORT_AGAIN_MS);
    control_event(
        c, &d, EVENT_NO_CAPACITY, t, p->id,
        "cannot move this replica off node %u: every other node lacks room or has a copy. Add "
        "a node",
        node);
    control_decide(c, CATALOG_EVENT, &d);
}

/* The node of a replica that must move; 0: none. */
static uint32_t find_member(const struct controller *c, const struct partition_info *p,
                            bool (*matches)(const struct controller *c, uint32_t node))
{
    for (uint32_t i = 0; i < p->member_count; i++) {
        if (matches(c, partition_node(p, i)))
            return partition_node(p, i);
    }
    return 0;
}

static bool is_drained(const struct controller *c, uint32_t node)
{
    return catalog_is_drained(c->view->catalog, node);
}

static bool give_away(struct controller *c, const struct table *t, const struct partition_info *p)
{
    must_in_tests(p->leaving == 0);
    uint32_t gone = find_member(c, p, is_gone);
    uint32_t from = gone != 0 ? gone : find_member(c, p, is_drained);
    if (from == 0)
        return false;
    const struct control_replica replica = {p, from, WEIR_MOVE_LEAVE, p->rate_mcu};
    uint32_t to = control_find_node(c, &replica);
    if (to == 0) {
        report_no_place(c, t, p, from);
        return false;
    }
    struct decision d = {0};
    int64_t unresponsive_s = instant_since(c->now, c->nodes[from].unresponsive_since).ns / NS_PER_S;
    if (gone != 0)
        control_event(c, &d, EVENT_REPLICA_REPLACED, t, p->id,
                      "node %u has been unresponsive for %lld s: node %u replaces it", from,
                      (long long)unresponsive_s, to);
    else
        control_event(c, &d, EVENT_REPLICA_MOVED, t, p->id, "node %u is drained: move to node %u",
                      from, to);
    control_figures(&d, "node", from, to);
    control_move(c, t, p, from, to, &d);
    return true;
}

static bool fill_up(struct controller *c, const struct table *t, const struct partition_info *p,
                    uint32_t usable)
{
    uint32_t replicas_target = (uint32_t)config_replication(c->config)->replicas < usable
                                   ? (uint32_t)config_replication(c->config)->replicas
                                   : usable;
    if (p->member_count >= replicas_target || !control_has_room(c))
        return false;
    const struct control_replica replica = {p, 0, WEIR_MOVE_FILL, p->rate_mcu};
    uint32_t to = control_find_node(c, &replica);
    if (to == 0)
        return false;
    struct decision d = {0};
    control_event(c, &d, EVENT_REPLICA_ADDED, t, p->id,
                  "the partition has %u replicas of %lld: node %u gets one", p->member_count,
                  (long long)config_replication(c->config)->replicas, to);
    control_figures(&d, "replicas", p->member_count, p->member_count + 1);
    control_move(c, t, p, 0, to, &d);
    return true;
}

static void placement_place(struct controller *c, const struct table *t, uint32_t usable,
                            uint32_t *moving)
{
    for (uint32_t i = 0; t->status == TABLE_ACTIVE && i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        if (*moving >= (uint32_t)config_control(c->config)->moves_max || !control_has_room(c))
            return;
        if (p->leaving == 0 && !control_is_decided(c, p->id))
            *moving += give_away(c, t, p) || fill_up(c, t, p, usable);
    }
}

void control_place(struct controller *c)
{
    const struct catalog *catalog = c->view->catalog;
    uint32_t usable = usable_nodes(c), moving = control_moving(c);
    must_in_tests(usable <= c->view->node_count);
    if (catalog_itself(catalog) != NULL)
        placement_place(c, catalog_itself(catalog), usable, &moving);
    for (const struct table *t = NULL; (t = catalog_next(catalog, t)) != NULL;)
        placement_place(c, t, usable, &moving);
}
