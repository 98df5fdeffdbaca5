/* A table cut again and again: the map covers the key space, its shares the throughput; and what a
 * cut is refused for. */
#include "tests/check.h"

#include "base/settings/admission.h"
#include "engine/admission/share.h"
#include "engine/item/storage_key.h"
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
                            .cut_count = 1,
                            .share_ppm = {{300000, 700000}, {900000, 100000}}};
    return s;
}

static void assert_refused(struct catalog_fixture *w, const struct table_split *s,
                           enum reply_code code, const char *text)
{
    assert_int_equal(catalog_fixture_split(w, s), code);
    assert_non_null(memmem(w->text.data, w->text.size, text, strlen(text)));
}

/* Two partitions of 999.5 write units each; the first has 200 more, or what the nodes can bear. */
TEST(boosts_survive_a_cut_where_the_nodes_can_carry_them)
{
    for (int tight = 0; tight <= 1; tight++) {
        struct catalog_fixture w;
        uint8_t key[12];
        catalog_fixture_init(&w, NODES);
        const struct table *t = catalog_fixture_table(&w);
        assert_int_equal(t->partition_count, 2);
        struct decision d = {.table_id = t->id, .rate_count = 2};
        for (uint32_t i = 0; i < 2; i++) {
            const struct partition_info *p = &t->partitions[i];
            d.rates[i] = (struct decision_rate){.partition = p->id, .epoch = p->epoch};
            memcpy(d.rates[i].rate_mcu, p->rate_mcu, sizeof p->rate_mcu);
            d.rates[i].rate_mcu[ADMIT_WRITE] += i == 0 ? 200000 : 50000;
        }
        assert_int_equal(catalog_fixture_decide(&w, CATALOG_RATES, &d), REPLY_OK);
        t = catalog_fixture_table(&w);
        struct table_split s = split_of(&t->partitions[0]);
        s.cuts[0] = catalog_fixture_key(t->id, 1000, key);
        if (tight)
            /* for the table's 1999, and nothing else */
            config_edit_admission(&w.config)->node_wcu = 2000;
        assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
        t = catalog_fixture_table(&w);
        assert_int_equal(t->partition_count, 3);
        const int64_t boosts[] = {180000, 20000, 50000}; /* by 90 and 10 % of the load */
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(t->partitions[i].rate_mcu[ADMIT_WRITE],
                             share_equal_mcu(1999, 3, i) + (tight ? 0 : boosts[i]));
        assert_int_equal(t->partitions[0].rate_mcu[ADMIT_READ], share_equal_mcu(3001, 3, 0));
        catalog_fixture_reloads(&w);
        catalog_fixture_deinit(&w);
    }
}

/* The parent's epochs are those of its log. A child has a log of its own. */
TEST(a_child_begins_at_epoch_1_whatever_its_parents_is)
{
    struct catalog_fixture w;
    uint8_t key[12];
    catalog_fixture_init(&w, NODES);
    for (uint32_t cuts = 1; cuts <= 3; cuts++) {
        struct table_split s = split_of(catalog_fixture_at(&w, 0));
        s.cuts[0] = catalog_fixture_key(s.table_id, UINT64_C(1) << (60 - cuts), key);
        table_split_share_equally(&s);
        assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
        assert_int_equal(catalog_fixture_at(&w, 0)->epoch, 1 + cuts);
        assert_int_equal(catalog_fixture_at(&w, 1)->epoch, 1);
        assert_int_equal(reconcile(&w, catalog_fixture_table(&w)->partition_count), REPLY_OK);
    }
    catalog_fixture_deinit(&w);
}

