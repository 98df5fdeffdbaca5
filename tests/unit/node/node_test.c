/* What a node does, one fact at a time, driven by hand. */
#include "engine/node/node_internal.h"
#include "tests/check.h"

#include <errno.h>

#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/replication.h"
#include "base/settings/storage.h"
#include "engine/admission/policy_choice.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "engine/node/control_port.h"
#include "tests/support/lone_node.h"
#include "tests/temporary.h"

/* ---- writes in flight ---- */

/* NODE-3 */
TEST(a_write_is_answered_and_read_only_once_it_is_on_disk)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    uint64_t id = lone_put(&w, 1, 11);
    assert_int_equal(w.answer_count, 0);
    assert_true(lone_write_begin(&w));
    assert_int_equal(lone_get(&w, 1), 0);
    w.answer_count = 0;
    lone_write_end(&w, 0);
    assert_int_equal(lone_answer(&w)->id, id);
    assert_int_equal(answer_version(lone_answer(&w)), 0); /* what was there: nothing */
    assert_int_equal(lone_get(&w, 1), 11);
    lone_deinit(&w);
}

TEST(a_write_sees_the_writes_in_flight_before_it)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    uint64_t first = lone_put_sized(&w, 1, 5, 3000), other = lone_put(&w, 2, 7);
    assert_true(lone_write_begin(&w)); /* the ones below go into the next batch */
    uint64_t second = lone_put(&w, 1, 6), third = lone_send_to(&w, REQUEST_DELETE, 1);
    uint64_t fourth = lone_send_to(&w, REQUEST_DELETE, 1), fifth = lone_put(&w, 1, 8);
    assert_int_equal(w.answer_count, 0);
    lone_write_all(&w);
    const uint64_t ids[] = {first, other, second, third, fourth, fifth};
    const uint32_t olds[] = {0, 0, 5, 6, 0, 0};
    assert_int_equal(w.answer_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(w.answers[i].id, ids[i]);
        assert_int_equal(answer_version(&w.answers[i]), olds[i]);
    }
    assert_int_equal(w.answers[2].consumed_mcu, 3000); /* the larger of old and new */
    assert_int_equal(lone_get(&w, 1), 8);
    lone_assert_verified(&w, 2);
    lone_crash(&w);
    lone_assert_verified(&w, 2);
    assert_int_equal(lone_get(&w, 1), 8);
    lone_deinit(&w);
}

/* What is on the disk is an item; what is in flight is its deletion. */
TEST(a_write_sees_a_deletion_in_flight)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    lone_put_sized(&w, 1, 5, 3000);
    lone_write_all(&w);
    lone_send_to(&w, REQUEST_DELETE, 1);
    assert_true(lone_write_begin(&w));
    lone_put_sized(&w, 1, 6, 10);
    lone_write_all(&w);
    assert_int_equal(w.answers[w.answer_count - 1].consumed_mcu, 1000); /* of the new item alone */
    assert_int_equal(lone_get(&w, 1), 6);
    lone_assert_verified(&w, 1);
    lone_deinit(&w);
}

/* ---- admission ---- */

TEST(refusals_carry_their_reason_and_the_wait_that_passes)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    lone_open_table(&w, 2, 2);
    lone_put(&w, 1, 1);
    lone_put(&w, 1, 2);
    assert_int_equal(w.answer_count, 0);
    lone_put(&w, 1, 3);
    lone_assert_answer(&w, REPLY_THROTTLED);
    assert_int_equal(lone_answer(&w)->verdict.reason, ADMIT_REFUSED_ALLOCATION);
    struct duration wait = lone_answer(&w)->verdict.wait;
    assert_true(wait.ns > 0 && wait.ns <= NS_PER_S / 2);
    w.now.ns += wait.ns - 1;
    lone_put(&w, 1, 4);
    lone_assert_answer(&w, REPLY_THROTTLED);
    w.now.ns += 1;
    lone_put(&w, 1, 5);
    assert_int_equal(w.answer_count, 0);
    lone_write_all(&w);
    assert_int_equal(w.answer_count, 3);
    assert_int_equal(lone_get(&w, 1), 5);
    lone_deinit(&w);
}

