/* key_shard_moves_test.c - items of sharded keys go to their owner shards, one step at a time. */
#include "tests/check.h"

#include "base/mutation.h"
#include "engine/item/storage_key.h"
#include "engine/message/move_messages.h"
#include "engine/message/transaction_messages.h"
#include "tests/support/shards_fixture.h"

/* ---- moves ---- */

/* KEYSHARD-2 */
TEST(an_item_goes_to_its_owner_and_is_at_one_place)
{
    for (int split = 0; split < 2; split++) {
        struct shards_fixture s;
        shards_open(&s);
        if (split == 1)
            shards_split(&s);
        for (uint32_t i = 0; i < s.w.table.partition_count; i++)
            shards_notify_applied(&s, i, VERSION);
        const uint32_t name = split == 1 ? shards_mover_to(&s, true) : shards_mover(&s, SHARDS);
        assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
        shards_move_surely(&s, name, 0, SHARDS);
        assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), OLD);
        assert_int_equal(shards_places(&s, name), 1);
        assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OK); /* there is none */
        assert_int_equal(shards_move(&s, name, shards_owner(&s, name, SHARDS), SHARDS), REPLY_OK);
        assert_int_equal(shards_put(&s, name, shards_owner(&s, name, SHARDS), OLD + 1), REPLY_OK);
        shards_pass(&s, 200);
        assert_int_equal(shards_places(&s, name), 1);
        lone_assert_verified(&s.w, 1);
        shards_close(&s);
    }
}

/* MOVE-3 */
TEST(who_needs_the_same_item_shares_its_move)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(&s, 10);
    struct request r = shards_moving(&s, name, 0, SHARDS);
    lone_send(&s.w, &r);
    r.id = s.w.next_id++;
    node_request(s.w.node, s.w.now, s.w.waited, ROUTER, &r);
    lone_take_effects(&s.w);
    assert_int_equal(s.w.node->key_shard_moves.count, 1);
    while (s.w.answer_count < 2)
        shards_pass(&s, 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(s.w.answers[i].code, REPLY_OK);
    assert_int_equal(shards_places(&s, name), 1);
    shards_close(&s);
}

/* MOVE-5 */
TEST(a_move_ends_on_a_disk_that_is_slower_than_the_time_to_decide)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(&s, 10);
    lone_set(&s.w, "transaction_decide_ms", "10");
    struct request r = shards_moving(&s, name, 0, SHARDS);
    lone_send(&s.w, &r);
    while (s.w.answer_count == 0) {
        if (!lone_write_begin(&s.w)) {
            lone_pass(&s.w, 1);
            continue;
        }
        lone_pass(&s.w, 25);
        lone_write_end(&s.w, 0);
    }
    assert_int_equal(s.w.answers[0].code, REPLY_OK);
    assert_int_equal(shards_places(&s, name), 1);
    shards_close(&s);
}

/* After each write of the log. Whatever was done by then, the item is at one place, and goes
 * to its
 * owner shard. */
TEST(a_crash_at_any_step_leaves_the_item_at_one_place)
{
    enum {
        WRITES = 8
    };
    (void)state;
    for (int other = 0; other < 2; other++) {
        for (int writes = 0; writes < WRITES; writes++) {
            struct shards_fixture s;
            shards_open(&s);
            shards_split(&s);
            shards_notify_applied(&s, 0, VERSION);
            shards_notify_applied(&s, 1, VERSION);
            const uint32_t name = shards_mover_to(&s, other);
            assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
            assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
            shards_pass(&s, 10);
            struct request r = shards_moving(&s, name, 0, SHARDS);
            lone_send(&s.w, &r);
            for (int i = 0; i < writes; i++) {
                if (lone_write_begin(&s.w))
                    lone_write_end(&s.w, 0);
                else
                    lone_pass(&s.w, 1);
            }
            lone_crash(&s.w);
            shards_pass(&s, writes % 2 == 0 ? 100 : 12000);
            assert_int_equal(shards_places(&s, name), 1);
            shards_move_surely(&s, name, 0, SHARDS);
            assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), OLD);
            assert_int_equal(shards_places(&s, name), 1);
            shards_pass(&s, 200);
            lone_assert_verified(&s.w, 1);
            shards_close(&s);
        }
    }
}

/* KEYSHARD-3. The entry with the fence is followed by a write that was proposed before it was
 * applied. */
