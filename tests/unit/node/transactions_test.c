/* transactions_test.c - transactions at a node, one step at a time: locks, the decision, and what
 * follows when somebody dies. */
#include "tests/check.h"

#include <errno.h>

#include "base/config.h"
#include "base/settings/transactions.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/node/transaction/transactions_internal.h"
#include "engine/transaction/transaction.h"
#include "tests/support/transact_fixture.h"
#include "tests/temporary.h"

/* ---- two parts ---- */

TEST(what_is_prepared_is_locked_until_it_is_decided_and_done)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    transact_expect(&s, OLD, OLD);
    assert_int_equal(transact_write(&s, FIRST), REPLY_LOCKED);
    assert_int_equal(transact_write(&s, SECOND), REPLY_LOCKED);
    transact_pass(&s, 200);
    assert_int_equal(transact_stats(&s).transactions.locks, 2);
    assert_in_range(transact_stats(&s).transactions.oldest_ms, 200, 1000);
    assert_in_range(transact_stats(&s).transactions.reserved_log_bytes, 100, 20000);
    assert_int_equal(transact_stats(&s).transactions.reserved_index_bytes,
                     0); /* there is no index */
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_expect(&s, NEW, NEW); /* the second is asked for before it is done */
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_pass(&s, 100);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST),
                     REPLY_OK); /* by its token */
    assert_int_equal(transact_stats(&s).transactions.locks, 0);
    assert_int_equal(transact_write(&s, SECOND), REPLY_OK);
    transact_expect(&s, NEW, OLD + 1);
    lone_assert_verified(&s.w, 2);
    transact_close(&s);
}

/* TRANSACT-4: "pending" counts for reads from before the question only. */
TEST(a_read_after_the_decision_is_not_content_with_an_earlier_answer)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    transact_expect(&s, OLD, OLD); /* the answer is: pending */
    struct request r = transact_word(&s, REQUEST_TRANSACT_DECIDE, FIRST);
    lone_send(&s.w, &r);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0);
    lone_assert_answer(&s.w, REPLY_OK);
    lone_send_to(&s.w, REQUEST_GET, SECOND); /* its part is on its way to the disk */
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    assert_int_equal(answer_version(lone_answer(&s.w)), NEW);
    transact_close(&s);
}

/* TRANSACT-2: not before it is applied, and not twice. */
TEST(a_part_is_ended_once_and_not_before_it_is_prepared)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_at_once(&s, transact_prepared(&s, SECOND)), REPLY_UNKNOWN);
    const struct raft *raft = transact_partition(&s)->raft;
    const uint64_t prepared = raft_last(raft);
    struct request r = transact_word(&s, REQUEST_TRANSACT_RESOLVE, SECOND);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    assert_int_equal(raft_last(raft), prepared);
    while (raft_applied(raft) < prepared)
        assert_true(lone_write_begin(&s.w) ? (lone_write_end(&s.w, 0), true) : false);
    assert_int_equal(raft_last(raft), prepared + 1);
    r = transact_word(&s, REQUEST_TRANSACT_RESOLVE, SECOND);
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    assert_int_equal(raft_last(raft), prepared + 1);
    lone_write_all(&s.w);
    assert_int_equal(transact_write(&s, SECOND), REPLY_OK);
    transact_close(&s);
}

TEST(a_late_word_about_another_transaction_changes_nothing)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    transact_part(&s, 2, 1);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_RESOLVE, SECOND), REPLY_OK);
    assert_int_equal(transact_write(&s, SECOND), REPLY_LOCKED);
    transact_close(&s);
}

/* A router gives up, and its word that the transaction is dropped comes after the decision. */
TEST(what_is_decided_is_not_dropped_by_a_late_word)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    struct request r = transact_word(&s, REQUEST_TRANSACT_DECIDE, FIRST);
    lone_send(&s.w, &r);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0); /* the record is there until the other part is done */
    r = transact_word(&s, REQUEST_TRANSACT_RESOLVE, FIRST);
    assert_int_equal(transact_at_once(&s, r), REPLY_OK);
    lone_write_all(&s.w);
    transact_pass(&s, 100);
    transact_expect(&s, NEW, NEW);
    transact_part(&s, 9, 1); /* another transaction with the client's token */
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_ABORTED);
    transact_close(&s);
}

