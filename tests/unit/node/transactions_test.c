/* transactions_test.c - transactions at a node, one step at a time: locks, the decision, and what follows
 * when somebody dies. */
#include "tests/check.h"

#include <errno.h>

#include "base/config.h"
#include "base/settings/transactions.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/node_internal.h"
#include "engine/node/transactions_internal.h"
#include "engine/transaction/transaction.h"
#include "tests/support/lone_node.h"
#include "tests/temporary.h"

enum {
    FIRST = 1, /* names; the first is the anchor */
    SECOND = 2,
    OLD = 10, /* versions */
    NEW = 20,
    DECIDE_MS = 5000 /* transaction_decide_ms by default */
};

struct scene {
    struct lone_node w;
    struct transaction_part part;
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    struct buffer anchor;
    struct buffer keys;
    struct buffer first; /* the bytes of the part, for the anchor */
    struct buffer other;
};

static void scene_part(struct scene *s, uint64_t number, uint64_t digest)
{
    s->part = (struct transaction_part){.id = {number, number}, .digest = digest};
    lone_key(&s->w, FIRST);
    buffer_set(&s->anchor, buffer_slice(&s->w.key));
    s->part.anchor = buffer_slice(&s->anchor);
    s->part.token = slice_make(s->token, sizeof s->token);
    buffer_clear(&s->other);
    transaction_part_walk(&(struct codec){.out = &s->other}, &s->part);
    buffer_clear(&s->keys);
    lone_key(&s->w, SECOND);
    buffer_append_sized(&s->keys, buffer_slice(&s->w.key));
    s->part.keys = buffer_slice(&s->keys);
    buffer_clear(&s->first);
    transaction_part_walk(&(struct codec){.out = &s->first}, &s->part);
}

static void scene_put(struct scene *s, uint32_t name, uint32_t version)
{
    lone_put_sized(&s->w, name, version, 10);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
}

static void scene_open(struct scene *s)
{
    *s = (struct scene){0};
    memset(s->token, 7, sizeof s->token);
    lone_init(&s->w, PROFILE_OFF);
    lone_open_table(&s->w, 100, 100);
    scene_put(s, FIRST, OLD);
    scene_put(s, SECOND, OLD);
    scene_part(s, 1, 1);
}

static void scene_close(struct scene *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->anchor);
    buffer_deinit(&s->keys);
    buffer_deinit(&s->first);
    buffer_deinit(&s->other);
}

static void scene_pass(struct scene *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 10) {
        lone_pass(&s->w, 10);
        lone_write_all(&s->w);
    }
}

static enum reply_code scene_ask(struct scene *s, const struct request *r)
{
    struct request copy = *r;
    lone_ask(&s->w, &copy);
    for (int ms = 0; s->w.answer_count == 0; ms++) {
        assert_true(ms < 20000);
        lone_write_all(&s->w);
        if (s->w.answer_count == 0)
            lone_pass(&s->w, 1);
    }
    return lone_answer(&s->w)->code;
}

static struct request scene_prepared(struct scene *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.write.item = lone_item(&s->w, NEW, 10);
    r.write.want = WANT_NOTHING;
    r.write.transaction = buffer_slice(name == FIRST ? &s->first : &s->other);
    return r;
}

static enum reply_code scene_prepare(struct scene *s, uint32_t name)
{
    const struct request r = scene_prepared(s, name);
    return scene_ask(s, &r);
}

static struct request scene_request_about(struct scene *s, enum request_op op, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    const struct slice key = r.write.key;
    r.op = op;
    request_edit_transaction(&r)->key = key;
    request_edit_transaction(&r)->id_high = s->part.id.high;
    request_edit_transaction(&r)->id_low = s->part.id.low;
    request_edit_transaction(&r)->token = slice_make(s->token, sizeof s->token);
    request_edit_transaction(&r)->commits = request_edit_transaction(&r)->aborts = false;
    return r;
}

static enum reply_code scene_about(struct scene *s, enum request_op op, uint32_t name)
{
    const struct request r = scene_request_about(s, op, name);
    return scene_ask(s, &r);
}