TEST(a_move_sees_writes_from_before_the_fence)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION - 1);
    s.key_sharding_version = VERSION - 1;
    const uint32_t name = shards_mover(&s, SHARDS);
    assert_int_equal(shards_put(&s, name + 1, 0, OLD), REPLY_OK);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OK);
    shards_update(&s, 0, VERSION);
    assert_true(lone_write_begin(&s.w));
    const struct slice key = shards_key(&s, name, 0);
    struct request put = shards_request(&s, REQUEST_PUT, key);
    put.write.key = key;
    put.write.item = lone_item(&s.w, OLD, 10);
    lone_send(&s.w, &put);
    lone_write_end(&s.w, 0); /* the fence */
    assert_int_equal(s.w.answer_count, 0);
    s.key_sharding_version = VERSION;
    struct request r = shards_moving(&s, name, 0, SHARDS);
    r.sharded_key_version = VERSION;
    lone_send(&s.w, &r);
    assert_int_equal(s.w.answer_count, 0);
    while (s.w.answer_count < 2)
        shards_pass(&s, 1);
    shards_move_surely(&s, name, 0, SHARDS);
    assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), OLD);
    assert_int_equal(shards_places(&s, name), 1);
    shards_close(&s);
}

/* KEYSHARD-1 is broken by hand. */
TEST(a_move_overwrites_nothing)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS), owner = shards_owner(&s, name, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    assert_int_equal(shards_put(&s, name, owner, OLD + 1), REPLY_OK);
    enum reply_code code;
    while ((code = shards_move(&s, name, 0, SHARDS)) == REPLY_OVERLOADED)
        shards_pass(&s, 10);
    assert_int_equal(code, REPLY_CORRUPT);
    shards_pass(&s, 100);
    assert_int_equal(shards_get(&s, name, 0), OLD);
    assert_int_equal(shards_get(&s, name, owner), OLD + 1);
    shards_close(&s);
}

TEST(malformed_moves_are_refused)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const struct request good = shards_moving(&s, 1, 0, 2);
    struct buffer end = {0};
    buffer_set(&end, request_move(&good)->key);
    buffer_append_u8(&end, 0);
    struct request r = good;
    request_edit_move(&r)->hi = buffer_slice(&end);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    request_edit_move(&r)->hi = slice_make(end.data, end.size - 2); /* before the key */
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    request_edit_move(&r)->hi = request_move(&good)->key;
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    r = good;
    request_edit_move(&r)->shards = 0;
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    request_edit_move(&r)->shards = KEY_SHARDS_MAX + 1;
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    r = good;
    const size_t collection =
        storage_key_collection_size(request_move(&good)->key); /* of tables without sort keys */
    for (size_t size = 0; size < request_move(&good)->key.size;
         size += size + 1 == collection ? 2 : 1) {
        request_edit_move(&r)->key = slice_make(request_move(&good)->key.data, size);
        assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    }
    end.data[7] ^= 1; /* no shard has this hash */
    request_edit_move(&r)->key = slice_make(end.data, request_move(&good)->key.size);
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    end.data[7] ^= 1;
    end.data[0] = 0xff;
    end.data[4] = 0xff;
    r = good;
    request_edit_move(&r)->hi = buffer_slice(&end); /* behind the shard */
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    buffer_deinit(&end);
    shards_close(&s);
}

TEST(only_parts_of_transactions_may_be_moves)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    const struct slice key = shards_key(&s, 1, 0);
    struct request r = shards_request(&s, REQUEST_PUT, key);
    r.write.key = key;
    r.write.item = lone_item(&s.w, OLD, 10);
    r.write.origin = WRITE_BY_MOVE;
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    r.write.origin = WRITE_BY_CLIENT;
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    shards_close(&s);
}

/* ---- steps that fail ---- */

/* Begins to move an item whose partition's place is known. */
static uint32_t scene_begin_move(struct shards_fixture *s)
{
    shards_open(s);
    shards_notify_applied(s, 0, VERSION);
    const uint32_t name = shards_mover(s, SHARDS);
    assert_int_equal(shards_put(s, name, 0, OLD), REPLY_OK);
    assert_int_equal(shards_move(s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(s, 10);
    struct request r = shards_moving(s, name, 0, SHARDS);
    lone_send(&s->w, &r);
    return name;
}

/* What is prepared costs both sides: it is not given up because the node has no room for a moment.
 * */
TEST(a_move_waits_for_a_node_that_has_no_room)
{
    struct shards_fixture s;
    const uint32_t name = scene_begin_move(&s);
    assert_true(lone_write_begin(&s.w)); /* the lock */
    node_log_space(s.w.node, node_log_end(s.w.node), 0);
    lone_write_end(&s.w, 0);
    for (int ms = 0; ms < 100; ms++)
        lone_pass(&s.w, 1);
    assert_int_equal(s.w.answer_count, 0);
    node_log_space(s.w.node, SEGMENT_BYTES, 0);
    assert_int_equal(shards_finish(&s), REPLY_OK);
    assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), OLD);
    shards_close(&s);
}

