/* control_view.c - what the catalog leader's node shows to the controller beside it. */
#include "engine/node/control_port.h"
#include "engine/node/node_internal.h"

uint64_t node_control_term(const struct node *n)
{
    const struct partition *p = partitions_find(&n->partitions, CATALOG_GROUP);
    return p != NULL && n->env.stop_error == 0 ? p->led : 0;
}

struct instant node_control_urgent(const struct node *n)
{
    return n->catalog.urgent_at;
}

void node_control_view(const struct node *n, struct control_view *out)
{
    *out = (struct control_view){.term = node_control_term(n),
                                 .self = n->env.id,
                                 .node_count = n->env.node_count,
                                 .catalog = n->catalog.state,
                                 .loads = n->catalog.loads};
    must(out->term != 0);
    for (uint32_t node = 1; node <= n->env.node_count; node++)
        out->reachable[node] = peers_reach(&n->peers, node);
}

const struct catalog *node_catalog(const struct node *n)
{
    return n->catalog.state;
}