static void scene_expect(struct scene *s, uint32_t first, uint32_t second)
{
    for (uint32_t name = FIRST; name <= SECOND; name++) {
        const struct request r = lone_request(&s->w, REQUEST_GET, name);
        assert_int_equal(scene_ask(s, &r), REPLY_OK);
        assert_int_equal(answer_version(lone_answer(&s->w)), name == FIRST ? first : second);
    }
}

static enum reply_code scene_write(struct scene *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.write.item = lone_item(&s->w, OLD + 1, 10);
    return scene_ask(s, &r);
}

static struct partition_stats scene_stats(struct scene *s)
{
    const struct request r = {.op = REQUEST_STATS};
    struct partition_stats stats;
    assert_int_equal(scene_ask(s, &r), REPLY_OK);
    struct reader reader = {buffer_slice(&lone_answer(&s->w)->body), false};
    assert_int_equal(partition_stats_decode(&reader, &stats), STATUS_OK);
    return stats;
}

static struct partition *scene_partition(struct scene *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id);
}

/* ---- two parts ---- */

TEST(what_is_prepared_is_locked_until_it_is_decided_and_done)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    scene_expect(&s, OLD, OLD);
    assert_int_equal(scene_write(&s, FIRST), REPLY_LOCKED);
    assert_int_equal(scene_write(&s, SECOND), REPLY_LOCKED);
    scene_pass(&s, 200);
    assert_int_equal(scene_stats(&s).transactions.locks, 2);
    assert_in_range(scene_stats(&s).transactions.oldest_ms, 200, 1000);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_expect(&s, NEW, NEW); /* the second is asked for before it is done */
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_pass(&s, 100);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK); /* by its token */
    assert_int_equal(scene_stats(&s).transactions.locks, 0);
    assert_int_equal(scene_write(&s, SECOND), REPLY_OK);
    scene_expect(&s, NEW, OLD + 1);
    lone_assert_verified(&s.w, 2);
    scene_close(&s);
}

/* A router that hears nothing asks again, while the entry is on its way to the disks. */
TEST(a_decision_that_is_asked_for_twice_is_told_twice)
{
    struct scene s;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    struct request decide = scene_request_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), again = decide;
    lone_ask(&s.w, &decide);
    lone_ask(&s.w, &again);
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2);
    assert_int_equal(s.w.answers[0].code, REPLY_OK);
    assert_int_equal(s.w.answers[1].code, REPLY_OK);
    scene_pass(&s, 100);
    scene_expect(&s, NEW, NEW);
    scene_close(&s);
}

/* The rows of an index lie in another order than the items, whose keys are locked. */
TEST(a_read_by_an_index_waits_for_what_is_decided)
{
    struct scene s;
    scene_open(&s);
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
    scene_put(&s, FIRST, OLD);
    scene_put(&s, SECOND, OLD);
    scene_part(&s, 1, 1);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
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
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->count, 2);
    buffer_deinit(&lo);
    buffer_deinit(&hi);
    buffer_deinit(&indexes);
    scene_close(&s);
}

/* The units of a part are taken, given back, or spent by the part: the partition has 100 a second. */
TEST(a_part_that_was_admitted_is_not_charged_again)
{
    struct scene s;
    scene_open(&s);
    lone_deinit(&s.w);
    lone_init(&s.w, PROFILE_STRICT);
    lone_open_table(&s.w, 100, 100);
    scene_pass(&s, 2000);
    struct request admit = lone_request(&s.w, REQUEST_TRANSACT_ADMIT, SECOND);
    struct buffer keys = {0};
    buffer_append_sized(&keys, buffer_slice(&s.w.key));
    request_edit_admit(&admit)->key = buffer_slice(&s.w.key);
    request_edit_admit(&admit)->keys = buffer_slice(&keys);
    request_edit_admit(&admit)->mcu = 90 * MCU_PER_UNIT;
    assert_int_equal(scene_ask(&s, &admit), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->consumed_mcu, 90 * MCU_PER_UNIT);
    assert_int_equal(scene_ask(&s, &admit), REPLY_THROTTLED);
    request_edit_admit(&admit)->back = WRITE_ADMITTED;
    assert_int_equal(scene_ask(&s, &admit), REPLY_OK);
    request_edit_admit(&admit)->back = WRITE_NOT_ADMITTED;
    assert_int_equal(scene_ask(&s, &admit), REPLY_OK);
    struct request r = scene_prepared(&s, SECOND);
    r.write.admitted = WRITE_ADMITTED;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(scene_ask(&s, &r), i == 0 ? REPLY_OK : REPLY_LOCKED);
        if (i == 0)
            assert_int_equal(lone_answer(&s.w)->consumed_mcu, 0);
    }
    assert_int_equal(scene_ask(&s, &admit), REPLY_LOCKED); /* before anything is charged */
    request_edit_admit(&admit)->back = WRITE_ADMITTEDS;
    assert_int_equal(scene_ask(&s, &admit), REPLY_MALFORMED);
    request_edit_admit(&admit)->back = WRITE_NOT_ADMITTED;
    request_edit_admit(&admit)->mcu = INT64_MAX;
    assert_int_equal(scene_ask(&s, &admit), REPLY_MALFORMED);
    request_edit_admit(&admit)->mcu = 1;
    request_edit_admit(&admit)->keys = slice_make(keys.data, keys.size - 1);
    assert_int_equal(scene_ask(&s, &admit), REPLY_MALFORMED);
    buffer_deinit(&keys);
    scene_close(&s);
}