/* A read is charged least first; what the item turns out to cost puts the bucket into debt. */
TEST(what_an_item_costs_is_settled_afterwards)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    lone_open_table(&w, 10, 100);
    lone_put_sized(&w, 1, 1, 40000);
    lone_write_all(&w);
    assert_int_equal(w.answers[0].consumed_mcu, 40000);
    assert_int_equal(lone_get(&w, 1), 1);
    assert_int_equal(lone_answer(&w)->consumed_mcu, 10000);
    lone_send_to(&w, REQUEST_GET, 1);
    lone_assert_answer(&w, REPLY_THROTTLED);
    lone_pass(&w, 101);
    assert_int_equal(lone_get(&w, 1), 1); /* admitted for a unit, costs ten: nine owed */
    lone_pass(&w, 900);
    lone_send_to(&w, REQUEST_GET, 2);
    lone_assert_answer(&w, REPLY_THROTTLED);
    lone_pass(&w, 200);
    assert_int_equal(lone_get(&w, 2), 0);
    assert_int_equal(lone_answer(&w)->consumed_mcu, 1000);
    lone_deinit(&w);
}

/* 20 units a second for all partitions of the node; the table's own limits are far off. */
TEST(what_others_use_of_a_node_is_not_there_for_bursts)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    config_edit_admission(&w.config)->node_wcu = 20;
    config_edit_choices(&w.config)->gac = GAC_OFF;
    lone_open_table(&w, 10, 10);
    lone_pass(&w, 10000); /* saves a burst */
    const int64_t had = node_balance(w.node, ADMIT_WRITE);
    assert_true(had > 0);
    node_occupy(w.node, w.now, ADMIT_WRITE, had + 5000);
    assert_int_equal(node_balance(w.node, ADMIT_WRITE), -5000);
    uint32_t admitted = 0;
    for (uint32_t i = 0; i < 20; i++) {
        lone_put(&w, i, 1);
        admitted += w.answer_count == 0;
    }
    assert_int_equal(admitted, 10); /* the allocation needs no headroom */
    assert_int_equal(lone_answer(&w)->verdict.reason, ADMIT_REFUSED_NODE);
    lone_deinit(&w);
}

TEST(a_node_counts_what_it_serves)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    lone_open_table(&w, 100, 100);
    lone_put_sized(&w, 1, 1, 3000);
    lone_put(&w, 2, 1);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 1), 1);
    const struct served_totals *s = node_served(w.node);
    assert_int_equal(s->kinds[SERVED_WRITE].requests, 2);
    assert_int_equal(s->kinds[SERVED_WRITE].mcu, 4000);
    assert_int_equal(s->kinds[SERVED_READ].requests, 1);
    assert_int_equal(s->kinds[SERVED_READ].mcu, 1000);
    assert_int_equal(s->kinds[SERVED_FOLLOW].requests, 0);
    lone_put(&w, 3, 1);
    for (uint32_t i = 0; i < 200; i++)
        lone_put(&w, 3, i); /* most of them are refused, and cost nothing */
    assert_true(node_served(w.node)->kinds[SERVED_WRITE].requests < 150);
    assert_int_equal(node_served(w.node)->kinds[SERVED_WRITE].requests +
                         node_served(w.node)->kinds[SERVED_REFUSE].requests,
                     2 + 201);
    lone_deinit(&w);
}

/* 2 units a second, 10 writes at once. */
static int64_t admitted_at_once(uint8_t setting, int64_t configured)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    config_edit_choices(&w.config)->gac = configured;
    w.gac = setting;
    lone_open_table(&w, 2, 2);
    lone_crash(&w); /* what the partition knows of its table it knows after a restart too */
    int64_t admitted = 0;
    for (uint32_t i = 0; i < 10; i++) {
        lone_put(&w, i, 1);
        admitted += w.answer_count == 0; /* a refusal comes at once */
    }
    lone_write_all(&w);
    lone_deinit(&w);
    return admitted;
}

TEST(partitions_always_burst_where_routers_keep_the_tables_limit)
{
    assert_int_equal(admitted_at_once(GAC_AS_CONFIGURED, GAC_OFF), 2);
    assert_int_equal(admitted_at_once(GAC_AS_CONFIGURED, GAC_LEASE), 10);
    assert_int_equal(admitted_at_once(1 + GAC_OFF, GAC_LEASE), 2);
    assert_int_equal(admitted_at_once(1 + GAC_STATIC, GAC_OFF), 10);
}

