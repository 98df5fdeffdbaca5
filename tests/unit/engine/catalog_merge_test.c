/* Two partitions become one, as the catalog does it: what each word changes and in which order,
 * what is refused, and what nothing else does meanwhile. */
#include "tests/check.h"

#include "base/settings/admission.h"
#include "engine/admission/share.h"
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

static enum reply_code say(struct catalog_fixture *w, enum merge_word word,
                           const struct partition_info *p)
{
    return catalog_fixture_say(w, word, p);
}

/* Splits a partition at the hash, and settles that. */
static void cut(struct catalog_fixture *w, uint32_t i, uint64_t hash)
{
    uint8_t key[12];
    struct table_split s = {.table_id = at(w, i)->table_id,
                            .partition = at(w, i)->id,
                            .epoch = at(w, i)->epoch,
                            .cut_count = 1};
    s.cuts[0] = catalog_fixture_key(s.table_id, hash, key);
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
    cut(w, 0, UINT64_C(1) << 62);
    cut(w, 2, UINT64_C(3) << 62);
    assert_int_equal(catalog_fixture_table(w)->partition_count, 4);
}

static void expect_refusal(struct catalog_fixture *w, enum reply_code code,
                           enum reply_code expected, const char *text)
{
    assert_int_equal(code, expected);
    assert_int_equal(w->result.row_count, 0);
    assert_non_null(memmem(w->text.data, w->text.size, text, strlen(text)));
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
        assert_int_equal(say(w, MERGE_BEGIN, at(w, UPPER)), REPLY_OK);
    if (state == STATE_THAWING)
        assert_int_equal(say(w, MERGE_GIVE_UP, at(w, UPPER)), REPLY_OK);
    if (state >= STATE_ABSORBING)
        assert_int_equal(say(w, MERGE_ABSORB_IT, at(w, UPPER)), REPLY_OK);
    if (state == STATE_ABSORBED)
        assert_int_equal(say(w, MERGE_ABSORBED, at(w, LOWER)), REPLY_OK);
}

TEST(a_frozen_partition_keeps_its_place_until_it_is_absorbed)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    struct partition_info upper = *at(&w, UPPER), lower = *at(&w, LOWER);
    uint64_t event = catalog_last_event(w.catalog);
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    const struct table *t = catalog_fixture_table(&w);
    assert_int_equal(catalog_last_event(w.catalog), event + 1);
    assert_int_equal(t->partition_count, 4);
    assert_int_equal(at(&w, UPPER)->merge, MERGE_FREEZE);
    assert_int_equal(at(&w, UPPER)->merge_with, lower.id);
    assert_int_equal(at(&w, UPPER)->epoch, upper.epoch);
    assert_int_equal(at(&w, LOWER)->merge, MERGE_NONE);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(table_partition_is_merging(t, at(&w, i)), i == LOWER || i == UPPER);
    assert_true(table_is_merging(t) && table_is_changing(t) && !table_is_splitting(t));
    assert_int_equal(t->status, TABLE_ACTIVE);
    catalog_fixture_is_complete(t);
    catalog_fixture_reloads(&w);
    catalog_fixture_deinit(&w);
}

