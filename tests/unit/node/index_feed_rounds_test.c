/* What comes while a feed has a round on its way, and rounds whose outcome is not known. */
#include "engine/message/index_messages.h"
#include "tests/check.h"
#include "tests/support/indexed_fixture.h"

/* The item has a new version, whose row is proposed and not written yet. */
static void scene_begin_round(struct indexed_fixture *s, uint32_t name, uint32_t version)
{
    lone_put_sized(&s->w, name, version, 10);
    assert_true(lone_write_begin(&s->w));
    lone_write_end(&s->w, 0); /* applied: the round begins */
    for (int ms = 0; s->w.node->proposals.count == 0; ms++, lone_pass(&s->w, 1))
        assert_true(ms < 100);
}

/* FEED-1: the round's end deletes only the changes that the round has covered. */
TEST(a_change_that_comes_during_a_round_has_a_round_of_its_own)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    scene_begin_round(&s, 1, 8);
    lone_put_sized(&s.w, 1, 9, 10); /* in one batch of the log with the row */
    lone_write_all(&s.w);
    indexed_pass(&s, 100);
    assert_true(indexed_has(&s, 1, 9));
    assert_false(indexed_has(&s, 1, 8));
    assert_false(indexed_has(&s, 1, 7));
    assert_int_equal(indexed_backlog(&s), 0);
    lone_assert_verified(&s.w, 2);
    indexed_close(&s);
}

/* MOVE-2: the round may come to the index after the item's new place has told it more. */
TEST(an_item_does_not_leave_while_indexes_lack_a_change_of_it)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_put(&s, 2, 7);
    indexed_pass(&s, 100);
    scene_begin_round(&s, 1, 8);
    assert_int_equal(indexed_leave(&s, 1), REPLY_OVERLOADED);
    assert_int_equal(indexed_leave(&s, 2), REPLY_UNKNOWN); /* it has a session, and no change */
    indexed_pass(&s, 100);
    assert_int_equal(indexed_leave(&s, 1), REPLY_UNKNOWN);
    indexed_close(&s);
}

/* Ends the touches from this place on, and those that follow from them. */
static void scene_end_touches(struct indexed_fixture *s, size_t from)
{
    for (int ms = 0; ms < 100; ms++) {
        while (s->w.touch_count > from)
            lone_touch_end(&s->w, s->w.touch_count - 1);
        indexed_pass(s, 1);
    }
}

/* FEED-3. The first row waits for its page for longer than the feed waits for the row. When the row
 * comes, the index has newer ones of the item. */
TEST(a_row_of_unknown_outcome_does_not_come_after_newer_ones)
{
    struct indexed_fixture s;
    indexed_open(&s, 1000);
    indexed_table(&s);
    indexed_put(&s, 1, 7);
    indexed_pass(&s, 100);
    lone_checkpoint_all(&s.w);
    s.w.resident_max = 0;
    lone_crash(&s.w);
    lone_put_sized(&s.w, 1, 8, 10);
    assert_int_equal(s.w.touch_count, 1); /* the item's page */
    lone_touch_end(&s.w, 0);
    for (int ms = 0; s.w.touch_count < 2; ms++, indexed_pass(&s, 1))
        assert_true(ms < 100);
    /* One row goes, one comes: the later one is held up. */
    struct touch t = s.w.touches[0];
    s.w.touches[0] = s.w.touches[1];
    s.w.touches[1] = t;
    scene_end_touches(&s, 1);
    assert_false(indexed_has(&s, 1, 7));
    lone_put_sized(&s.w, 1, 9, 10);
    indexed_pass(&s, INDEX_FEED_TIMEOUT_MS);
    scene_end_touches(&s, 1);
    assert_true(indexed_has(&s, 1, 9));
    assert_int_equal(indexed_backlog(&s), 0);
    scene_end_touches(&s, 0);
    assert_true(indexed_has(&s, 1, 9));
    lone_assert_verified(&s.w, 2);
    indexed_close(&s);
}

