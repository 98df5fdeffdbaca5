/* catalog_bytes_test.c - bytes of the catalog's commands that are refused, a size, and the
 * catalog's own group. */
#include "tests/check.h"

#include "base/settings/key_sharding.h"
#include "tests/support/catalog_fixture.h"

enum {
    NODES = 6
};

TEST(bytes_that_are_no_word_are_refused)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, 3);
    for (enum merge_command word = MERGE_BEGIN; word <= MERGE_DONE; word++) {
        struct buffer b = {0};
        struct decision d = catalog_fixture_merge_command(word, catalog_fixture_at(&w, 1)), out;
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
    catalog_fixture_init(&w, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer decision = {0}, b = {0};
        struct decision d = catalog_fixture_merge_command(MERGE_BEGIN, catalog_fixture_at(&w, 1));
        d.merge = (enum merge_command)cases[i].word;
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
    catalog_fixture_init(&w, 3);
    assert_int_equal(catalog_fixture_merge(&w, MERGE_BEGIN, catalog_fixture_at(&w, 1)), REPLY_OK);
    assert_int_equal(catalog_fixture_merge(&w, MERGE_ABSORB_IT, catalog_fixture_at(&w, 1)),
                     REPLY_OK);
    assert_int_equal(catalog_fixture_merge(&w, MERGE_ABSORBED, catalog_fixture_at(&w, 0)),
                     REPLY_OK);
    const struct partition_info good = *catalog_fixture_at(&w, 0);
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

TEST(bytes_that_are_no_split_are_refused)
{
    struct buffer b = {0};
    uint8_t low[12], high[12];
    struct table_split s = {.table_id = 1, .partition = 2, .epoch = 3, .point_count = 2}, out;
    s.points[0] = catalog_fixture_key(1, 5, low);
    s.points[1] = catalog_fixture_key(1, 6, high);
    table_split_share_equally(&s);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_OK);
    assert_int_equal(out.point_count, 2);
    assert_int_equal(out.share_ppm[1][2], s.share_ppm[1][2]);
    for (size_t size = 0; size < b.size; size++)
        assert_int_equal(table_split_decode(slice_make(b.data, size), &out), STATUS_MALFORMED);
    s.points[1] = s.points[0];
    buffer_clear(&b);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_MALFORMED);
    s.points[1] = catalog_fixture_key(1, 6, high);
    s.share_ppm[0][0] = SPLIT_WHOLE_PPM;
    buffer_clear(&b);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_MALFORMED);
    buffer_deinit(&b);
}

TEST(a_change_of_ttl_names_an_attribute)
{
    static uint8_t name[TTL_NAME_SIZE_MAX + 1];
    static const struct {
        enum table_ttl ttl;
        size_t size;
    } CASES[] = {{TTL_DISABLED, 1},
                 {TTL_ENABLED, 1},
                 {TTL_ENABLING, 0},
                 {TTL_ENABLING, TTL_NAME_SIZE_MAX + 1}};
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i <= sizeof CASES / sizeof CASES[0]; i++) {
        const bool good = i == sizeof CASES / sizeof CASES[0];
        struct buffer b = {0};
        struct table_spec decoded;
        const struct table_spec spec = {
            .name = slice_of("t"),
            .ttl = good ? TTL_ENABLING : CASES[i].ttl,
            .ttl_attribute = slice_make(name, good ? TTL_NAME_SIZE_MAX : CASES[i].size)};
        table_spec_encode(&b, &spec);
        assert_int_equal(table_spec_decode(buffer_slice(&b), &decoded),
                         good ? STATUS_OK : STATUS_MALFORMED);
        buffer_deinit(&b);
    }
}

TEST(a_sharded_key_is_the_beginning_of_its_storage_keys)
{
    struct catalog_fixture w;
    struct buffer key = {0}, bytes = {0};
    catalog_fixture_init(&w, 3);
    catalog_fixture_append_key(&key, &w, "hot");
    const uint32_t table = catalog_fixture_table(&w)->id;
    struct buffer other = {0}, item = {0};
    buffer_append_slice(&other, buffer_slice(&key));
    other.data[7] ^= 1;
    buffer_append_slice(&item, buffer_slice(&key));
    buffer_append_text(&item, "x");
    const struct slice prefix = buffer_slice(&key);
    const struct {
        uint32_t table;
        struct slice key;
        uint32_t shards;
    } CASES[] = {{table, prefix, 0},
                 {table, prefix, KEY_SHARDS_MAX + 1},
                 {table + 1, prefix, 2},
                 {table, buffer_slice(&other), 2},
                 {table, buffer_slice(&item), 2},
                 {table, slice_make(prefix.data, prefix.size - 1), 2},
                 {table, slice_make(prefix.data, 12), 2},
                 {table, slice_make(prefix.data, 3), 2},
                 {table, slice_make(NULL, 0), 2},
                 {table, prefix, 2}};
    const size_t count = sizeof CASES / sizeof CASES[0];
    for (size_t i = 0; i < count; i++) {
        struct decision read;
        const struct decision d = {.table_id = CASES[i].table,
                                   .key_shards = {.change = KEY_SHARDS_GROW,
                                                  .key = CASES[i].key,
                                                  .shards = CASES[i].shards}};
        buffer_clear(&bytes);
        decision_encode(&bytes, &d);
        assert_int_equal(decision_decode(buffer_slice(&bytes), &read),
                         i + 1 == count ? STATUS_OK : STATUS_MALFORMED);
    }
    buffer_deinit(&key);
    buffer_deinit(&other);
    buffer_deinit(&item);
    buffer_deinit(&bytes);
    catalog_fixture_deinit(&w);
}

TEST(the_registry_of_sharded_keys_has_a_size)
{
    struct catalog_fixture w;
    char name[2000];
    catalog_fixture_init(&w, 3);
    assert_int_equal(catalog_fixture_tag(&w, "auto"), REPLY_OK);
    config_edit_key_sharding(&w.config)->sharded_keys_max = 1000;
    enum reply_code code = REPLY_OK;
    for (int i = 0; i < 1000 && code == REPLY_OK; i++) {
        snprintf(name, sizeof name, "%01000d", i);
        code = catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, name, 2);
    }
    assert_int_equal(code, REPLY_LIMIT_EXCEEDED);
    assert_slice_is(buffer_slice(&w.text),
                    "The table's list of sharded keys has its maximum of 262144 bytes");
    assert_null(catalog_fixture_sharded_key(&w, name));
    assert_true(catalog_fixture_table(&w)->key_sharding.size > KEY_SHARDING_SIZE_MAX - 1100);
    catalog_fixture_reloads(&w);
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