TEST(the_lower_partition_absorbs_the_keys_of_the_upper_one)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    const struct partition_info upper = *at(&w, UPPER), lower = *at(&w, LOWER);
    const uint32_t behind = at(&w, UPPER + 1)->id;
    uint8_t key[12];
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_OK);
    const struct table *t = catalog_fixture_table(&w);
    const struct partition_info *p = at(&w, LOWER);
    assert_int_equal(t->partition_count, 3);
    assert_int_equal(p->id, lower.id);
    assert_int_equal(p->epoch, lower.epoch + 1);
    assert_int_equal(p->merge, MERGE_ABSORB);
    assert_int_equal(p->merge_with, upper.id);
    assert_int_equal(p->frozen_index, 77);
    assert_int_equal(p->frozen_term, 5);
    assert_false(p->absorbed);
    assert_memory_equal(p->members, lower.members, sizeof p->members);
    assert_int_equal(at(&w, UPPER)->id, behind);
    assert_ptr_equal(table_partition_of(t, catalog_fixture_key(t->id, UINT64_C(5) << 61, key)), p);
    catalog_fixture_is_complete(t); /* three shares of the throughput */
    assert_int_equal(p->rate_mcu[ADMIT_WRITE], share_equal_mcu(1999, 3, LOWER));
    catalog_fixture_reloads(&w);
    assert_false(catalog_is_gone(w.catalog, upper.id));
    assert_true(catalog_may_have(w.catalog, upper.id, upper.members[0]));
    assert_false(catalog_has(w.catalog, t->id, upper.id, upper.members[0]));

    assert_int_equal(say(&w, MERGE_ABSORBED, at(&w, LOWER)), REPLY_OK);
    assert_true(at(&w, LOWER)->absorbed);
    assert_true(table_is_merging(catalog_fixture_table(&w)));
    assert_false(catalog_is_gone(w.catalog, upper.id)); /* a replica may need it yet */
    catalog_fixture_reloads(&w);

    assert_int_equal(say(&w, MERGE_DONE, at(&w, LOWER)), REPLY_OK);
    p = at(&w, LOWER);
    assert_int_equal(p->epoch, lower.epoch + 1);
    assert_true(p->merge == MERGE_NONE && p->merge_with == 0 && !p->absorbed);
    assert_true(p->frozen_index == 0 && p->frozen_term == 0);
    assert_true(catalog_is_gone(w.catalog, upper.id));
    assert_false(catalog_may_have(w.catalog, upper.id, upper.members[0]));
    assert_false(table_is_changing(catalog_fixture_table(&w)));
    catalog_fixture_reloads(&w);
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK); /* and the next one */
    catalog_fixture_deinit(&w);
}

TEST(a_merge_that_is_given_up_leaves_both_partitions)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    const uint64_t epoch = at(&w, UPPER)->epoch, below = at(&w, LOWER)->epoch;
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(say(&w, MERGE_GIVE_UP, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(at(&w, UPPER)->merge, MERGE_THAW);
    assert_int_equal(at(&w, UPPER)->epoch, epoch + 1);
    assert_true(table_is_merging(catalog_fixture_table(&w)));
    catalog_fixture_reloads(&w);
    assert_int_equal(say(&w, MERGE_THAWED, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(at(&w, UPPER)->merge, MERGE_NONE);
    assert_int_equal(at(&w, UPPER)->merge_with, 0);
    assert_int_equal(at(&w, UPPER)->epoch, epoch + 1);
    assert_int_equal(at(&w, LOWER)->epoch, below);
    assert_false(table_is_changing(catalog_fixture_table(&w)));
    catalog_fixture_is_complete(catalog_fixture_table(&w));
    catalog_fixture_reloads(&w);
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK); /* another attempt */
    catalog_fixture_deinit(&w);
}

/* Whether the word means something in that state; `is`: which partition it is said of. */
static bool is_due(enum state state, enum merge_word word, uint32_t is)
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
static void say_in(enum state state, enum merge_word word, uint32_t is)
{
    struct catalog_fixture w;
    struct buffer before = {0}, after = {0};
    reach(&w, state);
    if (is >= catalog_fixture_table(&w)->partition_count || (word == MERGE_BEGIN && is == 0)) {
        catalog_fixture_deinit(&w);
        return;
    }
    const struct decision due = catalog_fixture_word(word, at(&w, is));
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
        for (enum merge_word word = MERGE_BEGIN; word <= MERGE_DONE; word++) {
            for (uint32_t is = 0; is < 4; is++)
                say_in(s, word, is);
        }
    }
}

/* ---- what is refused ---- */

TEST(a_merge_is_begun_of_the_partitions_that_the_decision_saw)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    static const char WHY[] = "not as the decision saw them";
    struct decision d = catalog_fixture_word(MERGE_BEGIN, at(&w, UPPER));
    d.merge_with = at(&w, 0)->id; /* not the one below */
    d.merge_with_epoch = at(&w, 0)->epoch;
    expect_refusal(&w, catalog_fixture_decide(&w, CATALOG_MERGE, &d), REPLY_WRONG_PARTITION, WHY);
    d = catalog_fixture_word(MERGE_BEGIN, at(&w, UPPER));
    d.merge_with = at(&w, UPPER + 1)->id; /* the one above */
    d.merge_with_epoch = at(&w, UPPER + 1)->epoch;
    expect_refusal(&w, catalog_fixture_decide(&w, CATALOG_MERGE, &d), REPLY_WRONG_PARTITION, WHY);
    d = catalog_fixture_word(MERGE_BEGIN, at(&w, UPPER));
    d.merge_with_epoch--;
    expect_refusal(&w, catalog_fixture_decide(&w, CATALOG_MERGE, &d), REPLY_WRONG_PARTITION, WHY);
    d = catalog_fixture_word(MERGE_BEGIN, at(&w, UPPER));
    d.partition = 999;
    expect_refusal(&w, catalog_fixture_decide(&w, CATALOG_MERGE, &d), REPLY_WRONG_PARTITION, WHY);
    d = catalog_fixture_word(MERGE_BEGIN, at(&w, 1));
    d.partition = d.merge_with; /* the first one, with itself */
    d.epoch = d.merge_with_epoch;
    expect_refusal(&w, catalog_fixture_decide(&w, CATALOG_MERGE, &d), REPLY_WRONG_PARTITION, WHY);
    d = catalog_fixture_word(MERGE_BEGIN, at(&w, UPPER));
    d.table_id = 77;
    expect_refusal(&w, catalog_fixture_decide(&w, CATALOG_MERGE, &d), REPLY_TABLE_NOT_FOUND, "");
    catalog_fixture_deinit(&w);
}

