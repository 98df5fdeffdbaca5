/* A node without space: in its log, in its map, in memory. */
#include "engine/node/node_internal.h"
#include "tests/check.h"

#include <errno.h>

#include "base/settings/storage.h"
#include "engine/message/frames.h"
#include "engine/message/message.h"
#include "engine/message/transaction_messages.h"
#include "engine/transaction/transaction.h"
#include "tests/support/lone_node.h"
#include "tests/support/transact_fixture.h"

enum {
    SOME_MS = 5000
};

static bool answer_contains(const struct lone_node *w, const char *words)
{
    const struct buffer *text = &lone_answer(w)->text;
    return memmem(text->data, text->size, words, strlen(words)) != NULL;
}

/* NODE-5 */
TEST(a_log_without_space_refuses_and_takes_writes_again)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    node_log_space(w.node, node_log_end(w.node), ENOSPC);
    lone_put(&w, 1, 1);
    lone_assert_answer(&w, REPLY_FULL);
    node_log_space(w.node, node_log_end(w.node), EIO);
    lone_put(&w, 1, 1);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    assert_true(answer_contains(&w, "cannot make a segment"));
    node_log_space(w.node, node_log_end(w.node), 0);
    lone_put(&w, 1, 2);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    assert_int_equal(lone_get(&w, 1), 0);
    node_log_space(w.node, SEGMENT_BYTES, 0);
    lone_put(&w, 1, 3);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 1), 3);
    lone_deinit(&w);
}

enum {
    LARGE_ITEM = 50000
};

/* One checkpoint, and all writes before it. */
static void checkpoint_now(struct lone_node *w)
{
    lone_write_all(w);
    lone_checkpoint_all(w);
    lone_pass(w, 1000);
    lone_checkpoint_all(w);
}

/* Puts items from 1 on until one is refused. Returns its number. */
static uint32_t put_until_full(struct lone_node *w)
{
    for (uint32_t name = 1, tries = 0;; tries++) {
        assert_true(tries < 1000);
        lone_put_sized(w, name, 1, LARGE_ITEM);
        lone_write_all(w);
        const enum reply_code code = lone_answer(w)->code;
        if (code == REPLY_FULL)
            return name;
        if (code == REPLY_OK)
            name++;
        else
            assert_int_equal(code, REPLY_OVERLOADED);
        if (code != REPLY_OK || name % 8 == 0)
            checkpoint_now(w);
    }
}

static struct metrics_store space_reported(struct lone_node *w)
{
    struct request r = {.op = REQUEST_STATS};
    lone_send(w, &r);
    lone_assert_answer(w, REPLY_OK);
    return lone_answer(w)->space;
}

TEST(no_checkpoint_for_the_time_alone_takes_pages_while_a_snapshot_keeps_scarce_ones)
{
    enum {
        ITEMS = 90
    }; /* more than half of the map: free pages are counted */
    struct lone_node w;
    struct backing_snapshot *snapshot;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "map_max_bytes", "8MiB");
    lone_open_table(&w, 100, 100);
    for (uint32_t name = 1; name <= ITEMS; name++) {
        lone_put_sized(&w, name, 1, LARGE_ITEM);
        checkpoint_now(&w);
    }
    assert_true(space_is_scarce(store_space(node_store(w.node))));
    assert_int_equal(store_snapshot_open(node_store(w.node), &snapshot), STATUS_OK);
    lone_put(&w, 1, 2);
    lone_write_all(&w);
    lone_pass(&w, 10 * config_storage(&w.config)->checkpoint_ms);
    assert_false(w.checkpoint);
    store_snapshot_close(node_store(w.node), snapshot);
    lone_pass(&w, 1);
    assert_true(w.checkpoint);
    lone_checkpoint_all(&w);
    lone_deinit(&w);
}

