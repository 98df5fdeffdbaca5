/* group_fixture.c - writes to the group, and compares its replicas. */
#include "tests/support/group_fixture.h"

#include "base/settings/choices.h"
#include "base/settings/replication.h"
#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/node/core/node_effect.h"
#include "tests/check.h"

enum {
    ITEM_BYTES = 4000,
    LENGTH_SIZE = 4, /* before a frame */
    SENDER = 77,
    CAUGHT_UP_MS = 30000
};

void group_configure(struct config *config)
{
    config_init(config, PROFILE_OFF);
    config_edit_choices(config)->gac = GAC_OFF;
    config_edit_replication(config)->entries_max_bytes = 64 << 10;
}

struct partition *group_replica(const struct group_fixture *s, uint32_t node)
{
    return partitions_find(&frame_cluster_node(s->w, node)->partitions, s->partition);
}

static uint32_t group_find_leader(const struct group_fixture *s)
{
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) {
        const struct partition *p = group_replica(s, node);
        if (p != NULL && p->led != 0)
            return node;
    }
    return 0;
}

void group_wait_for_leader(struct group_fixture *s, uint32_t node)
{
    for (int ms = 0; group_replica(s, node)->led == 0; ms++) {
        assert_true(ms < 10000);
        frame_cluster_pass(s->w, 1);
    }
}

void group_open(struct group_fixture *s, const struct config *config)
{
    *s = (struct group_fixture){.w = frame_cluster_begin(config)};
    frame_cluster_pass(s->w, 1000);
    const struct table_spec spec = {.name = slice_of("t"),
                                    .partition_key = {slice_of("id"), ATTR_STRING},
                                    .billing = BILLING_PROVISIONED,
                                    .rcu = 100,
                                    .wcu = 100};
    frame_cluster_create_table(s->w, &spec, &s->arena, &s->bytes, &s->table);
    assert_int_equal(s->table.partition_count, 1);
    s->partition = s->table.partitions[0].id;
    while ((s->leader = group_find_leader(s)) == 0)
        frame_cluster_pass(s->w, 1);
    s->other = s->leader % FRAME_CLUSTER_NODES + 1;
    s->late = s->other % FRAME_CLUSTER_NODES + 1;
}

void group_close(struct group_fixture *s)
{
    frame_cluster_destroy(s->w);
    arena_deinit(&s->arena);
    buffer_deinit(&s->bytes);
    buffer_deinit(&s->key);
    buffer_deinit(&s->item);
}

static void group_put(struct group_fixture *s, uint32_t name, uint32_t version)
{
    static uint8_t filler[ITEM_BYTES];
    char text[16];
    struct item_writer w;
    const int size = snprintf(text, sizeof text, "%u", name);
    const struct attr id = {ATTR_STRING, slice_make(text, (size_t)size)};
    buffer_clear(&s->key);
    storage_key_append(&s->key, s->table.id, &id, NULL);
    buffer_clear(&s->item);
    item_begin(&w, &s->item);
    item_name(&w, slice_of("v"));
    item_binary(&w, slice_make(&version, sizeof version));
    item_name(&w, slice_of("f"));
    item_binary(&w, slice_make(filler, sizeof filler));
    item_end(&w);
    const struct slice key = buffer_slice(&s->key);
    const struct partition_info *p = table_partition_of(&s->table, key);
    struct request r = {.op = REQUEST_PUT, .partition = p->id, .epoch = p->epoch};
    r.write.key = key;
    r.write.item = buffer_slice(&s->item);
    assert_int_equal(frame_cluster_send(s->w, &r, NULL), REPLY_OK);
}

void group_hand_over(struct group_fixture *s, uint32_t from, uint32_t to)
{
    struct node *n = frame_cluster_node(s->w, from);
    struct partition *p = group_replica(s, from);
    env_begin_event(&n->env, frame_cluster_clock(s->w, from));
    assert_int_equal(raft_transfer(p->raft, n->env.now, raft_self(group_replica(s, to)->raft)),
                     RAFT_OK);
    raft_driver_stepped(&n->driver, p);
    group_wait_for_leader(s, to);
}

void group_put_all(struct group_fixture *s, uint32_t version)
{
    for (uint32_t name = 0; name < GROUP_ITEMS; name++)
        group_put(s, name, version);
}

void group_leave_behind(struct group_fixture *s)
{
    frame_cluster_cut_off(s->w, s->late);
    frame_cluster_pass(s->w, 1500);
    frame_cluster_fetch(s->w, slice_of("t"), &s->arena, &s->bytes, &s->table);
    group_put_all(s, 1);
    node_checkpoint_soon(frame_cluster_node(s->w, s->leader));
    node_checkpoint_soon(frame_cluster_node(s->w, s->other));
    frame_cluster_pass(s->w, 500);
    assert_true(raft_last(group_replica(s, s->late)->raft) + 1 <
                raft_first(group_replica(s, s->leader)->raft));
}

void group_split(struct group_fixture *s)
{
    const struct partition_info *p = table_find_partition(&s->table, s->partition);
    struct buffer body = {0}, frame = {0};
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    struct table_split split = {
        .table_id = s->table.id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    split.points[0] = storage_key_write_bound(point, s->table.id, UINT64_C(1) << 63);
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {
        .id = UINT64_MAX, .op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    request_encode(&frame, &r);
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) /* one leads the catalog */
        assert_true(
            frame_cluster_inject(s->w, PEER_ROUTER, 1, node,
                                 slice_make(frame.data + LENGTH_SIZE, frame.size - LENGTH_SIZE)));
    buffer_deinit(&body);
    buffer_deinit(&frame);
}

enum reply_code group_send(struct group_fixture *s, uint32_t node, struct request r)
{
    struct node *n = frame_cluster_node(s->w, node);
    const struct node_effect *e;
    enum reply_code code = REPLY_UNKNOWN;
    r.id = 1;
    node_request(n, frame_cluster_clock(s->w, node), (struct waiting){0}, SENDER, &r);
    while ((e = node_next_effect(n)) != NULL) {
        assert_int_equal(e->kind, NODE_REPLY);
        assert_int_equal(e->to, SENDER);
        code = e->reply.code;
    }
    return code;
}

struct content {
    uint64_t group;
    struct replica_verification is;
};

static void content_take(void *context, const struct replica_verification *r)
{
    struct content *c = context;
    if (r->group == c->group)
        c->is = *r;
}

static struct replica_verification group_content(struct group_fixture *s, uint32_t node)
{
    struct content c = {.group = s->partition};
    struct node_verification v;
    struct node *n = frame_cluster_node(s->w, node);
    assert_int_equal(node_verify_replicas(n, &v, content_take, &c), STATUS_OK);
    assert_int_equal(v.damaged, 0);
    assert_int_equal(v.miscounted, 0);
    return c.is;
}

void group_assert_caught_up(struct group_fixture *s, uint32_t leader)
{
    const struct partition *led = group_replica(s, leader), *late = group_replica(s, s->late);
    for (int ms = 0; late->no_state || raft_applied(late->raft) < raft_last(led->raft); ms++) {
        assert_true(ms < CAUGHT_UP_MS);
        frame_cluster_pass(s->w, 1);
    }
    const struct replica_verification here = group_content(s, leader),
                                      there = group_content(s, s->late);
    assert_int_equal(here.items, there.items);
    assert_true(here.checksum == there.checksum);
}
