/* catalog_merge_test.c - each word of a merge in each state, of each partition. What the words do:
 * tests/cases/catalog/merge.case. */
#include "tests/check.h"

#include "tests/support/catalog_fixture.h"

enum {
    NODES = 3, /* so that all partitions stand together */
    LOWER = 1, /* of four partitions, in key order */
    UPPER = 2
};

static const struct partition_info *at(const struct catalog_fixture *w, uint32_t i)
{
    return catalog_fixture_at(w, i);
}

static enum reply_code send_command(struct catalog_fixture *w, enum merge_command word,
                                    const struct partition_info *p)
{
    return catalog_fixture_merge(w, word, p);
}

/* Splits a partition at the hash, and settles that. */
static void split_at(struct catalog_fixture *w, uint32_t i, uint64_t hash)
{
    uint8_t key[12];
    struct table_split s = {.table_id = at(w, i)->table_id,
                            .partition = at(w, i)->id,
                            .epoch = at(w, i)->epoch,
                            .point_count = 1};
    s.points[0] = catalog_fixture_key(s.table_id, hash, key);
    table_split_share_equally(&s);
    assert_int_equal(catalog_fixture_split(w, &s), REPLY_OK);
    const struct table *t = catalog_fixture_table(w);
    assert_int_equal(catalog_fixture_reconcile(w, t->partition_count, t->status), REPLY_OK);
    assert_false(table_is_changing(catalog_fixture_table(w)));
}

/* Four partitions of the same width. */
static void world_of_four(struct catalog_fixture *w, uint32_t nodes)
{
    catalog_fixture_init(w, nodes);
    split_at(w, 0, UINT64_C(1) << 62);
    split_at(w, 2, UINT64_C(3) << 62);
    assert_int_equal(catalog_fixture_table(w)->partition_count, 4);
}

/* ---- step by step ---- */

enum state {
    STATE_NONE,
    STATE_FROZEN,
    STATE_THAWING,
    STATE_ABSORBING,
    STATE_ABSORBED,
    STATES
};

static void reach(struct catalog_fixture *w, enum state state)
{
    world_of_four(w, NODES);
    if (state != STATE_NONE)
        assert_int_equal(send_command(w, MERGE_BEGIN, at(w, UPPER)), REPLY_OK);
    if (state == STATE_THAWING)
        assert_int_equal(send_command(w, MERGE_GIVE_UP, at(w, UPPER)), REPLY_OK);
    if (state >= STATE_ABSORBING)
        assert_int_equal(send_command(w, MERGE_ABSORB_IT, at(w, UPPER)), REPLY_OK);
    if (state == STATE_ABSORBED)
        assert_int_equal(send_command(w, MERGE_ABSORBED, at(w, LOWER)), REPLY_OK);
}

/* Whether the word means something in that state; `is`: which partition it is said of. */
static bool is_due(enum state state, enum merge_command word, uint32_t is)
{
    switch (word) {
    case MERGE_BEGIN:
        return state == STATE_NONE && is > 0;
    case MERGE_GIVE_UP:
    case MERGE_ABSORB_IT:
        return state == STATE_FROZEN && is == UPPER;
    case MERGE_THAWED:
        return state == STATE_THAWING && is == UPPER;
    case MERGE_ABSORBED:
        return state == STATE_ABSORBING && is == LOWER;
    case MERGE_DONE: /* all replicas have, so that the group has */
        return (state == STATE_ABSORBING || state == STATE_ABSORBED) && is == LOWER;
    }
    return false;
}

/* Says it in a world of its own. What is not due changes nothing; what is due, nothing when it is
 * said again, and nothing of another epoch. */
static void send_command_in(enum state state, enum merge_command word, uint32_t is)
{
    struct catalog_fixture w;
    struct buffer before = {0}, after = {0};
    reach(&w, state);
    if (is >= catalog_fixture_table(&w)->partition_count || (word == MERGE_BEGIN && is == 0)) {
        catalog_fixture_deinit(&w);
        return;
    }
    const struct decision due = catalog_fixture_merge_command(word, at(&w, is));
    struct decision late = due, early = due;
    late.epoch--;
    early.epoch++;
    const struct decision *all[] = {&late, &early, &due, &due};
    for (int i = 0; i < 4; i++) {
        uint64_t event = catalog_last_event(w.catalog);
        buffer_clear(&before);
        buffer_clear(&after);
        table_encode(&before, catalog_fixture_table(&w));
        enum reply_code code = catalog_fixture_decide(&w, CATALOG_MERGE, all[i]);
        table_encode(&after, catalog_fixture_table(&w));
        bool changes = i == 2 && is_due(state, word, is);
        assert_int_equal(changes, !slice_equal(buffer_slice(&before), buffer_slice(&after)));
        assert_int_equal(catalog_last_event(w.catalog), event + changes);
        assert_int_equal(w.result.row_count, changes ? 2 : 0);
        assert_true(code == (word == MERGE_BEGIN && !changes ? REPLY_WRONG_PARTITION : REPLY_OK));
        catalog_fixture_is_complete(catalog_fixture_table(&w));
    }
    buffer_deinit(&before);
    buffer_deinit(&after);
    catalog_fixture_deinit(&w);
}

/* MERGE-1 among them: what is given up is not absorbed, nor the other way round. */
TEST(a_word_counts_once_and_in_its_turn)
{
    for (enum state s = STATE_NONE; s < STATES; s++) {
        for (enum merge_command word = MERGE_BEGIN; word <= MERGE_DONE; word++) {
            for (uint32_t is = 0; is < 4; is++)
                send_command_in(s, word, is);
        }
    }
}
