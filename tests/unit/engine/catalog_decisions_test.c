/* catalog_decisions_test.c - decisions that rest on a state which is gone, or that come while
 * partitions change. */
#include "tests/check.h"

#include "tests/support/catalog_fixture.h"

enum {
    NODES = 6
};

/* A node that has no replica of the partition, but for this one. */
static uint32_t other_node(const struct partition_info *p, uint32_t but)
{
    uint32_t node = 1;
    while (node == but || partition_member_on(p, node) != 0)
        node++;
    assert_true(node <= NODES);
    return node;
}

static enum reply_code move_away(struct catalog_fixture *w, uint32_t i)
{
    const struct partition_info *p = catalog_fixture_at(w, 0);
    return catalog_fixture_move(w, p, partition_node(p, i), other_node(p, 0));
}

static enum reply_code left(struct catalog_fixture *w, enum catalog_op op, uint32_t node)
{
    const struct partition_info *p = catalog_fixture_at(w, 0);
    const struct decision d = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .from_node = node};
    return catalog_fixture_decide(w, op, &d);
}

/* DECISIONS-1 */
TEST(one_replica_of_a_partition_moves_at_a_time)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, NODES);
    const uint32_t from = partition_node(catalog_fixture_at(&w, 0), 0);
    assert_int_equal(move_away(&w, 0), REPLY_OK);
    const uint64_t leaving = catalog_fixture_at(&w, 0)->leaving;
    assert_int_equal(raft_member_node(leaving), from);
    assert_int_equal(move_away(&w, 1), REPLY_WRONG_PARTITION);
    assert_true(catalog_fixture_at(&w, 0)->leaving == leaving);
    catalog_fixture_end_move(&w, catalog_fixture_at(&w, 0));
    assert_int_equal(move_away(&w, 1), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* The word is about the replica that moved before. DECISIONS-3: nothing changes. */
TEST(a_late_word_that_a_replica_has_left_ends_no_other_move)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, NODES);
    const uint32_t first = partition_node(catalog_fixture_at(&w, 0), 0);
    assert_int_equal(move_away(&w, 0), REPLY_OK);
    catalog_fixture_end_move(&w, catalog_fixture_at(&w, 0));
    assert_int_equal(move_away(&w, 1), REPLY_OK);
    const uint64_t leaving = catalog_fixture_at(&w, 0)->leaving;
    assert_int_equal(left(&w, CATALOG_LET_GO, first), REPLY_OK);
    assert_int_equal(left(&w, CATALOG_LEFT, first), REPLY_OK);
    assert_true(catalog_fixture_at(&w, 0)->leaving == leaving);
    assert_false(catalog_fixture_at(&w, 0)->let_go);
    catalog_fixture_deinit(&w);
}

/* The partition was cut since the decision was made: its load is another one. */
TEST(a_decision_about_an_earlier_epoch_is_refused)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, NODES);
    const struct partition_info before = *catalog_fixture_at(&w, 0);
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 3, TABLE_ACTIVE), REPLY_OK);
    assert_int_equal(
        catalog_fixture_move(&w, &before, partition_node(&before, 0), other_node(&before, 0)),
        REPLY_WRONG_PARTITION);
    struct decision d = {.table_id = before.table_id, .rate_count = 1};
    d.rates[0] = (struct decision_rate){.partition = before.id, .epoch = before.epoch};
    memcpy(d.rates[0].rate_mcu, before.rate_mcu, sizeof before.rate_mcu);
    assert_int_equal(catalog_fixture_decide(&w, CATALOG_RATES, &d), REPLY_WRONG_PARTITION);
    catalog_fixture_deinit(&w);
}

/* Its shares are those of the pieces. */
TEST(a_partition_that_is_being_cut_keeps_its_rates)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, NODES);
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_OK);
    const struct partition_info *p = catalog_fixture_at(&w, 0);
    struct decision d = {.table_id = p->table_id, .rate_count = 1};
    d.rates[0] = (struct decision_rate){.partition = p->id, .epoch = p->epoch};
    memcpy(d.rates[0].rate_mcu, p->rate_mcu, sizeof p->rate_mcu);
    assert_int_equal(catalog_fixture_decide(&w, CATALOG_RATES, &d), REPLY_WRONG_PARTITION);
    assert_int_equal(catalog_fixture_reconcile(&w, 3, TABLE_ACTIVE), REPLY_OK);
    assert_int_equal(catalog_fixture_decide(&w, CATALOG_RATES, &d), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* A group that still counts on a replica of which its node knows nothing could lose what was
 * acknowledged. */
TEST(a_partition_with_a_replica_on_its_way_is_not_cut)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, NODES);
    assert_int_equal(move_away(&w, 0), REPLY_OK);
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_MALFORMED);
    catalog_fixture_end_move(&w, catalog_fixture_at(&w, 0));
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* A cut that was chosen for the range before. */
TEST(a_cut_for_an_earlier_epoch_is_refused)
{
    struct catalog_fixture w;
    uint8_t key[12];
    catalog_fixture_init(&w, NODES);
    const struct partition_info before = *catalog_fixture_at(&w, 0);
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 3, TABLE_ACTIVE), REPLY_OK);
    struct table_split s = {
        .table_id = before.table_id, .partition = before.id, .epoch = before.epoch, .cut_count = 1};
    s.cuts[0] = catalog_fixture_key(s.table_id, 100, key); /* inside the range that is left */
    table_split_share_equally(&s);
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_MALFORMED);
    s.epoch = catalog_fixture_at(&w, 0)->epoch;
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* A new global index by the attribute v. */
static struct catalog_command add_index(const struct catalog_fixture *w, struct buffer *indexes,
                                        struct buffer *throughput)
{
    struct index x = {.name = slice_of("by-v"),
                      .partition_count = 1,
                      .keys = {{slice_of("v"), ATTR_BINARY}},
                      .projection = PROJECT_ALL};
    struct catalog_command c = catalog_fixture_command(w, CATALOG_UPDATE);
    const struct index_set set = {c.spec.partition_key, c.spec.sort_key, 1, 0, &x};
    const struct table_spec spec = {.name = x.name,
                                    .partition_key = x.keys[0],
                                    .billing = BILLING_PROVISIONED,
                                    .rcu = 10,
                                    .wcu = 10};
    index_set_encode(indexes, &set);
    table_spec_encode(throughput, &spec);
    c.spec.add_index = buffer_slice(indexes);
    c.spec.add_throughput = buffer_slice(throughput);
    return c;
}