TEST(a_table_that_is_changing_begins_no_merge)
{
    struct catalog_fixture w;
    uint8_t key[12];
    static const char WHY[] = "being updated, or partitions of it are being split or merged";
    world_of_four(&w, NODES);
    struct table_split s = {.table_id = at(&w, 3)->table_id,
                            .partition = at(&w, 3)->id,
                            .epoch = at(&w, 3)->epoch,
                            .cut_count = 1};
    s.cuts[0] = catalog_fixture_key(s.table_id, UINT64_MAX - 5, key);
    table_split_share_equally(&s);
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
    expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_WRONG_PARTITION, WHY);
    assert_int_equal(catalog_fixture_reconcile(&w, 5, TABLE_ACTIVE), REPLY_OK);

    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.rcu++;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_WRONG_PARTITION, WHY);
    assert_int_equal(catalog_fixture_reconcile(&w, 5, TABLE_UPDATING), REPLY_OK);

    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, 4)), REPLY_WRONG_PARTITION, WHY);
    catalog_fixture_deinit(&w);
}

TEST(partitions_merge_where_their_replicas_stand_together)
{
    struct catalog_fixture w;
    static const char WHY[] = "not on the same nodes";
    world_of_four(&w, NODES);
    w.nodes = 4;
    catalog_fixture_introduce(&w, 4, 28);
    const uint32_t from = partition_node(at(&w, LOWER), 0);
    assert_true(catalog_stand_together(w.catalog, at(&w, LOWER), at(&w, UPPER)));
    for (int back = 0; back <= 1; back++) { /* one moves and then the other one does */
        uint32_t first = back ? UPPER : LOWER, second = back ? LOWER : UPPER;
        uint32_t source = back ? 4 : from, target = back ? from : 4;
        assert_int_equal(catalog_fixture_move(&w, at(&w, first), source, target), REPLY_OK);
        expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_WRONG_PARTITION, WHY);
        catalog_fixture_end_move(&w, at(&w, first));
        expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_WRONG_PARTITION, WHY);
        assert_int_equal(catalog_fixture_move(&w, at(&w, second), source, target), REPLY_OK);
        expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_WRONG_PARTITION, WHY);
        catalog_fixture_end_move(&w, at(&w, second));
        assert_true(catalog_stand_together(w.catalog, at(&w, LOWER), at(&w, UPPER)));
    }
    catalog_fixture_introduce(&w, 2,
                              1002); /* another disk, of which the members know nothing yet */
    expect_refusal(&w, say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_WRONG_PARTITION, WHY);
    catalog_fixture_introduce(&w, 2, 14);
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* MERGE-2. */
TEST(a_disk_that_was_lost_since_keeps_partitions_apart)
{
    struct catalog_fixture w;
    reach(&w, STATE_FROZEN);
    catalog_fixture_introduce(&w, 2, 1002);
    expect_refusal(&w, say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_WRONG_PARTITION,
                   "no longer as they were");
    assert_int_equal(at(&w, UPPER)->merge, MERGE_FREEZE);
    assert_int_equal(say(&w, MERGE_GIVE_UP, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(say(&w, MERGE_THAWED, at(&w, UPPER)), REPLY_OK);
    catalog_fixture_is_complete(catalog_fixture_table(&w));
    catalog_fixture_deinit(&w);
}

TEST(nodes_that_cannot_carry_the_one_keep_the_two)
{
    struct catalog_fixture w;
    struct buffer before = {0}, after = {0};
    reach(&w, STATE_FROZEN);
    config_edit_admission(&w.config)->node_wcu = 1; /* less than they carry now */
    table_encode(&before, catalog_fixture_table(&w));
    expect_refusal(&w, say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_LIMIT_EXCEEDED,
                   "no capacity left");
    table_encode(&after, catalog_fixture_table(&w));
    assert_true(slice_equal(buffer_slice(&before), buffer_slice(&after)));
    buffer_deinit(&before);
    buffer_deinit(&after);
    catalog_fixture_deinit(&w);
}

/* ---- meanwhile ---- */

static enum reply_code set_rate(struct catalog_fixture *w, const struct partition_info *p)
{
    struct decision d = {.table_id = p->table_id, .rate_count = 1};
    d.rates[0] = (struct decision_rate){.partition = p->id, .epoch = p->epoch};
    memcpy(d.rates[0].rate_mcu, p->rate_mcu, sizeof p->rate_mcu);
    return catalog_fixture_decide(w, CATALOG_RATES, &d);
}

static enum reply_code lead(struct catalog_fixture *w, const struct partition_info *p)
{
    struct decision d = {.table_id = p->table_id,
                         .partition = p->id,
                         .epoch = p->epoch,
                         .to_node = partition_node(p, 1)};
    return catalog_fixture_decide(w, CATALOG_LEAD, &d);
}

/* MERGE-3, and nothing else is done to either partition. */
TEST(partitions_that_merge_are_left_alone)
{
    for (enum state s = STATE_FROZEN; s < STATES; s++) {
        struct catalog_fixture w;
        reach(&w, s);
        w.nodes = 4;
        catalog_fixture_introduce(&w, 4, 28);
        uint32_t last = s < STATE_ABSORBING ? UPPER : LOWER;
        uint32_t first = s == STATE_THAWING ? UPPER : LOWER; /* then the lower one is free */
        for (uint32_t i = first; i <= last; i++) {
            uint32_t from = partition_node(at(&w, i), 0);
            bool moves = s == STATE_ABSORBED; /* a new replica gets what the group has absorbed */
            assert_int_equal(set_rate(&w, at(&w, i)), REPLY_WRONG_PARTITION);
            assert_int_equal(lead(&w, at(&w, i)), REPLY_WRONG_PARTITION);
            assert_int_equal(catalog_fixture_halve(&w, at(&w, i)), REPLY_TABLE_BUSY);
            assert_int_equal(catalog_fixture_move(&w, at(&w, i), from, 4),
                             moves ? REPLY_OK : REPLY_WRONG_PARTITION);
        }
        assert_int_equal(set_rate(&w, at(&w, 0)), REPLY_OK);
        assert_int_equal(catalog_fixture_move(&w, at(&w, 0), partition_node(at(&w, 0), 0), 4),
                         REPLY_OK);
        catalog_fixture_deinit(&w);
    }
}

TEST(a_peak_waits_for_the_end_of_a_merge)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.billing = BILLING_ON_DEMAND;
    c.spec.rcu = c.spec.wcu = 0;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 4, TABLE_UPDATING), REPLY_OK);
    struct decision peak = {.table_id = at(&w, 0)->table_id, .peak = {100, 3900}};
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(catalog_fixture_decide(&w, CATALOG_PEAK, &peak), REPLY_WRONG_PARTITION);
    assert_int_equal(say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(catalog_fixture_decide(&w, CATALOG_PEAK, &peak), REPLY_WRONG_PARTITION);
    const struct table *t = catalog_fixture_table(&w);
    for (uint32_t i = 0; i < 3; i++) /* what was promised to it, over one partition fewer */
        assert_int_equal(at(&w, i)->rate_mcu[ADMIT_WRITE],
                         share_equal_mcu(t->promised[ADMIT_WRITE], 3, i));
    assert_int_equal(say(&w, MERGE_DONE, at(&w, LOWER)), REPLY_OK);
    assert_int_equal(catalog_fixture_decide(&w, CATALOG_PEAK, &peak), REPLY_OK);
    catalog_fixture_deinit(&w);
}

