/* index_builder_test.c - an index is added to a table, and filled: when the builder begins, and how
 * it goes on.
 *
 * The leader of the catalog is real; the test says what the leader of the table's partition
 * answers. */
#include "engine/index/index.h"
#include "engine/item/storage_key.h"
#include "engine/message/index_messages.h"
#include "tests/check.h"
#include "tests/support/catalog_leader.h"

enum {
    SOME_MS = 1000
};

struct scene {
    struct catalog_leader s;
    struct buffer index;
    struct buffer throughput;
    uint32_t partition; /* of the table */
};

/* The index `by-v` is added to the table. No piece of it is filled before the test says so. */
static void scene_add(struct scene *x)
{
    struct index by_v = {.name = slice_of("by-v"),
                         .partition_count = 1,
                         .keys = {{slice_of("v"), ATTR_BINARY}},
                         .projection = PROJECT_ALL};
    const struct index_set set = {{slice_of("id"), ATTR_STRING}, {{NULL, 0}, 0}, 1, 0, &by_v};
    const struct table_spec throughput = {
        .name = by_v.name, .billing = BILLING_PROVISIONED, .rcu = 10, .wcu = 10};
    index_set_encode(&x->index, &set);
    table_spec_encode(&x->throughput, &throughput);
    x->s.w.add_index = buffer_slice(&x->index);
    x->s.w.add_throughput = buffer_slice(&x->throughput);
    leader_hold(&x->s, REQUEST_INDEX_FILL, 0, 0);
    lone_table_op(&x->s.w, REQUEST_TABLE_UPDATE, 100, 100);
    assert_true(leader_table(&x->s, "t/by-v")->filling);
}

static void scene_open(struct scene *x)
{
    *x = (struct scene){0};
    leader_open(&x->s);
    x->partition = x->s.w.table.partitions[0].id;
}

static void scene_close(struct scene *x)
{
    leader_close(&x->s);
    buffer_deinit(&x->index);
    buffer_deinit(&x->throughput);
}

static struct slice scene_from(const struct scene *x)
{
    return request_fill(&leader_last(&x->s, REQUEST_INDEX_FILL, x->partition, 0)->request)->from;
}

/* The piece that was asked for is done; it ended before this key. */
static void scene_fill(struct scene *x, struct slice end)
{
    leader_answer(&x->s, REQUEST_INDEX_FILL, x->partition, 0,
                  (struct reply){.kind = ANSWER_RANGE, .range.last = end});
    leader_pass(&x->s, SOME_MS);
}

/* Otherwise writes behind a piece that was filled would not tell the index. */
TEST(an_index_is_filled_once_every_partition_of_its_table_knows_it)
{
    struct scene x;
    scene_open(&x);
    leader_hold(&x.s, REQUEST_PARTITION_OPEN, x.partition, 0);
    scene_add(&x);
    leader_pass(&x.s, SOME_MS);
    assert_int_equal(leader_table(&x.s, "t/by-v")->status, TABLE_ACTIVE);
    assert_int_equal(leader_table(&x.s, "t")->status, TABLE_UPDATING);
    assert_int_equal(leader_times(&x.s, REQUEST_INDEX_FILL, 0, 0), 0);
    leader_release(&x.s);
    leader_hold(&x.s, REQUEST_INDEX_FILL, 0, 0);
    leader_pass(&x.s, SOME_MS);
    assert_int_equal(leader_table(&x.s, "t")->status, TABLE_ACTIVE);
    assert_true(leader_times(&x.s, REQUEST_INDEX_FILL, x.partition, 0) > 0);
    scene_fill(&x, x.s.w.table.partitions[0].hi);
    assert_false(leader_table(&x.s, "t/by-v")->filling);
    scene_close(&x);
}

/* A piece ends behind the key where it begins. The builder does not rely on that. */
TEST(an_answer_of_an_earlier_piece_does_not_take_the_filling_back)
{
    uint8_t first[STORAGE_KEY_BOUND_SIZE], second[STORAGE_KEY_BOUND_SIZE];
    struct scene x;
    scene_open(&x);
    scene_add(&x);
    leader_pass(&x.s, SOME_MS);
    const struct slice early = storage_key_write_bound(first, x.s.w.table.id, UINT64_C(1) << 62),
                       late = storage_key_write_bound(second, x.s.w.table.id, UINT64_C(1) << 63);
    assert_true(slice_equal(scene_from(&x), x.s.w.table.partitions[0].lo));
    scene_fill(&x, late);
    assert_true(slice_equal(scene_from(&x), late));
    scene_fill(&x, early);
    assert_true(slice_equal(scene_from(&x), late));
    scene_fill(&x, x.s.w.table.partitions[0].hi);
    assert_false(leader_table(&x.s, "t/by-v")->filling);
    scene_close(&x);
}
