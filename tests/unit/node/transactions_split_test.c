/* transactions_split_test.c - what a leader remembers of transactions when its partition is split:
 * entries that are proposed behind the split are still on their way. */
#include "tests/check.h"

#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/node_internal.h"
#include "engine/node/transaction/transactions.h"
#include "tests/support/transact_fixture.h"

#define ALL_STAY UINT64_MAX /* no item has so large a hash */
#define ALL_GO   1

/* The split is proposed, and on its way to the disk, alone. Items with this hash or a larger one
 * leave. */
static void scene_begin_split(struct transact_fixture *s, uint64_t hash)
{
    struct buffer body = {0};
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    const struct partition_info *p = &s->w.table.partitions[0];
    struct table_split split = {
        .table_id = s->w.table.id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    split.points[0] = storage_key_write_bound(point, s->w.table.id, hash);
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    lone_send(&s->w, &r);
    for (int ms = 0; !proposals_split(transact_partition(s)); ms++) {
        assert_true(ms < 1000);
        lone_write_all(&s->w);
        lone_pass(&s->w, 1);
    }
    assert_true(lone_write_begin(&s->w));
    buffer_deinit(&body);
}

/* The split is applied; what was proposed behind it is not. */
static void scene_end_split(struct transact_fixture *s)
{
    lone_write_end(&s->w, 0);
    assert_int_equal(transact_partition(s)->info.epoch, 2);
    lone_fetch_table(&s->w);
    s->w.answer_count = 0;
}

static enum reply_code scene_write_at_once(struct transact_fixture *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.write.item = lone_item(&s->w, OLD + 1, 10);
    return transact_at_once(s, r);
}

TEST(a_lock_and_a_record_that_are_proposed_behind_a_split_stay)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_begin_split(&s, ALL_STAY);
    assert_int_equal(transact_at_once(&s, transact_prepared(&s, FIRST)), REPLY_UNKNOWN);
    scene_end_split(&s);
    assert_int_equal(scene_write_at_once(&s, FIRST), REPLY_LOCKED);
    /* Not REPLY_ABORTED: the record is on its way. */
    assert_int_equal(transact_at_once(&s, transact_word(&s, REQUEST_TRANSACT_DECIDE, FIRST)),
                     REPLY_UNKNOWN);
    s.w.answer_count = 0;
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2);
    assert_int_equal(s.w.answers[0].code, REPLY_OK);
    assert_int_equal(s.w.answers[1].code, REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_expect(&s, NEW, OLD);
    transact_close(&s);
}

TEST(the_end_of_a_lock_that_is_proposed_behind_a_split_is_not_proposed_again)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    scene_begin_split(&s, ALL_STAY);
    struct request r = transact_word(&s, REQUEST_TRANSACT_RESOLVE, SECOND);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    scene_end_split(&s);
    const uint64_t last = raft_last(transact_partition(&s)->raft);
    r = transact_word(&s, REQUEST_TRANSACT_RESOLVE, SECOND);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    assert_int_equal(raft_last(transact_partition(&s)->raft), last);
    lone_write_all(&s.w);
    assert_int_equal(transact_write(&s, SECOND), REPLY_OK);
    transact_close(&s);
}

TEST(a_lock_whose_item_a_split_has_taken_away_is_not_remembered)
{
    struct transact_fixture s;
    int64_t locks, oldest_ms;
    transact_open(&s);
    scene_begin_split(&s, ALL_GO);
    assert_int_equal(transact_at_once(&s, transact_prepared(&s, FIRST)), REPLY_UNKNOWN);
    scene_end_split(&s);
    const struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    transactions_count(&s.w.node->transactions, p, &locks, &oldest_ms);
    assert_int_equal(locks, 0);
    assert_null(transactions_record_of(p, s.part.anchor, s.part.id));
    lone_write_all(&s.w);
    transact_pass(&s, 1000);
    transact_expect(&s, OLD, OLD);
    transact_close(&s);
}

/* A write of the partition's other half is refused; one of this half is what later writes are
 * judged by. */
