/* relocate.c - the decision point of moves: which replica leaves an overloaded node, and which node
 * gets a replica. A policy (setting relocate_policy; weir's own: policy_least_reserved.c) says so.
 *
 * RELOCATE-1  A policy chooses only among nodes that could take the replica.
 *
 * Not here: when a replica moves (placement.c, adaptive.c, balance.c). */
#include "base/policy_value.h"
#include "control/controller_internal.h"

enum {
    COST_WINDOW_MS = 5000
};

/* A replica for the time of a call. */
struct weir_move {
    const struct controller *c;
    const struct control_replica *replica;
    uint32_t count;
    const uint32_t *nodes; /* offered */
};

static bool replica_leads(const struct control_replica *r)
{
    return r->from != 0 && partition_node(r->partition, 0) == r->from;
}

int64_t control_replica_cost(const struct controller *c, const struct partition_info *p,
                             uint32_t node, enum admit_kind kind)
{
    bool carries =
        kind == ADMIT_READ ? partition_node(p, 0) == node : partition_member_on(p, node) != 0;
    return carries ? control_rates(c, control_history(c, p->id), kind, COST_WINDOW_MS).consumed_mcu
                   : 0;
}

/* ---- what policies see ---- */

POLICY_VALUE(int64_t, weir_move_now_ns, struct weir_move *m, m->c->now.ns)
POLICY_VALUE(uint32_t, weir_move_why, struct weir_move *m, m->replica->why)
POLICY_VALUE(uint32_t, weir_move_from, struct weir_move *m, m->replica->from)
POLICY_VALUE(bool, weir_move_leads, struct weir_move *m, replica_leads(m->replica))

int64_t weir_move_required(const struct weir_move *m, enum weir_policy_kind kind)
{
    bool needs = control_is_kind(kind) && (kind == WEIR_POLICY_WRITE || replica_leads(m->replica));
    return needs ? m->replica->reserved_mcu[kind] : 0;
}

int64_t weir_move_cost(const struct weir_move *m, enum weir_policy_kind kind)
{
    const struct control_replica *r = m->replica;
    return control_is_kind(kind) && r->from != 0
               ? control_replica_cost(m->c, r->partition, r->from, (enum admit_kind)kind)
               : 0;
}

POLICY_VALUE(uint32_t, weir_move_nodes, struct weir_move *m, m->count)

uint32_t weir_move_node(const struct weir_move *m, uint32_t index)
{
    return index < m->count ? m->nodes[index] : 0;
}

int64_t weir_move_capacity(const struct weir_move *m, uint32_t index, enum weir_policy_kind kind)
{
    const uint32_t node = weir_move_node(m, index);
    return node == 0 || !control_is_kind(kind)
               ? 0
               : control_capacity_mcu(m->c, node, (enum admit_kind)kind);
}

int64_t weir_move_reserved(const struct weir_move *m, uint32_t index, enum weir_policy_kind kind)
{
    const uint32_t node = weir_move_node(m, index);
    return node == 0 || !control_is_kind(kind) ? 0 : m->c->reservations.loads_mcu[node][kind];
}

int64_t weir_move_consumed(const struct weir_move *m, uint32_t index, enum weir_policy_kind kind)
{
    const uint32_t node = weir_move_node(m, index);
    return node == 0 || !control_is_kind(kind) ? 0 : m->c->nodes[node].rate_mcu[kind];
}

int64_t weir_move_replicas(const struct weir_move *m, uint32_t index)
{
    const uint32_t node = weir_move_node(m, index);
    return node == 0 ? 0 : m->c->reservations.work[node];
}

/* ---- which node ---- */

static bool could_take(const struct controller *c, uint32_t node, const struct partition_info *p)
{
    return c->view->reachable[node] && catalog_generation(c->view->catalog, node) != 0 &&
           !catalog_is_drained(c->view->catalog, node) && partition_member_on(p, node) == 0 &&
           raft_member_node(p->leaving) != node;
}

/* Whether the node has the capacity. */
static bool has_room(const struct weir_move *m, uint32_t node)
{
    bool fits = true;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && fits; kind++)
        fits = m->c->reservations.loads_mcu[node][kind] +
                   weir_move_required(m, (enum weir_policy_kind)kind) <=
               control_capacity_mcu(m->c, node, kind);
    return fits;
}

uint32_t control_find_node(const struct controller *c, const struct control_replica *r)
{
    const struct weir_relocate_policy *policy = control_policy(c, POLICY_RELOCATE);
    uint32_t nodes[NODES_MAX];
    struct weir_move m = {.c = c, .replica = r, .nodes = nodes};
    for (uint32_t node = 1; node <= c->view->node_count; node++) {
        if (could_take(c, node, r->partition) && has_room(&m, node))
            nodes[m.count++] = node;
    }
    if (m.count == 0)
        return 0;
    int64_t begun_ns = control_call_begin(c, policy);
    const uint32_t index = policy->place(&m);
    control_call_end(c, policy, begun_ns);
    if (index == WEIR_MOVE_NOWHERE)
        return 0;
    if (index >= m.count)
        control_report_invalid(c, policy, "chooses a node that is not offered");
    const uint32_t node = weir_move_node(&m, index);
    must_in_tests(node == 0 || could_take(c, node, r->partition)); /* RELOCATE-1 */
    return node;
}

/* ---- which replica ---- */

int64_t control_rank(const struct controller *c, const struct control_replica *r,
                     enum admit_kind kind)
{
    const struct weir_relocate_policy *policy = control_policy(c, POLICY_RELOCATE);
    const struct weir_move m = {.c = c, .replica = r};
    if (policy->rank == NULL)
        return weir_move_cost(&m, (enum weir_policy_kind)kind);
    int64_t begun_ns = control_call_begin(c, policy);
    int64_t rank = policy->rank(&m, (enum weir_policy_kind)kind);
    control_call_end(c, policy, begun_ns);
    if (rank < 0)
        control_report_invalid(c, policy, "ranks a replica below zero");
    return rank;
}