/* Else a decision could be told that no disk has. */
TEST(what_is_refused_in_advance_is_pending_until_that_is_on_the_disk)
{
    struct transact_fixture s;
    transact_open(&s);
    struct request r = transact_word(&s, REQUEST_TRANSACT_QUERY, FIRST);
    request_edit_transaction(&r)->aborts = true;
    assert_int_equal(transact_at_once(&s, r), REPLY_UNKNOWN);
    r = transact_word(&s, REQUEST_TRANSACT_QUERY, FIRST);
    request_edit_transaction(&r)->aborts = true;
    assert_int_equal(transact_at_once(&s, r), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->decided, TRANSACTION_PENDING);
    lone_write_all(&s.w);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_QUERY, FIRST), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->decided, TRANSACTION_ABORTED);
    transact_close(&s);
}

/* A router that hears nothing asks again, while the entry is on its way to the disks. */
TEST(a_decision_that_is_queried_twice_is_answered_twice)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    struct request decide = transact_word(&s, REQUEST_TRANSACT_DECIDE, FIRST), again = decide;
    lone_send(&s.w, &decide);
    lone_send(&s.w, &again);
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2);
    assert_int_equal(s.w.answers[0].code, REPLY_OK);
    assert_int_equal(s.w.answers[1].code, REPLY_OK);
    transact_pass(&s, 100);
    transact_expect(&s, NEW, NEW);
    transact_close(&s);
}

/* The rows of an index lie in another order than the items, whose keys are locked. */
TEST(a_read_by_an_index_waits_for_what_is_decided)
{
    struct transact_fixture s;
    transact_open(&s);
    lone_deinit(&s.w);
    struct index x = {.number = 1,
                      .name = slice_of("by-v"),
                      .partition_count = 1,
                      .sort_count = 1,
                      .keys = {{slice_of("id"), ATTR_STRING}, {slice_of("v"), ATTR_BINARY}},
                      .projection = PROJECT_ALL};
    const struct index_set set = {
        {slice_of("id"), ATTR_STRING}, {slice_of("n"), ATTR_STRING}, 1, 1, &x};
    struct buffer indexes = {0};
    index_set_encode(&indexes, &set);
    lone_init(&s.w, PROFILE_OFF);
    s.w.collections = 1;
    s.w.indexes = buffer_slice(&indexes);
    lone_open_table(&s.w, 100, 100);
    transact_put(&s, FIRST, OLD);
    transact_put(&s, SECOND, OLD);
    transact_part(&s, 1, 1);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    const uint32_t version = NEW;
    const struct attr v = {ATTR_BINARY, slice_make(&version, sizeof version)};
    struct buffer lo = {0}, hi = {0};
    lone_key(&s.w, FIRST);
    buffer_append(&lo, s.w.key.data, storage_key_collection_size(buffer_slice(&s.w.key)));
    storage_key_append_sort(&lo, &v, true);
    buffer_set(&hi, buffer_slice(&lo));
    storage_key_successor(&hi);
    struct request r = lone_request(&s.w, REQUEST_GET, FIRST);
    r.op = REQUEST_RANGE;
    memset(&r.range, 0, sizeof r.range);
    r.range.lo = buffer_slice(&lo);
    r.range.hi = buffer_slice(&hi);
    r.range.index = 1;
    r.range.bytes_max = PAGE_SIZE_MAX;
    r.range.consistent = true;
    assert_int_equal(transact_send(&s, &r), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->count, 2);
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    buffer_deinit(&indexes);
    transact_close(&s);
}

/* The units of a part are taken, given back, or spent by the part: the partition has 100 a
 * second. */