static uint32_t generation_on(const struct catalog_fixture *w, uint32_t i, uint32_t node)
{
    return raft_member_generation(partition_member_on(at(w, i), node));
}

/* MERGE-3. */
TEST(a_lost_replica_is_replaced_once_its_group_has_absorbed)
{
    struct catalog_fixture w;
    reach(&w, STATE_ABSORBING);
    catalog_fixture_introduce(&w, 2, 1002);
    assert_true(catalog_fixture_replace(&w)); /* the other partitions */
    assert_int_equal(generation_on(&w, 0, 2), 1002);
    assert_int_equal(generation_on(&w, LOWER, 2), 14);
    assert_false(catalog_fixture_replace(&w));
    assert_int_equal(say(&w, MERGE_ABSORBED, at(&w, LOWER)), REPLY_OK);
    assert_true(catalog_fixture_replace(&w));
    assert_int_equal(generation_on(&w, LOWER, 2), 1002);
    assert_int_equal(say(&w, MERGE_DONE, at(&w, LOWER)), REPLY_OK);
    catalog_fixture_reloads(&w);
    catalog_fixture_deinit(&w);
}

TEST(a_lost_replica_of_a_frozen_partition_is_replaced_once_it_thaws)
{
    struct catalog_fixture w;
    reach(&w, STATE_FROZEN);
    catalog_fixture_introduce(&w, 2, 1002);
    assert_true(catalog_fixture_replace(&w));
    assert_int_equal(generation_on(&w, LOWER, 2), 1002);
    assert_int_equal(generation_on(&w, UPPER, 2), 14);
    assert_false(catalog_fixture_replace(&w));
    expect_refusal(&w, say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_WRONG_PARTITION,
                   "no longer as they were");
    assert_int_equal(say(&w, MERGE_GIVE_UP, at(&w, UPPER)), REPLY_OK);
    assert_true(catalog_fixture_replace(&w));
    assert_int_equal(generation_on(&w, UPPER, 2), 1002);
    catalog_fixture_deinit(&w);
}