/* The group has more on its way than it may: the router tries again, and pays once. */
TEST(a_write_that_its_group_does_not_take_costs_nothing)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    lone_set(&w, "group_max_bytes", "64KiB");
    lone_open_table(&w, 1000, 1000);
    lone_put_sized(&w, 1, 1, 60000);
    lone_put_sized(&w, 2, 1, 60000);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    struct request r = {.op = REQUEST_STATS};
    lone_send(&w, &r);
    struct reader reader = {buffer_slice(&lone_answer(&w)->body), false};
    struct partition_stats s;
    assert_int_equal(partition_stats_decode(&reader, &s), STATUS_OK);
    assert_int_equal(s.kinds[ADMIT_WRITE].counts.admitted, 1);
    lone_write_all(&w);
    lone_put_sized(&w, 2, 1, 60000);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 2), 1);
    lone_deinit(&w);
}

TEST(stats_count_what_was_admitted_and_refused)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    lone_open_table(&w, 5, 2);
    for (uint32_t i = 0; i < 5; i++)
        lone_put(&w, i, 1);
    lone_write_all(&w);
    for (uint32_t i = 0; i < 3; i++)
        lone_get(&w, i);
    struct request r = {.op = REQUEST_STATS};
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_OK);
    struct reader reader = {buffer_slice(&lone_answer(&w)->body), false};
    struct partition_stats s;
    assert_int_equal(partition_stats_decode(&reader, &s), STATUS_OK);
    assert_int_equal(reader.left.size, 0);
    assert_int_equal(s.partition, w.table.partitions[0].id);
    assert_int_equal(s.bytes, 2 * (5 + 101));
    assert_int_equal(s.kinds[ADMIT_WRITE].allocated_mcu, 2000);
    assert_int_equal(s.kinds[ADMIT_WRITE].counts.admitted, 2);
    assert_int_equal(s.kinds[ADMIT_WRITE].counts.load.consumed_mcu, 2000);
    assert_int_equal(s.kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_ALLOCATION], 3);
    assert_int_equal(s.kinds[ADMIT_READ].counts.admitted, 3);
    assert_int_equal(s.kinds[ADMIT_READ].balances.allocation_mcu, 2000);
    lone_deinit(&w);
}

/* ---- broken, and busy ---- */

/* NODE-4, WRITER-3, and that a stopped node rests: its deadline is never in the past. */
TEST(a_failed_disk_stops_the_node)
{
    for (int failing = 0; failing < 2; failing++) {
        struct lone_node w;
        lone_init(&w, PROFILE_OFF);
        lone_open_table(&w, 100, 100);
        lone_put(&w, 1, 1);
        lone_write_all(&w);
        uint64_t unknown = lone_put(&w, 1, 2);
        if (failing == 0) {
            assert_true(lone_write_begin(&w));
            w.answer_count = 0;
            lone_write_end(&w, EIO);
        } else {
            lone_pass(&w, config_storage(&w.config)->checkpoint_ms);
            w.checkpoint = false;
            w.answer_count = 0;
            node_checkpoint_done(w.node, w.now, STATUS_IO);
            lone_take_effects(&w);
        }
        assert_int_equal(lone_answer(&w)->id, unknown);
        assert_int_equal(lone_answer(&w)->code, REPLY_UNKNOWN);
        assert_true(node_is_stopped(w.node));
        lone_put(&w, 1, 3);
        lone_assert_answer(&w, REPLY_STOPPED);
        assert_int_equal(lone_get(&w, 1), 1);
        for (int i = 0; i < 5; i++) {
            lone_pass(&w, 2 * config_storage(&w.config)->checkpoint_ms);
            assert_true(instant_before(w.now, node_deadline(w.node)));
            assert_false(w.checkpoint);
            assert_null(node_next_batch(w.node));
        }
        lone_crash(&w);
        assert_int_equal(lone_get(&w, 1), 1);
        lone_deinit(&w);
    }
}

