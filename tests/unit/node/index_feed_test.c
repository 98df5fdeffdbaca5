/* The feed of a base partition: what it carries to a global index, and when it refuses writes. */
#include "base/config.h"
#include "base/gac_policy.h"
#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/message/index_messages.h"
#include "engine/message/transaction_messages.h"
#include "engine/transaction/transaction.h"
#include "tests/check.h"
#include "tests/support/indexed_fixture.h"

enum {
    NAMES = 40
};

TEST(an_index_gets_the_rows_that_follow_from_the_items)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    for (uint32_t name = 0; name < NAMES; name++)
        indexed_put(&s, name, 7);
    indexed_pass(&s, 100);
    assert_int_equal(indexed_rows(&s), NAMES);
    indexed_put(&s, 3, 8); /* moves */
    indexed_put(&s, 4, 9); /* moves twice before the index hears of it */
    indexed_put(&s, 4, 10);
    lone_send_to(&s.w, REQUEST_DELETE, 5);
    lone_write_all(&s.w);
    indexed_pass(&s, 100);
    assert_int_equal(indexed_rows(&s), NAMES - 1);
    assert_true(indexed_has(&s, 3, 8));
    assert_false(indexed_has(&s, 3, 7));
    assert_true(indexed_has(&s, 4, 10));
    assert_false(indexed_has(&s, 4, 7));
    assert_false(indexed_has(&s, 4, 9));
    assert_false(indexed_has(&s, 5, 7));
    lone_assert_verified(&s.w, 2 * (NAMES - 1));
    indexed_close(&s);
}

/* Whether the index has all that the partition has applied. */
static enum reply_code shows(struct indexed_fixture *s, uint64_t after)
{
    const struct partition *p = indexed_base(s);
    struct request r = {.op = REQUEST_INDEX_SHOWS, .partition = p->info.id, .epoch = p->info.epoch};
    *request_edit_shows(&r) = (struct request_shows){.key = p->info.lo, .after = after};
    lone_send(&s->w, &r);
    return lone_answer(&s->w)->code;
}

TEST(an_index_shows_an_entry_once_it_has_all_changes_up_to_it)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 1);
    assert_int_equal(shows(&s, AFTER_ALL), REPLY_OVERLOADED);
    indexed_pass(&s, 100);
    const uint64_t first = raft_applied(indexed_base(&s)->raft);
    assert_int_equal(shows(&s, AFTER_ALL), REPLY_OK);
    struct index_feed_target *t = LIST_FIRST(&indexed_feed(&s)->targets);
    t->until = instant_add_ms(s.w.now, 1000); /* the index takes no rows for a while */
    indexed_put(&s, 2, 1);
    assert_int_equal(shows(&s, first), REPLY_OK); /* what came later does not matter */
    assert_int_equal(shows(&s, first + 1), REPLY_OVERLOADED);
    lone_crash(&s.w); /* the new feed does not know the order of what it finds */
    assert_int_equal(shows(&s, first), REPLY_OVERLOADED);
    indexed_pass(&s, 200);
    assert_int_equal(shows(&s, AFTER_ALL), REPLY_OK);
    indexed_close(&s);
}

TEST(changes_outlive_a_crash)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 1);
    indexed_pass(&s, 50);
    for (uint32_t version = 2; version < 6; version++) {
        indexed_put(&s, 1, version);
        indexed_put(&s, 2, version);
        lone_crash(&s.w);
    }
    indexed_pass(&s, 200);
    assert_int_equal(indexed_rows(&s), 2);
    assert_true(indexed_has(&s, 1, 5));
    assert_true(indexed_has(&s, 2, 5));
    lone_assert_verified(&s.w, 4);
    lone_checkpoint_all(&s.w);
    lone_crash(&s.w);
    indexed_pass(&s, 50);
    lone_assert_verified(&s.w, 4);
    indexed_close(&s);
}