TEST(a_write_behind_a_split_counts_if_its_item_stays)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_begin_split(&s, ALL_STAY);
    assert_int_equal(scene_write_at_once(&s, FIRST), REPLY_UNKNOWN);
    scene_end_split(&s);
    lone_key(&s.w, FIRST);
    const struct slice key = buffer_slice(&s.w.key);
    assert_non_null(proposals_find_uncommitted(&s.w.node->proposals, key,
                                               store_hash(s.w.node->env.store, key)));
    lone_write_all(&s.w);
    transact_expect(&s, OLD + 1, OLD);
    transact_close(&s);
    transact_open(&s);
    scene_begin_split(&s, ALL_GO);
    assert_int_equal(scene_write_at_once(&s, FIRST), REPLY_UNKNOWN);
    lone_write_end(&s.w, 0);
    assert_int_equal(lone_answer(&s.w)->code, REPLY_STALE_MAP);
    assert_null(proposals_find_uncommitted(&s.w.node->proposals, key,
                                           store_hash(s.w.node->env.store, key)));
    transact_close(&s);
}

/* A transaction whose only item is the first one, done by one entry. */
static enum reply_code scene_transact_at_once(struct transact_fixture *s)
{
    struct buffer parts = {0};
    struct request part = lone_request(&s->w, REQUEST_PUT, FIRST);
    part.write.item = lone_item(&s->w, NEW, 10);
    request_encode(&parts, &part);
    struct request r = lone_request(&s->w, REQUEST_PUT, FIRST);
    const struct slice key = buffer_slice(&s->anchor);
    r.op = REQUEST_TRANSACT;
    *request_edit_transact(&r) = (struct request_transact){.key = key,
                                                           .parts = buffer_slice(&parts),
                                                           .transaction = buffer_slice(&s->other),
                                                           .mcu_min = 2 * MCU_PER_UNIT};
    const enum reply_code code = transact_at_once(s, r);
    buffer_deinit(&parts);
    return code;
}

/* Else half of its items would be in the other partition when it is applied. */
TEST(a_transaction_of_one_entry_waits_for_a_split)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_begin_split(&s, ALL_STAY);
    assert_int_equal(scene_transact_at_once(&s), REPLY_OVERLOADED);
    transact_close(&s);
}

static void scene_open_with_stream(struct transact_fixture *s)
{
    transact_open(s);
    lone_deinit(&s->w);
    lone_init(&s->w, PROFILE_OFF);
    s->w.stream = 1 + STREAM_NEW_IMAGE;
    lone_open_table(&s->w, 100, 100);
    transact_put(s, FIRST, OLD);
    transact_put(s, SECOND, OLD);
    transact_part(s, 1, 1);
}

/* STREAM-3: the stream is being disabled by an entry of the log. */
TEST(a_transaction_of_one_entry_waits_for_the_end_of_its_stream)
{
    struct transact_fixture s;
    struct buffer b = {0};
    scene_open_with_stream(&s);
    const struct table_spec spec = {.name = slice_of("t"), .stream = 1 + STREAM_OFF};
    table_spec_encode(&b, &spec);
    struct request r = {.op = REQUEST_TABLE_UPDATE,
                        .table = {.name = slice_of("t"), .spec = buffer_slice(&b)}};
    lone_send(&s.w, &r);
    const struct partition *p = transact_partition(&s);
    for (int ms = 0; p->stream.changing <= raft_applied(p->raft); ms++) {
        assert_true(ms < 1000);
        if (lone_write_begin(&s.w))
            lone_write_end(&s.w, 0);
        else
            lone_pass(&s.w, 1);
    }
    assert_int_equal(scene_transact_at_once(&s), REPLY_OVERLOADED);
    buffer_deinit(&b);
    transact_close(&s);
}