/* ---- rounds of many bytes ---- */

enum {
    LARGE = 7,            /* indexes, */
    LARGE_BYTES = 390000, /* that each have so much of an item */
    LARGE_WCU = 1000,
    PART_MAX = 6, /* requests of a part: three rows go, three come, and the last one may exceed
                      * INDEX_FEED_TURN_BYTES */
    SESSIONS_MS = 500
};

static void scene_put_large(struct indexed_fixture *s, uint32_t version)
{
    lone_put_sized(&s->w, 1, version, LARGE_BYTES);
    assert_true(lone_write_begin(&s->w));
    lone_write_end(&s->w, 0);
    lone_assert_answer(&s->w, REPLY_OK);
}

static void scene_assert_rows(struct indexed_fixture *s, uint32_t version)
{
    for (uint32_t i = 0; i < LARGE; i++) {
        indexed_fetch_other(s, i);
        assert_false(
            indexed_has(s, 1, version - 1)); /* a large row has the index's reads refused */
        assert_true(indexed_has(s, 1, version));
    }
    assert_int_equal(indexed_backlog(s), 0);
}

/* The table with an item whose rows have come to all indexes: there are sessions. */
static void scene_open_large(struct indexed_fixture *s)
{
    indexed_open_many(s, LARGE_WCU, LARGE);
    indexed_table(s);
    indexed_put(s, 1, 6);
    indexed_pass(s, SESSIONS_MS);
    scene_assert_rows(s, 6);
}

/* Writes what is to be written until so many rows are, or all. Returns the most of a turn. */
static uint32_t scene_write_rows(struct indexed_fixture *s, uint32_t rows)
{
    uint32_t most = 0, sent = 0;
    do {
        const uint32_t out = indexed_feed(s)->calls;
        most = out > most ? out : most;
        sent += out;
        assert_true(indexed_feed(s)->turn_bytes < INDEX_FEED_TURN_BYTES + ITEM_SIZE_MAX);
        for (int ms = 0; ms < 50 && indexed_feed(s)->calls == out && out > 0; ms++) {
            if (lone_write_begin(&s->w))
                lone_write_end(&s->w, 0);
            else
                lone_pass(&s->w, 1);
        }
    } while (indexed_feed(s)->calls > 0 && sent < rows);
    return most;
}

TEST(a_round_of_many_bytes_is_sent_in_parts)
{
    struct indexed_fixture s;
    scene_open_large(&s);
    scene_put_large(&s, 7);
    assert_int_equal(scene_write_rows(&s, UINT32_MAX), PART_MAX);
    indexed_pass(&s, 100);
    scene_assert_rows(&s, 7);
    lone_assert_verified(&s.w, 1 + LARGE);
    indexed_close(&s);
}

/* FEED-1: it has a round of its own, which deletes what the first parts have put. */
TEST(a_change_that_comes_between_two_parts_reaches_every_index)
{
    struct indexed_fixture s;
    scene_open_large(&s);
    scene_put_large(&s, 7);
    scene_write_rows(&s, 1);
    assert_int_equal(indexed_feed(&s)->item_count, 1);
    indexed_put(&s, 1, 8);
    indexed_pass(&s, 300);
    scene_assert_rows(&s, 8);
    indexed_close(&s);
}

/* An index takes nothing for a while: the item waits for it, and goes on where it was. */
TEST(a_part_that_must_wait_begins_no_round_anew)
{
    struct indexed_fixture s;
    struct index_feed_target *t;
    scene_open_large(&s);
    LIST_FOREACH (t, &indexed_feed(&s)->targets, place) {
        if (t->table_id == s.index.id) /* the last one */
            t->until = instant_add_ms(s.w.now, 100);
    }
    scene_put_large(&s, 7);
    indexed_pass(&s, 50);
    assert_false(indexed_has(&s, 1, 7));
    const struct index_feed_item *item = TAILQ_FIRST(&indexed_feed(&s)->by_age);
    assert_int_equal(item->part, LARGE - 1);
    indexed_put(&s, 1, 8);
    assert_int_equal(item->covered, 1);
    assert_int_equal(item->part, LARGE - 1);
    indexed_pass(&s, 300);
    scene_assert_rows(&s, 8);
    indexed_close(&s);
}

