/* index_feed_fill_test.c - an index gets the rows of items that were there before it. */
#include "engine/node/index/index_feed_internal.h"

#include "engine/message/message.h"
#include "tests/check.h"
#include "tests/support/indexed_fixture.h"

/* Writes that were proposed for the table's former indexes say nothing of the new one. */
TEST(an_index_is_filled_after_writes_that_do_not_know_it_and_piece_by_piece)
{
    struct indexed_fixture s;
    indexed_open(&s, 1);
    indexed_table(&s);
    for (uint32_t name = 0; name < 3; name++)
        indexed_put(&s, name, 7);
    struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    const struct slice lo = s.w.table.partitions[0].lo;
    struct buffer other = {0};
    buffer_set(&other, lo);
    buffer_append_u8(&other, 1);
    p->index_versions.from = raft_applied(p->raft) + 1;
    assert_int_equal(indexed_fill(&s, lo), REPLY_OVERLOADED);
    p->index_versions.from = 0;
    assert_int_equal(indexed_fill(&s, lo), REPLY_UNKNOWN);
    assert_int_equal(indexed_fill(&s, buffer_slice(&other)),
                     REPLY_OVERLOADED); /* one is on its way */
    buffer_deinit(&other);
    indexed_close(&s);
}

/* Asks for the next piece, after the last one for the first one again. */
static void fill_on(struct indexed_fixture *s, uint32_t *pieces)
{
    const struct index_feed *f = indexed_feed(s);
    struct buffer from = {0};
    if (f->fill.on)
        return;
    buffer_set(&from, buffer_slice(&f->fill.next));
    indexed_fill(s, buffer_slice(&from));
    ++*pieces;
    buffer_deinit(&from);
}

/* Whether an item is taken. A piece may end at the same time. */
static bool put_one(struct indexed_fixture *s, uint32_t name)
{
    const uint64_t id = lone_put_sized(&s->w, name, 7, 10);
    bool done = false;
    lone_write_all(&s->w);
    for (size_t i = 0; i < s->w.answer_count; i++)
        done |= s->w.answers[i].id == id && s->w.answers[i].code == REPLY_OK;
    indexed_pass(s, 10);
    return done;
}

/* PACE-1: a piece that is filled is no longer than the backlog of writes that the index allows. */
TEST(writes_go_on_while_a_slow_index_is_filled)
{
    enum {
        PACE = 20, /* a second, and a write each 10 ms */
        ITEMS = 300,
        SECONDS = 60,
        SETTLES = 15
    };
    struct indexed_fixture s;
    uint32_t name = 0, pieces = 0;
    int all = 0;
    indexed_open(&s, PACE);
    lone_set(&s.w, "index_backlog_ms", "5000");
    indexed_table(&s);
    while (name < ITEMS)
        name += put_one(&s, name);
    for (int second = 0; second < SECONDS; second++) {
        int taken = 0;
        for (int i = 0; i < 100; i++) {
            fill_on(&s, &pieces);
            const bool done = put_one(&s, name);
            taken += done;
            name += done;
        }
        all += taken;
        if (second >= SETTLES)
            assert_in_range(taken, PACE / 5, PACE * 13 / 10);
    }
    assert_true(all > SECONDS * PACE * 6 / 10);
    assert_true(pieces > SECONDS / 5);
    indexed_close(&s);
}
