/* deposed_leader_test.c - a leader whose machine stood still does not know that it leads no more:
 * until a majority confirms it, it answers nothing that its successor may contradict.
 *
 * The leader is paused. The others elect a successor. Then a request reaches the state machine of
 * the leader by hand, as if it were the first event after the pause. */
#include "tests/check.h"

#include "base/settings/choices.h"
#include "engine/item/storage_key.h"
#include "engine/key_sharding/key_sharding.h"
#include "engine/message/frames.h"
#include "engine/message/index_messages.h"
#include "engine/message/move_messages.h"
#include "engine/message/stream_messages.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/core/node_effect.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/index/index_feed_internal.h"
#include "engine/node/node_internal.h"
#include "engine/node/request/item_requests.h"
#include "engine/transaction/transaction.h"
#include "tests/support/expression_fixture.h"
#include "tests/support/frame_cluster.h"

enum {
    ROUTER = 77,
    PAUSE_MS = 60000,
    ELECTION_MS = 5000,
    SHARDS = 64
};

struct scene {
    struct frame_cluster *w;
    struct arena arena;
    struct buffer bytes;
    struct table table;
    struct buffer key;
    struct buffer item;
    struct buffer program; /* a condition that fails where there is no item */
    struct buffer part;
    struct buffer parts;
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    uint64_t last_id;
};

static void scene_open(struct scene *s, struct slice indexes, struct slice globals)
{
    struct config config;
    *s = (struct scene){.token = {7}};
    config_init(&config, PROFILE_OFF);
    config_edit_choices(&config)->gac = GAC_OFF;
    s->w = frame_cluster_begin(&config);
    frame_cluster_pass(s->w, 1000);
    const struct table_spec spec = {.name = slice_of("t"),
                                    .partition_key = {slice_of("id"), ATTR_STRING},
                                    .sort_key = {slice_of("n"), ATTR_STRING},
                                    .indexes = indexes,
                                    .globals = globals,
                                    .stream = 1 + STREAM_NEW_IMAGE,
                                    .billing = BILLING_PROVISIONED,
                                    .rcu = 100,
                                    .wcu = 100};
    expression_fixture_program(&s->program, "attribute_exists(id)");
    frame_cluster_create_table(s->w, &spec, &s->arena, &s->bytes, &s->table);
}

static void scene_close(struct scene *s)
{
    frame_cluster_destroy(s->w);
    arena_deinit(&s->arena);
    buffer_deinit(&s->bytes);
    buffer_deinit(&s->key);
    buffer_deinit(&s->item);
    buffer_deinit(&s->program);
    buffer_deinit(&s->part);
    buffer_deinit(&s->parts);
}

static struct slice scene_key(struct scene *s, uint32_t name)
{
    char text[16];
    const int size = snprintf(text, sizeof text, "%u", name);
    const struct attr id = {ATTR_STRING, slice_of("a")},
                      n = {ATTR_STRING, slice_make(text, (size_t)size)};
    buffer_clear(&s->key);
    storage_key_append(&s->key, s->table.id, &id, &n);
    return buffer_slice(&s->key);
}

static struct slice scene_item(struct scene *s)
{
    struct item_writer w;
    buffer_clear(&s->item);
    item_begin(&w, &s->item);
    item_name(&w, slice_of("v"));
    item_binary(&w, slice_of("some"));
    item_end(&w);
    return buffer_slice(&s->item);
}

static struct request scene_request(struct scene *s, enum request_op op, struct slice key)
{
    const struct partition_info *p = table_partition_of(&s->table, key);
    return (struct request){.op = op, .partition = p->id, .epoch = p->epoch};
}

/* NULL: the node has no replica of the partition that holds the key. */
static struct partition *scene_partition(struct scene *s, uint32_t node, struct slice key)
{
    return partitions_find(&frame_cluster_node(s->w, node)->partitions,
                           table_partition_of(&s->table, key)->id);
}

