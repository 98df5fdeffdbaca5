/* catalog_leader.c - heartbeats and answers of the nodes beside the leader of the catalog. */
#include "tests/support/catalog_leader.h"

#include <stdlib.h>

#include "base/settings/replication.h"
#include "engine/message/frames.h"
#include "engine/message/index_messages.h"
#include "tests/check.h"

enum {
    LENGTH_SIZE = 4,       /* before an encoded frame */
    HEAD_BEFORE_BEAT = 10, /* as in engine/node/replica/peers.h */
    FROZEN_TERM = 5,
    WITHIN_MS = 20000 /* everything settles */
};

static struct slice slice_behind(struct slice s, size_t size)
{
    assert_true(s.size >= size);
    return slice_make(s.data + size, s.size - size);
}

/* ---- heartbeats ---- */

static void played_send_beat(struct catalog_leader *s, uint32_t node, bool heartbeat)
{
    const struct liveness_beat beat =
        liveness_beat(&s->nodes[node].liveness, s->w.now, 1, heartbeat);
    struct buffer b = {0};
    buffer_append_u8(&b, MESSAGE_PEER);
    buffer_append_u32(&b, node);
    buffer_append_u32(&b, node + s->nodes[node].lost * LEADER_NODES); /* its generation */
    buffer_append_u8(&b, 0);
    liveness_beat_encode(&b, &beat);
    buffer_append_u64(&b, 0); /* its headroom */
    buffer_append_u64(&b, 0);
    buffer_append_u64(&b, 0); /* its wall clock */
    buffer_append_u32(&b, 0); /* messages */
    assert_int_equal(node_receive(s->w.node, s->w.now, buffer_slice(&b)), STATUS_OK);
    lone_take_effects(&s->w);
    buffer_deinit(&b);
}

static void played_receive(struct catalog_leader *s, uint32_t node, struct slice frame)
{
    struct liveness_beat beat;
    struct reader r = {slice_behind(frame, HEAD_BEFORE_BEAT), false};
    assert_int_equal(liveness_beat_decode(&r, &beat), STATUS_OK);
    s->nodes[node].ack_due |=
        liveness_received(&s->nodes[node].liveness, s->w.now, 1, &beat).answer;
}

static void played_beat(struct catalog_leader *s)
{
    for (uint32_t node = LEADER_FIRST; node <= LEADER_NODES; node++) {
        const bool due = liveness_tick(&s->nodes[node].liveness, s->w.now).beat;
        if (due || s->nodes[node].ack_due)
            played_send_beat(s, node, due);
        s->nodes[node].ack_due = false;
    }
}

/* ---- requests ---- */

static bool leader_request_fits(const struct leader_request *a, enum request_op op,
                                uint32_t partition, uint32_t node)
{
    return a->request.op == op && (partition == 0 || a->request.partition == partition) &&
           (node == 0 || a->node == node);
}

/* A request that is repeated is there already. Nobody waits for an answer to a request without
 * id. */
static void leader_request_add(struct catalog_leader *s, uint32_t node, const struct request *r)
{
    for (size_t i = 0; r->id != 0 && i < s->request_count; i++) {
        if (s->requests[i].request.id == r->id && s->requests[i].node == node)
            return;
    }
    s->requests = realloc(s->requests, (s->request_count + 1) * sizeof s->requests[0]);
    assert_non_null(s->requests);
    struct leader_request *a = &s->requests[s->request_count++];
    *a = (struct leader_request){.node = node, .answered = r->id == 0};
    request_encode(&a->frame, r);
    const struct slice frame = slice_behind(buffer_slice(&a->frame), LENGTH_SIZE);
    assert_int_equal(request_decode(frame, &a->request), STATUS_OK);
}

static void leader_take(void *context, const struct node_effect *e)
{
    struct catalog_leader *s = context;
    if (e->kind == NODE_SEND)
        played_receive(s, (uint32_t)e->to, e->frame);
    else
        leader_request_add(s, (uint32_t)e->to, &e->request);
}

static bool leader_request_is_held(const struct catalog_leader *s, const struct leader_request *a)
{
    for (size_t i = 0; i < s->hold_count; i++) {
        if (leader_request_fits(a, s->holds[i].op, s->holds[i].partition, s->holds[i].node))
            return true;
    }
    return false;
}

/* What a node says that has done it. */
static struct reply leader_request_done(const struct request *r)
{
    struct partition_info info;
    struct reply done = {.code = REPLY_OK};
    if (r->op == REQUEST_PARTITION_MERGE) {
        assert_int_equal(partition_info_decode(r->group.info, &info), STATUS_OK);
        if (info.merge == MERGE_FREEZE) {
            done.kind = ANSWER_FROZEN;
            done.frozen.index = LEADER_FROZEN;
            done.frozen.term = FROZEN_TERM;
        }
    }
    return done;
}

static void leader_request_answer(struct catalog_leader *s, struct leader_request *a,
                                  struct reply reply)
{
    a->answered = true;
    reply.id = a->request.id;
    node_reply(s->w.node, s->w.now, &reply);
    lone_take_effects(&s->w);
    lone_write_all(&s->w);
}