/* STREAM-3: a part makes its record when it is done, and not when it is prepared. */
TEST(a_part_that_makes_a_record_is_not_done_behind_the_end_of_its_shard)
{
    struct transact_fixture s;
    scene_open_with_stream(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    scene_begin_split(&s, ALL_STAY);
    const uint32_t proposed = s.w.node->proposals.count;
    struct request r = transact_word(&s, REQUEST_TRANSACT_DECIDE, FIRST);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    assert_int_equal(s.w.node->proposals.count, proposed);
    lone_write_end(&s.w, 0);
    lone_fetch_table(&s.w);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_expect(&s, NEW, NEW);
    transact_close(&s);
}

/* ---- the split itself ---- */

/* A leader that does not know of its predecessor's entry proposes the split once more. */
TEST(a_split_that_is_in_the_log_twice_is_done_once)
{
    struct transact_fixture s;
    struct buffer split = {0};
    const struct operation self = {.from = FROM_SELF};
    transact_open(&s);
    scene_begin_split(&s, ALL_STAY);
    struct node *n = s.w.node;
    struct partition *p = transact_partition(&s);
    const uint32_t count = n->partitions.count;
    buffer_set(&split, raft_entry_at(p->raft, raft_last(p->raft))->payload);
    env_begin_event(&n->env, s.w.now);
    assert_non_null(raft_driver_propose(&n->driver, p, &self, LOG_SPLIT, buffer_slice(&split),
                                        slice_make(NULL, 0)));
    lone_take_effects(&s.w);
    scene_end_split(&s);
    lone_write_all(&s.w);
    assert_int_equal(p->info.epoch, 2);
    assert_int_equal(partition_splits(p)->count, 1);
    assert_int_equal(n->partitions.count, count + 1);
    buffer_deinit(&split);
    transact_close(&s);
}

/* SPLIT-1: only a leader that is wrong proposes that. Its entry ends no node. */
TEST(a_split_into_a_child_that_is_here_already_leaves_it_as_it_is)
{
    struct transact_fixture s;
    struct buffer body = {0};
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    transact_open(&s);
    scene_begin_split(&s, ALL_STAY);
    scene_end_split(&s);
    lone_write_all(&s.w);
    struct node *n = s.w.node;
    const struct partition *p = transact_partition(&s);
    const struct partition *child = partitions_find(&n->partitions, s.w.table.partitions[1].id);
    const uint32_t count = n->partitions.count;
    struct partition_split again = {.parent = p->info, .child_count = 1};
    again.children[0] = p->info;
    again.children[0].id = child->info.id;
    again.children[0].parent = p->info.id;
    again.children[0].lo = storage_key_write_bound(point, s.w.table.id, ALL_STAY / 2);
    again.parent.hi = again.children[0].lo;
    again.parent.epoch++;
    partition_split_encode(&body, &again);
    struct request r = {
        .op = REQUEST_PARTITION_SPLIT, .partition = p->info.id, .split.bytes = buffer_slice(&body)};
    lone_send(&s.w, &r);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    assert_int_equal(p->info.epoch, again.parent.epoch);
    assert_int_equal(n->partitions.count, count);
    assert_ptr_equal(partitions_find(&n->partitions, child->info.id), child);
    assert_true(slice_equal(child->info.lo, s.w.table.partitions[1].lo));
    buffer_deinit(&body);
    transact_close(&s);
}

/* The catalog may know a newer set of indexes than the entries before the split. */
TEST(a_child_has_the_indexes_that_its_parent_has_at_the_split)
{
    struct transact_fixture s;
    transact_open(&s);
    struct node *n = s.w.node;
    struct partition *p = transact_partition(&s);
    struct partition_info info = p->info;
    info.indexes_version += 5;
    env_begin_event(&n->env, s.w.now);
    applier_propose_indexes(&n->applier, p, &info);
    lone_take_effects(&s.w);
    lone_write_all(&s.w);
    assert_int_equal(p->info.indexes_version, info.indexes_version);
    scene_begin_split(&s, ALL_STAY);
    scene_end_split(&s);
    const struct partition *child = partitions_find(&n->partitions, s.w.table.partitions[1].id);
    assert_int_equal(child->info.indexes_version, info.indexes_version);
    transact_close(&s);
}