/* Splits the index in the middle of its hashes: each half has half of its units. */
static void scene_split_index(struct indexed_fixture *s)
{
    struct buffer body = {0};
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    struct table_split split = {.table_id = s->index.id,
                                .partition = s->index.partitions[0].id,
                                .epoch = s->index.partitions[0].epoch,
                                .point_count = 1};
    split.points[0] = storage_key_write_bound(point, s->index.id, UINT64_C(1) << 63);
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    lone_send(&s->w, &r);
    indexed_pass(s, 500);
    lone_assert_answer(&s->w, REPLY_OK);
    indexed_fetch(s);
    assert_int_equal(s->index.partition_count, 2);
    buffer_deinit(&body);
}

/* A version from `from` on whose rows lie in this half of the index. */
static uint32_t scene_version_in(struct indexed_fixture *s, uint32_t half, uint32_t from)
{
    struct buffer key = {0};
    for (;; from++) {
        const struct attr v = {ATTR_BINARY, slice_make(&from, sizeof from)};
        buffer_clear(&key);
        storage_key_append_collection(&key, s->index.id, &v);
        if (table_partition_of(&s->index, buffer_slice(&key)) == &s->index.partitions[half])
            break;
    }
    buffer_deinit(&key);
    return from;
}

/* The old row's half of the index refuses, the new row's half takes it. Then the item changes
 * again: the row that was written is an old one now. FEED-1. */
TEST(a_row_that_was_written_in_a_failed_round_goes_when_the_item_changes_again)
{
    struct indexed_fixture s;
    indexed_open(&s, 2);
    lone_set(&s.w, "index_backlog_ms", "3600000");
    indexed_table(&s);
    scene_split_index(&s);
    const uint32_t first = scene_version_in(&s, 0, 10), other = scene_version_in(&s, 0, first + 1);
    const uint32_t second = scene_version_in(&s, 1, 10),
                   third = scene_version_in(&s, 1, second + 1);
    indexed_put(&s, 1, first);
    indexed_pass(&s, 5000);
    assert_true(indexed_has(&s, 1, first));
    indexed_put(&s, 2, other); /* takes the only unit of the first half */
    indexed_pass(&s, 2);
    assert_true(indexed_has(&s, 2, other));
    indexed_put(&s, 1, second);
    indexed_pass(&s, 2);
    assert_true(indexed_has(&s, 1, second));
    assert_true(indexed_has(&s, 1, first)); /* refused */
    indexed_put(&s, 1, third);
    indexed_pass(&s, 20000);
    assert_true(indexed_has(&s, 1, third));
    assert_false(indexed_has(&s, 1, second));
    assert_false(indexed_has(&s, 1, first));
    indexed_close(&s);
}

/* Found by seed 22001740: a piece that took longer than its caller waits was refused to whoever
 * asked again, and begun anew. */
TEST(a_piece_that_is_requested_again_is_answered_once_it_is_done)
{
    enum {
        ITEMS = 3,
        MOST_MS = 20000
    };
    struct indexed_fixture s;
    indexed_open(&s, 1);
    indexed_table(&s);
    for (uint32_t name = 0; name < ITEMS; name++)
        indexed_put(&s, name, 7);
    for (int ms = 0; indexed_rows(&s) < ITEMS; ms += 100, indexed_pass(&s, 100))
        assert_true(ms < MOST_MS);
    struct request r = lone_request(&s.w, REQUEST_INDEX_FILL, 0);
    request_edit_fill(&r)->from = s.w.table.partitions[0].lo;
    request_edit_fill(&r)->index = s.index.id;
    lone_send(&s.w, &r);
    indexed_pass(&s, 250);
    assert_int_equal(s.w.answer_count, 0);
    const uint64_t again = lone_send(&s.w, &r);
    for (int ms = 0; s.w.answer_count == 0; ms += 100, indexed_pass(&s, 100))
        assert_true(ms < MOST_MS);
    lone_assert_answer(&s.w, REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->id, again);
    indexed_close(&s);
}