static void leader_answer_all(struct catalog_leader *s)
{
    const size_t count = s->request_count; /* answers bring new requests */
    for (size_t i = 0; i < count; i++) {
        if (!s->requests[i].answered && !leader_request_is_held(s, &s->requests[i]))
            leader_request_answer(s, &s->requests[i], leader_request_done(&s->requests[i].request));
    }
}

void leader_hold(struct catalog_leader *s, enum request_op op, uint32_t partition, uint32_t node)
{
    assert_true(s->hold_count < sizeof s->holds / sizeof s->holds[0]);
    s->holds[s->hold_count++] = (struct leader_hold){op, partition, node};
}

void leader_release(struct catalog_leader *s)
{
    s->hold_count = 0;
}

uint32_t leader_times(const struct catalog_leader *s, enum request_op op, uint32_t partition,
                      uint32_t node)
{
    uint32_t times = 0;
    for (size_t i = 0; i < s->request_count; i++)
        times += leader_request_fits(&s->requests[i], op, partition, node);
    return times;
}

static struct leader_request *request_last(const struct catalog_leader *s, enum request_op op,
                                           uint32_t partition, uint32_t node)
{
    size_t i = s->request_count;
    while (i > 0 && !leader_request_fits(&s->requests[i - 1], op, partition, node))
        i--;
    assert_true(i > 0);
    return &s->requests[i - 1];
}

const struct leader_request *leader_last(const struct catalog_leader *s, enum request_op op,
                                         uint32_t partition, uint32_t node)
{
    return request_last(s, op, partition, node);
}

void leader_answer(struct catalog_leader *s, enum request_op op, uint32_t partition, uint32_t node,
                   struct reply reply)
{
    struct leader_request *a = request_last(s, op, partition, node);
    assert_false(a->answered);
    leader_request_answer(s, a, reply);
}

/* ---- life and time ---- */

void leader_pass(struct catalog_leader *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        lone_pass(&s->w, 1);
        played_beat(s);
        lone_write_all(&s->w);
        leader_answer_all(s);
    }
}

static bool leader_knows_all(struct catalog_leader *s)
{
    bool all = node_is_ready(s->w.node);
    for (uint32_t node = 1; all && node <= LEADER_NODES; node++)
        all = catalog_generation(s->w.node->catalog.state, node) != 0 &&
              peers_reach(&s->w.node->peers, node);
    return all;
}

/* The node founds the catalog alone. From its second life on tables have three replicas. */
static void leader_found(struct catalog_leader *s)
{
    lone_set(&s->w, "replicas", "1");
    lone_open(&s->w);
    lone_die(&s->w);
    lone_set(&s->w, "replicas", "3");
    lone_start(&s->w, SEGMENT_BYTES);
    for (int ms = 0; !leader_knows_all(s); ms++, leader_pass(s, 1))
        assert_true(ms < WITHIN_MS);
}

void leader_open(struct catalog_leader *s)
{
    *s = (struct catalog_leader){0};
    lone_init(&s->w, PROFILE_OFF);
    s->w.node_count = LEADER_NODES;
    s->w.others = leader_take;
    s->w.others_context = s;
    for (uint32_t node = LEADER_FIRST; node <= LEADER_NODES; node++) {
        const struct liveness_options options = {
            .node = node,
            .node_count = LEADER_NODES,
            .incarnation = node,
            .interval = duration_ms(config_replication(&s->w.config)->heartbeat_ms),
            .support = duration_ms(config_replication(&s->w.config)->support_ms),
            .drift_ppm = config_replication(&s->w.config)->clock_drift_ppm,
        };
        liveness_init(&s->nodes[node].liveness, &options, s->w.now);
    }
    leader_found(s);
    leader_decide(s, CATALOG_DRAIN, &(struct decision){.to_node = 1, .drain = true});
    lone_table_op(&s->w, REQUEST_TABLE_CREATE, 100, 100);
    leader_pass(s, 100);
    lone_fetch_table(&s->w);
    assert_int_equal(s->w.table.status, TABLE_ACTIVE);
    assert_int_equal(s->w.table.partitions[0].member_count, LEADER_NODES - 1);
    assert_int_equal(partition_member_on(&s->w.table.partitions[0], 1), 0);
}

void leader_close(struct catalog_leader *s)
{
    lone_deinit(&s->w);
    for (uint32_t node = LEADER_FIRST; node <= LEADER_NODES; node++)
        liveness_deinit(&s->nodes[node].liveness);
    for (size_t i = 0; i < s->request_count; i++)
        buffer_deinit(&s->requests[i].frame);
    free(s->requests);
}

const struct table *leader_table(struct catalog_leader *s, const char *name)
{
    return catalog_find(s->w.node->catalog.state, slice_of(name));
}

void leader_split(struct catalog_leader *s)
{
    lone_split_table(&s->w);
    leader_pass(s, 1000);
    lone_fetch_table(&s->w);
    assert_int_equal(s->w.table.partition_count, 2);
    assert_false(table_is_splitting(&s->w.table));
}

void leader_decide(struct catalog_leader *s, enum catalog_op op, const struct decision *d)
{
    struct buffer body = {0};
    decision_encode(&body, d);
    struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), (uint8_t)op}};
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
    buffer_deinit(&body);
}
