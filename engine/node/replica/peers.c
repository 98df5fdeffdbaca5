/* peers.c - the other nodes: which nodes are alive, and the envelopes to them. */
#include "engine/node/replica/peers.h"

#include <stdlib.h>

#include "base/settings/replication.h"
#include "base/settings/reports.h"
#include "engine/catalog/catalog.h"
#include "engine/message/message.h"
#include "engine/node/core/node_effect.h"

enum {
    PEER_FRESH = 1,
    PEER_REPORT = 2, /* the headroom is a report */
    PEER_SHARED = 4, /* more than one partition bursts on the sender */
    PEER_FLAGS = 7,
    WALL_MS_BITS = 52,
    HEAD_SIZE = 38 + LIVENESS_BEAT_SIZE,
    ENVELOPE_FLUSH_BYTES = 4 * 1024 * 1024,
};

/* A node's wall clock, as far as it is known here. */
static int64_t peers_clock(const struct peers *peers, uint32_t node)
{
    const struct peer *peer = &peers->nodes[node];
    return node == peers->env->id
               ? env_wall_ms(peers->env)
               : peer->wall_ms + instant_since(peers->env->now, peer->wall_at).ns / NS_PER_MS;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* CLOCKS-1: most nodes have reached the clock of which fewer than half are behind. */
static void peers_agree(struct peers *peers)
{
    const uint32_t count = peers->env->node_count;
    int64_t *clocks = arena_alloc(&peers->env->lent, count * sizeof clocks[0]);
    for (uint32_t i = 0; i < count; i++)
        clocks[i] = peers_clock(peers, 1 + i);
    qsort(clocks, count, sizeof clocks[0], by_value);
    peers->env->agreed_ms = clocks[(count - 1) / 2];
    peers->env->agreed_at = peers->env->now;
}

void peers_init(struct peers *peers, struct node_env *env, struct partitions *partitions,
                struct identity *identity, struct throughput *throughput)
{
    peers->env = env;
    peers->partitions = partitions;
    peers->identity = identity;
    peers->throughput = throughput;
    peers->nodes = must_calloc(env->node_count + 1, sizeof peers->nodes[0]);
    for (uint32_t i = 0; i <= env->node_count; i++)
        peers->nodes[i].wall_ms = INT64_MIN / 2;
    env->agreed_ms = INT64_MIN / 2;
}

void peers_start(struct peers *peers)
{
    const struct config *c = peers->env->config;
    const struct liveness_options options = {
        .node = peers->env->id,
        .node_count = peers->env->node_count,
        .incarnation = prng_next(&peers->env->prng) | 1,
        .interval = duration_ms(config_replication(c)->heartbeat_ms),
        .support = duration_ms(config_replication(c)->support_ms),
        .drift_ppm = config_replication(c)->clock_drift_ppm,
    };
    liveness_init(&peers->liveness, &options, peers->env->now);
    peers_agree(peers);
}

void peers_deinit(struct peers *peers)
{
    for (uint32_t i = 0; i <= peers->env->node_count; i++)
        buffer_deinit(&peers->nodes[i].envelope);
    free(peers->nodes);
    if (peers->env->started)
        liveness_deinit(&peers->liveness);
}

bool peers_reach(const struct peers *peers, uint32_t node)
{
    struct instant until;
    return node == peers->env->id ||
           liveness_got(&peers->liveness, peers->env->now, node, &until) != 0;
}

/* ---- writing ---- */

bool peers_is_fresh(const struct peers *peers)
{
    return partitions_find(peers->partitions, CATALOG_GROUP) == NULL &&
           !peers->identity->left_catalog &&
           peers->env->id <= (uint32_t)config_replication(peers->env->config)->replicas;
}

static void peers_append_head(struct peers *peers, struct buffer *out, uint32_t node)
{
    struct peer *peer = &peers->nodes[node];
    struct liveness_beat beat =
        liveness_beat(&peers->liveness, peers->env->now, node, peer->beat_due);
    token_bucket_refill(&peers->throughput->admission.buckets[ADMIT_WRITE], peers->env->now);
    bool report = !instant_before(peers->env->now, peer->report_at);
    uint8_t *at = buffer_reserve(out, HEAD_SIZE);
    at = put_u32(put_u8(at, MESSAGE_PEER), peers->env->id);
    at = put_u32(at, peers->identity->generation);
    bool shared =
        node_admission_is_shared(&peers->throughput->admission, ADMIT_WRITE, peers->env->now);
    at = put_u8(at, (uint8_t)((peers_is_fresh(peers) ? PEER_FRESH : 0) |
                              (report ? PEER_REPORT : 0) | (shared ? PEER_SHARED : 0)));
    buffer_end(out, at);
    liveness_beat_encode(out, &beat);
    at = buffer_reserve(out, HEAD_SIZE);
    at = put_u64(at, (uint64_t)peers->throughput->admission.buckets[ADMIT_WRITE].balance);
    at = put_u64(at, (uint64_t)peers->throughput->admission.buckets[ADMIT_WRITE].capacity);
    const int64_t wall_ms = env_wall_ms(peers->env);
    at = put_u64(at, wall_ms > 0 ? (uint64_t)wall_ms : 0); /* a clock may be set to before 1970 */
    buffer_end(out, put_u32(at, peer->messages));
    peer->beat_due = false;
}

/* Writes the head last, into the room left for it, so that its figures are the latest. */
static void peers_close_envelope(struct peers *peers, uint32_t node)
{
    struct peer *peer = &peers->nodes[node];
    size_t size = peer->envelope.size;
    peer->envelope.size = 0;
    peers_append_head(peers, &peer->envelope, node);
    must(peer->envelope.size == HEAD_SIZE);
    peer->envelope.size = size;
    if (!instant_before(peers->env->now, peer->report_at))
        peer->report_at =
            instant_add_ms(peers->env->now, config_reports(peers->env->config)->report_ms);
    struct node_effect *e = env_push(peers->env, NODE_SEND);
    e->to = node;
    e->frame = buffer_slice(&peer->envelope);
}

static void peers_begin_envelope(struct peers *peers, uint32_t node)
{
    struct peer *peer = &peers->nodes[node];
    if (peer->envelope.size > 0)
        return;
    peer->messages = 0;
    buffer_reserve(&peer->envelope, HEAD_SIZE);
    peer->envelope.size = HEAD_SIZE;
}

struct buffer *peers_message(struct peers *peers, uint32_t node, enum peer_message kind)
{
    must(node >= 1 && node <= peers->env->node_count && node != peers->env->id);
    struct peer *peer = &peers->nodes[node];
    if (peer->envelope.size > ENVELOPE_FLUSH_BYTES) {
        peers_close_envelope(peers, node);
        struct node_effect *e = &peers->env->effects[peers->env->effect_count - 1];
        e->frame = arena_copy(&peers->env->lent, e->frame);
        buffer_clear(&peer->envelope);
    }
    peers_begin_envelope(peers, node);
    peer->messages++;
    buffer_append_u8(&peer->envelope, (uint8_t)kind);
    return &peer->envelope;
}

static void peers_request_tokens(struct peers *peers, uint32_t node)
{
    uint64_t number;
    int64_t demand_mcu;
    if (node == peers->env->id || !member_is_request_due(&peers->throughput->members, node,
                                                         peers->env->now, &number, &demand_mcu))
        return;
    struct buffer *out = peers_message(peers, node, PEER_LEASE_REQUEST);
    buffer_append_u64(out, number);
    buffer_append_u64(out, (uint64_t)demand_mcu);
}

void peers_end_turn(struct peers *peers)
{
    const bool leases = members_lease(&peers->throughput->members);
    for (uint32_t node = 1; peers_may_send(peers) && node <= peers->env->node_count; node++) {
        struct peer *peer = &peers->nodes[node];
        if (leases)
            peers_request_tokens(peers, node);
        if (peer->envelope.size == 0 && !peer->beat_due)
            continue;
        peers_begin_envelope(peers, node);
        peers_close_envelope(peers, node);
        peer->sent = peers->lent = true;
    }
    peers->liveness_at = liveness_deadline(&peers->liveness, peers->env->now);
}

void peers_reclaim(struct peers *peers)
{
    for (uint32_t node = 1; peers->lent && node <= peers->env->node_count; node++) {
        if (!peers->nodes[node].sent)
            continue;
        buffer_clear(&peers->nodes[node].envelope);
        peers->nodes[node].sent = false;
    }
    peers->lent = false;
}

bool peers_tick(struct peers *peers)
{
    if (instant_before(peers->env->now, peers->liveness_at))
        return false;
    const struct liveness_due due = liveness_tick(&peers->liveness, peers->env->now);
    peers_agree(peers);
    for (uint32_t node = 1; due.beat && node <= peers->env->node_count; node++)
        peers->nodes[node].beat_due = node != peers->env->id;
    return due.lapsed;
}

/* ---- reading ---- */

enum status peers_open_envelope(struct peers *peers, struct reader *r, struct envelope *out)
{
    struct node_env *env = peers->env;
    struct liveness_beat beat;
    uint8_t kind = reader_u8(r);
    uint32_t from = reader_u32(r);
    uint32_t generation = reader_u32(r);
    uint8_t flags = reader_u8(r);
    enum status status = liveness_beat_decode(r, &beat);
    int64_t balance = (int64_t)reader_u64(r), capacity = (int64_t)reader_u64(r);
    const int64_t wall_ms = (int64_t)reader_u64(r);
    uint32_t count = reader_u32(r);
    if (r->failed || status != STATUS_OK || kind != MESSAGE_PEER || from == 0 ||
        from > env->node_count || from == env->id || generation == 0 || (flags & ~PEER_FLAGS) ||
        capacity < 0 || balance > capacity || wall_ms < 0 || wall_ms >> WALL_MS_BITS != 0)
        return STATUS_MALFORMED;
    *out = (struct envelope){.from = from};
    if (env->stop_error != 0)
        return STATUS_OK; /* a stopped node gives no support */
    struct peer *peer = &peers->nodes[from];
    struct liveness_change change = liveness_received(&peers->liveness, env->now, from, &beat);
    if (change.believed) { /* not a late frame of the peer's earlier life */
        peer->generation = generation;
        peer->fresh = flags & PEER_FRESH;
        peer->wall_ms = wall_ms;
        peer->wall_at = env->now;
    }
    struct members *members = &peers->throughput->members;
    bool report = (flags & PEER_REPORT) || member_is_unresponsive(members, from, env->now);
    if (change.believed && report)
        members_reported(members, from, env->now, balance, capacity, flags & PEER_SHARED);
    if (change.answer && peers_may_send(peers))
        peers_begin_envelope(peers, from);
    if (change.got || change.restarted) /* after a start a node is quiet for as long as support */
        peer->settled_at =
            instant_add_ms(env->now, 2 * config_replication(env->config)->support_ms);
    out->life = change.believed ? beat.incarnation : 0;
    out->fresh = change.believed && peer->fresh;
    out->got = change.got;
    out->restarted = change.restarted;
    out->given = change.given;
    out->count = count;
    return STATUS_OK;
}

bool peers_receive_lease(struct peers *peers, uint32_t from, uint8_t kind, struct reader *r)
{
    uint64_t number = reader_u64(r);
    int64_t mcu = (int64_t)reader_u64(r);
    if (r->failed || mcu < 0)
        return false;
    if (kind == PEER_LEASE_GRANT) {
        member_granted(&peers->throughput->members, from, peers->env->now, number, mcu);
        return true;
    }
    int64_t granted =
        member_grant(&peers->throughput->admission.buckets[ADMIT_WRITE], peers->env->now, mcu);
    struct buffer *out = peers_message(peers, from, PEER_LEASE_GRANT);
    buffer_append_u64(out, number);
    buffer_append_u64(out, (uint64_t)granted);
    return true;
}

bool peers_may_send(const struct peers *peers)
{
    return peers->identity->generation != 0 &&
           peers->identity->support_kept.ns >=
               config_replication(peers->env->config)->support_ms * NS_PER_MS;
}