/* SPACE-1, SPACE-2, PROPOSALS-2 */
TEST(a_full_store_takes_what_frees_space_and_then_puts_again)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "map_max_bytes", "8MiB");
    lone_open_table(&w, 100, 100);
    const struct metrics_store empty = space_reported(&w);
    assert_int_equal(empty.total_bytes, 8 << 20);
    assert_in_range(empty.growth_left_bytes, 5 << 20, 6 << 20); /* 2 MiB are the reserve */
    assert_int_equal(empty.refused_full, 0);
    const uint32_t full = put_until_full(&w);
    assert_in_range(full, 100, 160);
    assert_true(answer_contains(&w, "raise map_max_bytes"));
    assert_true(answer_contains(&w, "that add data"));
    const struct metrics_store filled = space_reported(&w);
    assert_int_equal(filled.refused_full, 1);
    assert_in_range(filled.used_bytes, (full - 1) * LARGE_ITEM, 6 << 20);
    assert_true(filled.growth_left_bytes < empty.growth_left_bytes / 8);
    assert_false(node_is_full(w.node)); /* no checkpoint has failed */
    checkpoint_now(&w);
    lone_put_sized(&w, 1, 2, LARGE_ITEM - 100); /* it replaces a larger item */
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    for (uint32_t name = 1; name < full / 2; name++) {
        lone_send_to(&w, REQUEST_DELETE, name);
        lone_write_all(&w);
        lone_assert_answer(&w, REPLY_OK);
    }
    checkpoint_now(&w);
    for (uint32_t name = 1; name < full / 4; name++) {
        lone_put_sized(&w, name, 3, LARGE_ITEM);
        lone_write_all(&w);
        lone_assert_answer(&w, REPLY_OK);
        if (name % 8 == 0)
            checkpoint_now(&w);
    }
    lone_table_op(&w, REQUEST_TABLE_DELETE, 0, 0);
    lone_deinit(&w);
}

enum {
    LONG_KEY = 600
};

/* A request about the item with this number among those of the record: a put of this size, or a
 * deletion. Its key and item lend from `w`. */
static struct request shared_request(struct lone_node *w, uint32_t record, uint8_t number,
                                     size_t size)
{
    uint8_t id[LONG_KEY], n[1] = {(uint8_t)('a' + number)};
    struct request r = lone_request(w, size > 0 ? REQUEST_PUT : REQUEST_DELETE, record);
    memset(id, 'a' + (int)record, sizeof id);
    buffer_clear(&w->key);
    storage_key_append(&w->key, w->table.id, &(struct attr){ATTR_STRING, slice_make(id, sizeof id)},
                       &(struct attr){ATTR_STRING, slice_make(n, sizeof n)});
    r.write.key = buffer_slice(&w->key);
    if (size > 0)
        r.write.item = lone_item(w, 1, size);
    return r;
}

static enum reply_code answer_of(const struct lone_node *w)
{
    return w->answer_count == 0 ? REPLY_OK : lone_answer(w)->code;
}

static enum reply_code change_shared(struct lone_node *w, uint32_t record, uint8_t number,
                                     size_t size)
{
    struct request r = shared_request(w, record, number, size);
    lone_send(w, &r);
    return answer_of(w);
}

/* So many records have so many items each: most of the map. */
static void fill_records(struct lone_node *w, uint32_t records, uint32_t items)
{
    w->collections = 1;
    lone_set(w, "map_max_bytes", "8MiB");
    lone_open_table(w, 100, 100);
    for (uint32_t number = 0; number < records * items; number++) {
        change_shared(w, number % records, (uint8_t)(number / records), LARGE_ITEM);
        checkpoint_now(w);
        lone_assert_answer(w, REPLY_OK);
    }
    assert_true(space_is_scarce(store_space(node_store(w->node))));
}

/* Then an item of each is deleted, all at the same time. */
static void delete_together(struct lone_node *w, uint32_t records, uint32_t items)
{
    uint32_t taken = 0, refused = 0;
    fill_records(w, records, items);
    for (uint32_t record = 0; record < records; record++)
        *(change_shared(w, record, 0, 0) == REPLY_OK ? &taken : &refused) += 1;
    checkpoint_now(w);
    assert_false(node_is_full(w->node));
    assert_true(taken > 0);
    assert_true(refused > 0);
    for (uint32_t record = 0; record < records; record++) {
        assert_int_equal(change_shared(w, record, 1, 0), REPLY_OK);
        checkpoint_now(w);
    }
}

/* SPACE-2: writes that are proposed at the same time have several shared records written anew by
 * one checkpoint. The space for each of them is there, the space for all of them is not. */
TEST(writes_of_shared_records_that_are_proposed_together_fit_together)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    delete_together(&w, 10, 9);
    lone_deinit(&w);
}