static enum reply_code scene_set_indexes(struct indexed_fixture *s, uint32_t version,
                                         struct slice indexes)
{
    struct partition_info info = s->w.table.partitions[0];
    info.indexes = indexes;
    info.indexes_version = version;
    lone_update_partition(&s->w, &info);
    for (int ms = 0; s->w.answer_count == 0; ms++, indexed_pass(s, 1))
        assert_true(ms < 1000);
    return lone_answer(&s->w)->code;
}

/* Found by seed 22003940: a word of the catalog that had been on its way for long brought a table's
 * former indexes back, and the present ones lacked what was written until the next word. */
TEST(an_older_word_of_the_indexes_changes_nothing)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    const struct slice none = {NULL, 0}, indexes = buffer_slice(&s.indexes);
    assert_int_equal(scene_set_indexes(&s, 7, none), REPLY_OVERLOADED); /* it is on its way */
    indexed_pass(&s, 20);
    assert_int_equal(scene_set_indexes(&s, 7, none), REPLY_OK);
    assert_int_equal(scene_set_indexes(&s, 6, indexes), REPLY_STALE_MAP);
    indexed_pass(&s, 20);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    assert_int_equal(indexed_rows(&s), 0);
    indexed_close(&s);
}

/* The index takes one unit a second. */
TEST(an_index_that_does_not_keep_up_holds_writes_up)
{
    struct indexed_fixture s;
    uint32_t done = 0;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_bytes", "65536");
    lone_set(&s.w, "index_backlog_ms", "3600000");
    indexed_table(&s);
    const struct answer *a;
    do {
        lone_put_sized(&s.w, done, 7, 10);
        lone_write_all(&s.w);
        a = lone_answer(&s.w);
        done += a->code == REPLY_OK;
        indexed_pass(&s, 2);
    } while (a->code == REPLY_OK && done < 5000);
    lone_put_sized(&s.w, done, 7, 10);
    a = lone_answer(&s.w);
    assert_int_equal(a->code, REPLY_THROTTLED);
    assert_int_equal(a->verdict.reason, ADMIT_REFUSED_INDEX);
    assert_int_equal(a->verdict.index, s.index.id);
    assert_int_equal(a->verdict.member, s.index.partitions[0].id);
    assert_int_equal(a->verdict.cause, ADMIT_REFUSED_ALLOCATION);
    assert_true(done > 500 && done < 2000); /* some 60 bytes each */
    lone_send_to(&s.w, REQUEST_GET, 1);     /* reads go on */
    lone_assert_answer(&s.w, REPLY_OK);
    indexed_pass(&s, 5000);
    indexed_put(&s, done, 7); /* and after a while so do writes */
    indexed_close(&s);
}

/* An index of one unit takes one of them; as many may wait for it. */
static void scene_put_four(struct indexed_fixture *s)
{
    for (uint32_t name = 0; name < 4; name++) {
        indexed_put(s, name, 7);
        indexed_pass(s, 2);
    }
}

/* What the base table has counted and what its buckets have. */
struct charged {
    struct partition_counts counts;
    struct admission_balances balances;
};

static struct charged scene_charged(struct indexed_fixture *s)
{
    const struct partition *p = indexed_base(s);
    return (struct charged){p->counts[ADMIT_WRITE],
                            admission_balances(&p->admission, ADMIT_WRITE, s->w.now)};
}

/* So many operations were refused for an index. Else nothing was counted, and nothing was
 * charged. */
static void scene_assert_free(struct indexed_fixture *s, const struct charged *before,
                              int64_t refused)
{
    struct charged now = scene_charged(s);
    assert_int_equal(now.counts.load.refused[ADMIT_REFUSED_INDEX], refused);
    now.counts.load.refused[ADMIT_REFUSED_INDEX] = 0;
    assert_memory_equal(&now, before, sizeof now);
}