static uint32_t scene_leader(struct scene *s, struct slice key)
{
    for (;; frame_cluster_pass(s->w, 10)) {
        for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) {
            const struct partition *p = scene_partition(s, node, key);
            if (p != NULL && p->led != 0)
                return node;
        }
    }
}

/* The other node that leads now; 0: none. */
static uint32_t scene_successor(struct scene *s, uint32_t leader, struct slice key)
{
    uint32_t successor = 0;
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) {
        const struct partition *p = scene_partition(s, node, key);
        if (node != leader && p != NULL && p->led != 0)
            successor = node;
    }
    return successor;
}

/* Whether another node leads now, and the leader does not know. */
static bool scene_is_deposed(struct scene *s, uint32_t leader, struct slice key)
{
    return scene_successor(s, leader, key) != 0 && scene_partition(s, leader, key)->led != 0;
}

/* A part of a transaction whose anchor is the key. */
static struct slice scene_part(struct scene *s, struct slice key)
{
    struct transaction_part part = {
        .id = {1, 1}, .anchor = key, .token = slice_make(s->token, sizeof s->token)};
    buffer_clear(&s->part);
    transaction_part_walk(&(struct codec){.out = &s->part}, &part);
    return buffer_slice(&s->part);
}

/* ---- requests whose answer rests on who leads ---- */

static struct request request_for_item(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_GET, key);
    r.get.key = key;
    r.get.consistent = true;
    return r;
}

static struct request request_for_range(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_RANGE, key);
    r.range.lo = key;
    r.range.consistent = true;
    r.range.bytes_max = PAGE_SIZE_MAX;
    return r;
}

/* Eventual reads that must show more than the replica may have applied. */
static struct request request_for_own_item(struct scene *s)
{
    struct request r = request_for_item(s);
    r.get.consistent = false;
    r.get.after = AFTER_ALL;
    return r;
}

static struct request request_for_own_range(struct scene *s)
{
    struct request r = request_for_range(s);
    r.range.consistent = false;
    r.range.after = AFTER_ALL;
    return r;
}

static struct request request_for_index_state(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_INDEX_SHOWS, key);
    *request_edit_shows(&r) = (struct request_shows){.key = key, .after = AFTER_ALL};
    return r;
}

static struct request put_that_fails(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_PUT, key);
    r.write.key = key;
    r.write.item = scene_item(s);
    r.write.condition = buffer_slice(&s->program);
    return r;
}

static struct request transact_that_fails(struct scene *s)
{
    const struct request part = put_that_fails(s);
    buffer_clear(&s->parts);
    request_encode(&s->parts, &part);
    struct request r = scene_request(s, REQUEST_TRANSACT, part.write.key);
    *request_edit_transact(&r) =
        (struct request_transact){.key = part.write.key,
                                  .parts = buffer_slice(&s->parts),
                                  .transaction = scene_part(s, part.write.key),
                                  .mcu_min = 2 * MCU_PER_UNIT};
    return r;
}

static struct request word(struct scene *s, enum request_op op)
{
    const struct slice key = scene_key(s, 2);
    struct request r = scene_request(s, op, key);
    *request_edit_transaction(&r) = (struct request_transaction){
        .key = key, .id_high = 1, .id_low = 1, .token = slice_make(s->token, sizeof s->token)};
    return r;
}

static struct request resolve(struct scene *s)
{
    return word(s, REQUEST_TRANSACT_RESOLVE);
}

static struct request decide(struct scene *s)
{
    return word(s, REQUEST_TRANSACT_DECIDE);
}

static struct request request_for_decision(struct scene *s)
{
    return word(s, REQUEST_TRANSACT_QUERY);
}

static struct request request_for_token(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_CHECK, key);
    r.write.key = key;
    r.write.transaction = scene_part(s, key);
    r.write.token.only = true;
    return r;
}

static struct request update_by_token(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_UPDATE, key);
    r.write.key = key;
    r.write.item = scene_item(s);
    r.write.token.id = slice_make(s->token, sizeof s->token);
    r.write.token.only = true;
    return r;
}