TEST(a_part_that_was_admitted_is_not_charged_again)
{
    struct transact_fixture s;
    transact_open(&s);
    lone_deinit(&s.w);
    lone_init(&s.w, PROFILE_STRICT);
    lone_open_table(&s.w, 100, 100);
    transact_pass(&s, 2000);
    struct request admit = lone_request(&s.w, REQUEST_TRANSACT_ADMIT, SECOND);
    struct buffer keys = {0};
    buffer_append_sized(&keys, buffer_slice(&s.w.key));
    request_edit_admit(&admit)->key = buffer_slice(&s.w.key);
    request_edit_admit(&admit)->keys = buffer_slice(&keys);
    request_edit_admit(&admit)->mcu = 90 * MCU_PER_UNIT;
    assert_int_equal(transact_send(&s, &admit), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->consumed_mcu, 90 * MCU_PER_UNIT);
    assert_int_equal(transact_send(&s, &admit), REPLY_THROTTLED);
    request_edit_admit(&admit)->back = WRITE_ADMITTED;
    assert_int_equal(transact_send(&s, &admit), REPLY_OK);
    request_edit_admit(&admit)->back = WRITE_NOT_ADMITTED;
    assert_int_equal(transact_send(&s, &admit), REPLY_OK);
    struct request r = transact_prepared(&s, SECOND);
    r.write.admitted = WRITE_ADMITTED;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(transact_send(&s, &r), i == 0 ? REPLY_OK : REPLY_LOCKED);
        if (i == 0)
            assert_int_equal(lone_answer(&s.w)->consumed_mcu, 0);
    }
    assert_int_equal(transact_send(&s, &admit), REPLY_LOCKED); /* before anything is charged */
    request_edit_admit(&admit)->back = WRITE_ADMITTEDS;
    assert_int_equal(transact_send(&s, &admit), REPLY_MALFORMED);
    request_edit_admit(&admit)->back = WRITE_NOT_ADMITTED;
    request_edit_admit(&admit)->mcu = INT64_MAX;
    assert_int_equal(transact_send(&s, &admit), REPLY_MALFORMED);
    request_edit_admit(&admit)->mcu = 1;
    request_edit_admit(&admit)->keys = slice_make(keys.data, keys.size - 1);
    assert_int_equal(transact_send(&s, &admit), REPLY_MALFORMED);
    buffer_deinit(&keys);
    transact_close(&s);
}

/* No table has this number. */
static void no_table(struct buffer *key)
{
    key->data[0] = 0;
    key->data[1] = key->data[2] = key->data[3] = 9;
}

TEST(locks_of_a_table_that_is_gone_are_dropped)
{
    struct transact_fixture s;
    transact_open(&s);
    no_table(&s.anchor);
    s.part.anchor = buffer_slice(&s.anchor);
    s.part.keys = slice_make(NULL, 0);
    buffer_clear(&s.other);
    transaction_part_walk(&(struct codec){.out = &s.other}, &s.part);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    transact_pass(&s, 3 * DECIDE_MS);
    assert_int_equal(transact_stats(&s).transactions.locks, 0);
    transact_expect(&s, OLD, OLD);
    transact_close(&s);
}

/* The second part is of a table that is gone. */
static void scene_part_elsewhere(struct transact_fixture *s)
{
    struct buffer gone = {0};
    buffer_set(&gone, slice_make(s->keys.data + 4, s->keys.size - 4));
    no_table(&gone);
    buffer_clear(&s->keys);
    buffer_append_sized(&s->keys, buffer_slice(&gone));
    s->part.keys = buffer_slice(&s->keys);
    buffer_clear(&s->first);
    transaction_part_walk(&(struct codec){.out = &s->first}, &s->part);
    buffer_deinit(&gone);
}

/* Its end comes by itself. A node that is due again at once would never rest on a slow disk. */
TEST(a_node_rests_while_the_end_of_a_lock_is_on_its_way)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    struct request drop = transact_word(&s, REQUEST_TRANSACT_RESOLVE, FIRST);
    lone_send(&s.w, &drop);
    lone_send_to(&s.w, REQUEST_GET, FIRST); /* it waits for the lock to go */
    for (int i = 0; i < 3; i++)
        lone_pass(&s.w, 1);
    assert_true(instant_before(s.w.now, node_deadline(s.w.node)));
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    transact_expect(&s, OLD, OLD);
    transact_close(&s);
}

/* The same while its beginning is. */
TEST(a_node_rests_while_a_lock_is_on_its_way)
{
    struct transact_fixture s;
    transact_open(&s);
    struct request prepare = transact_prepared(&s, SECOND);
    lone_send(&s.w, &prepare);
    lone_pass(&s.w, 2 * DECIDE_MS + 10);
    assert_true(instant_before(s.w.now, node_deadline(s.w.node)));
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    transact_pass(&s, 100); /* it asks at once, and the anchor was never prepared */
    assert_int_equal(transact_stats(&s).transactions.locks, 0);
    transact_close(&s);
}