/* The lock is never written in time: who asked is told, and what may have been locked is dropped.
 * */
TEST(a_move_whose_lock_is_not_known_is_given_up)
{
    struct shards_fixture s;
    const uint32_t name = scene_begin_move(&s);
    for (int ms = 0; ms < 3000; ms++)
        lone_pass(&s.w, 1);
    assert_int_equal(lone_answer(&s.w)->code, REPLY_OVERLOADED);
    assert_int_equal(s.w.node->key_shard_moves.count, 0);
    shards_pass(&s, 50); /* the lock is written, and goes at once */
    assert_int_equal(shards_put(&s, name, 0, OLD + 1), REPLY_OK);
    shards_move_surely(&s, name, 0, SHARDS);
    assert_int_equal(shards_places(&s, name), 1);
    shards_close(&s);
}

/* An item is not said to be gone while its first write is on its way. */
TEST(a_move_waits_for_a_write_in_flight)
{
    struct shards_fixture s;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(&s, 10);
    shards_move_surely(&s, name, 0, SHARDS);
    const struct slice key = shards_key(&s, name, 0);
    struct request put = shards_request(&s, REQUEST_PUT, key);
    put.write.key = key;
    put.write.item = lone_item(&s.w, OLD + 1, 10);
    lone_send(&s.w, &put);
    struct request r = shards_moving(&s, name, 0, SHARDS);
    lone_send(&s.w, &r);
    assert_int_equal(s.w.answer_count, 0);
    shards_pass(&s, 100);
    shards_close(&s);
}

/* A transaction has the item's new place. The move gives up, and drops its own lock at once: nobody
 * waits until the leader gives up what nobody decides. */
TEST(a_move_that_is_given_up_leaves_no_lock)
{
    struct shards_fixture s;
    struct shards_part t;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS), owner = shards_owner(&s, name, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    struct request r = shards_part_request(&s, &t, name, owner);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(&s, 10);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_LOCKED);
    shards_pass(&s, 50);
    assert_int_equal(shards_put(&s, name, 0, OLD + 1), REPLY_OK);
    shards_part_deinit(&t);
    shards_close(&s);
}

/* ---- what goes with an item ---- */

static int64_t scene_records(struct shards_fixture *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id)->stream.rows.count;
}

static struct partition_stats scene_stats(struct shards_fixture *s)
{
    struct request r = {.op = REQUEST_STATS};
    struct partition_stats stats;
    assert_int_equal(shards_send(s, &r), REPLY_OK);
    struct reader reader = {buffer_slice(&lone_answer(&s->w)->body), false};
    assert_int_equal(partition_stats_decode(&reader, &stats), STATUS_OK);
    return stats;
}

