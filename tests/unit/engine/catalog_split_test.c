/* catalog_split_test.c - a table split again and again: the map covers the key space, its shares
 * the throughput. */
#include "tests/check.h"

#include "tests/support/catalog_fixture.h"

enum {
    NODES = 4
};

static enum reply_code reconcile(struct catalog_fixture *w, uint32_t partition_count)
{
    return catalog_fixture_reconcile(w, partition_count, catalog_fixture_table(w)->status);
}

static struct table_split split_of(const struct partition_info *p)
{
    struct table_split s = {.table_id = p->table_id,
                            .partition = p->id,
                            .epoch = p->epoch,
                            .point_count = 1,
                            .share_ppm = {{300000, 700000}, {900000, 100000}}};
    return s;
}

static void split_at_random(struct prng *p)
{
    struct catalog_fixture w;
    uint8_t keys[4][12];
    uint32_t highest = 0;
    catalog_fixture_init(&w, NODES);
    for (int step = 0; step < 60; step++) {
        const struct table *t = catalog_fixture_table(&w);
        uint32_t at_random = (uint32_t)prng_below(p, t->partition_count);
        const struct partition_info before = t->partitions[at_random];
        for (uint32_t i = 0; i < t->partition_count; i++)
            highest = t->partitions[i].id > highest ? t->partitions[i].id : highest;
        struct table_split s = split_of(&before);
        uint64_t hash = prng_next(p);
        s.point_count = 1 + (uint32_t)prng_below(p, 4);
        bool inside = true, busy = table_partition_is_splitting(t, &t->partitions[at_random]);
        for (uint32_t i = 0; i < s.point_count; i++) {
            s.points[i] = catalog_fixture_key(t->id, (hash >> 1) + i * (UINT64_MAX >> 8), keys[i]);
            inside &= slice_compare(s.points[i], before.lo) > 0 &&
                      slice_compare(s.points[i], before.hi) < 0;
        }
        table_split_share_equally(&s);
        uint32_t count = t->partition_count;
        bool fits = count + s.point_count <= CATALOG_FIXTURE_PARTITIONS_MAX;
        enum reply_code code = catalog_fixture_split(&w, &s);
        t = catalog_fixture_table(&w);
        catalog_fixture_is_complete(t);
        assert_int_equal(t->status, TABLE_ACTIVE);
        assert_int_equal(code, busy      ? REPLY_TABLE_BUSY
                               : !inside ? REPLY_MALFORMED
                               : fits    ? REPLY_OK
                                         : REPLY_LIMIT_EXCEEDED);
        if (code != REPLY_OK)
            continue;
        assert_int_equal(t->partition_count, count + s.point_count);
        const struct partition_info *at = table_partition_of(t, s.points[0]);
        assert_true(at->id > highest && at->parent == at[-1].id && at[-1].epoch > 1);
        assert_int_equal(at->joined, 7); /* whoever has not split starts from a snapshot */
        assert_memory_equal(at->members, at[-1].members, sizeof at->members);
        catalog_fixture_reloads(&w);
        assert_int_equal(catalog_fixture_split(&w, &s), REPLY_TABLE_BUSY);
        assert_int_equal(reconcile(&w, count), REPLY_OK); /* of before: says nothing about it */
        if (prng_below(p, 3) > 0)
            continue; /* others are split meanwhile */
        assert_true(table_is_splitting(catalog_fixture_table(&w)));
        assert_int_equal(reconcile(&w, count + s.point_count), REPLY_OK);
        assert_false(table_is_splitting(catalog_fixture_table(&w)));
        catalog_fixture_reloads(&w);
    }
    catalog_fixture_deinit(&w);
}

TEST(a_table_that_is_split_at_random_stays_whole)
{
    check_seeds(30, split_at_random);
}