/* No table has this number. */
static void no_table(struct buffer *key)
{
    key->data[0] = 0;
    key->data[1] = key->data[2] = key->data[3] = 9;
}

TEST(locks_of_a_table_that_is_gone_are_dropped)
{
    struct scene s;
    scene_open(&s);
    no_table(&s.anchor);
    s.part.anchor = buffer_slice(&s.anchor);
    s.part.keys = slice_make(NULL, 0);
    buffer_clear(&s.other);
    transaction_part_walk(&(struct codec){.out = &s.other}, &s.part);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    scene_pass(&s, 3 * DECIDE_MS);
    assert_int_equal(scene_stats(&s).transactions.locks, 0);
    scene_expect(&s, OLD, OLD);
    scene_close(&s);
}

/* The second part is of a table that is gone. */
static void scene_part_elsewhere(struct scene *s)
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

TEST(parts_of_a_table_that_is_gone_are_not_waited_for)
{
    struct scene s;
    scene_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_true(transactions_owe(scene_partition(&s)));
    scene_pass(&s, 1000);
    assert_false(transactions_owe(scene_partition(&s)));
    scene_expect(&s, NEW, OLD);
    scene_close(&s);
}

static enum reply_code scene_close_replica(struct scene *s, bool ended)
{
    struct buffer info = {0};
    partition_info_encode(&info, &scene_partition(s)->info);
    const struct request close = {
        .op = REQUEST_PARTITION_CLOSE,
        .partition = scene_partition(s)->info.id,
        .replica = {.info = buffer_slice(&info), .table_deleted = true, .ended = ended}};
    const enum reply_code code = scene_ask(s, &close);
    buffer_deinit(&info);
    return code;
}

/* As the catalog's leader does: the group ends before its replicas go. */
static enum reply_code scene_delete_table(struct scene *s)
{
    enum reply_code code = scene_close_replica(s, false);
    scene_pass(s, 10);
    if (code == REPLY_OVERLOADED)
        code = scene_close_replica(s, false);
    if (code != REPLY_OK)
        return code;
    assert_int_not_equal(lone_answer(&s->w)->frozen.index, 0);
    return scene_close_replica(s, true);
}

/* Else the other part would be asked about at a table that is gone. */
TEST(a_table_goes_when_its_parts_in_other_tables_are_done)
{
    struct scene s;
    scene_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_int_equal(scene_delete_table(&s), REPLY_OVERLOADED);
    scene_pass(&s, 1000);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    scene_close(&s);
}

/* Other partitions of the table may be gone already: their parts can never be done. */
TEST(a_table_goes_with_its_own_parts)
{
    struct scene s;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    scene_close(&s);
}

/* What is decided behind the entry that ends the group has no effect: nobody would tell the other parts. */
TEST(nothing_is_committed_in_a_group_that_has_ended)
{
    struct scene s;
    scene_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_close_replica(&s, false), REPLY_OVERLOADED);
    assert_int_not_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    assert_false(transactions_owe(scene_partition(&s)));
    assert_int_equal(scene_close_replica(&s, false), REPLY_OK);
    assert_int_equal(scene_close_replica(&s, true), REPLY_OK);
    scene_close(&s);
}

