/* What a node knows of its partitions' heat, through requests. */
#include "tests/check.h"

#include "base/settings/heat.h"
#include "base/settings/key_sharding.h"
#include "base/settings/reports.h"
#include "engine/heat/split_point.h"
#include "engine/item/storage_key.h"
#include "engine/node/node_internal.h"
#include "tests/support/lone_node.h"

static struct request question(struct lone_node *w, uint32_t children)
{
    struct request r = lone_request(w, REQUEST_PARTITION_HEAT, 0);
    r.heat.children = children;
    return r;
}

static struct split_advice request_advice(struct lone_node *w, struct request r)
{
    struct split_advice a;
    lone_send(w, &r);
    lone_assert_answer(w, REPLY_OK);
    assert_int_equal(split_advice_decode(buffer_slice(&lone_answer(w)->body), &a), STATUS_OK);
    return a;
}

/* The table is allowed 10 reads a second: nearly all of them are refused. */
TEST(refused_requests_count_as_heat)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    assert_int_equal(request_advice(&w, question(&w, 0)).verdict, SPLIT_REFUSED_FEW_SAMPLES);
    int refused = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        lone_send_to(&w, REQUEST_GET, 1 + i * 7919 % 500);
        refused += lone_answer(&w)->code == REPLY_THROTTLED;
        w.now.ns += NS_PER_MS;
    }
    assert_true(refused > 1900);
    struct split_advice a = request_advice(&w, question(&w, 2));
    assert_int_equal(a.verdict, SPLIT_ADVISED);
    assert_int_equal(a.samples, 2000);
    assert_int_equal(a.point_count, 1);
    assert_in_range(a.share_ppm[ADMIT_READ][0], 450000, 550000);
    a = request_advice(&w, question(&w, 4));
    assert_int_equal(a.point_count, 3);
    lone_deinit(&w);
}

TEST(one_key_with_demand_is_named)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    for (uint32_t i = 0; i < 2000; i++) {
        lone_send_to(&w, REQUEST_GET, i % 20 ? 7 : i);
        w.now.ns += NS_PER_MS;
    }
    struct split_advice a = request_advice(&w, question(&w, 0));
    assert_int_equal(a.verdict, SPLIT_REFUSED_POPULAR_KEY);
    lone_key(&w, 7);
    assert_true(slice_equal(a.key, buffer_slice(&w.key)));
    lone_deinit(&w);
}

/* BOUND-1: such a page is heat of the key. A split behind the key's own bytes would divide the
 * item's rows. */
TEST(a_page_that_goes_on_behind_a_key_is_heat_of_that_key)
{
    struct lone_node w;
    struct buffer lo = {0};
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    lone_key(&w, 7);
    buffer_set(&lo, buffer_slice(&w.key));
    buffer_append_u8(&lo, 0);
    for (uint32_t i = 0; i < 2000; i++) {
        struct request r = lone_request(&w, REQUEST_RANGE, 7);
        r.range.lo = buffer_slice(&lo);
        r.range.consistent = true;
        if (i % 20 == 0)
            lone_send_to(&w, REQUEST_GET, i);
        else
            lone_send(&w, &r);
        w.now.ns += NS_PER_MS;
    }
    struct split_advice a = request_advice(&w, question(&w, 0));
    assert_int_equal(a.verdict, SPLIT_REFUSED_POPULAR_KEY);
    lone_key(&w, 7);
    assert_true(slice_equal(a.key, buffer_slice(&w.key)));
    buffer_deinit(&lo);
    lone_deinit(&w);
}