TEST(a_full_queue_sheds_load_and_recovers)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "node_queue_max", "16");
    lone_open_table(&w, 100, 100);
    for (uint32_t i = 0; i < 16; i++) {
        lone_put(&w, i, i + 1);
        assert_int_equal(w.answer_count, 0);
    }
    lone_put(&w, 16, 17);
    lone_assert_answer(&w, REPLY_OVERLOADED);
    w.answer_count = 0;
    lone_write_all(&w);
    assert_int_equal(w.answer_count, 16);
    lone_put(&w, 16, 17);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 16), 17);
    lone_assert_verified(&w, 17);
    lone_deinit(&w);
}

static void request_table(struct lone_node *w)
{
    struct buffer b = {0};
    struct table_spec spec = {.name = slice_of("t"),
                              .partition_key = {slice_of("id"), ATTR_STRING},
                              .billing = BILLING_PROVISIONED,
                              .rcu = 1,
                              .wcu = 1};
    table_spec_encode(&b, &spec);
    struct request r = {.op = REQUEST_TABLE_CREATE,
                        .table = {.name = slice_of("t"), .spec = buffer_slice(&b)}};
    lone_send(w, &r);
    buffer_deinit(&b);
}

/* What can be split, moved and written to is there: acknowledged by its replicas, not only asked
 * for.
 */
TEST(a_table_is_active_once_its_replicas_are_on_disk)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open(&w);
    request_table(&w);
    for (int writes = 0; writes < 2; writes++) { /* the table; its partition */
        assert_true(lone_write_begin(&w));
        lone_write_end(&w, 0);
        lone_fetch_table(&w);
        assert_int_equal(w.table.status, TABLE_CREATING);
        lone_pass(&w, 1);
    }
    assert_true(lone_write_begin(&w));
    lone_write_end(&w, 0);
    lone_fetch_table(&w);
    assert_int_equal(w.table.status, TABLE_ACTIVE);
    lone_deinit(&w);
}

/* The request does not carry a date: the node that answers has a wall clock of its own. */
TEST(a_table_is_dated_by_the_wall_clock_of_its_catalog_leader)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open(&w);
    node_set_wall_clock(w.node, w.now, 1700000000000);
    lone_pass(&w, 250);
    request_table(&w);
    lone_write_all(&w);
    lone_fetch_table(&w);
    assert_int_equal(w.table.created_ms, 1700000000250);
    lone_deinit(&w);
}

/* A table that cannot be reconciled for want of space is tried again later, not at once for
 * ever. */
TEST(a_table_waits_for_space_to_settle)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open(&w);
    request_table(&w);
    node_log_space(w.node, node_log_end(w.node), ENOSPC);
    lone_write_all(&w);
    for (int i = 0; i < 5; i++) {
        lone_pass(&w, 300);
        assert_null(node_next_batch(w.node));
        assert_true(instant_before(w.now, node_deadline(w.node)));
    }
    node_log_space(w.node, SEGMENT_BYTES, 0);
    lone_pass(&w, 300);
    lone_write_begin(&w); /* the partition is open; now there is no room to reconcile */
    node_log_space(w.node, node_log_end(w.node), ENOSPC);
    lone_write_end(&w, 0);
    for (int i = 0; i < 5; i++) {
        lone_pass(&w, 300);
        assert_true(instant_before(w.now, node_deadline(w.node)));
    }
    node_log_space(w.node, SEGMENT_BYTES, 0);
    lone_pass(&w, 300);
    lone_write_all(&w);
    lone_fetch_table(&w);
    assert_int_equal(w.table.status, TABLE_ACTIVE);
    lone_deinit(&w);
}

/* ---- cold pages ---- */