static void cut_at_random(struct prng *p)
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
        s.cut_count = 1 + (uint32_t)prng_below(p, 4);
        bool inside = true, busy = table_partition_is_splitting(t, &t->partitions[at_random]);
        for (uint32_t i = 0; i < s.cut_count; i++) {
            s.cuts[i] = catalog_fixture_key(t->id, (hash >> 1) + i * (UINT64_MAX >> 8), keys[i]);
            inside &=
                slice_compare(s.cuts[i], before.lo) > 0 && slice_compare(s.cuts[i], before.hi) < 0;
        }
        table_split_share_equally(&s);
        uint32_t count = t->partition_count;
        bool fits = count + s.cut_count <= CATALOG_FIXTURE_PARTITIONS_MAX;
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
        assert_int_equal(t->partition_count, count + s.cut_count);
        const struct partition_info *at = table_partition_of(t, s.cuts[0]);
        assert_true(at->id > highest && at->parent == at[-1].id && at[-1].epoch > 1);
        assert_int_equal(at->joined, 7); /* whoever has not split starts from a snapshot */
        assert_memory_equal(at->members, at[-1].members, sizeof at->members);
        catalog_fixture_reloads(&w);
        assert_int_equal(catalog_fixture_split(&w, &s), REPLY_TABLE_BUSY);
        assert_int_equal(reconcile(&w, count), REPLY_OK); /* of before: says nothing about it */
        if (prng_below(p, 3) > 0)
            continue; /* others are cut meanwhile */
        assert_true(table_is_splitting(catalog_fixture_table(&w)));
        assert_int_equal(reconcile(&w, count + s.cut_count), REPLY_OK);
        assert_false(table_is_splitting(catalog_fixture_table(&w)));
        catalog_fixture_reloads(&w);
    }
    catalog_fixture_deinit(&w);
}

TEST(a_table_that_is_cut_at_random_stays_whole)
{
    check_seeds(30, cut_at_random);
}

TEST(a_cut_is_refused_by_name_of_what_is_wrong)
{
    struct catalog_fixture w;
    uint8_t a[12], b[12];
    catalog_fixture_init(&w, NODES);
    const struct table *t = catalog_fixture_table(&w);
    assert_true(t->partition_count >= 2);
    struct table_split s = split_of(&t->partitions[0]);
    s.cuts[0] = catalog_fixture_key(t->id, UINT64_MAX, a);
    assert_refused(&w, &s, REPLY_MALFORMED, "outside partition");
    s.cuts[0] = catalog_fixture_key(t->id, 1000, a);
    s.epoch = 2;
    assert_refused(&w, &s, REPLY_MALFORMED, "at epoch 1, not 2");
    s.epoch = 1;
    s.partition = 999;
    assert_refused(&w, &s, REPLY_MALFORMED, "no partition 999");
    s.partition = t->partitions[0].id;
    s.table_id = 77;
    assert_refused(&w, &s, REPLY_TABLE_NOT_FOUND, "");
    s.table_id = t->id;
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
    for (uint32_t i = 0; i < 2; i++) { /* the parent, and the child */
        struct table_split again = split_of(&catalog_fixture_table(&w)->partitions[i]);
        again.cuts[0] = catalog_fixture_key(t->id, 5, b);
        assert_refused(&w, &again, REPLY_TABLE_BUSY, "The partition is being split");
    }
    struct table_split other = split_of(&catalog_fixture_table(&w)->partitions[2]);
    other.cuts[0] = catalog_fixture_key(t->id, UINT64_MAX - 5, b);
    assert_int_equal(catalog_fixture_split(&w, &other), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* CUT-1: a page of a Query begins behind the last key, at a byte 0. A cut there gave an item's
 * locks to the other partition. */
TEST(a_cut_behind_an_items_key_is_refused)
{
    struct catalog_fixture w;
    struct buffer key = {0};
    catalog_fixture_init(&w, NODES);
    const struct table *t = catalog_fixture_table(&w);
    const struct attr id = {ATTR_STRING, slice_of("some")}, at = {ATTR_STRING, slice_of("where")};
    storage_key_append(&key, t->id, &id, t->sort_key.name.size > 0 ? &at : NULL);
    uint32_t i = 0;
    while (t->partitions[i].hi.size > 0 &&
           slice_compare(t->partitions[i].hi, buffer_slice(&key)) <= 0)
        i++;
    struct table_split s = split_of(&t->partitions[i]);
    buffer_append_u8(&key, 0);
    s.cuts[0] = buffer_slice(&key);
    assert_refused(&w, &s, REPLY_MALFORMED, "behind an item's key");
    key.size--;
    s.cuts[0] = buffer_slice(&key);
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
    buffer_deinit(&key);
    catalog_fixture_deinit(&w);
}

/* A split under way survives what else is done to the table. */
TEST(an_update_or_a_deletion_meanwhile_leaves_the_split_to_be_done)
{
    struct catalog_fixture w;
    uint8_t a[12];
    catalog_fixture_init(&w, NODES);
    struct table_split s = split_of(&catalog_fixture_table(&w)->partitions[0]);
    s.cuts[0] = catalog_fixture_key(s.table_id, 1000, a);
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.rcu++;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->status, TABLE_UPDATING);
    assert_true(table_is_splitting(catalog_fixture_table(&w)));
    assert_int_equal(catalog_fixture_table(&w)->partitions[1].share_ppm[ADMIT_READ], 700000);
    catalog_fixture_is_complete(catalog_fixture_table(&w));
    assert_int_equal(reconcile(&w, catalog_fixture_table(&w)->partition_count), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->status, TABLE_ACTIVE);
    assert_false(table_is_splitting(catalog_fixture_table(&w)));
    c = catalog_fixture_command(&w, CATALOG_DELETE);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_TABLE_BUSY);
    catalog_fixture_deinit(&w);
}