/* A transaction that puts so many items in one partition, from this name on. */
static enum reply_code scene_transact(struct indexed_fixture *s, uint32_t name, uint32_t count)
{
    static const uint8_t token[TRANSACTION_TOKEN_SIZE] = {9};
    struct buffer parts = {0}, key = {0}, bytes = {0}, item = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct request r = lone_request(&s->w, REQUEST_PUT, name + i);
        buffer_set(&item, lone_item(&s->w, 7, 10));
        r.write.item = buffer_slice(&item);
        r.write.return_values = RETURN_NONE;
        request_encode(&parts, &r);
        if (i == 0)
            buffer_set(&key, r.write.key);
    }
    struct transaction_part part = {
        .id = {1, 1}, .anchor = buffer_slice(&key), .token = slice_make(token, sizeof token)};
    transaction_part_walk(&(struct codec){.out = &bytes}, &part);
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.op = REQUEST_TRANSACT;
    *request_edit_transact(&r) = (struct request_transact){.key = buffer_slice(&key),
                                                           .parts = buffer_slice(&parts),
                                                           .transaction = buffer_slice(&bytes),
                                                           .mcu_min = count * MCU_PER_UNIT};
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    buffer_deinit(&parts);
    buffer_deinit(&key);
    buffer_deinit(&bytes);
    buffer_deinit(&item);
    return lone_answer(&s->w)->code;
}

/* FEED-2: a transaction adds the changes of all its parts at once. */
TEST(the_parts_of_a_transaction_share_the_room_of_indexes)
{
    enum {
        MOST = 65536
    };
    struct indexed_fixture s;
    uint32_t done = 0;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_bytes", "65536");
    lone_set(&s.w, "index_backlog_ms", "3600000");
    indexed_table(&s);
    do {
        indexed_put(&s, done++, 7);
        indexed_pass(&s, 2);
    } while (indexed_backlog(&s) + 2000 < MOST);
    assert_int_equal(scene_transact(&s, done, 100), REPLY_THROTTLED);
    assert_int_equal(lone_answer(&s.w)->verdict.reason, ADMIT_REFUSED_INDEX);
    assert_int_equal(scene_transact(&s, done, 10), REPLY_OK);
    assert_in_range(indexed_backlog(&s), MOST - 2000, MOST);
    indexed_close(&s);
}

TEST(an_index_that_lags_too_long_holds_writes_up)
{
    struct indexed_fixture s;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_ms", "2000");
    indexed_table(&s);
    scene_put_four(&s);
    indexed_pass(&s, 2500);
    lone_put_sized(&s.w, 10, 7, 10);
    assert_int_equal(lone_answer(&s.w)->code, REPLY_THROTTLED);
    assert_int_equal(lone_answer(&s.w)->verdict.reason, ADMIT_REFUSED_INDEX);
    indexed_pass(&s, 12000);
    assert_int_equal(indexed_rows(&s), 4);
    indexed_put(&s, 10, 7);
    indexed_close(&s);
}

/* The table's routers keep no limit: its partition's allocation does. */
TEST(a_write_that_is_refused_for_an_index_costs_nothing)
{
    struct indexed_fixture s;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_ms", "2000");
    lone_set(&s.w, "gac", "off");
    indexed_table(&s);
    scene_put_four(&s);
    indexed_pass(&s, 2500);
    const struct charged before = scene_charged(&s);
    lone_put_sized(&s.w, 10, 7, 3000);
    scene_assert_free(&s, &before, 1);
    assert_int_equal(scene_transact(&s, 11, 3), REPLY_THROTTLED);
    scene_assert_free(&s, &before, 2);
    indexed_pass(&s, 12000);
    indexed_put(&s, 10, 7);
    assert_int_equal(scene_charged(&s).counts.admitted, before.counts.admitted + 1);
    assert_int_equal(scene_charged(&s).counts.load.consumed_mcu,
                     before.counts.load.consumed_mcu + MCU_PER_UNIT);
    indexed_close(&s);
}

/* Requests that the index's partition has refused so far. */
static int64_t scene_refused(struct indexed_fixture *s)
{
    struct request r = {.op = REQUEST_STATS};
    struct partition_stats stats;
    int64_t refused = -1;
    lone_send(&s->w, &r);
    lone_assert_answer(&s->w, REPLY_OK);
    struct reader reader = {buffer_slice(&lone_answer(&s->w)->body), false};
    while (reader.left.size > 0) {
        assert_int_equal(partition_stats_decode(&reader, &stats), STATUS_OK);
        if (stats.partition == s->index.partitions[0].id)
            refused = stats.kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_ALLOCATION];
    }
    return refused;
}

