/* node/peers.c - envelopes between nodes: who is alive, what their replicas say, how a cluster
 * begins.
 *
 * Everything a turn has for another node goes out in one frame: a head of fixed size, then
 * messages. A heartbeat is an envelope like any other; an idle node sends one to each peer per
 * interval.
 *
 * Frame: u8 MESSAGE_PEER | u32 node | u32 generation | u8 flags | liveness_beat | headroom, counted
 * as a report if PEER_REPORT or after a silence: i64 balance and i64 capacity of the write bucket,
 * in mcu | u32 messages | each: u8 kind, its bytes.
 *
 * How a cluster begins: a node that holds nothing is fresh. When the first `replicas` nodes have
 * all told each other that they are, each opens its replica of group 0, with the same members,
 * named by the generations they told. A node that comes later, or lost its disk, hears the
 * founders' list instead: if its generation is on it, it opens its replica; if not, it waits for
 * the catalog to give it replicas under its new generation. */
#include <stdlib.h>

#include "base/must.h"
#include "engine/node/node_internal.h"

enum {
    PEER_FRESH = 1,
    PEER_REPORT = 2, /* the headroom is told anew */
    PEER_SHARED = 4, /* more than one partition bursts there */
    PEER_FLAGS = 7,
    HEAD_SIZE = 30 + LIVENESS_BEAT_SIZE,
    ENVELOPE_FLUSH_BYTES = 4 * 1024 * 1024,
};

void node_peers_start(struct node *n)
{
    const struct config *c = n->config;
    const struct liveness_options options = {
        .node = n->options.id,
        .node_count = n->options.node_count,
        .incarnation = prng_next(&n->prng) | 1,
        .interval = duration_ms(c->heartbeat_ms),
        .support = duration_ms(c->support_ms),
        .drift_ppm = c->clock_drift_ppm,
    };
    liveness_init(&n->liveness, &options, n->now);
}

void node_peers_deinit(struct node *n)
{
    for (uint32_t i = 0; i <= n->options.node_count; i++)
        buffer_deinit(&n->peers[i].envelope);
    free(n->peers);
    if (n->started)
        liveness_deinit(&n->liveness);
}

bool node_is_reachable(const struct node *n, uint32_t node)
{
    struct instant until;
    return node == n->options.id || liveness_got(&n->liveness, n->now, node, &until) != 0;
}

/* ---- writing ---- */

static bool is_fresh(const struct node *n)
{
    return node_partition(n, CATALOG_GROUP) == NULL && !n->left_catalog &&
           n->options.id <= (uint32_t)n->config->replicas;
}

static void append_head(struct node *n, struct buffer *out, uint32_t node)
{
    struct peer *peer = &n->peers[node];
    struct liveness_beat beat = liveness_beat(&n->liveness, n->now, node, peer->beat_due);
    token_bucket_refill(&n->admission.buckets[ADMIT_WRITE], n->now);
    bool report = !instant_before(n->now, peer->report_at);
    uint8_t *at = buffer_reserve(out, HEAD_SIZE);
    at = put_u32(put_u8(at, MESSAGE_PEER), n->options.id);
    at = put_u32(at, n->generation);
    bool shared = node_admission_is_shared(&n->admission, ADMIT_WRITE, n->now);
    at = put_u8(at, (uint8_t)((is_fresh(n) ? PEER_FRESH : 0) | (report ? PEER_REPORT : 0) |
                              (shared ? PEER_SHARED : 0)));
    buffer_end(out, at);
    liveness_beat_encode(out, &beat);
    at = buffer_reserve(out, HEAD_SIZE);
    at = put_u64(at, (uint64_t)n->admission.buckets[ADMIT_WRITE].balance);
    at = put_u64(at, (uint64_t)n->admission.buckets[ADMIT_WRITE].capacity);
    buffer_end(out, put_u32(at, peer->messages));
    peer->beat_due = false;
}

/* The head is written last, into the room that was left for it: it tells the latest. */
static void close_envelope(struct node *n, uint32_t node)
{
    struct peer *peer = &n->peers[node];
    size_t size = peer->envelope.size;
    peer->envelope.size = 0;
    append_head(n, &peer->envelope, node);
    must(peer->envelope.size == HEAD_SIZE);
    peer->envelope.size = size;
    if (!instant_before(n->now, peer->report_at))
        peer->report_at = instant_add(n->now, duration_ms(n->config->report_ms));
    struct node_effect *e = node_push(n, NODE_SEND);
    e->to = node;
    e->frame = buffer_slice(&peer->envelope);
}

static void open_envelope(struct node *n, uint32_t node)
{
    struct peer *peer = &n->peers[node];
    if (peer->envelope.size > 0)
        return;
    peer->messages = 0;
    buffer_reserve(&peer->envelope, HEAD_SIZE);
    peer->envelope.size = HEAD_SIZE;
}