/* Seen in a demonstration: a key that had just grown popular had its partition split to no use. */
TEST(a_key_that_has_only_just_grown_popular_is_named_too)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 3000, 10);
    for (uint32_t i = 0; i < 6000; i++) { /* a while, evenly, and little */
        lone_send_to(&w, REQUEST_GET, i * 7919 % 500);
        w.now.ns += 12 * NS_PER_MS;
    }
    assert_int_equal(request_advice(&w, question(&w, 0)).verdict, SPLIT_ADVISED);
    for (uint32_t i = 0; i < 8000; i++) {
        lone_send_to(&w, REQUEST_GET, 7);
        w.now.ns += NS_PER_MS / 8;
    }
    struct split_advice a = request_advice(&w, question(&w, 0));
    assert_int_equal(a.verdict, SPLIT_REFUSED_POPULAR_KEY);
    lone_deinit(&w);
}

TEST(heat_is_dropped_without_requests)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    for (uint32_t i = 0; i < 2000; i++)
        lone_send_to(&w, REQUEST_GET, i % 500);
    assert_int_equal(request_advice(&w, question(&w, 0)).samples, 2000);
    lone_pass(&w, 20000);
    assert_in_range(request_advice(&w, question(&w, 0)).samples, 400, 1000);
    lone_pass(&w, 200000);
    assert_int_equal(request_advice(&w, question(&w, 0)).samples, 0);
    lone_deinit(&w);
}

TEST(cold_partitions_give_their_memory_back_and_need_no_timer)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    const struct partition *p = partitions_find(&w.node->partitions, w.table.partitions[0].id);
    assert_int_equal(w.node->heat.at.ns, INSTANT_NEVER.ns);
    for (uint32_t i = 0; i < 2000; i++)
        lone_send_to(&w, REQUEST_GET, i % 500);
    assert_true(heat_memory(&p->heat) > 0);
    assert_true(w.node->heat.at.ns <=
                w.now.ns + config_heat(&w.config)->heat_half_life_ms * NS_PER_MS);
    lone_pass(&w, 20000);
    assert_true(heat_memory(&p->heat) > 0);
    lone_pass(&w, 200000);
    assert_int_equal(heat_memory(&p->heat), 0);
    assert_int_equal(w.node->heat.at.ns, INSTANT_NEVER.ns);
    lone_deinit(&w);
}

TEST(a_partition_that_gets_smaller_begins_without_heat)
{
    struct config config;
    struct partition_info info = {
        .id = 3, .lo = slice_of("a"), .hi = slice_of("z"), .member_count = 1, .members = {1}};
    struct partition *p = partition_create(&info);
    struct instant now = {NS_PER_S};
    const struct excess_rule rule = {.max_mcu = 1000, .reset_ms = 1000};
    config_init(&config, PROFILE_AWS);
    config_edit_heat(&config)->heat_start_percent = 0;
    heat_init(&p->heat, p->info.lo, p->info.hi, 1, &config);
    for (int i = 0; i < 100; i++) {
        heat_add(&p->heat, now, ADMIT_READ, slice_of(i % 4 ? "b" : "x"), 500);
        excess_add(&p->excess.now[ADMIT_READ], now, 500, &rule);
    }
    partition_set(p, &info);
    assert_int_equal(heat_samples(&p->heat, now, ADMIT_READ), 100);
    now.ns += 500 * NS_PER_MS;
    assert_int_equal(excess_ms(&p->excess.now[ADMIT_READ], now), 500);
    info.hi = slice_of("m");
    partition_set(p, &info);
    assert_int_equal(heat_samples(&p->heat, now, ADMIT_READ), 0);
    assert_int_equal(excess_ms(&p->excess.now[ADMIT_READ], now), 0);
    partition_destroy(p);
}

