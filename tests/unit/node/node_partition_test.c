/* Replicas are opened and closed by what the catalog says, and erased. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/catalog/catalog.h"
#include "engine/node/node_internal.h"
#include "tests/support/lone_node.h"

/* The word of a catalog whose log was known up to `as_of`. */
static void open_partition_as_of(struct lone_node *w, const struct partition_info *p,
                                 uint64_t as_of)
{
    struct buffer b = {0};
    partition_info_encode(&b, p);
    struct request r = {.op = REQUEST_PARTITION_OPEN,
                        .replica = {.info = buffer_slice(&b), .as_of = as_of}};
    lone_send(w, &r);
    buffer_deinit(&b);
}

static void open_partition(struct lone_node *w, const struct partition_info *p)
{
    open_partition_as_of(w, p, 1);
}

/* SPLIT-2 */
TEST(a_range_does_not_change_by_an_order_of_the_catalog)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info info = w.table.partitions[0];
    lone_put(&w, 1, 1);
    lone_write_all(&w);
    info.epoch++; /* of a split that has not been applied here */
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    info.epoch -= 2;
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_STALE_MAP);
    info.epoch++;
    info.rate_mcu[ADMIT_READ]++; /* rates are the catalog's, ranges are not */
    info.hi = info.lo;
    open_partition(&w, &info);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    assert_int_equal(lone_get(&w, 1), 1);
    info = w.table.partitions[0];
    info.id = 99; /* a child, before its parent has split */
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    lone_deinit(&w);
}

TEST(opening_and_closing_a_partition_may_be_repeated)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info info = w.table.partitions[0];
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_OK); /* it is open: no record needed */
    uint64_t self = info.members[0];
    info.members[0] = raft_member_id(2, 1, 0);
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_MALFORMED);
    info.members[0] = self;
    for (uint32_t i = 0; i < 10; i++)
        lone_put(&w, i, 1);
    lone_write_all(&w);
    lone_checkpoint_all(&w);
    struct buffer word = {0};
    partition_info_encode(&word, &info);
    struct request close = {.op = REQUEST_PARTITION_CLOSE,
                            .partition = info.id,
                            .replica = {.info = buffer_slice(&word), .as_of = 1}};
    lone_send(&w, &close);
    lone_put(&w, 1, 2);
    lone_assert_answer(&w, REPLY_WRONG_PARTITION);
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_WRONG_PARTITION); /* not while it is being closed */
    lone_send(&w, &close);
    w.answer_count = 0;
    lone_write_all(&w);
    assert_int_equal(w.answer_count, 2);
    assert_int_equal(w.answers[0].code, REPLY_OK);
    assert_int_equal(w.answers[1].code, REPLY_OK);
    lone_send(&w, &close);
    lone_assert_answer(&w, REPLY_OK);
    lone_crash(&w); /* before its keys are erased */
    lone_checkpoint_all(&w);
    lone_checkpoint_all(&w);
    assert_false(store_erase_pending(node_store(w.node)));
    struct slice lo = info.lo, hi = info.hi, key, value;
    struct store_cursor c;
    store_seek(node_store(w.node), lo, hi, false, &c);
    assert_int_equal(store_next(&c, &key, &value), STATUS_NOT_FOUND);
    buffer_deinit(&word);
    lone_deinit(&w);
}

static void send_close(struct lone_node *w, const struct partition_info *p, uint64_t as_of)
{
    struct buffer b = {0};
    partition_info_encode(&b, p);
    struct request r = {.op = REQUEST_PARTITION_CLOSE,
                        .partition = p->id,
                        .replica = {.info = buffer_slice(&b), .as_of = as_of}};
    lone_send(w, &r);
    buffer_deinit(&b);
}

static enum reply_code close_partition_as_of(struct lone_node *w, const struct partition_info *p,
                                             uint64_t as_of)
{
    send_close(w, p, as_of);
    lone_write_all(w);
    return lone_answer(w)->code;
}

static enum reply_code close_partition(struct lone_node *w, const struct partition_info *p)
{
    return close_partition_as_of(w, p, 1);
}

static enum reply_code reopen_partition(struct lone_node *w, const struct partition_info *p)
{
    open_partition(w, p);
    lone_write_all(w);
    return lone_answer(w)->code;
}

/* The replica was moved away and has come back: what an earlier leader of the catalog said of the
 * one before it comes late. */