static struct request request_for_records(struct scene *s)
{
    const struct slice key = scene_key(s, 1);
    struct request r = scene_request(s, REQUEST_RECORDS, key);
    *request_edit_records(&r) = (struct request_records){
        .key = key, .stream = 1, .epoch = 1, .items_max = 10, .bytes_max = PAGE_SIZE_MAX};
    return r;
}

static struct request move_to_shard(struct scene *s)
{
    uint32_t name = 1;
    while (key_shard_owner(scene_key(s, name), SHARDS) == 0)
        name++;
    const struct slice key = scene_key(s, name);
    struct request r = scene_request(s, REQUEST_KEY_SHARD_MOVE, key);
    *request_edit_move(&r) = (struct request_move){.key = key, .shards = SHARDS};
    return r;
}

static struct request (*const REQUESTS[])(struct scene *s) = {request_for_item,
                                                              request_for_range,
                                                              put_that_fails,
                                                              transact_that_fails,
                                                              resolve,
                                                              decide,
                                                              request_for_decision,
                                                              request_for_token,
                                                              update_by_token,
                                                              request_for_records,
                                                              move_to_shard,
                                                              request_for_own_item,
                                                              request_for_own_range,
                                                              request_for_index_state};

/* Whether the state machine answers the request at once. */
static bool scene_answers(struct scene *s, uint32_t node, struct request r)
{
    struct node *n = frame_cluster_node(s->w, node);
    const struct node_effect *e;
    bool answers = false;
    r.id = 1000000 + ++s->last_id;
    node_request(n, frame_cluster_clock(s->w, node), (struct waiting){0}, ROUTER, &r);
    while ((e = node_next_effect(n)) != NULL)
        answers |= e->kind == NODE_REPLY && e->to == ROUTER && e->reply.id == r.id;
    return answers;
}

TEST(a_leader_answers_nothing_before_it_is_confirmed)
{
    struct scene s;
    scene_open(&s, slice_make(NULL, 0), slice_make(NULL, 0));
    struct buffer key = {0};
    buffer_set(&key, scene_key(&s, 1));
    const uint32_t leader = scene_leader(&s, buffer_slice(&key));
    for (size_t i = 0; i < COUNT_OF(REQUESTS); i++) /* while it leads, it answers */
        assert_true(scene_answers(&s, leader, REQUESTS[i](&s)));
    frame_cluster_pause(s.w, leader, PAUSE_MS);
    frame_cluster_pass(s.w, ELECTION_MS);
    assert_true(scene_is_deposed(&s, leader, buffer_slice(&key)));
    for (size_t i = 0; i < COUNT_OF(REQUESTS); i++)
        assert_false(scene_answers(&s, leader, REQUESTS[i](&s)));
    /* What was confirmed in another term is not confirmed in this one. */
    struct node *n = frame_cluster_node(s.w, leader);
    struct partition *p = scene_partition(&s, leader, buffer_slice(&key));
    struct operation o = {.from = ROUTER, .confirmed = p->led + 1, .request = request_for_item(&s)};
    env_begin_event(&n->env, frame_cluster_clock(s.w, leader));
    assert_false(requests_leads_read(&n->requests, p, &o));
    o.confirmed = p->led;
    assert_true(requests_leads_read(&n->requests, p, &o));
    buffer_deinit(&key);
    scene_close(&s);
}

static enum reply_code scene_code(struct scene *s, uint32_t node, struct request r)
{
    struct node *n = frame_cluster_node(s->w, node);
    const struct node_effect *e;
    enum reply_code code = REPLY_UNKNOWN;
    r.id = 1000000 + ++s->last_id;
    node_request(n, frame_cluster_clock(s->w, node), (struct waiting){0}, ROUTER, &r);
    while ((e = node_next_effect(n)) != NULL) {
        if (e->kind == NODE_REPLY && e->to == ROUTER && e->reply.id == r.id)
            code = e->reply.code;
    }
    return code;
}

