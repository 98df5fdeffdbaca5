/* reconcile_test.c - what the catalog's leader asks of nodes, and what it waits for before the next
 * step: splits, merges, deleted tables (RECONCILE-1 of engine/node/catalog_leader/reconcile.c),
 * indexes.
 *
 * The leader is real; the test says which node answers when. */
#include "tests/check.h"
#include "tests/support/catalog_leader.h"

enum {
    SOME_MS = 700, /* a request that is due is sent meanwhile; less than a freeze may last */
    LONG_MS = 3000,
    LEADERLESS_MS = 11000 /* then a group of a deleted table is looked at */
};

/* ---- splits ---- */

/* Splits the table. The parent's group is asked to split, and does not answer. */
static void begin_split(struct catalog_leader *s, uint32_t *parent, uint32_t *child)
{
    leader_open(s);
    leader_hold(s, REQUEST_PARTITION_SPLIT, 0, 0);
    lone_split_table(&s->w);
    lone_write_all(&s->w);
    lone_fetch_table(&s->w);
    assert_int_equal(s->w.table.partition_count, 2);
    *parent = s->w.table.partitions[0].id;
    *child = s->w.table.partitions[1].id;
    leader_pass(s, LONG_MS);
    assert_true(leader_times(s, REQUEST_PARTITION_SPLIT, *parent, 0) > 0);
    assert_true(table_is_splitting(leader_table(s, "t")));
}

/* A node that has no replica of the parent yet would open the child, and then not the parent. */
TEST(a_child_is_opened_once_its_parent_has_split)
{
    struct catalog_leader s;
    uint32_t parent, child;
    begin_split(&s, &parent, &child);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_OPEN, child, 0), 0);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    for (uint32_t node = LEADER_FIRST; node <= LEADER_NODES; node++)
        assert_int_equal(leader_times(&s, REQUEST_PARTITION_OPEN, child, node), 1);
    assert_false(table_is_splitting(leader_table(&s, "t")));
    leader_close(&s);
}

/* Until the parent's replica is closed, it may still create the child's. */
TEST(a_child_of_a_deleted_table_is_closed_after_its_parent_on_each_node)
{
    static const struct reply done = {.code = REPLY_OK};
    struct catalog_leader s;
    uint32_t parent, child;
    begin_split(&s, &parent, &child);
    leader_hold(&s, REQUEST_PARTITION_CLOSE, parent, 0);
    lone_table_op(&s.w, REQUEST_TABLE_DELETE, 0, 0);
    leader_pass(&s, SOME_MS);
    leader_answer(&s, REQUEST_PARTITION_CLOSE, parent, 0, done); /* no pending parts */
    leader_pass(&s, SOME_MS);
    assert_non_null(leader_table(&s, "t"));
    assert_true(leader_table(&s, "t")->no_pending_parts);
    const uint32_t before = leader_times(&s, REQUEST_PARTITION_CLOSE, child, 0);
    leader_answer(&s, REQUEST_PARTITION_CLOSE, parent, 3, done);
    leader_pass(&s, SOME_MS);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_CLOSE, child, 0), before + 1);
    assert_int_equal(leader_last(&s, REQUEST_PARTITION_CLOSE, child, 0)->node, 3);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_null(leader_table(&s, "t"));
    leader_close(&s);
}

/* ---- merges ---- */

/* The table's two partitions are to become one. The replica on node 4 does not answer. */
static void begin_merge(struct catalog_leader *s, uint32_t *upper)
{
    leader_open(s);
    leader_split(s);
    const struct partition_info *p = s->w.table.partitions;
    const struct decision d = {.table_id = s->w.table.id,
                               .partition = p[1].id,
                               .epoch = p[1].epoch,
                               .merge = MERGE_BEGIN,
                               .merge_with = p[0].id,
                               .merge_with_epoch = p[0].epoch};
    *upper = p[1].id;
    leader_hold(s, REQUEST_PARTITION_MERGE, *upper, 4);
    leader_decide(s, CATALOG_MERGE, &d);
    leader_pass(s, SOME_MS);
    for (uint32_t node = LEADER_FIRST; node <= LEADER_NODES; node++)
        assert_true(leader_times(s, REQUEST_PARTITION_MERGE, *upper, node) > 0);
}

static void assert_freezes(struct catalog_leader *s)
{
    const struct table *t = leader_table(s, "t");
    assert_int_equal(t->partition_count, 2);
    assert_int_equal(t->partitions[1].merge, MERGE_FREEZE);
}