/* Else each refusal would cost a read of every item that waits, and a request for many of them. */
TEST(an_index_that_refuses_gets_few_rows_at_a_time)
{
    struct indexed_fixture s;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_ms", "3600000");
    indexed_table(&s);
    for (uint32_t name = 0; name < 300; name++)
        indexed_put(&s, name, 7);
    indexed_pass(&s, 10000);
    const int64_t before = scene_refused(&s);
    const uint32_t rows = indexed_rows(&s);
    indexed_pass(&s, 20000);
    assert_true(indexed_rows(&s) >= rows + 10); /* each waits for a second, or for up to two */
    assert_true(scene_refused(&s) <= before + 40);
    indexed_close(&s);
}

/* Where data is not resident no piece is read before a reader thread has had its pages. */
TEST(a_cold_piece_is_touched_before_an_index_is_filled_with_it)
{
    enum {
        COLD_NAMES = TOUCHES_MAX / 2 /* each row is touched, too */
    };
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    for (uint32_t name = 0; name < COLD_NAMES; name++)
        indexed_put(&s, name, 7);
    indexed_pass(&s, 100);
    lone_checkpoint_all(&s.w);
    s.w.resident_max = 0;
    lone_crash(&s.w);
    s.w.touch_count = 0;
    const struct partition_info *p = &s.w.table.partitions[0];
    struct request r = {.op = REQUEST_INDEX_FILL, .partition = p->id, .epoch = p->epoch};
    *request_edit_fill(&r) = (struct request_fill){p->lo, s.index.id};
    const uint64_t id = lone_send(&s.w, &r);
    assert_int_equal(s.w.touch_count, 1);
    assert_int_equal(s.w.touches[0].bytes, INDEX_FEED_FILL_BYTES);
    assert_int_equal(slice_compare(s.w.touches[0].key, p->lo), 0);
    indexed_pass(&s, 100);
    assert_int_equal(s.w.touch_count, 1); /* nothing goes on meanwhile */
    assert_int_equal(s.w.answer_count, 0);
    for (int i = 0; i < 1000 && s.w.answer_count == 0; i++) {
        while (s.w.touch_count > 0) /* of the rows too */
            lone_touch_end(&s.w, s.w.touch_count - 1);
        indexed_pass(&s, 1);
    }
    lone_assert_answer(&s.w, REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->id, id);
    assert_true(slice_compare(buffer_slice(&lone_answer(&s.w)->last), p->lo) > 0);
    indexed_close(&s);
}

/* The allocation of an index is 2 units of writes and 10 of reads. */
TEST(routers_keep_the_limit_of_an_indexs_reads_and_its_partitions_that_of_rows)
{
    struct indexed_fixture s;
    indexed_open(&s, 2);
    s.w.gac = 1 + GAC_LEASE;
    s.w.config.profile = PROFILE_RESEARCH; /* with GAC, partitions burst without limit */
    lone_set(&s.w, "partition_policy", "burst");
    indexed_table(&s);
    for (uint32_t name = 0; name < 6; name++)
        indexed_put(&s, name, 7);
    indexed_pass(&s, 100);
    assert_in_range(indexed_rows(&s), 2, 3);
    indexed_pass(&s, 900);
    for (int i = 0; i < 100; i++)
        assert_in_range(indexed_rows(&s), 2, 5);
    indexed_close(&s);
}

/* ---- what is prepared or proposed ---- */

/* A transaction of one part, which is its anchor. */
struct prepared_part {
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    struct buffer anchor, bytes;
    struct transaction_part part;
};