TEST(a_follower_answers_a_read_only_once_it_has_applied_what_the_read_must_show)
{
    struct scene s;
    scene_open(&s, slice_make(NULL, 0), slice_make(NULL, 0));
    struct buffer key = {0};
    buffer_set(&key, scene_key(&s, 1));
    const uint32_t leader = scene_leader(&s, buffer_slice(&key));
    frame_cluster_pass(s.w, 1000);
    uint32_t follower = leader % FRAME_CLUSTER_NODES + 1;
    while (scene_partition(&s, follower, buffer_slice(&key)) == NULL)
        follower = follower % FRAME_CLUSTER_NODES + 1;
    struct request get = request_for_own_item(&s), range = request_for_own_range(&s);
    get.get.after = range.range.after =
        raft_applied(scene_partition(&s, follower, buffer_slice(&key))->raft);
    assert_int_equal(scene_code(&s, follower, get), REPLY_OK);
    assert_int_equal(scene_code(&s, follower, range), REPLY_OK);
    get.get.after++;
    range.range.after++;
    assert_int_equal(scene_code(&s, follower, get), REPLY_NOT_LEADER);
    assert_int_equal(scene_code(&s, follower, range), REPLY_NOT_LEADER);
    assert_int_equal(scene_code(&s, leader, get), REPLY_OK);
    buffer_deinit(&key);
    scene_close(&s);
}

/* RECONCILE-1: the successor may have committed what other tables must still do. */
TEST(a_leader_does_not_report_that_no_parts_are_pending_before_it_is_confirmed)
{
    struct scene s;
    struct buffer info = {0}, key = {0};
    scene_open(&s, slice_make(NULL, 0), slice_make(NULL, 0));
    buffer_set(&key, scene_key(&s, 1));
    const uint32_t leader = scene_leader(&s, buffer_slice(&key));
    struct request close = scene_request(&s, REQUEST_PARTITION_CLOSE, buffer_slice(&key));
    partition_info_encode(&info, table_partition_of(&s.table, buffer_slice(&key)));
    close.replica.info = buffer_slice(&info);
    close.replica.table_deleted = close.replica.queries_leader = true;
    frame_cluster_pause(s.w, leader, PAUSE_MS);
    frame_cluster_pass(s.w, ELECTION_MS);
    assert_true(scene_is_deposed(&s, leader, buffer_slice(&key)));
    assert_false(scene_answers(&s, leader, close));
    assert_false(scene_partition(&s, leader, buffer_slice(&key))->ended);
    const uint32_t successor = scene_successor(&s, leader, buffer_slice(&key));
    assert_true(scene_answers(&s, successor, close));
    assert_true(scene_partition(&s, successor, buffer_slice(&key))->ended);
    buffer_deinit(&info);
    buffer_deinit(&key);
    scene_close(&s);
}

/* ---- sessions of index rows ---- */

/* An index by v with several partitions. */
static void scene_open_indexed(struct scene *s, struct buffer *indexes, struct buffer *globals)
{
    struct index x = {.name = slice_of("by-v"),
                      .partition_count = 1,
                      .keys = {{slice_of("v"), ATTR_BINARY}},
                      .projection = PROJECT_ALL};
    const struct index_set set = {
        {slice_of("id"), ATTR_STRING}, {slice_of("n"), ATTR_STRING}, 1, 0, &x};
    const struct table_spec throughput = {.name = x.name,
                                          .partition_key = x.keys[0],
                                          .billing = BILLING_PROVISIONED,
                                          .rcu = 7000,
                                          .wcu = 2500};
    struct buffer spec = {0};
    index_set_encode(indexes, &set);
    table_spec_encode(&spec, &throughput);
    buffer_append_sized(globals, buffer_slice(&spec));
    buffer_deinit(&spec);
    scene_open(s, buffer_slice(indexes), buffer_slice(globals));
}

/* A change that leaves a row in a partition of the index to which this feed has no session. Returns
 * that partition. */
