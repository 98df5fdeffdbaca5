/* reconcile_nodes.c - the catalog's leader watches the nodes. A node with another generation than
 * the catalog knows has lost its disk: its replicas are replaced. */
#include "engine/node/catalog_leader/reconcile_internal.h"

enum {
    NODES_MS = 50
};

static void reconcile_propose(struct reconciler *reconciler, enum catalog_op op, uint32_t table_id,
                              uint32_t node, uint32_t generation)
{
    struct catalog_command command = catalog_replica_command(reconciler->catalog, op);
    command.table_id = table_id;
    command.node = node;
    command.generation = generation;
    reconcile_propose_command(reconciler, &command);
}

/* Tells the catalog where its own replicas are, so that they can be moved like all others. */
static void reconcile_propose_found(struct reconciler *reconciler)
{
    struct catalog_command command = catalog_replica_command(reconciler->catalog, CATALOG_FOUND);
    buffer_clear(&reconciler->env->scratch);
    partition_info_encode(&reconciler->env->scratch,
                          &partitions_find(reconciler->partitions, CATALOG_GROUP)->info);
    command.group = env_lend_scratch(reconciler->env);
    reconcile_propose_command(reconciler, &command);
}

static void reconcile_replace_lost(struct reconciler *reconciler, const struct table *t)
{
    if (catalog_needs_replacing(reconciler->catalog->state, t))
        reconcile_propose(reconciler, CATALOG_REPLACE, t->id, 0, 0);
}

void reconcile_watch_nodes(struct reconciler *reconciler)
{
    for (uint32_t node = 1; node <= reconciler->env->node_count; node++) {
        uint32_t generation = node == reconciler->env->id
                                  ? reconciler->identity->generation
                                  : reconciler->peers->nodes[node].generation;
        if (generation == 0 || !peers_reach(reconciler->peers, node))
            continue;
        if (generation != catalog_generation(reconciler->catalog->state, node))
            reconcile_propose(reconciler, CATALOG_NODE, 0, node, generation);
    }
    for (const struct table *t = NULL; (t = catalog_next(reconciler->catalog->state, t)) != NULL;)
        reconcile_replace_lost(reconciler, t);
    if (catalog_itself(reconciler->catalog->state) == NULL)
        reconcile_propose_found(reconciler);
    else
        reconcile_replace_lost(reconciler, catalog_itself(reconciler->catalog->state));
    cluster_loads_keep(reconciler->catalog->loads, reconciler->catalog->state);
    reconciler->nodes_at = instant_add_ms(reconciler->env->now, NODES_MS);
}