/* ---- frozen ---- */

/* The item has version 7 in the index, and 8 in a partition that is frozen before its feed can
 * run. */
static void scene_freeze_behind_write(struct indexed_fixture *s)
{
    indexed_open(s, 1000);
    indexed_table(s);
    indexed_put(s, 1, 7);
    indexed_pass(s, 100);
    lone_put_sized(&s->w, 1, 8, 10);
    indexed_merge(s, MERGE_FREEZE, s->w.table.partitions[0].epoch);
    lone_write_all(&s->w);
    assert_int_not_equal(indexed_base(s)->frozen.index, 0);
}

/* The feed's items stay where they are: none of them is a reason to wake. */
TEST(a_node_rests_while_a_feed_is_frozen)
{
    struct indexed_fixture s;
    scene_freeze_behind_write(&s);
    for (int ms = 0; ms < 100; ms++) {
        indexed_pass(&s, 1);
        for (int i = 0; i < 3; i++)
            lone_pass(&s.w, 0);
        assert_true(instant_before(s.w.now, node_deadline(s.w.node)));
    }
    indexed_merge(&s, MERGE_THAW, s.w.table.partitions[0].epoch + 1);
    indexed_pass(&s, 100);
    s.w.table.partitions[0].epoch++;
    assert_true(indexed_has(&s, 1, 8));
    assert_int_equal(indexed_backlog(&s), 0);
    indexed_close(&s);
}

/* As the feed of the partition that takes over does. */
static uint64_t scene_successor_session(struct indexed_fixture *s)
{
    const struct partition_info *p = &s->index.partitions[0], *base = &s->w.table.partitions[0];
    struct request r = {.op = REQUEST_INDEX_SESSION, .partition = p->id, .epoch = p->epoch};
    *request_edit_session(&r) = (struct request_session){base->lo, base->hi};
    lone_send(&s->w, &r);
    lone_assert_answer(&s->w, REPLY_OK);
    return lone_answer(&s->w)->session;
}

static enum reply_code scene_successor_write(struct indexed_fixture *s, uint64_t session,
                                             enum request_op op, uint32_t version)
{
    struct buffer key = {0};
    const struct partition_info *p = &s->index.partitions[0];
    indexed_row_key(s, 1, version, &key);
    struct request r = {
        .op = op,
        .partition = p->id,
        .epoch = p->epoch,
        .write = {.key = buffer_slice(&key), .origin = WRITE_BY_FEED, .session = session}};
    if (op == REQUEST_PUT)
        r.write.item = lone_item(&s->w, version, 10);
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    buffer_deinit(&key);
    return lone_answer(&s->w)->code;
}

/* FEED-1. Another partition has taken over the item, and its feed has brought the index up to
 * date. The leader of the frozen one does not know it yet, and its group may still confirm it. */
TEST(a_frozen_feed_writes_nothing_behind_its_successor)
{
    struct indexed_fixture s;
    scene_freeze_behind_write(&s);
    const uint64_t session = scene_successor_session(&s);
    assert_int_equal(scene_successor_write(&s, session, REQUEST_DELETE, 7), REPLY_OK);
    assert_int_equal(scene_successor_write(&s, session, REQUEST_PUT, 9), REPLY_OK);
    indexed_pass(&s, 1000);
    assert_false(indexed_has(&s, 1, 8));
    assert_true(indexed_has(&s, 1, 9));
    assert_int_equal(scene_successor_write(&s, session, REQUEST_PUT, 9), REPLY_OK);
    indexed_close(&s);
}