static enum reply_code scene_prepare(struct indexed_fixture *s, struct prepared_part *t,
                                     uint32_t name, uint32_t version)
{
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    *t = (struct prepared_part){.token = {(uint8_t)name}};
    buffer_set(&t->anchor, r.write.key);
    t->part = (struct transaction_part){.id = {name, name},
                                        .anchor = buffer_slice(&t->anchor),
                                        .token = slice_make(t->token, sizeof t->token)};
    transaction_part_walk(&(struct codec){.out = &t->bytes}, &t->part);
    r.write.transaction = buffer_slice(&t->bytes);
    r.write.item = lone_item(&s->w, version, 10);
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    return lone_answer(&s->w)->code;
}

static enum reply_code scene_decide(struct indexed_fixture *s, struct prepared_part *t)
{
    struct request r = {.op = REQUEST_TRANSACT_DECIDE,
                        .partition = s->w.table.partitions[0].id,
                        .epoch = s->w.table.partitions[0].epoch};
    request_edit_transaction(&r)->key = buffer_slice(&t->anchor);
    request_edit_transaction(&r)->id_high = t->part.id.high;
    request_edit_transaction(&r)->id_low = t->part.id.low;
    request_edit_transaction(&r)->token = t->part.token;
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    buffer_deinit(&t->anchor);
    buffer_deinit(&t->bytes);
    return lone_answer(&s->w)->code;
}

/* FEED-2: back-pressure may refuse to prepare, and never what is prepared. */
TEST(a_part_that_is_prepared_is_done_however_far_an_index_lags)
{
    struct indexed_fixture s;
    struct prepared_part t, refused;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_ms", "2000");
    lone_set(&s.w, "transaction_decide_ms", "60000");
    indexed_table(&s);
    assert_int_equal(scene_prepare(&s, &t, 20, 8), REPLY_OK);
    scene_put_four(&s);
    indexed_pass(&s, 2500);
    assert_int_equal(scene_prepare(&s, &refused, 21, 8), REPLY_THROTTLED);
    assert_int_equal(scene_decide(&s, &t), REPLY_OK);
    assert_int_equal(lone_get(&s.w, 20), 8);
    buffer_deinit(&refused.anchor);
    buffer_deinit(&refused.bytes);
    indexed_close(&s);
}

TEST(what_is_prepared_has_its_room_until_it_is_done)
{
    struct indexed_fixture s;
    struct prepared_part t;
    indexed_open(&s, 1);
    indexed_table(&s);
    const size_t before = indexed_backlog(&s);
    assert_int_equal(scene_prepare(&s, &t, 20, 8), REPLY_OK);
    const size_t room = indexed_backlog(&s) - before;
    assert_true(room > 0);
    lone_crash(&s.w); /* a new leader takes the room anew */
    assert_int_equal(indexed_backlog(&s), before + room);
    assert_int_equal(scene_decide(&s, &t), REPLY_OK);
    assert_int_equal(indexed_backlog(&s), before + room); /* the change itself, once */
    assert_int_equal(transactions_index_feed_bytes(indexed_base(&s)), 0);
    indexed_pass(&s, 5000);
    assert_int_equal(indexed_backlog(&s), 0);
    indexed_close(&s);
}

/* FEED-4: a new leader does not take old changes for new ones. */
TEST(a_backlog_is_as_old_as_its_changes_also_for_a_new_leader)
{
    struct indexed_fixture s;
    indexed_open(&s, 1);
    lone_set(&s.w, "index_backlog_ms", "2000");
    indexed_table(&s);
    scene_put_four(&s);
    indexed_pass(&s, 1500);
    lone_crash(&s.w);
    indexed_pass(&s, 1000);
    lone_put_sized(&s.w, 10, 7, 10);
    assert_int_equal(lone_answer(&s.w)->code, REPLY_THROTTLED);
    assert_int_equal(lone_answer(&s.w)->verdict.reason, ADMIT_REFUSED_INDEX);
    indexed_close(&s);
}

/* PACE-1: and neither at full speed until changes are old, nor at rest until they are done. A new
 * leader knows the pace at once. */