TEST(the_sizes_of_both_are_added)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    const uint32_t table = at(&w, 0)->table_id, lower = at(&w, LOWER)->id,
                   upper = at(&w, UPPER)->id;
    for (uint32_t i = 0; i < 4; i++)
        catalog_fixture_report(w.catalog, table, at(&w, i)->id, 10 + i, 1000 * (i + 1));
    assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_OK);
    catalog_fixture_report(w.catalog, table, at(&w, 0)->id, 100, 1);
    assert_int_equal(catalog_fixture_table(&w)->item_count, 100 + 11 + 12 + 13);
    assert_int_equal(catalog_fixture_table(&w)->size_bytes, 1 + 2000 + 3000 + 4000);
    catalog_fixture_report(w.catalog, table, lower, 23, 5000);
    assert_int_equal(catalog_fixture_table(&w)->size_bytes, 1 + 5000 + 4000);
    catalog_fixture_report(w.catalog, table, upper, 500, 500); /* too late */
    assert_int_equal(catalog_fixture_table(&w)->size_bytes, 1 + 5000 + 4000);
    catalog_fixture_report(w.catalog, table, at(&w, 2)->id, 1, 7);
    assert_int_equal(catalog_fixture_table(&w)->size_bytes, 1 + 5000 + 7);
    catalog_fixture_deinit(&w);
}