/* What the partitions are told while one of them is frozen reaches only one of the two. */
TEST(what_all_partitions_must_hear_waits_for_the_end_of_a_merge)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, 3); /* all stand together */
    assert_int_equal(catalog_fixture_say(&w, MERGE_BEGIN, catalog_fixture_at(&w, 1)), REPLY_OK);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.ttl = TTL_ENABLING;
    c.spec.ttl_attribute = slice_of("over");
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_TABLE_INVALID);
    c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.stream = 1 + STREAM_NEW_IMAGE;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_TABLE_BUSY);
    struct buffer indexes = {0}, throughput = {0};
    struct catalog_command index = add_index(&w, &indexes, &throughput);
    assert_int_equal(catalog_fixture_apply(&w, &index), REPLY_TABLE_INVALID);
    assert_int_equal(catalog_fixture_say(&w, MERGE_GIVE_UP, catalog_fixture_at(&w, 1)), REPLY_OK);
    assert_int_equal(catalog_fixture_say(&w, MERGE_THAWED, catalog_fixture_at(&w, 1)), REPLY_OK);
    assert_int_equal(catalog_fixture_apply(&w, &index), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 2, TABLE_UPDATING), REPLY_OK);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    buffer_deinit(&indexes);
    buffer_deinit(&throughput);
    catalog_fixture_deinit(&w);
}

/* A former leader's word that it has founded the catalog comes late: its members have moved since.
 * */
TEST(the_catalog_is_founded_once)
{
    struct catalog_fixture w;
    struct buffer group = {0};
    static const uint8_t lo[4] = {0, 0, 0, 0}, hi[4] = {0, 0, 0, 1};
    catalog_fixture_init(&w, NODES);
    struct partition_info info = {.id = CATALOG_GROUP,
                                  .table_id = CATALOG_TABLE_ID,
                                  .member_count = 1,
                                  .lo = slice_make(lo, sizeof lo),
                                  .hi = slice_make(hi, sizeof hi)};
    for (uint32_t node = 1; node <= 2; node++) {
        info.members[0] = raft_member_id(node, 7 * node, 0);
        buffer_clear(&group);
        partition_info_encode(&group, &info);
        struct catalog_command c = catalog_fixture_command(&w, CATALOG_FOUND);
        c.group = buffer_slice(&group);
        catalog_fixture_apply(&w, &c);
        assert_int_equal(partition_node(&catalog_itself(w.catalog)->partitions[0], 0), 1);
    }
    buffer_deinit(&group);
    catalog_fixture_deinit(&w);
}

/* DECISIONS-3. The second rate is more than the nodes have. */
TEST(a_decision_that_names_a_partition_twice_changes_no_rate)
{
    struct catalog_fixture w;
    struct buffer before = {0}, after = {0};
    catalog_fixture_init(&w, NODES);
    const struct partition_info *p = catalog_fixture_at(&w, 0);
    table_encode(&before, catalog_fixture_table(&w));
    struct decision d = {.table_id = p->table_id, .rate_count = 2};
    for (int64_t i = 0; i < 2; i++)
        d.rates[i] = (struct decision_rate){p->id, p->epoch, {1 + i * INT64_C(1000000000000), 1}};
    enum reply_code code = catalog_fixture_decide(&w, CATALOG_RATES, &d);
    table_encode(&after, catalog_fixture_table(&w));
    assert_true(slice_equal(buffer_slice(&before), buffer_slice(&after)));
    assert_int_equal(code, REPLY_WRONG_PARTITION);
    assert_non_null(memmem(w.text.data, w.text.size, "names a partition twice", 23));
    buffer_deinit(&before);
    buffer_deinit(&after);
    catalog_fixture_deinit(&w);
}
