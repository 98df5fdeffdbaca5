/* settling_nodes.c - the catalog's leader watches the nodes. A node with another generation than
 * the catalog knows has lost its disk: its replicas are replaced. */
#include "engine/node/settling_internal.h"

enum {
    NODES_MS = 50
};

static void settling_propose(struct settling *settling, enum catalog_op op, uint32_t table_id,
                             uint32_t node, uint32_t generation)
{
    struct catalog_command command = catalog_replica_command(settling->catalog, op);
    command.table_id = table_id;
    command.node = node;
    command.generation = generation;
    settling_propose_command(settling, &command);
}

/* Tells the catalog where its own replicas are, so that they can be moved like all others. */
static void settling_propose_found(struct settling *settling)
{
    struct catalog_command command = catalog_replica_command(settling->catalog, CATALOG_FOUND);
    buffer_clear(&settling->env->scratch);
    partition_info_encode(&settling->env->scratch,
                          &partitions_find(settling->partitions, CATALOG_GROUP)->info);
    command.group = env_lend_scratch(settling->env);
    settling_propose_command(settling, &command);
}

static void settling_replace_lost(struct settling *settling, const struct table *t)
{
    if (catalog_needs_replacing(settling->catalog->state, t))
        settling_propose(settling, CATALOG_REPLACE, t->id, 0, 0);
}

void settling_watch_nodes(struct settling *settling)
{
    for (uint32_t node = 1; node <= settling->env->node_count; node++) {
        uint32_t generation = node == settling->env->id ? settling->identity->generation
                                                        : settling->peers->nodes[node].generation;
        if (generation == 0 || !peers_reach(settling->peers, node))
            continue;
        if (generation != catalog_generation(settling->catalog->state, node))
            settling_propose(settling, CATALOG_NODE, 0, node, generation);
    }
    for (const struct table *t = NULL; (t = catalog_next(settling->catalog->state, t)) != NULL;)
        settling_replace_lost(settling, t);
    if (catalog_itself(settling->catalog->state) == NULL)
        settling_propose_found(settling);
    else
        settling_replace_lost(settling, catalog_itself(settling->catalog->state));
    settling->nodes_at = instant_add_ms(settling->env->now, NODES_MS);
}