TEST(a_table_may_be_deleted_at_every_step)
{
    for (enum state s = STATE_FROZEN; s < STATES; s++) {
        struct catalog_fixture w;
        uint32_t ids[4], count = 4;
        world_of_four(&w, NODES);
        for (uint32_t i = 0; i < 4; i++)
            ids[i] = at(&w, i)->id;
        catalog_fixture_deinit(&w);
        reach(&w, s);
        struct catalog_command c = catalog_fixture_command(&w, CATALOG_DELETE);
        assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
        count = catalog_fixture_table(&w)->partition_count;
        for (enum merge_word word = MERGE_BEGIN; word <= MERGE_DONE; word++) {
            for (uint32_t i = 1; i < count; i++)
                assert_int_equal(say(&w, word, at(&w, i)), REPLY_TABLE_BUSY);
        }
        assert_int_equal(catalog_is_gone(w.catalog, ids[UPPER]), false);
        assert_int_equal(catalog_fixture_reconcile(&w, count, TABLE_DELETING), REPLY_OK);
        assert_null(catalog_fixture_table(&w));
        for (uint32_t i = 0; i < 4; i++)
            assert_true(catalog_is_gone(w.catalog, ids[i]));
        catalog_fixture_deinit(&w);
    }
}

TEST(a_merge_goes_on_while_its_table_is_updated)
{
    struct catalog_fixture w;
    reach(&w, STATE_FROZEN);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.wcu = 2001;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->status, TABLE_UPDATING);
    assert_int_equal(at(&w, LOWER)->rate_mcu[ADMIT_WRITE], share_equal_mcu(2001, 3, LOWER));
    assert_int_equal(catalog_fixture_reconcile(&w, 3, TABLE_UPDATING), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->status, TABLE_ACTIVE);
    assert_true(table_is_merging(catalog_fixture_table(&w)));
    assert_int_equal(say(&w, MERGE_ABSORBED, at(&w, LOWER)), REPLY_OK);
    assert_int_equal(say(&w, MERGE_DONE, at(&w, LOWER)), REPLY_OK);
    catalog_fixture_is_complete(catalog_fixture_table(&w));
    catalog_fixture_deinit(&w);
}

/* A split that is reconciled says how many partitions there are. Were the number reached twice
 * while a split is reconciled, by a merge and another split, then that split would count as
 * reconciled too. */
TEST(no_partition_is_split_while_another_one_is_frozen)
{
    struct catalog_fixture w;
    reach(&w, STATE_FROZEN);
    expect_refusal(&w, catalog_fixture_halve(&w, at(&w, 0)), REPLY_TABLE_BUSY,
                   "about to be merged");
    assert_int_equal(say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_OK);
    assert_int_equal(catalog_fixture_halve(&w, at(&w, 0)), REPLY_OK);
    assert_true(table_is_splitting(catalog_fixture_table(&w)));
    assert_int_equal(say(&w, MERGE_DONE, at(&w, LOWER + 1)), REPLY_OK);
    assert_true(table_is_splitting(catalog_fixture_table(&w)));
    assert_int_equal(catalog_fixture_reconcile(&w, 4, TABLE_ACTIVE), REPLY_OK);
    assert_false(table_is_changing(catalog_fixture_table(&w)));
    catalog_fixture_is_complete(catalog_fixture_table(&w));
    catalog_fixture_deinit(&w);
}

TEST(a_split_that_is_settled_ends_no_merge)
{
    struct catalog_fixture w;
    reach(&w, STATE_ABSORBING);
    assert_int_equal(catalog_fixture_halve(&w, at(&w, 0)), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 4, TABLE_ACTIVE), REPLY_OK);
    assert_false(table_is_splitting(catalog_fixture_table(&w)));
    assert_int_equal(at(&w, LOWER + 1)->merge, MERGE_ABSORB);
    catalog_fixture_deinit(&w);
}

TEST(boosts_survive_a_merge_where_the_nodes_can_carry_them)
{
    for (int tight = 0; tight <= 1; tight++) {
        struct catalog_fixture w;
        const int64_t boosts[] = {200000, 3000, 10000, 0}, after[] = {200000, 13000, 0};
        world_of_four(&w, NODES);
        struct decision d = {.table_id = at(&w, 0)->table_id, .rate_count = 4};
        for (uint32_t i = 0; i < 4; i++) {
            const struct partition_info *p = at(&w, i);
            d.rates[i] = (struct decision_rate){.partition = p->id, .epoch = p->epoch};
            memcpy(d.rates[i].rate_mcu, p->rate_mcu, sizeof p->rate_mcu);
            d.rates[i].rate_mcu[ADMIT_WRITE] += boosts[i];
        }
        assert_int_equal(catalog_fixture_decide(&w, CATALOG_RATES, &d), REPLY_OK);
        if (tight)
            /* for the table's 1999, and nothing else */
            config_edit_admission(&w.config)->node_wcu = 2000;
        assert_int_equal(say(&w, MERGE_BEGIN, at(&w, UPPER)), REPLY_OK);
        assert_int_equal(say(&w, MERGE_ABSORB_IT, at(&w, UPPER)), REPLY_OK);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(at(&w, i)->rate_mcu[ADMIT_WRITE],
                             share_equal_mcu(1999, 3, i) + (tight ? 0 : after[i]));
            assert_int_equal(at(&w, i)->rate_mcu[ADMIT_READ], share_equal_mcu(3001, 3, i));
        }
        catalog_fixture_reloads(&w);
        catalog_fixture_deinit(&w);
    }
}

