/* restore.c - loads the state of a node's earlier life from the store. */
#include "engine/node/node_internal.h"

static void load_partition(void *context, const struct partition_row *row,
                           const struct partition_info *info)
{
    struct node *n = context;
    struct partition *p = partition_create(info);
    p->since_lsn = row->since_lsn;
    partition_take_row(p, row);
    p->stored = true;
    struct kept_buckets kept = {.epoch = info->epoch};
    memcpy(kept.balances, row->buckets, sizeof kept.balances);
    if (row->has_buckets)
        partition_keep_buckets(p, &kept);
    partitions_add(&n->partitions, p);
    raft_driver_create_raft(&n->driver, p, &row->base);
    raft_replay_hard_state(p->raft, row->term, row->vote);
}

enum status node_load(struct node *n, struct buffer *error)
{
    const struct local_state_loader loader = {.env = &n->env,
                                              .identity = &n->identity,
                                              .local_lsn = &n->log.local_lsn,
                                              .context = n,
                                              .partition = load_partition};
    enum status status = local_state_load(&loader);
    const struct partition *catalog = partitions_find(&n->partitions, CATALOG_GROUP);
    if (status == STATUS_OK && catalog != NULL && !catalog->no_state)
        status = catalog_replica_load(&n->catalog);
    if (status != STATUS_OK)
        buffer_append_format(error, "the node's own records cannot be read: %s",
                             status_text(status));
    return status;
}

/* The highest node number in the groups that this node knows. A replica knows its own group, the
 * catalog knows all groups. */
static uint32_t load_last_node_known(const struct node *n)
{
    uint32_t last = 0;
    const struct table *t = NULL;
    for (uint32_t at = 0; at < n->partitions.count; at++) {
        const struct raft_members *m = raft_members(n->partitions.all[at]->raft);
        for (uint32_t i = 0; i < m->count; i++)
            last = MAX(last, raft_member_node(m->all[i].id));
    }
    while (n->catalog.state != NULL && (t = catalog_next(n->catalog.state, t)) != NULL) {
        for (uint32_t i = 0; i < t->partition_count; i++)
            for (uint32_t m = 0; m < t->partitions[i].member_count; m++)
                last = MAX(last, partition_node(&t->partitions[i], m));
    }
    return last;
}

enum status node_check(const struct node *n, struct buffer *error)
{
    uint32_t node = load_last_node_known(n);
    if (node <= n->env.node_count)
        return STATUS_OK;
    return buffer_explain(error, STATUS_MALFORMED,
                          "the data has partitions on node %u, too, but only %u %s named: start "
                          "with all nodes of the data",
                          node, n->env.node_count,
                          n->env.node_count == 1 ? "node is" : "nodes are");
}