static uint32_t scene_add_change(struct scene *s, struct node *n, struct partition *p)
{
    const struct index_feed *f = index_feed_live(&n->feeds, p);
    const uint32_t index = index_set_global_at(p->indexes, 0)->table_id;
    const struct table *map = index_maps_find(&n->index_maps, index);
    struct buffer row = {0}, key = {0}, value = {0};
    uint32_t name = 0;
    assert_non_null(map);
    do {
        const struct attr v = {ATTR_BINARY, slice_make(&name, sizeof name)};
        struct slice item_key = scene_key(s, 1);
        storage_key_skip_hash(&item_key);
        buffer_clear(&row);
        storage_key_append_collection(&row, index, &v);
        buffer_append_slice(&row, item_key);
        name++;
    } while (index_feed_has_session(f, table_partition_of(map, buffer_slice(&row))->id));
    const uint32_t partition = table_partition_of(map, buffer_slice(&row))->id;
    index_feed_key_append(&key, key_in_space(scene_key(s, 1), SPACE_INDEX_FEED_KEYS, &n->env.lent),
                          p->info.id, raft_applied(p->raft));
    buffer_append_u64(&value, (uint64_t)env_wall_ms(&n->env));
    buffer_append_u32(&value, index);
    buffer_append_u32(&value, 1);
    buffer_append_sized(&value, buffer_slice(&row));
    index_feeds_added(&n->feeds, p, buffer_slice(&key), buffer_slice(&value));
    buffer_deinit(&row);
    buffer_deinit(&key);
    buffer_deinit(&value);
    return partition;
}

/* The id of the session's request, if it leaves the node; 0: it does not. */
static uint64_t scene_take_effects(struct node *n)
{
    const struct node_effect *e;
    uint64_t id = 0;
    while ((e = node_next_effect(n)) != NULL) {
        assert_false(e->kind == NODE_REQUEST && e->request.op == REQUEST_DELETE);
        if (e->kind == NODE_REQUEST && e->request.op == REQUEST_INDEX_SESSION)
            id = e->request.id;
    }
    return id;
}

/* FEED-3: the successor may have written in a session that this one has closed. */
TEST(a_session_is_not_used_before_its_leader_is_confirmed)
{
    struct scene s;
    struct buffer indexes = {0}, globals = {0}, key = {0};
    scene_open_indexed(&s, &indexes, &globals);
    buffer_set(&key, scene_key(&s, 1));
    struct request put = scene_request(&s, REQUEST_PUT, buffer_slice(&key));
    put.write.key = buffer_slice(&key);
    put.write.item = scene_item(&s);
    assert_int_equal(frame_cluster_send(s.w, &put, NULL), REPLY_OK);
    frame_cluster_pass(s.w, 1000); /* its row is written: the map is known */
    const uint32_t leader = scene_leader(&s, buffer_slice(&key));
    frame_cluster_pause(s.w, leader, PAUSE_MS);
    frame_cluster_pass(s.w, ELECTION_MS);
    assert_true(scene_is_deposed(&s, leader, buffer_slice(&key)));
    struct node *n = frame_cluster_node(s.w, leader);
    struct partition *p = scene_partition(&s, leader, buffer_slice(&key));
    env_begin_event(&n->env, frame_cluster_clock(s.w, leader));
    const uint32_t partition = scene_add_change(&s, n, p);
    index_feeds_end_turn(&n->feeds);
    struct reply granted = {.id = scene_take_effects(n), .code = REPLY_OK, .kind = ANSWER_SESSION};
    reply_edit_session(&granted)->id = 5;
    if (granted.id != 0) /* else this node has granted it */
        node_reply(n, frame_cluster_clock(s.w, leader), &granted);
    index_feeds_end_turn(&n->feeds);
    scene_take_effects(n); /* no row */
    assert_false(index_feed_has_session(index_feed_live(&n->feeds, p), partition));
    buffer_deinit(&indexes);
    buffer_deinit(&globals);
    buffer_deinit(&key);
    scene_close(&s);
}