static void assert_merged(struct catalog_leader *s)
{
    const struct table *t = leader_table(s, "t");
    assert_int_equal(t->partition_count, 1);
    assert_int_equal(t->partitions[0].merge, MERGE_NONE);
}

/* A replica that is not frozen may still take writes, which nobody would take over. */
TEST(a_merge_goes_on_once_every_replica_is_frozen)
{
    struct catalog_leader s;
    uint32_t upper;
    begin_merge(&s, &upper);
    assert_freezes(&s);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_merged(&s);
    leader_close(&s);
}

/* Then the upper partition counts as gone, and nodes erase what they hold of it. */
TEST(a_merge_is_done_once_every_replica_has_the_new_range)
{
    struct catalog_leader s;
    uint32_t upper;
    begin_merge(&s, &upper);
    leader_release(&s);
    leader_hold(&s, REQUEST_PARTITION_OPEN, 0, 3);
    leader_pass(&s, SOME_MS);
    const struct table *t = leader_table(&s, "t");
    assert_int_equal(t->partition_count, 1);
    assert_true(t->partitions[0].absorbed);
    assert_int_equal(t->partitions[0].merge, MERGE_ABSORB);
    assert_false(catalog_is_gone(s.w.node->catalog.state, upper));
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_merged(&s);
    assert_true(catalog_is_gone(s.w.node->catalog.state, upper));
    leader_close(&s);
}

/* A frozen replica's answer names the entry that froze it. An answer without an entry is asked for
 * again, whoever sent it. */
TEST(a_replica_that_names_no_freezing_entry_does_not_count_as_frozen)
{
    struct catalog_leader s;
    uint32_t upper;
    begin_merge(&s, &upper);
    const uint32_t times = leader_times(&s, REQUEST_PARTITION_MERGE, upper, 4);
    leader_answer(&s, REQUEST_PARTITION_MERGE, upper, 4, (struct reply){.code = REPLY_OK});
    leader_pass(&s, 50);
    assert_freezes(&s);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_MERGE, upper, 4), times + 1);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_merged(&s);
    leader_close(&s);
}

/* ---- deleted tables ---- */

/* RECONCILE-1: the pending parts of a closed group, nobody could do. */
TEST(no_replica_of_a_deleted_table_is_closed_while_its_leader_has_pending_parts)
{
    struct catalog_leader s;
    leader_open(&s);
    leader_hold(&s, REQUEST_PARTITION_CLOSE, 0, 0);
    lone_table_op(&s.w, REQUEST_TABLE_DELETE, 0, 0);
    leader_pass(&s, LONG_MS);
    assert_false(leader_table(&s, "t")->no_pending_parts);
    for (size_t i = 0; i < s.request_count; i++) {
        if (s.requests[i].request.op == REQUEST_PARTITION_CLOSE)
            assert_true(s.requests[i].request.replica.queries_leader);
    }
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_null(leader_table(&s, "t"));
    leader_close(&s);
}

/* The group may have committed something for other tables, and its nodes may come back. They may
 * need the vote of a replica that was never opened. */
TEST(a_deleted_table_waits_for_a_leader_and_opens_replicas_that_may_be_missing)
{
    struct catalog_leader s;
    leader_open(&s);
    const uint32_t id = s.w.table.partitions[0].id;
    leader_hold(&s, REQUEST_PARTITION_CLOSE, 0, 0);
    lone_table_op(&s.w, REQUEST_TABLE_DELETE, 0, 0);
    const uint32_t times = leader_times(&s, REQUEST_PARTITION_OPEN, id, LEADER_FIRST);
    leader_pass(&s, LEADERLESS_MS);
    assert_false(leader_table(&s, "t")->no_pending_parts);
    for (uint32_t node = LEADER_FIRST; node <= LEADER_NODES; node++)
        assert_true(leader_times(&s, REQUEST_PARTITION_OPEN, id, node) > times);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_null(leader_table(&s, "t"));
    leader_close(&s);
}