TEST(writes_go_on_at_the_pace_of_an_index_that_holds_them_up)
{
    enum {
        PACE = 20, /* a second, and a write each 10 ms */
        SECONDS = 40,
        SETTLES = 12,
        CRASH = 25
    };
    struct indexed_fixture s;
    uint32_t name = 0;
    indexed_open(&s, PACE);
    lone_set(&s.w, "index_backlog_ms", "5000");
    indexed_table(&s);
    for (int second = 0; second < SECONDS; second++) {
        int taken = 0;
        if (second == CRASH)
            lone_crash(&s.w);
        for (int i = 0; i < 100; i++) {
            lone_put_sized(&s.w, name, 7, 10);
            lone_write_all(&s.w);
            const bool done = lone_answer(&s.w)->code == REPLY_OK;
            taken += done;
            name += done;
            indexed_pass(&s, 10);
        }
        if (second >= SETTLES)
            assert_in_range(taken, second == CRASH ? PACE / 2 : PACE * 8 / 10, PACE * 13 / 10);
        const struct index_feed_lag lag = index_feeds_lag(&s.w.node->feeds, indexed_base(&s));
        assert_true(instant_since(s.w.node->env.now, lag.since).ns <= 6 * NS_PER_S);
    }
    indexed_close(&s);
}

/* It was written seldom, so few changes were done: that is not what the index can do. */
TEST(writes_do_not_wait_for_an_index_that_has_everything)
{
    struct indexed_fixture s;
    indexed_open(&s, 2);
    lone_set(&s.w, "index_backlog_ms", "5000");
    indexed_table(&s);
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t name = 0; name < 4; name++)
            indexed_put(&s, name, round);
        indexed_pass(&s, 15000);
        assert_int_equal(indexed_backlog(&s), 0);
    }
    indexed_close(&s);
}

/* ---- a feed that is not what it was ---- */

/* FEED-3: a row is never sent twice in a session. The index's disk is slower than a call's
 * patience. */
TEST(a_row_is_requested_once_however_long_it_takes)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    lone_put_sized(&s.w, 2, 7, 10);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0); /* applied: its row is on its way */
    for (int ms = 0; s.w.node->proposals.count == 0; ms++, lone_pass(&s.w, 1))
        assert_true(ms < 100);
    const uint32_t proposed = s.w.node->proposals.count;
    for (int ms = 0; ms < 700; ms++)
        lone_pass(&s.w, 1);
    assert_int_equal(s.w.node->proposals.count, proposed);
    indexed_pass(&s, 100);
    assert_int_equal(indexed_rows(&s), 2);
    indexed_close(&s);
}

/* Between the end of a term and the end of the turn. */
TEST(a_feed_of_another_term_takes_nothing_and_receives_no_answer)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    lone_put_sized(&s.w, 2, 7, 10);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0);
    struct index_feed *f = indexed_feed(&s);
    for (int ms = 0; f->calls == 0; ms++, lone_pass(&s.w, 1))
        assert_true(ms < 100);
    struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    const struct reply done = {.code = REPLY_OK};
    const struct internal_call_answer answer = {
        .kind = INTERNAL_CALL_INDEX_ROW, .subject = p->info.id, .reply = &done};
    p->led++;
    assert_null(indexed_feed(&s));
    index_feeds_answered(&s.w.node->feeds, &answer);
    p->led--;
    assert_int_equal(f->calls, 1);
    indexed_pass(&s, 100);
    assert_int_equal(f->calls, 0);
    indexed_close(&s);
}

/* What it has proposed to delete would be proposed again. */
TEST(a_feed_begins_anew_once_what_is_proposed_is_applied)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    lone_put_sized(&s.w, 2, 7, 10);
    assert_true(lone_write_begin(&s.w));
    index_feeds_begin(&s.w.node->feeds, p);
    lone_pass(&s.w, 1);
    assert_true(indexed_feed(&s)->lost);
    lone_write_end(&s.w, 0);
    lone_pass(&s.w, 1);
    assert_false(indexed_feed(&s)->lost);
    indexed_pass(&s, 100);
    assert_int_equal(indexed_rows(&s), 2);
    indexed_close(&s);
}