struct buffer *node_peer_message(struct node *n, uint32_t node, enum peer_message kind)
{
    must(node >= 1 && node <= n->options.node_count && node != n->options.id);
    struct peer *peer = &n->peers[node];
    if (peer->envelope.size > ENVELOPE_FLUSH_BYTES) {
        close_envelope(n, node);
        struct node_effect *e = &n->effects[n->effect_count - 1];
        e->frame = arena_copy(&n->lent, e->frame);
        buffer_clear(&peer->envelope);
    }
    open_envelope(n, node);
    peer->messages++;
    buffer_append_u8(&peer->envelope, (uint8_t)kind);
    return &peer->envelope;
}

static void ask_for_tokens(struct node *n, uint32_t node)
{
    uint64_t number;
    int64_t wanted_mcu;
    if (node == n->options.id || !member_asks(&n->members, node, n->now, &number, &wanted_mcu))
        return;
    struct buffer *out = node_peer_message(n, node, PEER_LEASE_ASK);
    buffer_append_u64(out, number);
    buffer_append_u64(out, (uint64_t)wanted_mcu);
}

void node_peers_end_turn(struct node *n)
{
    for (uint32_t node = 1; node_may_speak(n) && node <= n->options.node_count; node++)
        ask_for_tokens(n, node);
    for (uint32_t node = 1; node <= n->options.node_count; node++) {
        struct peer *peer = &n->peers[node];
        if (!node_may_speak(n) || (peer->envelope.size == 0 && !peer->beat_due))
            continue;
        open_envelope(n, node);
        close_envelope(n, node);
        peer->sent = true;
    }
}

void node_peers_reclaim(struct node *n)
{
    for (uint32_t node = 1; node <= n->options.node_count; node++) {
        if (!n->peers[node].sent)
            continue;
        buffer_clear(&n->peers[node].envelope);
        n->peers[node].sent = false;
    }
}

void node_peers_tick(struct node *n)
{
    if (instant_before(n->now, n->liveness_at))
        return;
    bool beat = liveness_tick(&n->liveness, n->now);
    for (uint32_t node = 1; beat && node <= n->options.node_count; node++)
        n->peers[node].beat_due = node != n->options.id;
    node_groups_tick(n, true); /* support may have lapsed */
}

/* ---- how a cluster begins ---- */

static void open_catalog(struct node *n, const struct partition_info *info)
{
    buffer_clear(&n->scratch);
    partition_info_encode(&n->scratch, info);
    node_append_own(n, LOG_PARTITION, CATALOG_GROUP, 0, buffer_slice(&n->scratch));
    n->founded = true;
}

static void found_cluster(struct node *n)
{
    static const uint8_t lo[4] = {0, 0, 0, 0}, hi[4] = {0, 0, 0, 1};
    struct partition_info info = {.id = CATALOG_GROUP,
                                  .table_id = CATALOG_TABLE_ID,
                                  .lo = slice_make(lo, sizeof lo),
                                  .hi = slice_make(hi, sizeof hi)};
    uint32_t founders = (uint32_t)n->config->replicas;
    if (founders > n->options.node_count)
        founders = n->options.node_count;
    for (uint32_t node = 1; node <= founders; node++) {
        bool self = node == n->options.id;
        if (!self && (!n->peers[node].fresh || n->peers[node].generation == 0))
            return;
        uint32_t generation = self ? n->generation : n->peers[node].generation;
        info.members[info.member_count++] = raft_member_id(node, generation, 0);
    }
    open_catalog(n, &info);
}

void node_begin_cluster(struct node *n)
{
    if (n->generation != 0 && is_fresh(n) && !n->founded && node_has_log_space(n, 1024) &&
        n->inflight_free != NULL)
        found_cluster(n);
}

static bool receive_founders(struct node *n, struct reader *r)
{
    struct slice bytes = reader_sized(r);
    struct reader inner = {bytes, r->failed};
    struct partition_info info;
    if (partition_info_decode(&inner, &info) != STATUS_OK || info.id != CATALOG_GROUP)
        return false;
    uint64_t self = raft_member_id(n->options.id, n->generation, 0);
    for (uint32_t i = 0; i < info.member_count; i++) {
        if (info.members[i] == self && (info.joined >> i & 1) == 0 && is_fresh(n) && !n->founded &&
            n->generation != 0 && n->inflight_free != NULL)
            open_catalog(n, &info);
    }
    return true;
}

static void tell_founders(struct node *n, uint32_t node)
{
    const struct partition *p = node_partition(n, CATALOG_GROUP);
    if (p != NULL)
        buffer_append_sized(node_peer_message(n, node, PEER_FOUNDERS), buffer_slice(&p->bytes));
}

/* ---- reading ---- */

/* After the message: entries of it that are in the log now, and that the group had committed
 * without this replica, because the replica was away or is behind. */
static void note_late(struct partition *p, const struct raft_message *m)
{
    uint64_t late = m->index + m->entry_count;
    if (m->commit < late)
        late = m->commit;
    if (raft_last(p->raft) < late)
        late = raft_last(p->raft);
    if (m->kind == RAFT_APPEND && m->entry_count > 0 && late > p->late_until)
        p->late_until = late;
}