/* ---- as bytes ---- */

TEST(bytes_that_are_no_word_are_refused)
{
    struct catalog_fixture w;
    world_of_four(&w, NODES);
    for (enum merge_word word = MERGE_BEGIN; word <= MERGE_DONE; word++) {
        struct buffer b = {0};
        struct decision d = catalog_fixture_word(word, at(&w, UPPER)), out;
        decision_encode(&b, &d);
        assert_int_equal(decision_decode(buffer_slice(&b), &out), STATUS_OK);
        assert_true(out.merge == word && out.partition == d.partition && out.epoch == d.epoch);
        assert_int_equal(out.merge_with, d.merge_with);
        assert_int_equal(out.merge_with_epoch, d.merge_with_epoch);
        assert_int_equal(out.frozen_index, d.frozen_index);
        assert_int_equal(out.frozen_term, d.frozen_term);
        for (size_t size = 0; size < b.size; size++)
            assert_int_equal(decision_decode(slice_make(b.data, size), &out), STATUS_MALFORMED);
        buffer_deinit(&b);
    }
    catalog_fixture_deinit(&w);
}

/* A merge without a word, a word that there is not, and a word in another command. */
TEST(a_merge_is_a_command_with_a_word_and_no_other_command_has_one)
{
    struct catalog_fixture w;
    static const struct {
        enum catalog_op op;
        int word;
        enum status status;
    } cases[] = {
        {CATALOG_MERGE, 0, STATUS_MALFORMED},   {CATALOG_MERGE, MERGE_BEGIN, STATUS_OK},
        {CATALOG_MERGE, MERGE_DONE, STATUS_OK}, {CATALOG_MERGE, MERGE_DONE + 1, STATUS_MALFORMED},
        {CATALOG_EVENT, 0, STATUS_OK},          {CATALOG_EVENT, MERGE_DONE, STATUS_MALFORMED},
    };
    world_of_four(&w, NODES);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer decision = {0}, b = {0};
        struct decision d = catalog_fixture_word(MERGE_BEGIN, at(&w, UPPER));
        d.merge = (enum merge_word)cases[i].word;
        struct catalog_command c = catalog_fixture_command(&w, cases[i].op), out;
        decision_encode(&decision, &d);
        c.decision = buffer_slice(&decision);
        catalog_command_encode(&b, &c);
        assert_int_equal(catalog_command_decode(buffer_slice(&b), &out), cases[i].status);
        buffer_deinit(&decision);
        buffer_deinit(&b);
    }
    catalog_fixture_deinit(&w);
}

TEST(a_partition_whose_merge_makes_no_sense_is_damage)
{
    struct catalog_fixture w;
    reach(&w, STATE_ABSORBED);
    const struct partition_info good = *at(&w, LOWER);
    for (int i = 0; i < 5; i++) {
        struct buffer b = {0};
        struct partition_info p = good, out;
        p.absorbed = i != 1;
        if (i == 1)
            p.merge = MERGE_ABSORB + 1;
        if (i == 2)
            p.merge_with = p.id;
        if (i == 3)
            p.merge_with = 0;
        if (i == 4)
            p.merge = MERGE_FREEZE; /* which absorbs nothing */
        partition_info_encode(&b, &p);
        assert_int_equal(partition_info_decode(buffer_slice(&b), &out),
                         i == 0 ? STATUS_OK : STATUS_MALFORMED);
        buffer_deinit(&b);
    }
    catalog_fixture_deinit(&w);
}