/* Locks that could not be read may be those of a committed transaction. */
TEST(a_group_whose_locks_are_not_known_does_not_end)
{
    struct scene s;
    scene_open(&s);
    scene_part_elsewhere(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    scene_partition(&s)->locks->lost = true;
    scene_partition(&s)->locks->at = s.w.node->transactions.at = INSTANT_NEVER; /* not read again yet */
    assert_int_equal(scene_close_replica(&s, false), REPLY_OVERLOADED);
    assert_int_equal(scene_partition(&s)->frozen.index, 0);
    scene_partition(&s)->locks->at = s.w.node->transactions.at = s.w.now;
    scene_pass(&s, 100);
    assert_int_equal(scene_delete_table(&s), REPLY_OK);
    scene_close(&s);
}

TEST(what_is_deleted_is_gone_once_it_is_decided)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    struct request r = lone_request(&s.w, REQUEST_DELETE, SECOND);
    r.write.want = WANT_NOTHING;
    r.write.transaction = buffer_slice(&s.other);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    r = lone_request(&s.w, REQUEST_CHECK, FIRST);
    r.write.transaction = buffer_slice(&s.first);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_expect(&s, OLD, 0);
    lone_assert_verified(&s.w, 1);
    scene_close(&s);
}

TEST(what_a_router_drops_is_as_before)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_RESOLVE, SECOND), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_RESOLVE, FIRST), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_ABORTED);
    assert_int_equal(scene_write(&s, FIRST), REPLY_OK);
    scene_expect(&s, OLD + 1, OLD);
    scene_close(&s);
}

TEST(what_was_prepared_outlives_a_crash_and_is_dropped_if_nobody_decides)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    lone_crash(&s.w);
    assert_int_equal(scene_write(&s, SECOND), REPLY_LOCKED);
    scene_pass(&s, DECIDE_MS + 2000);
    scene_expect(&s, OLD, OLD);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_ABORTED);
    assert_int_equal(scene_write(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_write(&s, SECOND), REPLY_OK);
    lone_assert_verified(&s.w, 2);
    scene_close(&s);
}

TEST(what_was_decided_is_done_after_a_crash)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    lone_crash(&s.w);
    scene_expect(&s, NEW, NEW);
    scene_pass(&s, 100);
    lone_checkpoint_all(&s.w);
    lone_crash(&s.w);
    scene_expect(&s, NEW, NEW);
    lone_assert_verified(&s.w, 2);
    scene_close(&s);
}

/* ---- room ---- */

enum {
    OTHERS = 3, /* names of items that no transaction has */
    QUEUE = 16  /* node_queue_max */
};

static void scene_prepare_both(struct scene *s)
{
    assert_int_equal(scene_prepare(s, FIRST), REPLY_OK);
    assert_int_equal(scene_prepare(s, SECOND), REPLY_OK);
}