/* SPACE-2: rows of local indexes share records, too. */
TEST(writes_whose_rows_share_records_fit_together)
{
    enum {
        INDEXES = 5
    };
    static const char *const NAMES[INDEXES] = {"by-1", "by-2", "by-3", "by-4", "by-5"};
    struct index all[INDEXES] = {0};
    struct buffer indexes = {0};
    struct lone_node w;
    for (uint8_t i = 0; i < INDEXES; i++)
        all[i] =
            (struct index){.number = (uint8_t)(i + 1),
                           .name = slice_of(NAMES[i]),
                           .partition_count = 1,
                           .sort_count = 1,
                           .keys = {{slice_of("id"), ATTR_STRING}, {slice_of("v"), ATTR_BINARY}},
                           .projection = PROJECT_ALL};
    const struct index_set set = {
        {slice_of("id"), ATTR_STRING}, {slice_of("n"), ATTR_STRING}, INDEXES, INDEXES, all};
    index_set_encode(&indexes, &set);
    lone_init(&w, PROFILE_OFF);
    w.indexes = buffer_slice(&indexes);
    delete_together(&w, 8, 2);
    buffer_deinit(&indexes);
    lone_deinit(&w);
}

/* Asks to delete an item of each record. One entry of the log would do all of it: it is refused, as
 * the space for all these records is not there. */
TEST(a_transaction_whose_items_share_records_fits_or_is_refused)
{
    enum {
        RECORDS = 10
    };
    struct lone_node w;
    struct buffer parts = {0}, part = {0}, first = {0};
    uint8_t token[TRANSACTION_TOKEN_SIZE] = {1};
    lone_init(&w, PROFILE_OFF);
    fill_records(&w, RECORDS, 9);
    for (uint32_t record = 0; record < RECORDS; record++) {
        const struct request r = shared_request(&w, record, 0, 0);
        if (record == 0)
            buffer_append_slice(&first, r.write.key);
        request_encode(&parts, &r);
    }
    struct transaction_part about = {
        .id = {1, 2}, .anchor = buffer_slice(&first), .token = slice_make(token, sizeof token)};
    transaction_part_walk(&(struct codec){.out = &part}, &about);
    struct request q = lone_request(&w, REQUEST_PUT, 0);
    q.op = REQUEST_TRANSACT;
    *request_edit_transact(&q) = (struct request_transact){.key = buffer_slice(&first),
                                                           .transaction = buffer_slice(&part),
                                                           .parts = buffer_slice(&parts)};
    lone_send(&w, &q);
    checkpoint_now(&w);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    assert_false(node_is_full(w.node));
    assert_int_equal(change_shared(&w, 1, 0, 0), REPLY_OK);
    checkpoint_now(&w);
    buffer_deinit(&parts);
    buffer_deinit(&part);
    buffer_deinit(&first);
    lone_deinit(&w);
}

/* What is prepared may be committed at any time, and is not refused then: it keeps its space. */
TEST(parts_that_are_prepared_keep_the_space_of_the_records_they_share)
{
    enum {
        RECORDS = 10
    };
    struct lone_node w;
    struct buffer part = {0};
    uint8_t token[TRANSACTION_TOKEN_SIZE] = {1};
    uint32_t prepared = 0, refused = 0;
    bool locked[RECORDS];
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "transaction_decide_ms", "60000"); /* nothing is given up meanwhile */
    fill_records(&w, RECORDS, 9);
    for (uint32_t record = 0; record < RECORDS; record++) {
        struct request r = shared_request(&w, record, 0, 0);
        struct transaction_part about = {
            .id = {1, record + 1}, .anchor = r.write.key, .token = slice_make(token, sizeof token)};
        buffer_clear(&part);
        transaction_part_walk(&(struct codec){.out = &part}, &about);
        r.write.transaction = buffer_slice(&part);
        lone_send(&w, &r);
        checkpoint_now(&w);
        locked[record] = lone_answer(&w)->code == REPLY_OK;
        prepared += locked[record];
        refused += !locked[record];
    }
    assert_true(prepared > 0);
    assert_true(refused > 0);
    for (uint32_t record = 0; record < RECORDS; record++) {
        if (!locked[record])
            continue;
        const struct request key = shared_request(&w, record, 0, 0);
        struct request r = lone_request(&w, REQUEST_TRANSACT_DECIDE, record);
        *request_edit_transaction(&r) =
            (struct request_transaction){.key = key.write.key,
                                         .token = slice_make(token, sizeof token),
                                         .id_high = 1,
                                         .id_low = record + 1};
        lone_send(&w, &r);
    }
    checkpoint_now(&w);
    assert_false(node_is_full(w.node));
    for (uint32_t record = 0; record < RECORDS; record++) {
        assert_int_equal(change_shared(&w, record, 1, 0), REPLY_OK);
        checkpoint_now(&w);
    }
    buffer_deinit(&part);
    lone_deinit(&w);
}

