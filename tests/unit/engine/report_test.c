/* What nodes report of their load, as bytes and added up; what the catalog keeps of decisions. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/catalog/catalog.h"
#include "engine/node/core/cluster_loads.h"

TEST(totals_go_on_over_a_restart_and_a_change_of_leader)
{
    struct cluster_loads *l = cluster_loads_create();
    struct partition_report r = {.table_id = 1, .partition = 70, .member = raft_member_id(1, 1, 0)};
    int64_t *consumed = &r.totals[ADMIT_WRITE].consumed_mcu;
    *consumed = 5000;
    cluster_loads_take_partition(l, (struct instant){1}, &r);
    assert_int_equal(cluster_loads_totals(cluster_loads_of(l, 70))[ADMIT_WRITE].consumed_mcu, 0);
    *consumed = 6000;
    cluster_loads_take_partition(l, (struct instant){2}, &r);
    assert_int_equal(cluster_loads_totals(cluster_loads_of(l, 70))[ADMIT_WRITE].consumed_mcu, 1000);
    *consumed = 200; /* the node was restarted */
    cluster_loads_take_partition(l, (struct instant){3}, &r);
    assert_int_equal(cluster_loads_totals(cluster_loads_of(l, 70))[ADMIT_WRITE].consumed_mcu, 1200);
    r.member = raft_member_id(2, 1, 0); /* another one leads, and has led before */
    *consumed = 90000;
    cluster_loads_take_partition(l, (struct instant){4}, &r);
    assert_int_equal(cluster_loads_totals(cluster_loads_of(l, 70))[ADMIT_WRITE].consumed_mcu, 1200);
    *consumed = 90500;
    cluster_loads_take_partition(l, (struct instant){5}, &r);
    assert_int_equal(cluster_loads_totals(cluster_loads_of(l, 70))[ADMIT_WRITE].consumed_mcu, 1700);
    assert_null(cluster_loads_of(l, 71));
    cluster_loads_destroy(l);
}

TEST(damaged_reports_are_refused)
{
    struct buffer b = {0};
    struct partition_report r = {.table_id = 1, .partition = 2, .member = raft_member_id(3, 1, 0)};
    struct partition_report out;
    partition_report_encode(&b, &r);
    for (size_t size = 0; size < b.size; size++) {
        struct reader reader = {slice_make(b.data, size), false};
        assert_int_equal(partition_report_decode(&reader, &out), STATUS_MALFORMED);
    }
    r.items = -1; /* but not the bytes */
    buffer_clear(&b);
    partition_report_encode(&b, &r);
    struct reader reader = {buffer_slice(&b), false};
    assert_int_equal(partition_report_decode(&reader, &out), STATUS_MALFORMED);
    struct node_report node = {.node = 0};
    buffer_clear(&b);
    node_report_encode(&b, &node);
    reader = (struct reader){buffer_slice(&b), false};
    assert_int_equal(node_report_decode(&reader, &node), STATUS_MALFORMED);
    buffer_deinit(&b);
}

TEST(keys_of_a_report_are_whole_and_of_its_table)
{
    struct buffer key = {0}, b = {0};
    struct partition_report out;
    struct partition_report r = {.table_id = 7, .partition = 2, .member = raft_member_id(3, 1, 0)};
    const struct attr a = {.type = ATTR_STRING, .body = slice_of("hot")};
    storage_key_append_collection(&key, 7, &a);
    const struct slice whole = buffer_slice(&key);
    const struct slice keys[] = {slice_make(NULL, 0), slice_make(whole.data, 2),
                                 slice_make(whole.data, 12), slice_make(whole.data, whole.size - 1),
                                 whole};
    r.heavy_count = 1;
    for (size_t i = 0; i < 8; i++) {
        const bool good = i == 4;
        r.table_id = i == 5 ? 8 : 7;
        r.heavy[0] = (struct heavy_key){keys[i < 4 ? i : 4], i == 6 ? 0 : 1000};
        buffer_clear(&b);
        partition_report_encode(&b, &r);
        if (i == 7) /* more than there is room for */
            b.data[b.size - 1 - 8 - 4 - whole.size] = HEAVY_KEYS_MAX + 1;
        struct reader reader = {buffer_slice(&b), false};
        assert_int_equal(partition_report_decode(&reader, &out),
                         good ? STATUS_OK : STATUS_MALFORMED);
    }
    buffer_deinit(&b);
    buffer_deinit(&key);
}