TEST(parts_of_a_table_that_is_gone_are_not_waited_for)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_true(transactions_have_pending_parts(transact_partition(&s)));
    transact_pass(&s, 1000);
    assert_false(transactions_have_pending_parts(transact_partition(&s)));
    transact_expect(&s, NEW, OLD);
    transact_close(&s);
}

static enum reply_code scene_close(struct transact_fixture *s, bool queries_leader)
{
    struct buffer info = {0};
    partition_info_encode(&info, &transact_partition(s)->info);
    const struct request close = {.op = REQUEST_PARTITION_CLOSE,
                                  .partition = transact_partition(s)->info.id,
                                  .replica = {.info = buffer_slice(&info),
                                              .table_deleted = true,
                                              .queries_leader = queries_leader}};
    const enum reply_code code = transact_send(s, &close);
    buffer_deinit(&info);
    return code;
}

static enum reply_code scene_delete_table(struct transact_fixture *s)
{
    return scene_close(s, false);
}

/* Other replicas go only after that: without a majority no leader could tell the parts. */
TEST(the_leader_of_a_deleted_table_reports_when_no_parts_are_pending)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_int_equal(scene_close(&s, true), REPLY_OVERLOADED);
    assert_false(transact_partition(&s)->ended);
    transact_pass(&s, 1000);
    assert_int_equal(scene_close(&s, true), REPLY_OK);
    assert_non_null(
        transact_partition(&s)); /* it is still there, and leads, but takes no new part */
    assert_true(transact_partition(&s)->led != 0);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_WRONG_PARTITION);
    assert_int_equal(scene_close(&s, true), REPLY_OK);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    transact_close(&s);
}

/* Else the other part would be asked about at a table that is gone. */
TEST(a_table_goes_when_its_parts_in_other_tables_are_done)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_int_equal(scene_delete_table(&s), REPLY_OVERLOADED);
    transact_pass(&s, 1000);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    transact_close(&s);
}

/* Other partitions of the table may be gone already: their parts can never be done. */
TEST(a_table_goes_with_its_own_parts)
{
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    transact_close(&s);
}

/* Locks that could not be read may be those of a committed transaction. */
TEST(a_table_stays_while_its_locks_are_not_known)
{
    struct transact_fixture s;
    transact_open(&s);
    struct transactions *all = &s.w.node->transactions;
    transact_partition(&s)->locks->lost = true;
    transact_partition(&s)->locks->at = all->at = INSTANT_NEVER; /* not read again yet */
    assert_int_equal(scene_delete_table(&s), REPLY_OVERLOADED);
    transact_partition(&s)->locks->at = all->at = s.w.now;
    transact_pass(&s, 100);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    transact_close(&s);
}

/* A merge that is never gone on with may stand in the way of DeleteTable. */
TEST(a_frozen_partition_notifies_the_parts_of_what_it_has_committed)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_true(transactions_have_pending_parts(transact_partition(&s)));
    transact_partition(&s)->frozen = (struct frozen){1, 1};
    transact_pass(&s, 1000);
    assert_false(transactions_have_pending_parts(transact_partition(&s)));
    transact_partition(&s)->frozen = (struct frozen){0};
    transact_close(&s);
}

/* The decision came behind the entry that freezes. No thaw follows where the table is deleted. */
TEST(a_frozen_partition_has_no_pending_part_of_what_it_could_not_commit)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    struct request decide = transact_word(&s, REQUEST_TRANSACT_DECIDE, FIRST);
    lone_send(&s.w, &decide);
    assert_true(transactions_have_pending_parts(transact_partition(&s)));
    transact_partition(&s)->frozen = (struct frozen){1, 1};
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_STALE_MAP);
    assert_false(transactions_have_pending_parts(transact_partition(&s)));
    transact_partition(&s)->frozen = (struct frozen){0};
    transact_close(&s);
}