/* Nobody is left who could tell the pending parts of the group. */
TEST(a_deleted_table_does_not_wait_for_a_group_that_lost_most_of_its_disks)
{
    struct catalog_leader s;
    leader_open(&s);
    leader_hold(&s, REQUEST_PARTITION_CLOSE, 0, 0);
    lone_table_op(&s.w, REQUEST_TABLE_DELETE, 0, 0);
    s.nodes[LEADER_FIRST].lost++;
    leader_pass(&s, LEADERLESS_MS);
    assert_false(leader_table(&s, "t")->no_pending_parts);
    s.nodes[LEADER_FIRST + 1].lost++;
    leader_pass(&s, LEADERLESS_MS);
    assert_true(leader_table(&s, "t")->no_pending_parts);
    leader_close(&s);
}

/* The table is deleted while its lower partition is to take over the upper one, which the catalog
 * does not list any more. The lower one has not answered. */
static uint32_t begin_absorb(struct catalog_leader *s)
{
    uint32_t upper;
    begin_merge(s, &upper);
    const uint32_t lower = s->w.table.partitions[0].id;
    leader_release(s);
    leader_hold(s, REQUEST_PARTITION_MERGE, lower, 0);
    leader_pass(s, SOME_MS);
    assert_int_equal(leader_table(s, "t")->partition_count, 1);
    assert_false(leader_table(s, "t")->partitions[0].absorbed);
    lone_table_op(&s->w, REQUEST_TABLE_DELETE, 0, 0);
    return lower;
}

/* RECONCILE-1: the upper group's transactions may have parts in other tables, and nobody asks that
 * group. Its replicas go with the table. */
TEST(a_deleted_table_absorbs_its_merge_before_it_has_no_pending_parts)
{
    static const struct reply busy = {.code = REPLY_OVERLOADED};
    struct catalog_leader s;
    const uint32_t lower = begin_absorb(&s);
    leader_pass(&s, LONG_MS);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_CLOSE, 0, 0), 0);
    assert_false(leader_table(&s, "t")->no_pending_parts);
    leader_answer(&s, REQUEST_PARTITION_MERGE, lower, 0, busy);
    leader_hold(&s, REQUEST_PARTITION_CLOSE, lower, 0);
    leader_pass(&s, SOME_MS);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_CLOSE, 0, 0), 0);
    leader_answer(&s, REQUEST_PARTITION_MERGE, lower, 0, (struct reply){.code = REPLY_OK});
    leader_pass(&s, SOME_MS);
    assert_true(leader_last(&s, REQUEST_PARTITION_CLOSE, lower, 0)->request.replica.queries_leader);
    assert_false(leader_table(&s, "t")->no_pending_parts);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_null(leader_table(&s, "t"));
    leader_close(&s);
}

/* Perhaps no replica of the lower partition is left, or its leader has none of the upper one. */
TEST(a_deleted_table_does_not_wait_for_ever_for_a_merge)
{
    struct catalog_leader s;
    const uint32_t lower = begin_absorb(&s);
    for (int i = 0; i < 6; i++) {
        leader_answer(&s, REQUEST_PARTITION_MERGE, lower, 0,
                      (struct reply){.code = REPLY_OVERLOADED});
        leader_pass(&s, 2000);
    }
    assert_null(leader_table(&s, "t"));
    leader_close(&s);
}

/* ---- indexes ---- */

/* Node 2 took the change over, and then lost it with a snapshot. Now it leads. Node 3 knows of no
 * change, and its leader does not either. */
TEST(a_member_that_knows_a_change_is_notified_again_if_another_one_waits_for_its_leader)
{
    struct catalog_leader s;
    leader_open(&s);
    const uint32_t id = s.w.table.partitions[0].id;
    leader_hold(&s, REQUEST_PARTITION_OPEN, id, 3);
    s.w.stream = 1 + STREAM_KEYS_ONLY;
    lone_table_op(&s.w, REQUEST_TABLE_UPDATE, 100, 100);
    leader_pass(&s, SOME_MS);
    const uint32_t times = leader_times(&s, REQUEST_PARTITION_OPEN, id, 2);
    leader_pass(&s, SOME_MS);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_OPEN, id, 2), times); /* it is done */
    leader_answer(&s, REQUEST_PARTITION_OPEN, id, 3, (struct reply){.code = REPLY_NOT_LEADER});
    leader_pass(&s, SOME_MS);
    assert_int_equal(leader_times(&s, REQUEST_PARTITION_OPEN, id, 2), times + 1);
    leader_release(&s);
    leader_pass(&s, SOME_MS);
    assert_true(reconcile_rests(&s.w.node->reconciler, s.w.table.id));
    leader_close(&s);
}