TEST(keys_of_the_last_report_are_kept)
{
    uint8_t bytes[] = "hot";
    struct cluster_loads *l = cluster_loads_create();
    struct partition_report r = {.table_id = 1,
                                 .partition = 70,
                                 .member = raft_member_id(1, 1, 0),
                                 .heavy_count = 2,
                                 .heavy = {{slice_make(bytes, 3), 5}, {slice_make(bytes, 1), 4}}};
    cluster_loads_take_partition(l, (struct instant){1}, &r);
    memset(bytes, 0, sizeof bytes);
    const struct partition_load *p = cluster_loads_of(l, 70);
    assert_int_equal(p->heavy_count, 2);
    assert_true(slice_is(p->heavy[0].key, "hot") && slice_is(p->heavy[1].key, "h"));
    assert_int_equal(p->heavy[1].mcu, 4);
    r.heavy_count = 0;
    cluster_loads_take_partition(l, (struct instant){2}, &r);
    assert_int_equal(p->heavy_count, 0);
    cluster_loads_destroy(l);
}

TEST(an_event_of_a_kind_that_is_not_in_use_is_refused)
{
    struct buffer b = {0};
    for (int kind = 0; kind <= EVENT_KINDS; kind++) {
        const bool used = kind >= EVENT_REPLICA_ADDED && kind != 7 && kind < EVENT_KINDS;
        struct event e = {.kind = (enum event_kind)kind}, out;
        buffer_clear(&b);
        event_encode(&b, &e);
        struct reader reader = {buffer_slice(&b), false};
        assert_int_equal(event_decode(&reader, &out), used ? STATUS_OK : STATUS_MALFORMED);
    }
    buffer_deinit(&b);
}

TEST(the_last_thousand_events_are_kept)
{
    struct catalog *catalog = catalog_create();
    struct config config;
    config_init(&config, PROFILE_AWS);
    for (int i = 1; i <= EVENTS_MAX + 5; i++) {
        struct buffer b = {0}, bytes = {0};
        struct catalog_command c;
        struct catalog_result result;
        struct decision d = {
            .has_event = true,
            .event = {.kind = EVENT_NO_CAPACITY, .reason = slice_of("why"), .after = i}};
        decision_encode(&b, &d);
        catalog_command_init(&c, CATALOG_EVENT, &config, 1, 1000);
        c.spec.name = slice_of("-");
        c.decision = buffer_slice(&b);
        catalog_command_encode(&bytes, &c);
        catalog_apply(catalog, buffer_slice(&bytes), &result);
        assert_int_equal(result.code, REPLY_OK);
        assert_int_equal(result.row_count, 1);
        buffer_deinit(&b);
        buffer_deinit(&bytes);
    }
    assert_int_equal(catalog_last_event(catalog), EVENTS_MAX + 5);
    assert_int_equal(catalog_event(catalog, 5).size, 0);
    assert_int_equal(catalog_event(catalog, EVENTS_MAX + 6).size, 0);
    for (uint64_t i = 6; i <= EVENTS_MAX + 5; i++) {
        struct reader r = {catalog_event(catalog, i), false};
        struct event e;
        assert_int_equal(event_decode(&r, &e), STATUS_OK);
        assert_int_equal(e.number, i);
        assert_int_equal(e.after, i);
        assert_int_equal(e.wall_ms, 1000);
    }
    catalog_destroy(catalog);
}