/* FEED-2, and MOVE-2 for an item that would leave. */
TEST(while_changes_are_not_known_none_is_added_and_no_item_leaves)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    const struct partition *p = indexed_base(&s);
    struct index_feeds *feeds = &s.w.node->feeds;
    struct buffer item = {0};
    buffer_set(&item, lone_item(&s.w, 7, 10));
    lone_key(&s.w, 1);
    const struct slice key = buffer_slice(&s.w.key);
    env_begin_event(&s.w.node->env, s.w.now);
    assert_true(index_feeds_let_go(feeds, p, key, buffer_slice(&item)));
    indexed_feed(&s)->lost = true;
    assert_false(index_feeds_let_go(feeds, p, key, buffer_slice(&item)));
    indexed_feed(&s)->lost = false;
    indexed_feed(&s)->unread = true;
    lone_put_sized(&s.w, 2, 7, 10);
    assert_int_equal(lone_answer(&s.w)->code, REPLY_THROTTLED);
    indexed_feed(&s)->unread = false;
    indexed_put(&s, 2, 7);
    buffer_deinit(&item);
    indexed_close(&s);
}

/* MOVE-2: the feed hears of the write when it is applied, and would tell indexes of it after the
 * new place has. */
TEST(an_item_does_not_leave_while_a_write_of_it_is_in_flight)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    lone_put_sized(&s.w, 1, 7, 20); /* the index's row stays where it is */
    assert_int_equal(indexed_leave(&s, 1), REPLY_OVERLOADED);
    lone_write_all(&s.w);
    indexed_pass(&s, 100);
    assert_int_equal(indexed_leave(&s, 1), REPLY_UNKNOWN); /* it is on its way */
    /* Nor is it filled into an index: the row would come after that of its new place. */
    assert_int_equal(indexed_fill(&s, s.w.table.partitions[0].lo), REPLY_OVERLOADED);
    indexed_close(&s);
}

/* The feed begins while the store cannot be read. */
TEST(changes_that_cannot_be_read_are_not_taken_for_done)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    struct node *n = s.w.node;
    for (uint32_t name = 0; name < NAMES; name++)
        indexed_put(&s, name, 7);
    env_begin_event(&n->env, s.w.now);
    s.w.medium.unreadable = true;
    index_feeds_begin(&n->feeds, partitions_find(&n->partitions, s.w.table.partitions[0].id));
    index_feeds_end_turn(&n->feeds);
    s.w.medium.unreadable = false;
    lone_take_effects(&s.w);
    indexed_pass(&s, 500);
    assert_int_equal(indexed_rows(&s), NAMES);
    indexed_close(&s);
}

/* Behind the entry that freezes, entries change nothing: writes, and deletions of what indexes
 * have. */
TEST(a_merge_that_is_given_up_leaves_no_backlog)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    const uint64_t epoch = s.w.table.partitions[0].epoch;
    for (uint32_t name = 0; name < 10; name++)
        indexed_put(&s, name, 7);
    indexed_pass(&s, 100);
    lone_put_sized(&s.w, 10, 7, 10);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0); /* applied: its row is on its way */
    assert_true(lone_write_begin(&s.w));
    indexed_merge(&s, MERGE_FREEZE, epoch); /* behind the row */
    lone_put_sized(&s.w, 11, 7, 10);        /* behind the entry that freezes */
    const uint64_t last = raft_last(indexed_base(&s)->raft);
    lone_write_end(&s.w, 0); /* the index has the row: the change is to be deleted */
    for (int ms = 0; raft_last(indexed_base(&s)->raft) == last; ms++, lone_pass(&s.w, 1))
        assert_true(ms < 100);
    assert_int_equal(indexed_base(&s)->frozen.index, 0);
    lone_write_all(&s.w);
    s.w.answer_count = 0;
    indexed_merge(&s, MERGE_THAW, epoch + 1);
    indexed_pass(&s, 200);
    s.w.table.partitions[0].epoch++;
    assert_int_equal(indexed_base(&s)->proposed_index_feed_bytes, 0);
    assert_int_equal(indexed_backlog(&s), 0);
    indexed_put(&s, 12, 7);
    indexed_close(&s);
}