TEST(after_a_split_both_pieces_begin_without_heat)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    for (uint32_t i = 0; i < 2000; i++)
        lone_send_to(&w, REQUEST_GET, i % 500);
    struct split_advice a = request_advice(&w, question(&w, 2));
    assert_int_equal(a.verdict, SPLIT_ADVISED);
    const struct partition_info *p = &w.table.partitions[0];
    struct table_split s = {.table_id = w.table.id,
                            .partition = p->id,
                            .epoch = p->epoch,
                            .point_count = 1,
                            .points = {a.points[0]}};
    table_split_share_equally(&s);
    struct buffer body = {0};
    table_split_encode(&body, &s);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    lone_send(&w, &r);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    for (int i = 0; i < 100 && partitions_find(&w.node->partitions, p->id + 1) == NULL; i++) {
        lone_pass(&w, 10);
        lone_write_all(&w);
    }
    struct partition *parent = partitions_find(&w.node->partitions, p->id);
    struct partition *child = partitions_find(&w.node->partitions, p->id + 1);
    assert_non_null(child);
    assert_int_equal(heat_samples(&parent->heat, w.now, ADMIT_READ), 0);
    assert_int_equal(heat_samples(&child->heat, w.now, ADMIT_READ), 0);
    buffer_deinit(&body);
    lone_deinit(&w);
}

TEST(a_question_that_makes_no_sense_is_refused)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    lone_open_table(&w, 10, 10);
    struct request r = question(&w, 1);
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_MALFORMED);
    r = question(&w, SPLIT_POINTS_MAX + 2);
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_MALFORMED);
    r = question(&w, 2);
    r.epoch++;
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_WRONG_PARTITION);
    r = question(&w, 2);
    r.partition += 100;
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_WRONG_PARTITION);
    r = question(&w, 2);
    assert_int_equal(request_advice(&w, r).verdict, SPLIT_REFUSED_FEW_SAMPLES);
    lone_deinit(&w);
}

/* The catalog's leader, which is this node, hears of a key long before the next report is due. */
TEST(a_key_that_needs_shards_is_reported_once_that_is_known)
{
    struct lone_node w;
    lone_init(&w, PROFILE_STRICT);
    config_edit_heat(&w.config)->heat_start_percent = 0;
    config_edit_key_sharding(&w.config)->key_sharding_shard_units = 40;
    config_edit_reports(&w.config)->load_report_ms = 60000;
    w.collections = 1;
    lone_open_table(&w, 10, 1000);
    lone_pass(&w, 60000);
    for (uint32_t i = 0; i < 60; i++) { /* for 1.2 s: after the first it is known */
        lone_put_sized(&w, i, 1, 10);
        lone_write_all(&w);
        lone_pass(&w, 20);
    }
    lone_pass(&w, 30);
    lone_key(&w, 0);
    const struct slice key = buffer_slice(&w.key);
    const struct partition_info *p = table_partition_of(&w.table, key);
    const struct partition_load *l = cluster_loads_of(w.node->catalog.loads, p->id);
    assert_non_null(l);
    assert_int_equal(l->heavy_count, 1);
    assert_true(
        slice_equal(l->heavy[0].key, slice_make(key.data, storage_key_collection_size(key))));
    assert_in_range(l->heavy[0].mcu, 45000, 55000);
    lone_pass(&w, 60000); /* it has cooled down */
    lone_pass(&w, 60000);
    assert_int_equal(cluster_loads_of(w.node->catalog.loads, p->id)->heavy_count, 0);
    lone_deinit(&w);
}

/* The catalog's leader forgets the loads of partitions that are gone, and of no others: the node
 * reports again after a minute. */
TEST(a_load_ends_with_its_partition)
{
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    config_edit_reports(&w.config)->load_report_ms = 60000;
    lone_open_table(&w, 10, 10);
    lone_pass(&w, 60000);
    struct cluster_loads *loads = w.node->catalog.loads;
    const uint32_t there = w.table.partitions[0].id;
    assert_non_null(cluster_loads_of(loads, there));
    for (uint32_t i = 1; i <= 2; i++)
        cluster_loads_take_partition(loads, w.now,
                                     &(struct partition_report){.partition = there + i});
    lone_pass(&w, 20000);
    assert_null(cluster_loads_of(loads, there + 1));
    assert_null(cluster_loads_of(loads, there + 2));
    assert_non_null(cluster_loads_of(loads, there));
    lone_deinit(&w);
}