static bool receive_raft(struct node *n, uint32_t from, struct reader *r)
{
    struct raft_message m;
    arena_reset(&n->received);
    if (raft_message_decode(r, &n->received, &m) != STATUS_OK)
        return false;
    struct partition *p = node_partition(n, m.group);
    struct raft_message answer;
    if (p == NULL && raft_member_node(m.from) == from && raft_answer_for_absent(&m, &answer))
        raft_message_encode(node_peer_message(n, from, PEER_RAFT), &answer);
    size_t bytes = 0;
    for (uint32_t i = 0; i < m.entry_count; i++) {
        if (!node_entry_is_sound(m.group, m.entries[i]->kind, m.entries[i]->payload))
            return false;
        bytes += log_record_size(m.entries[i]->payload.size);
    }
    bool takes = p != NULL && !p->closing && raft_member_node(m.from) == from &&
                 node_has_log_space(n, bytes);
    if (!takes || (bytes > 0 && n->map_full))
        return true; /* it is sent again */
    raft_receive(p->raft, n->now, &m);
    note_late(p, &m);
    node_group_stepped(n, p);
    return true;
}

static bool receive_lease(struct node *n, uint32_t from, uint8_t kind, struct reader *r)
{
    uint64_t number = reader_u64(r);
    int64_t mcu = (int64_t)reader_u64(r);
    if (r->failed || mcu < 0)
        return false;
    if (kind == PEER_LEASE_GRANT) {
        member_granted(&n->members, from, n->now, number, mcu);
        return true;
    }
    int64_t granted = member_grant(&n->admission.buckets[ADMIT_WRITE], n->now, mcu);
    struct buffer *out = node_peer_message(n, from, PEER_LEASE_GRANT);
    buffer_append_u64(out, number);
    buffer_append_u64(out, (uint64_t)granted);
    return true;
}

/* `life`: of the sender; 0: it is not its present one, which tells nothing of buckets. */
static bool receive_messages(struct node *n, uint32_t from, uint64_t life, uint32_t count,
                             struct reader *r)
{
    for (uint32_t i = 0; i < count; i++) {
        bool valid = false;
        uint8_t kind = reader_u8(r);
        switch (kind) {
        case PEER_RAFT:
            valid = receive_raft(n, from, r);
            break;
        case PEER_SNAPSHOT:
            valid = node_snapshot_receive(n, from, r);
            break;
        case PEER_LEASE_ASK:
        case PEER_LEASE_GRANT:
            valid = receive_lease(n, from, kind, r);
            break;
        case PEER_LEVELS:
            valid = node_buckets_receive_levels(n, r);
            break;
        case PEER_READS:
            valid = node_buckets_receive_reads(n, r, from, life);
            break;
        case PEER_FOUNDERS:
            valid = receive_founders(n, r);
            break;
        default:
            break;
        }
        if (!valid || r->failed)
            return false;
    }
    return r->left.size == 0;
}

static void heard(struct node *n, uint32_t from, struct liveness_change change)
{
    if (change.answer && node_may_speak(n))
        open_envelope(n, from);
    if (change.got ||
        change.restarted) /* started anew, it keeps quiet for as long as support lasts */
        n->peers[from].settled_at = instant_add(n->now, duration_ms(2 * n->config->support_ms));
    if (change.given || change.restarted)
        node_groups_tick(n, true);
    if (change.got)
        node_groups_heard(n, from);
    if (change.got || change.restarted)
        node_buckets_heard(n, from);
}

enum status node_peers_receive(struct node *n, struct slice frame)
{
    struct reader r = {frame, false};
    struct liveness_beat beat;
    uint8_t kind = reader_u8(&r);
    uint32_t from = reader_u32(&r);
    uint32_t generation = reader_u32(&r);
    uint8_t flags = reader_u8(&r);
    enum status status = liveness_beat_decode(&r, &beat);
    int64_t balance = (int64_t)reader_u64(&r), capacity = (int64_t)reader_u64(&r);
    uint32_t count = reader_u32(&r);
    if (r.failed || status != STATUS_OK || kind != MESSAGE_PEER || from == 0 ||
        from > n->options.node_count || from == n->options.id || generation == 0 ||
        (flags & ~PEER_FLAGS) || capacity < 0 || balance > capacity)
        return STATUS_MALFORMED;
    if (n->stop_error != 0)
        return STATUS_OK; /* a node that cannot write promises nothing */
    struct peer *peer = &n->peers[from];
    struct liveness_change change = liveness_heard(&n->liveness, n->now, from, &beat);
    if (change.believed) { /* a late frame of an earlier life tells nothing of this one */
        peer->generation = generation;
        peer->fresh = flags & PEER_FRESH;
    }
    bool report = (flags & PEER_REPORT) || member_is_silent(&n->members, from, n->now);
    if (change.believed && report)
        members_reported(&n->members, from, n->now, balance, capacity, flags & PEER_SHARED);
    heard(n, from, change);
    if (change.believed && peer->fresh)
        tell_founders(n, from);
    uint64_t life = change.believed ? beat.incarnation : 0;
    return receive_messages(n, from, life, count, &r) ? STATUS_OK : STATUS_MALFORMED;
}