/* The disk of the log is full: growth ends before the space does that deletions need. */
TEST(deletions_use_the_last_space_of_a_log_that_cannot_grow)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    lone_put(&w, 1, 1);
    lone_write_all(&w);
    node_log_space(w.node, node_log_end(w.node) + SEGMENT_BYTES / 4, ENOSPC);
    lone_put(&w, 2, 1);
    lone_assert_answer(&w, REPLY_FULL);
    assert_true(answer_contains(&w, "log's disk is full"));
    lone_send_to(&w, REQUEST_DELETE, 1);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    lone_deinit(&w);
}

/* PROPOSALS-1: what is committed is not refused for room, so others leave it. */
TEST(writes_leave_the_space_of_the_log_that_locks_will_need)
{
    enum {
        BESIDE = 8192 /* bytes of the log that are not reserved */
    };
    struct transact_fixture s;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, FIRST), REPLY_OK);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    lone_put_sized(&s.w, SECOND + 1, 1, BESIDE + 500);
    lone_write_all(&s.w);
    const size_t reserved = transactions_log_bytes(transact_partition(&s));
    assert_true(reserved > 2000);
    node_log_space(s.w.node, node_log_end(s.w.node) + LOG_RESERVE + reserved + BESIDE, ENOSPC);
    lone_put_sized(&s.w, SECOND + 1, 2, BESIDE + 500);
    lone_assert_answer(&s.w, REPLY_FULL);
    assert_int_equal(transact_about(&s, REQUEST_TRANSACT_DECIDE, FIRST), REPLY_OK);
    transact_expect(&s, NEW, NEW);
    transact_close(&s);
}

/* A refused write has a checkpoint made: nothing else may tell that there is space again. */
TEST(a_refused_write_has_the_space_measured_again)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "map_max_bytes", "8MiB");
    lone_open_table(&w, 100, 100);
    put_until_full(&w);
    lone_pass(&w, 1000);
    assert_true(w.checkpoint);
    lone_checkpoint_all(&w);
    lone_pass(&w, 1000);
    assert_false(w.checkpoint); /* nobody has asked */
    lone_deinit(&w);
}

TEST(a_full_map_refuses_writes_until_a_checkpoint_finds_room)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "map_max_bytes", "1MiB"); /* it may not grow */
    lone_open_table(&w, 100, 100);
    lone_put(&w, 1, 1);
    lone_write_all(&w);
    lone_pass(&w, config_storage(&w.config)->checkpoint_ms);
    assert_true(w.checkpoint);
    w.checkpoint = false;
    node_checkpoint_done(w.node, w.now, STATUS_FULL);
    lone_take_effects(&w);
    assert_true(node_is_full(w.node));
    lone_put(&w, 1, 2);
    lone_assert_answer(&w, REPLY_FULL);
    assert_int_equal(lone_get(&w, 1), 1);
    assert_true(instant_before(w.now, node_deadline(w.node)));
    lone_pass(&w, SOME_MS); /* it tries again by itself */
    lone_checkpoint_end(&w);
    assert_false(node_is_full(w.node));
    lone_put(&w, 1, 3);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 1), 3);
    lone_deinit(&w);
}

/* A checkpoint that takes long: the next one cannot begin, and memory must not grow without end. */
TEST(a_full_memtable_refuses_writes_until_it_is_stored)
{
    enum {
        ITEM = 60000
    };
    struct lone_node w;
    uint32_t done = 0;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "memtable_max_bytes", "128KiB");
    lone_open_table(&w, 100, 100);
    for (enum reply_code code = REPLY_OK; code == REPLY_OK; done++) {
        assert_true(done < 20);
        lone_put_sized(&w, done, 1, ITEM);
        lone_write_all(&w);
        code = lone_answer(&w)->code;
        lone_pass(&w, 1);
        assert_true(code == REPLY_OK || code == REPLY_OVERLOADED);
    }
    assert_true(w.checkpoint);
    assert_in_range(
        done, 4,
        12); /* one memtable is being stored, the other one is twice as large as it may be */
    lone_checkpoint_end(&w);
    lone_put_sized(&w, done, 1, ITEM);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, done), 1);
    lone_deinit(&w);
}