/* The leader of the catalog proposes that a split is done, and has the deletion in its log before
 * it: the replicas serve still. */
TEST(a_deletion_is_not_done_because_a_split_is)
{
    struct catalog_fixture w;
    uint8_t a[12];
    catalog_fixture_init(&w, NODES);
    struct table_split s = split_of(&catalog_fixture_table(&w)->partitions[0]);
    s.cuts[0] = catalog_fixture_key(s.table_id, 1000, a);
    assert_int_equal(catalog_fixture_split(&w, &s), REPLY_OK);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_DELETE);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(
        catalog_fixture_reconcile(&w, catalog_fixture_table(&w)->partition_count, TABLE_ACTIVE),
        REPLY_OK);
    assert_non_null(catalog_fixture_table(&w));
    assert_int_equal(catalog_fixture_table(&w)->status, TABLE_DELETING);
    assert_int_equal(reconcile(&w, catalog_fixture_table(&w)->partition_count), REPLY_OK);
    assert_null(catalog_fixture_table(&w));
    catalog_fixture_deinit(&w);
}

/* Replicas are closed between the two steps. The first may be proposed twice. */
TEST(a_deleted_table_is_gone_after_two_steps)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, NODES);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_DELETE);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    c = catalog_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_fixture_table(&w));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
        assert_non_null(catalog_fixture_table(&w));
        assert_true(catalog_fixture_table(&w)->owes_nothing);
    }
    catalog_command_reconciled(&c, catalog_fixture_table(&w));
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_null(catalog_fixture_table(&w));
    catalog_fixture_deinit(&w);
}

TEST(bytes_that_are_no_split_are_refused)
{
    struct buffer b = {0};
    uint8_t low[12], high[12];
    struct table_split s = {.table_id = 1, .partition = 2, .epoch = 3, .cut_count = 2}, out;
    s.cuts[0] = catalog_fixture_key(1, 5, low);
    s.cuts[1] = catalog_fixture_key(1, 6, high);
    table_split_share_equally(&s);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_OK);
    assert_int_equal(out.cut_count, 2);
    assert_int_equal(out.share_ppm[1][2], s.share_ppm[1][2]);
    for (size_t size = 0; size < b.size; size++)
        assert_int_equal(table_split_decode(slice_make(b.data, size), &out), STATUS_MALFORMED);
    s.cuts[1] = s.cuts[0];
    buffer_clear(&b);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_MALFORMED);
    s.cuts[1] = catalog_fixture_key(1, 6, high);
    s.share_ppm[0][0] = SPLIT_WHOLE_PPM;
    buffer_clear(&b);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_MALFORMED);
    buffer_deinit(&b);
}