TEST(a_late_close_or_open_is_not_for_the_replica_that_came_back)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info first = w.table.partitions[0], second = first, left = first;
    const uint32_t generation = raft_member_generation(first.members[0]);
    left.leaving = first.members[0];
    left.members[0] = raft_member_id(2, 1, 1);
    second.arrivals = 2;
    second.members[0] = raft_member_id(1, generation, 2);
    assert_int_equal(close_partition(&w, &left), REPLY_OK);
    assert_int_equal(reopen_partition(&w, &first), REPLY_OVERLOADED); /* not erased yet */
    lone_checkpoint_all(&w);
    lone_checkpoint_all(&w);
    assert_int_equal(reopen_partition(&w, &first), REPLY_OK); /* late: a replica nobody wants */
    assert_int_equal(reopen_partition(&w, &second), REPLY_STALE_MAP); /* it goes first */
    lone_checkpoint_all(&w);
    lone_checkpoint_all(&w);
    assert_int_equal(reopen_partition(&w, &second), REPLY_OK);
    lone_put(&w, 1, 1);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    assert_int_equal(close_partition(&w, &left), REPLY_OK);
    assert_int_equal(reopen_partition(&w, &first), REPLY_STALE_MAP);
    assert_int_equal(lone_get(&w, 1), 1); /* it is all there */
    left.leaving = second.members[0];
    assert_int_equal(close_partition(&w, &left), REPLY_OK);
    lone_send_to(&w, REQUEST_GET, 1);
    lone_assert_answer(&w, REPLY_WRONG_PARTITION);
    lone_deinit(&w);
}

/* What a leader of the catalog said before, and what is on its way for long, opens nothing that was
 * closed since: not where there was a replica, not where there was none, not after a restart, and
 * not while the replica is being opened. A replica that has forgotten would vote once more. */
TEST(an_older_word_opens_nothing_that_was_closed)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info info = w.table.partitions[0], never = info;
    never.id = 99;
    assert_int_equal(close_partition_as_of(&w, &info, 20), REPLY_OK);
    lone_checkpoint_all(&w);
    lone_checkpoint_all(&w);
    open_partition_as_of(&w, &info, 19);
    lone_assert_answer(&w, REPLY_STALE_MAP);
    assert_int_equal(close_partition_as_of(&w, &never, 30), REPLY_OK);
    open_partition_as_of(&w, &never, 29);
    lone_assert_answer(&w, REPLY_STALE_MAP);
    lone_crash(&w); /* by the log's word, then by a checkpoint's */
    open_partition_as_of(&w, &never, 29);
    lone_assert_answer(&w, REPLY_STALE_MAP);
    lone_checkpoint_all(&w);
    lone_crash(&w);
    open_partition_as_of(&w, &never, 29);
    lone_assert_answer(&w, REPLY_STALE_MAP);
    open_partition_as_of(&w, &never, 31);
    send_close(&w, &never, 32);
    lone_assert_answer(&w, REPLY_WRONG_PARTITION);
    w.answer_count = 0;
    lone_write_all(&w);
    assert_int_equal(lone_answer(&w)->code, REPLY_OK); /* it is open */
    assert_int_equal(close_partition_as_of(&w, &never, 32), REPLY_OK);
    lone_deinit(&w);
}

/* Requests go on meanwhile: no more a second than may be, and no checkpoint sooner for it. */
TEST(what_was_moved_away_is_erased_in_small_steps)
{
    enum {
        ITEMS = 40,
        ITEM_BYTES = 4000,
        BYTES_S = 64 * 1024,
        STEP_MS = 250,
    };
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "erase_bytes_s", "64KiB");
    lone_open_table(&w, 100, 100);
    for (uint32_t i = 0; i < ITEMS; i++)
        lone_put_sized(&w, i, 1, ITEM_BYTES);
    lone_write_all(&w);
    lone_checkpoint_all(&w);
    struct partition_info left = w.table.partitions[0];
    left.leaving = left.members[0];
    left.members[0] = raft_member_id(2, 1, 1);
    assert_int_equal(close_partition(&w, &left), REPLY_OK);
    int64_t ms = 0, checkpoints = 0;
    for (; store_erase_pending(node_store(w.node)); ms += 10) {
        assert_true(ms < 10000);
        lone_pass(&w, 10);
        if (!w.checkpoint)
            continue;
        lone_checkpoint_end(&w);
        checkpoints++;
    }
    assert_true(ms >= ITEMS * ITEM_BYTES * INT64_C(1000) / BYTES_S - STEP_MS);
    assert_true(checkpoints <= ms / STEP_MS + 1);
    lone_deinit(&w);
}

/* As many as a deleted table had partitions: an empty one is no reason to wait a step. */
TEST(many_empty_ranges_are_erased_soon)
{
    enum {
        RANGES = 400,
        CHECKPOINTS = 10, /* one may take a while */
        WITHIN_MS = 1000,
    };
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    for (uint32_t i = 0; i < RANGES; i++) {
        uint8_t lo[8], hi[8];
        put_u32(put_u32(lo, 7), i);
        put_u32(put_u32(hi, 7), i + 1);
        store_erase(node_store(w.node), slice_make(lo, sizeof lo), slice_make(hi, sizeof hi));
    }
    int checkpoints = 0;
    for (int64_t ms = 0; store_erase_pending(node_store(w.node)); ms++) {
        assert_true(ms < WITHIN_MS);
        lone_pass(&w, 1);
        if (!w.checkpoint)
            continue;
        lone_checkpoint_end(&w);
        assert_true(++checkpoints <= CHECKPOINTS);
    }
    lone_deinit(&w);
}