/* MOVE-2 */
TEST(a_move_costs_nothing_and_makes_no_stream_record)
{
    struct shards_fixture s;
    (void)state;
    shards_init(&s);
    s.w.stream = 1 + STREAM_BOTH_IMAGES;
    lone_open_table(&s.w, 100, 100);
    s.key_sharding_version = 0;
    const uint32_t name = shards_mover(&s, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    shards_notify_applied(&s, 0, s.key_sharding_version = VERSION);
    assert_int_equal(scene_records(&s), 1);
    const int64_t consumed = scene_stats(&s).kinds[ADMIT_WRITE].counts.load.consumed_mcu;
    shards_move_surely(&s, name, 0, SHARDS);
    shards_pass(&s, 200);
    assert_int_equal(scene_stats(&s).kinds[ADMIT_WRITE].counts.load.consumed_mcu, consumed);
    assert_int_equal(shards_places(&s, name), 1);
    assert_int_equal(scene_records(&s), 1);
    assert_int_equal(shards_put(&s, name, shards_owner(&s, name, SHARDS), OLD + 1), REPLY_OK);
    assert_int_equal(scene_records(&s), 2);
    shards_close(&s);
}

/* Rows in the key space of the index's table. */
static int64_t scene_rows(struct shards_fixture *s)
{
    struct node_verification v;
    assert_int_equal(node_verify(s->w.node, &v), STATUS_OK);
    return v.items;
}

/* A table with a global index by `v`. */
static void scene_open_indexed(struct shards_fixture *s)
{
    struct buffer spec = {0};
    shards_init(s);
    shards_index_by_version(s, false);
    const struct table_spec throughput = {.name = s->all[0].name,
                                          .partition_key = s->all[0].keys[0],
                                          .billing = BILLING_PROVISIONED,
                                          .rcu = 10,
                                          .wcu = 10};
    table_spec_encode(&spec, &throughput);
    buffer_append_sized(&s->globals, buffer_slice(&spec));
    s->w.globals = buffer_slice(&s->globals);
    lone_open_table(&s->w, 100, 100);
    buffer_deinit(&spec);
}

/* What a former leader has sent may come to the index late: not after the new place has told it
 * more. */
TEST(a_new_leader_writes_a_row_again_before_its_item_leaves)
{
    struct shards_fixture s;
    (void)state;
    scene_open_indexed(&s);
    s.key_sharding_version = 0;
    const uint32_t name = shards_mover(&s, SHARDS), owner = shards_owner(&s, name, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    shards_pass(&s, 500);
    lone_crash(&s.w);
    shards_pass(&s, 100);
    shards_notify_applied(&s, 0, s.key_sharding_version = VERSION);
    const struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(&s, 10);
    assert_int_equal(index_feeds_lag(&s.w.node->feeds, p).items, 0);
    struct request r = shards_moving(&s, name, 0, SHARDS);
    lone_send(&s.w, &r);
    assert_int_equal(lone_answer(&s.w)->code, REPLY_OVERLOADED);
    assert_int_equal(index_feeds_lag(&s.w.node->feeds, p).items, 1);
    shards_move_surely(&s, name, 0, SHARDS);
    shards_pass(&s, 500);
    assert_int_equal(shards_get(&s, name, owner), OLD);
    assert_int_equal(scene_rows(&s), 2);
    shards_close(&s);
}

TEST(an_item_waits_with_its_move_until_global_indexes_have_it)
{
    struct shards_fixture s;
    (void)state;
    scene_open_indexed(&s);
    s.key_sharding_version = 0;
    const uint32_t name = shards_mover(&s, SHARDS), owner = shards_owner(&s, name, SHARDS);
    assert_int_equal(shards_put(&s, name + 1, 0, OLD), REPLY_OK);
    shards_pass(&s, 500);
    const struct partition_info info = s.w.table.partitions[0];
    struct partition *p = partitions_find(&s.w.node->partitions, info.id);
    assert_int_equal(scene_rows(&s), 2);
    shards_notify_applied(&s, 0, s.key_sharding_version = VERSION);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_OK); /* no item */
    const struct slice key = shards_key(&s, name, 0);
    struct request put = shards_request(&s, REQUEST_PUT, key);
    put.write.key = key;
    put.write.item = lone_item(&s.w, OLD, 10);
    lone_send(&s.w, &put);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0);
    lone_assert_answer(&s.w, REPLY_OK);
    assert_int_equal(index_feeds_lag(&s.w.node->feeds, p).items, 1);
    struct request r = shards_moving(&s, name, 0, SHARDS);
    lone_send(&s.w, &r);
    assert_int_equal(shards_finish(&s), REPLY_OVERLOADED);
    shards_move_surely(&s, name, 0, SHARDS);
    shards_pass(&s, 500);
    assert_int_equal(shards_get(&s, name, owner), OLD);
    assert_int_equal(scene_rows(&s), 4); /* two items, two rows */
    assert_int_equal(index_feeds_lag(&s.w.node->feeds, p).items, 0);
    assert_int_equal(shards_put(&s, name, owner, OLD + 1), REPLY_OK);
    shards_pass(&s, 500);
    assert_int_equal(scene_rows(&s), 4);
    shards_close(&s);
}

/* ---- mutations ---- */

static uint32_t scene_places_after(enum mutation mutation, uint32_t *moved)
{
    struct shards_fixture s;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS);
    assert_int_equal(shards_put(&s, name, 0, OLD), REPLY_OK);
    mutation_active = mutation;
    shards_move_surely(&s, name, 0, SHARDS);
    mutation_active = MUTATION_NONE;
    shards_pass(&s, 200);
    *moved = shards_get(&s, name, shards_owner(&s, name, SHARDS));
    const uint32_t places = shards_places(&s, name);
    shards_close(&s);
    return places;
}

TEST(mutations_with_moves_and_the_fence_show)
{
    uint32_t moved;
    (void)state;
    assert_int_equal(scene_places_after(MUTATION_NONE, &moved), 1);
    assert_int_equal(moved, OLD);
    assert_int_equal(scene_places_after(MUTATION_MOVE_BLIND, &moved), 1);
    assert_int_equal(moved, 0);
    assert_int_equal(scene_places_after(MUTATION_MOVE_COPIES, &moved), 2);
    struct shards_fixture s;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    s.key_sharding_version = VERSION - 1;
    assert_int_equal(shards_put(&s, 1, 0, OLD), REPLY_STALE_MAP);
    mutation_active = MUTATION_SKIP_FENCE;
    assert_int_equal(shards_put(&s, 1, 0, OLD), REPLY_OK);
    mutation_active = MUTATION_NONE;
    shards_close(&s);
}