TEST(a_cold_item_is_touched_first_and_then_answered)
{
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    w.resident_max = 0;
    lone_open_table(&w, 100, 100);
    lone_put(&w, 1, 1);
    assert_int_equal(w.touch_count, 1);
    lone_touch_end(&w, 0);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 1), 1); /* from the memtable: nothing to wait for */
    assert_int_equal(w.touch_count, 0);
    lone_checkpoint_all(&w);
    lone_write_all(&w);
    uint64_t id = lone_send_to(&w, REQUEST_GET, 1);
    assert_int_equal(w.answer_count, 0);
    assert_int_equal(w.touch_count, 1);
    assert_false(node_is_idle(w.node));
    buffer_clear(&w.key); /* the request was borrowed for the call only */
    buffer_append_text(&w.key, "something else");
    lone_touch_end(&w, 0);
    assert_int_equal(lone_answer(&w)->id, id);
    assert_int_equal(answer_version(lone_answer(&w)), 1);
    assert_true(node_is_idle(w.node));
    struct request r = lone_request(&w, REQUEST_RANGE, 1);
    r.range.lo = slice_make(NULL, 0);
    r.range.bytes_max = PAGE_SIZE_MAX;
    lone_send(&w, &r);
    assert_int_equal(w.touch_count, 1);
    lone_touch_end(&w, 0);
    assert_int_equal(lone_answer(&w)->code, REPLY_OK);
    assert_int_equal(lone_answer(&w)->count, 1);
    lone_deinit(&w);
}

/* Another event goes by before the reader thread comes to the first touch. */
TEST(a_cold_range_of_an_index_keeps_the_key_that_is_touched)
{
    struct index x = {.number = 1,
                      .name = slice_of("by-v"),
                      .partition_count = 1,
                      .sort_count = 1,
                      .keys = {{slice_of("id"), ATTR_STRING}, {slice_of("v"), ATTR_BINARY}},
                      .projection = PROJECT_ALL};
    const struct index_set set = {
        {slice_of("id"), ATTR_STRING}, {slice_of("n"), ATTR_STRING}, 1, 1, &x};
    struct buffer indexes = {0}, first = {0};
    struct lone_node w;
    lone_init(&w, PROFILE_AWS);
    index_set_encode(&indexes, &set);
    w.indexes = buffer_slice(&indexes);
    w.collections = 1;
    w.resident_max = 0;
    lone_open_table(&w, 100, 100);
    for (uint32_t name = 1; name <= 2; name++) {
        struct request r = lone_request(&w, REQUEST_RANGE, name);
        r.range.index = x.number;
        r.range.bytes_max = PAGE_SIZE_MAX;
        lone_send(&w, &r);
        assert_int_equal(w.touch_count, name);
        assert_int_equal(w.touches[name - 1].key.data[0], x.number);
        if (name == 1)
            buffer_set(&first, w.touches[0].key);
    }
    assert_int_equal(slice_compare(w.touches[0].key, buffer_slice(&first)), 0);
    assert_int_not_equal(slice_compare(w.touches[1].key, buffer_slice(&first)), 0);
    w.answer_count = 0;
    lone_touch_end(&w, 0);
    assert_int_equal(lone_answer(&w)->code, REPLY_OK);
    lone_deinit(&w);
    buffer_deinit(&indexes);
    buffer_deinit(&first);
}

/* ---- bytes that lie ---- */

TEST(a_damaged_item_is_never_returned_nor_believed)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    lone_put(&w, 1, 1);
    lone_write_all(&w);
    lone_checkpoint_all(&w);
    struct slice stored;
    struct buffer damaged = {0};
    lone_key(&w, 1);
    assert_int_equal(store_get(node_store(w.node), buffer_slice(&w.key), true, &stored), STATUS_OK);
    for (size_t size = 0; size <= stored.size; size += stored.size / 4) {
        buffer_clear(&damaged);
        buffer_append(&damaged, stored.data, size);
        if (size == stored.size)
            damaged.data[10] ^= 1;
        store_put(node_store(w.node), buffer_slice(&w.key),
                  slice_make(buffer_reserve(&damaged, 1) - size, size));
        lone_send_to(&w, REQUEST_GET, 1);
        lone_assert_answer(&w, REPLY_CORRUPT);
        lone_put(&w, 1, 2);
        lone_assert_answer(&w, REPLY_CORRUPT);
        lone_key(&w, 1);
        struct node_verification v;
        assert_int_equal(node_verify(w.node, &v), STATUS_OK);
        assert_int_equal(v.damaged, 1);
    }
    struct request r = lone_request(&w, REQUEST_PUT, 2);
    r.write.item = slice_of("this is no item");
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_MALFORMED);
    buffer_deinit(&damaged);
    lone_deinit(&w);
}