static void scene_expect_done(struct scene *s)
{
    assert_int_equal(scene_about(s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_pass(s, 100);
    scene_expect(s, NEW, NEW);
    assert_int_equal(scene_stats(s).transactions.locks, 0);
    assert_int_equal(transactions_log_bytes(scene_partition(s)), 0);
    assert_int_equal(s->w.node->proposals.owed_bytes, 0);
}

/* Writes are refused before the space goes that was promised to locks. */
TEST(what_is_prepared_is_done_on_a_full_disk)
{
    struct scene s;
    scene_open(&s);
    scene_prepare_both(&s);
    const size_t kept = transactions_log_bytes(scene_partition(&s));
    assert_in_range(kept, 100, 20000);
    node_log_space(s.w.node,
                   node_log_end(s.w.node) + log_record_size(kept) + 4 * LOG_HEADER_SIZE + LOG_RESERVE,
                   ENOSPC);
    assert_int_equal(scene_write(&s, OTHERS), REPLY_FULL);
    assert_int_equal(scene_prepare(&s, OTHERS), REPLY_FULL);
    scene_expect_done(&s);
    scene_close(&s);
}

TEST(what_is_prepared_is_done_with_a_full_store)
{
    struct scene s;
    scene_open(&s);
    scene_prepare_both(&s);
    s.w.node->log.map_full = true;
    assert_int_equal(scene_write(&s, OTHERS), REPLY_FULL);
    scene_expect_done(&s);
    scene_close(&s);
}

/* Locks that a new leader finds take their room, too. */
TEST(what_was_prepared_has_room_in_the_log_after_a_crash)
{
    struct scene s;
    scene_open(&s);
    scene_prepare_both(&s);
    const size_t kept = transactions_log_bytes(scene_partition(&s));
    lone_crash(&s.w);
    assert_int_equal(scene_write(&s, SECOND), REPLY_LOCKED);
    assert_in_range(transactions_log_bytes(scene_partition(&s)), kept / 2, 2 * kept);
    scene_expect_done(&s);
    scene_close(&s);
}

/* The anchor's part never came: then it must not come later either. */
TEST(a_lock_without_a_record_is_dropped_and_its_transaction_refused)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    scene_pass(&s, 2 * DECIDE_MS + 2000);
    assert_int_equal(scene_write(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_ABORTED);
    scene_expect(&s, OLD, OLD + 1);
    scene_pass(&s, config_transactions(&s.w.config)->transaction_fence_ms);
    lone_assert_verified(&s.w, 2);
    scene_close(&s);
}

/* ---- tokens ---- */

TEST(a_token_is_known_while_its_transaction_runs_and_afterwards)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    scene_part(&s, 2, 1);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_TOKEN_RUNS);
    scene_part(&s, 2, 9); /* the token is not used before its transaction is done */
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_TOKEN_RUNS);
    scene_part(&s, 1, 1);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_part(&s, 3, 1);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_TOKEN_DONE);
    scene_part(&s, 3, 9);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_TOKEN_MISMATCH);
    scene_close(&s);
}

static int64_t scene_rows(struct scene *s)
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

TEST(tokens_go_when_their_time_is_over)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    assert_int_equal(scene_rows(&s), 4); /* two locks, the record, the token */
    assert_int_equal(scene_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    scene_pass(&s, 1000);
    assert_int_equal(scene_rows(&s), 1);
    for (int i = 0; i < 8; i++)
        scene_pass(&s, 60000);
    assert_int_equal(scene_rows(&s), 1);
    for (int i = 0; i < 4; i++)
        scene_pass(&s, 60000);
    assert_int_equal(scene_rows(&s), 0);
    assert_int_equal(scene_prepare(&s, FIRST), REPLY_OK);
    scene_close(&s);
}

/* ---- one partition ---- */

static enum reply_code scene_transact(struct scene *s)
{
    struct buffer parts = {0}, item = {0};
    for (uint32_t name = FIRST; name <= SECOND; name++) {
        struct request r = lone_request(&s->w, REQUEST_PUT, name);
        buffer_set(&item, lone_item(&s->w, NEW, 10));
        r.write.item = buffer_slice(&item);
        r.write.want = WANT_NOTHING;
        request_encode(&parts, &r);
    }
    struct request r = lone_request(&s->w, REQUEST_PUT, FIRST);
    const struct slice key = buffer_slice(&s->anchor);
    r.op = REQUEST_TRANSACT;
    request_edit_transact(&r)->key = key;
    request_edit_transact(&r)->parts = buffer_slice(&parts);
    request_edit_transact(&r)->transaction = buffer_slice(&s->other);
    request_edit_transact(&r)->least_mcu = 4 * MCU_PER_UNIT;
    const enum reply_code code = scene_ask(s, &r);
    buffer_deinit(&parts);
    buffer_deinit(&item);
    return code;
}

TEST(one_partition_does_all_by_one_entry)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_transact(&s), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->consumed_mcu, 4 * MCU_PER_UNIT);
    scene_expect(&s, NEW, NEW);
    assert_int_equal(scene_transact(&s), REPLY_TOKEN_DONE);
    lone_crash(&s.w);
    scene_expect(&s, NEW, NEW);
    assert_int_equal(scene_transact(&s), REPLY_TOKEN_DONE);
    lone_assert_verified(&s.w, 2);
    scene_close(&s);
}

TEST(one_partition_does_nothing_while_an_item_is_locked)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_prepare(&s, SECOND), REPLY_OK);
    scene_part(&s, 2, 1);
    assert_int_equal(scene_transact(&s), REPLY_LOCKED);
    scene_expect(&s, OLD, OLD);
    scene_close(&s);
}