/* What has no item after the write shows none. */
TEST(a_prepared_part_shows_the_item_that_it_will_be)
{
    struct transact_fixture s;
    transact_open(&s);
    struct request r = transact_prepared(&s, SECOND);
    r.write.return_values = RETURN_NEW;
    assert_int_equal(transact_send(&s, &r), REPLY_OK);
    assert_true(lone_answer(&s.w)->found);
    assert_true(slice_equal(buffer_slice(&lone_answer(&s.w)->body), lone_item(&s.w, NEW, 10)));
    transact_part(&s, 2, 2);
    r = lone_request(&s.w, REQUEST_DELETE, FIRST);
    r.write.return_values = RETURN_NEW;
    r.write.transaction = buffer_slice(&s.first);
    assert_int_equal(transact_send(&s, &r), REPLY_OK);
    assert_false(lone_answer(&s.w)->found);
    transact_close(&s);
}

TEST(what_is_deleted_is_gone_once_it_is_decided)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    struct request r = lone_request(&s.w, REQUEST_DELETE, SECOND);
    r.write.return_values = RETURN_NONE;
    r.write.transaction = buffer_slice(&s.other);
    assert_int_equal(transact_send(&s, &r), REPLY_OK);
    r = lone_request(&s.w, REQUEST_CHECK, FIRST);
    r.write.transaction = buffer_slice(&s.first);
    assert_int_equal(transact_send(&s, &r), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_expect(&s, OLD, 0);
    lone_assert_verified(&s.w, 1);
    transact_close(&s);
}

TEST(what_a_router_drops_is_as_before)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_RESOLVE, SECOND), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_RESOLVE, FIRST), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_ABORTED);
    assert_int_equal(transact_write(&s, FIRST), REPLY_OK);
    transact_expect(&s, OLD + 1, OLD);
    transact_close(&s);
}

/* TRANSACT-3 */
TEST(what_was_prepared_outlives_a_crash_and_is_dropped_if_nobody_decides)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    lone_crash(&s.w);
    assert_int_equal(transact_write(&s, SECOND), REPLY_LOCKED);
    transact_pass(&s, DECIDE_MS + 2000);
    transact_expect(&s, OLD, OLD);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_ABORTED);
    assert_int_equal(transact_write(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_write(&s, SECOND), REPLY_OK);
    lone_assert_verified(&s.w, 2);
    transact_close(&s);
}

/* TRANSACT-1 */
TEST(what_was_decided_is_done_after_a_crash)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    lone_crash(&s.w);
    transact_expect(&s, NEW, NEW);
    transact_pass(&s, 100);
    lone_checkpoint_all(&s.w);
    lone_crash(&s.w);
    transact_expect(&s, NEW, NEW);
    lone_assert_verified(&s.w, 2);
    transact_close(&s);
}

/* ---- room ---- */

enum {
    OTHERS = 3, /* names of items that no transaction has */
    QUEUE = 16  /* node_queue_max */
};

static void scene_prepare_both(struct transact_fixture *s)
{
    assert_int_equal(transact_prepare(s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(s, SECOND), REPLY_OK);
}

static void scene_expect_done(struct transact_fixture *s)
{
    assert_int_equal(transact_about(s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_pass(s, 100);
    transact_expect(s, NEW, NEW);
    assert_int_equal(transact_stats(s).transactions.locks, 0);
    assert_int_equal(transactions_log_bytes(transact_partition(s)), 0);
    assert_int_equal(s->w.node->proposals.reserved_bytes, 0);
}

/* Writes are refused before the space goes that is reserved for locks. */
TEST(what_is_prepared_is_done_on_a_full_disk)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_prepare_both(&s);
    const size_t kept = transactions_log_bytes(transact_partition(&s));
    assert_in_range(kept, 100, 20000);
    node_log_space(
        s.w.node,
        node_log_end(s.w.node) + log_record_size(kept) + 4 * LOG_HEADER_SIZE + LOG_RESERVE, ENOSPC);
    assert_int_equal(transact_write(&s, OTHERS), REPLY_FULL);
    assert_int_equal(transact_prepare(&s, OTHERS), REPLY_FULL);
    scene_expect_done(&s);
    transact_close(&s);
}

TEST(what_is_prepared_is_done_with_a_full_store)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_prepare_both(&s);
    s.w.node->log.map_full = true;
    assert_int_equal(transact_write(&s, OTHERS), REPLY_FULL);
    scene_expect_done(&s);
    transact_close(&s);
}

/* Locks that a new leader finds take their room, too. */
TEST(what_was_prepared_has_room_in_the_log_after_a_crash)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_prepare_both(&s);
    const size_t kept = transactions_log_bytes(transact_partition(&s));
    lone_crash(&s.w);
    assert_int_equal(transact_write(&s, SECOND), REPLY_LOCKED);
    assert_in_range(transactions_log_bytes(transact_partition(&s)), kept / 2, 2 * kept);
    scene_expect_done(&s);
    transact_close(&s);
}

