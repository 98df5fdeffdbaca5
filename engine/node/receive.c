/* receive.c - envelopes of other nodes, and how a cluster begins.
 *
 * The first `replicas` nodes are fresh while they have no replica of group 0 (peers_is_fresh). When
 * a fresh node has heard that all the others are fresh, it opens its replica of group 0. All open
 * it with the same members, named by the nodes' generations. A fresh node that starts late, or has
 * lost its disk, is sent the founders' list instead. If its generation is on the list, it opens its
 * replica. If not, it waits until the catalog gives it replicas under its new generation. */
#include "base/settings/replication.h"
#include "engine/node/node_internal.h"

/* ---- how a cluster begins ---- */

static void receive_open_catalog(struct node *n, const struct partition_info *info)
{
    buffer_clear(&n->env.scratch);
    partition_info_encode(&n->env.scratch, info);
    proposals_append_own(&n->proposals, LOG_PARTITION, CATALOG_GROUP, 0,
                         buffer_slice(&n->env.scratch));
    n->identity.bootstrapped = true;
}

static void receive_bootstrap_cluster(struct node *n)
{
    static const uint8_t lo[4] = {0, 0, 0, 0}, hi[4] = {0, 0, 0, 1};
    struct partition_info info = {.id = CATALOG_GROUP,
                                  .table_id = CATALOG_TABLE_ID,
                                  .lo = slice_make(lo, sizeof lo),
                                  .hi = slice_make(hi, sizeof hi)};
    uint32_t initial_nodes = (uint32_t)config_replication(n->env.config)->replicas;
    initial_nodes = MIN(initial_nodes, n->env.node_count);
    for (uint32_t node = 1; node <= initial_nodes; node++) {
        bool self = node == n->env.id;
        if (!self && (!n->peers.nodes[node].fresh || n->peers.nodes[node].generation == 0))
            return;
        uint32_t generation = self ? n->identity.generation : n->peers.nodes[node].generation;
        info.members[info.member_count++] = raft_member_id(node, generation, 0);
    }
    receive_open_catalog(n, &info);
}

void node_begin_cluster(struct node *n)
{
    if (n->identity.generation != 0 && peers_is_fresh(&n->peers) && !n->identity.bootstrapped &&
        node_log_has_space(&n->log, 1024) && !proposals_are_full(&n->proposals))
        receive_bootstrap_cluster(n);
}

static bool receive_initial_members(struct node *n, struct reader *r)
{
    struct slice bytes = reader_sized(r);
    struct partition_info info;
    if (partition_info_decode(bytes, &info) != STATUS_OK || info.id != CATALOG_GROUP)
        return false;
    uint64_t self = raft_member_id(n->env.id, n->identity.generation, 0);
    for (uint32_t i = 0; i < info.member_count; i++) {
        if (info.members[i] == self && (info.joined >> i & 1) == 0 && peers_is_fresh(&n->peers) &&
            !n->identity.bootstrapped && n->identity.generation != 0 &&
            !proposals_are_full(&n->proposals))
            receive_open_catalog(n, &info);
    }
    return true;
}

static void receive_send_initial_members(struct node *n, uint32_t node)
{
    const struct partition *p = partitions_find(&n->partitions, CATALOG_GROUP);
    if (p != NULL)
        buffer_append_sized(peers_message(&n->peers, node, PEER_INITIAL_MEMBERS),
                            buffer_slice(&p->bytes));
}

/* ---- messages ---- */

static bool receive_raft(struct node *n, uint32_t from, struct reader *r)
{
    struct raft_message m;
    arena_reset(&n->received);
    if (raft_message_decode(r, &n->received, &m) != STATUS_OK)
        return false;
    for (uint32_t i = 0; i < m.entry_count; i++) {
        if (!applier_entry_is_valid(m.group, m.entries[i]->kind, m.entries[i]->payload))
            return false;
    }
    raft_driver_receive(&n->driver, from, &m);
    return true;
}

static bool receive_snapshot(struct node *n, uint32_t from, struct reader *r)
{
    struct snapshot_offer offer;
    if (!snapshots_receive(&n->snapshots, from, r, &offer))
        return false;
    if (offer.to != NULL)
        applier_offered(&n->applier, &offer);
    return true;
}

/* False: malformed. */
static bool receive_message(struct node *n, const struct envelope *envelope, struct reader *r)
{
    uint32_t from = envelope->from;
    uint8_t kind = reader_u8(r);
    switch (kind) {
    case PEER_RAFT:
        return receive_raft(n, from, r);
    case PEER_SNAPSHOT:
        return receive_snapshot(n, from, r);
    case PEER_LEASE_REQUEST:
    case PEER_LEASE_GRANT:
        return peers_receive_lease(&n->peers, from, kind, r);
    case PEER_LEVELS:
        return bucket_mirrors_receive_levels(&n->buckets, r);
    case PEER_READS:
        return bucket_mirrors_receive_reads(&n->buckets, r, from, envelope->life);
    case PEER_INITIAL_MEMBERS:
        return receive_initial_members(n, r);
    default:
        return false;
    }
}

enum status node_receive_envelope(struct node *n, struct slice frame)
{
    struct reader r = {frame, false};
    struct envelope envelope;
    if (peers_open_envelope(&n->peers, &r, &envelope) != STATUS_OK)
        return STATUS_MALFORMED;
    if (n->env.stop_error != 0)
        return STATUS_OK;
    if (envelope.given || envelope.restarted)
        raft_driver_tick(&n->driver, true);
    if (envelope.got)
        raft_driver_support_changed(&n->driver, envelope.from);
    if (envelope.got || envelope.restarted)
        bucket_mirrors_resend(&n->buckets, envelope.from);
    if (envelope.fresh)
        receive_send_initial_members(n, envelope.from);
    for (uint32_t i = 0; i < envelope.count; i++) {
        if (!receive_message(n, &envelope, &r) || r.failed)
            return STATUS_MALFORMED;
    }
    return r.left.size == 0 ? STATUS_OK : STATUS_MALFORMED;
}