TEST(a_deleted_table_leaves_nothing_and_its_name_is_free)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    uint32_t first = w.table.id;
    lone_put(&w, 1, 1);
    lone_write_all(&w);
    lone_table_op(&w, REQUEST_TABLE_DELETE, 0, 0);
    for (int i = 0; i < 10; i++) { /* the group ends, then its replica goes */
        lone_pass(&w, 10);
        lone_write_all(&w);
    }
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of("t")};
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_TABLE_NOT_FOUND);
    lone_table_op(&w, REQUEST_TABLE_CREATE, 100, 100);
    lone_fetch_table(&w);
    assert_true(w.table.id > first);
    assert_int_equal(lone_get(&w, 1), 0);
    lone_checkpoint_all(&w);
    lone_assert_verified(&w, 0);
    lone_deinit(&w);
}

TEST(a_replica_of_a_group_with_more_nodes_than_are_named_is_not_started)
{
    struct lone_node w;
    struct buffer error = {0};
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    assert_int_equal(node_check(w.node, &error), STATUS_OK);
    struct partition_info info = w.table.partitions[0];
    info.id += 1; /* of a table that the catalog here does not know */
    info.table_id = 99;
    info.lo = slice_make("\0\0\0\x63", 4);
    info.hi = slice_make("\0\0\0\x64", 4);
    info.member_count = 2;
    info.members[1] = raft_member_id(3, 1, 0);
    open_partition(&w, &info);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    struct request get = {.op = REQUEST_GET,
                          .partition = info.id,
                          .epoch = info.epoch,
                          .get = {.key = info.lo, .consistent = true}};
    lone_send(&w, &get);
    lone_assert_answer(&w, REPLY_NOT_LEADER);
    assert_int_equal(node_check(w.node, &error), STATUS_MALFORMED);
    assert_true(slice_starts_with(
        buffer_slice(&error),
        slice_of("the data has partitions on node 3, too, but only 1 node is named")));
    buffer_deinit(&error);
    lone_deinit(&w);
}

/* SPLIT-1. As where a late word of before a split comes beside a word for the child. */
TEST(no_two_replicas_of_a_range_are_opened_at_once)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info whole = w.table.partitions[0];
    whole.id += 1; /* of a table that the catalog here does not know */
    whole.table_id = 99;
    whole.lo = slice_make("\0\0\0\x63", 4);
    whole.hi = slice_make("\0\0\0\x64", 4);
    struct partition_info upper = whole, beside = whole;
    upper.id += 1;
    upper.lo = slice_make("\0\0\0\x63\x80", 5);
    beside.id += 2;
    beside.table_id = 100;
    beside.lo = whole.hi;
    beside.hi = slice_make("\0\0\0\x65", 4);
    open_partition(&w, &whole);
    open_partition(&w, &upper);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    open_partition(&w, &beside);
    w.answer_count = 0;
    lone_write_all(&w);
    assert_non_null(partitions_find(&w.node->partitions, whole.id));
    assert_null(partitions_find(&w.node->partitions, upper.id));
    assert_non_null(partitions_find(&w.node->partitions, beside.id));
    lone_deinit(&w);
}

/* Each that runs for leader writes its term, its vote, and as the only voter its first entry. */
TEST(groups_that_run_at_once_stay_within_the_log)
{
    enum {
        GROUPS = 1500,
        SPACE = 100 << 10
    };
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info info = w.table.partitions[0];
    for (uint32_t i = 1; i <= GROUPS; i++) {
        const uint32_t lo = __builtin_bswap32(100 + i), hi = __builtin_bswap32(101 + i);
        info.id = w.table.partitions[0].id + i;
        info.table_id = 100 + i;
        info.lo = slice_make(&lo, sizeof lo);
        info.hi = slice_make(&hi, sizeof hi);
        open_partition(&w, &info);
        lone_write_all(&w);
    }
    lone_die(&w);
    const uint64_t end = w.log.size + SPACE;
    lone_start(&w, end);
    for (int i = 0; i < 20; i++) {
        lone_pass(&w, 1000);
        lone_write_all(&w);
    }
    assert_in_range(node_log_end(w.node), end - SPACE + 1, end);
    lone_deinit(&w);
}

/* Found by seed 62: a node that was down when a table was made opened its replica after a change of
 * the table, and led. The other replicas waited for the change. */
TEST(a_leader_notifies_its_group_of_what_it_knows_from_the_catalog)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    struct partition_info info = w.table.partitions[0];
    assert_int_equal(close_partition(&w, &info), REPLY_OK);
    lone_checkpoint_all(&w);
    lone_checkpoint_all(&w);
    info.indexes_version = 3;
    info.ttl = slice_of("t");
    assert_int_equal(reopen_partition(&w, &info), REPLY_OK);
    for (int i = 0; i < 100; i++) {
        lone_pass(&w, 10);
        lone_write_all(&w);
    }
    const struct partition *p = partitions_find(&w.node->partitions, info.id);
    assert_int_not_equal(p->led, 0);
    assert_int_equal(p->index_versions.logged, 3);
    const uint64_t last = raft_last(p->raft);
    open_partition(&w, &info);
    lone_assert_answer(&w, REPLY_OK);
    lone_pass(&w, 10);
    lone_write_all(&w);
    assert_int_equal(raft_last(p->raft), last); /* once is enough */
    lone_deinit(&w);
}