TEST(a_policy_that_nobody_knows_is_refused_with_those_that_are_known)
{
    struct config config;
    struct buffer error = {0};
    struct node *node;
    config_init(&config, PROFILE_RESEARCH);
    assert_int_equal(config_set(&config, slice_of("partition_policy"), slice_of("luck"), &error),
                     STATUS_OK);
    struct node_options options = {.config = &config, .id = 1, .node_count = 1, .seed = 1};
    void *directory;
    struct backing *backing;
    assert_int_equal(temporary_setup(&directory), 0);
    struct backing_options at = {
        .path = directory, .map_initial_bytes = 1 << 20, .map_max_bytes = 1 << 20};
    assert_int_equal(backing_open_lmdb(&at, &backing), STATUS_OK);
    struct store *store = store_create(backing, UINT64_MAX, 1);
    assert_int_equal(node_create(&options, store, &error, &node), STATUS_MALFORMED);
    assert_int_equal(temporary_teardown(&directory), 0);
    buffer_append_u8(&error, 0);
    assert_non_null(strstr((const char *)error.data, "'luck'"));
    assert_non_null(strstr((const char *)error.data, "allocation, burst, always-burst, none"));
    buffer_deinit(&error);
}

TEST(a_node_is_not_emptied_where_no_other_can_take_its_replicas)
{
    static const char WHY[] = "node 1 cannot be drained: each other node that answers";
    struct lone_node w;
    struct buffer body = {0};
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 100, 100);
    const struct decision d = {.to_node = 1, .drain = true};
    decision_encode(&body, &d);
    struct request r = {.op = REQUEST_DECIDE, .decide = {buffer_slice(&body), CATALOG_DRAIN}};
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_LIMIT_EXCEEDED);
    assert_true(slice_starts_with(buffer_slice(&lone_answer(&w)->text), slice_of(WHY)));
    assert_false(catalog_is_drained(node_catalog(w.node), 1));
    buffer_deinit(&body);
    lone_deinit(&w);
}

/* A checkpoint that is due waits for the log. The end of the write wakes the node. */
TEST(a_node_rests_while_what_it_has_logged_again_is_being_written)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    lone_open_table(&w, 100, 100);
    lone_put_sized(&w, 1, 7, 10);
    lone_write_all(&w);
    struct node *n = w.node;
    const uint64_t before = n->log.relogged_lsn;
    n->log.relogged_lsn = n->log.writer.written_lsn + 1;
    n->checkpoints.at = w.now;
    lone_pass(&w, 1);
    assert_true(instant_before(w.now, node_deadline(n)));
    n->log.relogged_lsn = before;
    assert_false(instant_before(w.now, node_deadline(n)));
    lone_deinit(&w);
}

/* Nothing is done for a replica that has nothing to do, however many there are. */
TEST(a_heartbeat_steps_no_replica)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    lone_open_table(&w, 100, 100);
    lone_write_all(&w);
    struct node *n = w.node;
    const struct instant beat = n->peers.liveness.beat_at;
    assert_true(LIST_EMPTY(&n->driver.dirty));
    node_tick(n, beat);
    assert_true(instant_before(beat, n->peers.liveness.beat_at));
    assert_true(LIST_EMPTY(&n->driver.dirty));
    lone_deinit(&w);
}

/* A leader knows of indexes from the catalog, and its group does not. */
TEST(known_indexes_are_proposed_again_once_there_is_room)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    lone_open_table(&w, 100, 100);
    lone_write_all(&w);
    struct node *n = w.node;
    struct partition *p = n->partitions.all[n->partitions.count - 1];
    p->info.indexes_version = p->index_versions.logged + 1;
    const uint64_t space = n->log.space_end;
    node_log_space(n, n->log.writer.next_lsn, 0);
    raft_driver_stepped(&n->driver, p);
    lone_take_effects(&w);
    assert_int_not_equal(p->index_versions.proposed, p->led);
    node_log_space(n, space, 0);
    assert_false(instant_before(
        instant_add_ms(w.now, config_replication(&w.config)->append_retry_ms), node_deadline(n)));
    lone_pass(&w, config_replication(&w.config)->append_retry_ms);
    assert_int_equal(p->index_versions.proposed, p->led);
    lone_deinit(&w);
}