/* A new leader cannot read the store for a moment. */
TEST(locks_that_cannot_be_read_are_not_taken_for_none)
{
    struct transact_fixture s;
    transact_open(&s);
    scene_prepare_both(&s);
    struct node *n = s.w.node;
    env_begin_event(&n->env, s.w.now);
    s.w.medium.unreadable = true;
    transactions_discard(&n->transactions, transact_partition(&s));
    transactions_begin(&n->transactions, transact_partition(&s));
    s.w.medium.unreadable = false;
    lone_take_effects(&s.w);
    assert_int_equal(transact_write(&s, SECOND), REPLY_OVERLOADED);
    transact_pass(&s, 100);
    assert_int_equal(transact_write(&s, SECOND), REPLY_LOCKED);
    scene_expect_done(&s);
    transact_close(&s);
}

/* The anchor's part never came: then it must not come later either. */
TEST(a_lock_without_a_record_is_dropped_and_its_transaction_refused)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    transact_pass(&s, 2 * DECIDE_MS + 2000);
    assert_int_equal(transact_write(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_ABORTED);
    transact_expect(&s, OLD, OLD + 1);
    transact_pass(&s, config_transactions(&s.w.config)->transaction_fence_ms);
    lone_assert_verified(&s.w, 2);
    transact_close(&s);
}

/* ---- tokens ---- */

TEST(a_token_is_known_while_its_transaction_runs_and_afterwards)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    transact_part(&s, 2, 1);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_TOKEN_RUNS);
    transact_part(&s, 2, 9); /* the token is not used before its transaction is done */
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_TOKEN_RUNS);
    transact_part(&s, 1, 1);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_part(&s, 3, 1);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_TOKEN_DONE);
    transact_part(&s, 3, 9);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_TOKEN_MISMATCH);
    transact_close(&s);
}

static int64_t scene_rows(struct transact_fixture *s)
{
    struct store_cursor c;
    struct slice key, value;
    uint8_t lo[] = {SPACE_LOCK_KEYS, 0, 0, 0}, hi[] = {SPACE_TOKEN_KEYS + 1, 0, 0, 0};
    int64_t count = 0;
    store_seek(node_store(s->w.node), slice_make(lo, sizeof lo), slice_make(hi, sizeof hi), false,
               &c);
    while (store_next(&c, &key, &value) == STATUS_OK)
        count++;
    return count;
}

/* Two that were refused in advance, one after the other. */
TEST(each_fence_ends_at_its_time)
{
    const int64_t apart_ms = 2 * DECIDE_MS + 2000;
    struct transact_fixture s;
    transact_open(&s);
    for (uint32_t number = 1; number <= 2; number++) {
        transact_part(&s, number, 1);
        assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
        transact_pass(&s, apart_ms);
    }
    assert_int_equal(scene_rows(&s), 2);
    transact_pass(&s, config_transactions(&s.w.config)->transaction_fence_ms - apart_ms);
    assert_int_equal(scene_rows(&s), 1);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_ABORTED);
    transact_pass(&s, apart_ms);
    assert_int_equal(scene_rows(&s), 0);
    transact_close(&s);
}

TEST(tokens_go_when_their_time_is_over)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_rows(&s), 4); /* two locks, the record, the token */
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_pass(&s, 1000);
    assert_int_equal(scene_rows(&s), 1);
    for (int i = 0; i < 8; i++)
        transact_pass(&s, 60000);
    assert_int_equal(scene_rows(&s), 1);
    for (int i = 0; i < 4; i++)
        transact_pass(&s, 60000);
    assert_int_equal(scene_rows(&s), 0);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    transact_close(&s);
}
