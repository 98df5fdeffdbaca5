/* census.c - what a node holds in memory when everything is done.
 *
 * Not here: what is on disks, which verify.c checks; requests and calls under way, since routers
 * ask by themselves. */
#include "engine/node/node_internal.h"

static void census_of_partition(const struct node *n, const struct partition *p, struct buffer *out)
{
    const struct index_feed_lag lag = index_feeds_lag(&n->feeds, p);
    const uint32_t sessions = index_sessions_count(&p->sessions);
    if (lag.items > 0 || lag.bytes > 0)
        buffer_append_format(out, "partition %u: a backlog of %u items and %zu bytes\n", p->info.id,
                             lag.items, lag.bytes);
    if (p->proposed_index_feed_bytes > 0 || transactions_index_feed_bytes(p) > 0)
        buffer_append_format(out, "partition %u: %zu bytes proposed and %zu prepared for indexes\n",
                             p->info.id, p->proposed_index_feed_bytes,
                             transactions_index_feed_bytes(p));
    if (transactions_log_bytes(p) > 0)
        buffer_append_format(out, "partition %u: %zu bytes of the log kept for locks\n", p->info.id,
                             transactions_log_bytes(p));
    if (sessions > 0 && p->led == 0)
        buffer_append_format(out, "partition %u: %u sessions of a term that is over\n", p->info.id,
                             sessions);
}

void node_census(const struct node *n, struct buffer *out)
{
    if (n->key_shard_moves.count > 0 || n->key_shard_moves.piece_count > 0)
        buffer_append_format(out, "%u items and %u pieces move\n", n->key_shard_moves.count,
                             n->key_shard_moves.piece_count);
    if (catalog_replica_leads(&n->catalog) &&
        n->catalog.loads->partitions.count > cluster_loads_expected(n->catalog.state))
        buffer_append_format(out, "loads of %zu partitions, and the catalog has %zu\n",
                             n->catalog.loads->partitions.count,
                             cluster_loads_expected(n->catalog.state));
    for (uint32_t i = 0; i < n->partitions.count; i++)
        census_of_partition(n, n->partitions.all[i], out);
    if (n->proposals.reserved_bytes > 0)
        buffer_append_format(out, "%zu bytes of the log kept\n", n->proposals.reserved_bytes);
    if (n->proposals.shared_bytes > 0)
        buffer_append_format(out, "%zu bytes of shared records kept\n", n->proposals.shared_bytes);
}
