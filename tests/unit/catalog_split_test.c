/* A table cut again and again: the map covers the key space, its shares the throughput; and what a
 * cut is refused for. */
#include "tests/check.h"

#include "engine/admission/share.h"
#include "engine/catalog/catalog.h"

enum {
    NODES = 4,
    PARTITIONS_MAX = 40
};

struct world {
    struct catalog *catalog;
    struct config config;
    struct catalog_result result;
    struct buffer table_row;
    struct buffer counters_row;
    struct buffer text;
};

static enum reply_code apply(struct world *w, struct catalog_command *c)
{
    struct buffer b = {0};
    catalog_command_encode(&b, c);
    catalog_apply(w->catalog, buffer_slice(&b), &w->result);
    buffer_deinit(&b);
    assert_true(w->result.code == REPLY_OK || w->result.row_count == 0);
    buffer_clear(&w->text);
    buffer_append_slice(&w->text, w->result.text);
    for (uint32_t i = 0; i < w->result.row_count; i++) {
        const struct catalog_row *r = &w->result.rows[i];
        struct buffer *to = r->key.data[4] == 't' ? &w->table_row : &w->counters_row;
        buffer_clear(to);
        buffer_append_slice(to, r->value);
    }
    return w->result.code;
}

static struct catalog_command command_of(struct world *w, enum catalog_op op)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, NODES, 1000);
    c.spec = (struct table_spec){.name = slice_of("t"),
                                 .partition_key = {slice_of("id"), ATTR_STRING},
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = 3001,
                                 .wcu = 1999};
    return c;
}

static const struct table *the_table(const struct world *w)
{
    return catalog_find(w->catalog, slice_of("t"));
}

static enum reply_code settle_as(struct world *w, uint32_t partition_count,
                                 enum table_status status)
{
    struct catalog_command c = command_of(w, CATALOG_SETTLE);
    c.table_id = the_table(w)->id;
    c.partition_count = partition_count;
    c.status = status;
    return apply(w, &c);
}

static enum reply_code settle(struct world *w, uint32_t partition_count)
{
    return settle_as(w, partition_count, the_table(w)->status);
}

static void world_init(struct world *w)
{
    *w = (struct world){.catalog = catalog_create()};
    config_init(&w->config, PROFILE_AWS);
    w->config.replicas = 3;
    w->config.table_partitions_max = PARTITIONS_MAX;
    for (uint32_t node = 1; node <= NODES; node++) {
        struct catalog_command c = command_of(w, CATALOG_NODE);
        c.node = node;
        c.generation = 7 * node;
        assert_int_equal(apply(w, &c), REPLY_OK);
    }
    struct catalog_command c = command_of(w, CATALOG_CREATE);
    assert_int_equal(apply(w, &c), REPLY_OK);
    assert_int_equal(settle(w, the_table(w)->partition_count), REPLY_OK);
}

static void world_deinit(struct world *w)
{
    catalog_destroy(w->catalog);
    buffer_deinit(&w->table_row);
    buffer_deinit(&w->counters_row);
    buffer_deinit(&w->text);
}

static void assert_whole(const struct table *t)
{
    int64_t sums[ADMIT_KINDS] = {0};
    uint32_t first = __builtin_bswap32(t->id), behind = __builtin_bswap32(t->id + 1);
    assert_true(slice_equal(t->partitions[0].lo, slice_make(&first, 4)));
    assert_true(slice_equal(t->partitions[t->partition_count - 1].hi, slice_make(&behind, 4)));
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        assert_true(slice_compare(p->lo, p->hi) < 0);
        if (i > 0)
            assert_true(slice_equal(t->partitions[i - 1].hi, p->lo));
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(t->partitions[j].id, p->id);
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            sums[kind] += p->rate_mcu[kind];
    }
    assert_int_equal(sums[ADMIT_READ], t->rcu * 1000);
    assert_int_equal(sums[ADMIT_WRITE], t->wcu * 1000);
}

/* The table's id and a hash. */
static struct slice key_of(uint32_t table_id, uint64_t hash, uint8_t out[12])
{
    uint32_t id = __builtin_bswap32(table_id);
    uint64_t swapped = __builtin_bswap64(hash);
    memcpy(out, &id, 4);
    memcpy(out + 4, &swapped, 8);
    return slice_make(out, 12);
}

static enum reply_code split(struct world *w, const struct table_split *s)
{
    struct buffer b = {0};
    table_split_encode(&b, s);
    struct catalog_command c = command_of(w, CATALOG_SPLIT);
    c.split = buffer_slice(&b);
    enum reply_code code = apply(w, &c);
    buffer_deinit(&b);
    return code;
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

static void assert_refused(struct world *w, const struct table_split *s, enum reply_code code,
                           const char *text)
{
    assert_int_equal(split(w, s), code);
    assert_non_null(memmem(w->text.data, w->text.size, text, strlen(text)));
}

static void a_reload_is_the_same(const struct world *w)
{
    struct catalog *again = catalog_create();
    struct buffer a = {0}, b = {0};
    static const uint8_t table[9] = {0, 0, 0, 0, 't'}, counters[9] = {0, 0, 0, 0, 'c'};
    assert_int_equal(catalog_load_row(again, slice_make(table, 9), buffer_slice(&w->table_row)),
                     STATUS_OK);
    assert_int_equal(
        catalog_load_row(again, slice_make(counters, 9), buffer_slice(&w->counters_row)),
        STATUS_OK);
    table_encode(&a, the_table(w));
    table_encode(&b, catalog_find(again, slice_of("t")));
    assert_true(slice_equal(buffer_slice(&a), buffer_slice(&b)));
    buffer_deinit(&a);
    buffer_deinit(&b);
    catalog_destroy(again);
}

static enum reply_code set_rates(struct world *w, const struct decision *d)
{
    struct buffer b = {0};
    decision_encode(&b, d);
    struct catalog_command c = command_of(w, CATALOG_RATES);
    c.decision = buffer_slice(&b);
    enum reply_code code = apply(w, &c);
    buffer_deinit(&b);
    return code;
}

/* Two partitions of 999.5 write units each; the first has 200 more, or what the nodes can bear. */
static void boosts_survive_a_cut_where_the_nodes_can_carry_them(void **state)
{
    (void)state;
    for (int tight = 0; tight <= 1; tight++) {
        struct world w;
        uint8_t key[12];
        world_init(&w);
        const struct table *t = the_table(&w);
        assert_int_equal(t->partition_count, 2);
        struct decision d = {.table_id = t->id, .rate_count = 2};
        for (uint32_t i = 0; i < 2; i++) {
            const struct partition_info *p = &t->partitions[i];
            d.rates[i] = (struct decision_rate){.partition = p->id, .epoch = p->epoch};
            memcpy(d.rates[i].rate_mcu, p->rate_mcu, sizeof p->rate_mcu);
            d.rates[i].rate_mcu[ADMIT_WRITE] += i == 0 ? 200000 : 50000;
        }
        assert_int_equal(set_rates(&w, &d), REPLY_OK);
        t = the_table(&w);
        struct table_split s = split_of(&t->partitions[0]);
        s.cuts[0] = key_of(t->id, 1000, key);
        if (tight)
            w.config.node_wcu = 2000; /* for the table's 1999, and nothing else */
        assert_int_equal(split(&w, &s), REPLY_OK);
        t = the_table(&w);
        assert_int_equal(t->partition_count, 3);
        const int64_t boosts[] = {180000, 20000, 50000}; /* by 90 and 10 % of the load */
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(t->partitions[i].rate_mcu[ADMIT_WRITE],
                             share_equal_mcu(1999, 3, i) + (tight ? 0 : boosts[i]));
        assert_int_equal(t->partitions[0].rate_mcu[ADMIT_READ], share_equal_mcu(3001, 3, 0));
        a_reload_is_the_same(&w);
        world_deinit(&w);
    }
}

static void cut_at_random(struct prng *p)
{
    struct world w;
    uint8_t keys[4][12];
    uint32_t highest = 0;
    world_init(&w);
    for (int step = 0; step < 60; step++) {
        const struct table *t = the_table(&w);
        uint32_t at_random = (uint32_t)prng_below(p, t->partition_count);
        const struct partition_info before = t->partitions[at_random];
        for (uint32_t i = 0; i < t->partition_count; i++)
            highest = t->partitions[i].id > highest ? t->partitions[i].id : highest;
        struct table_split s = split_of(&before);
        uint64_t hash = prng_next(p);
        s.cut_count = 1 + (uint32_t)prng_below(p, 4);
        bool inside = true, busy = table_partition_is_splitting(t, &t->partitions[at_random]);
        for (uint32_t i = 0; i < s.cut_count; i++) {
            s.cuts[i] = key_of(t->id, (hash >> 1) + i * (UINT64_MAX >> 8), keys[i]);
            inside &=
                slice_compare(s.cuts[i], before.lo) > 0 && slice_compare(s.cuts[i], before.hi) < 0;
        }
        table_split_share_equally(&s);
        uint32_t count = t->partition_count;
        bool fits = count + s.cut_count <= PARTITIONS_MAX;
        enum reply_code code = split(&w, &s);
        t = the_table(&w);
        assert_whole(t);
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
        a_reload_is_the_same(&w);
        assert_int_equal(split(&w, &s), REPLY_TABLE_BUSY);
        assert_int_equal(settle(&w, count), REPLY_OK); /* of before: says nothing about it */
        if (prng_below(p, 3) > 0)
            continue; /* others are cut meanwhile */
        assert_true(table_is_splitting(the_table(&w)));
        assert_int_equal(settle(&w, count + s.cut_count), REPLY_OK);
        assert_false(table_is_splitting(the_table(&w)));
        a_reload_is_the_same(&w);
    }
    world_deinit(&w);
}

static void a_table_that_is_cut_at_random_stays_whole(void **state)
{
    (void)state;
    check_seeds(30, cut_at_random);
}

static void a_cut_is_refused_by_name_of_what_is_wrong(void **state)
{
    (void)state;
    struct world w;
    uint8_t a[12], b[12];
    world_init(&w);
    const struct table *t = the_table(&w);
    assert_true(t->partition_count >= 2);
    struct table_split s = split_of(&t->partitions[0]);
    s.cuts[0] = key_of(t->id, UINT64_MAX, a);
    assert_refused(&w, &s, REPLY_MALFORMED, "outside partition");
    s.cuts[0] = key_of(t->id, 1000, a);
    s.epoch = 2;
    assert_refused(&w, &s, REPLY_MALFORMED, "at epoch 1, not 2");
    s.epoch = 1;
    s.partition = 999;
    assert_refused(&w, &s, REPLY_MALFORMED, "no partition 999");
    s.partition = t->partitions[0].id;
    s.table_id = 77;
    assert_refused(&w, &s, REPLY_TABLE_NOT_FOUND, "");
    s.table_id = t->id;
    assert_int_equal(split(&w, &s), REPLY_OK);
    for (uint32_t i = 0; i < 2; i++) { /* the parent, and the child */
        struct table_split again = split_of(&the_table(&w)->partitions[i]);
        again.cuts[0] = key_of(t->id, 5, b);
        assert_refused(&w, &again, REPLY_TABLE_BUSY, "The partition is being split");
    }
    struct table_split other = split_of(&the_table(&w)->partitions[2]);
    other.cuts[0] = key_of(t->id, UINT64_MAX - 5, b);
    assert_int_equal(split(&w, &other), REPLY_OK);
    world_deinit(&w);
}

/* A split under way survives what else is done to the table. */
static void an_update_or_a_deletion_meanwhile_leaves_the_split_to_be_done(void **state)
{
    (void)state;
    struct world w;
    uint8_t a[12];
    world_init(&w);
    struct table_split s = split_of(&the_table(&w)->partitions[0]);
    s.cuts[0] = key_of(s.table_id, 1000, a);
    assert_int_equal(split(&w, &s), REPLY_OK);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE);
    c.spec.rcu++;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(the_table(&w)->status, TABLE_UPDATING);
    assert_true(table_is_splitting(the_table(&w)));
    assert_int_equal(the_table(&w)->partitions[1].share_ppm[ADMIT_READ], 700000);
    assert_whole(the_table(&w));
    assert_int_equal(settle(&w, the_table(&w)->partition_count), REPLY_OK);
    assert_int_equal(the_table(&w)->status, TABLE_ACTIVE);
    assert_false(table_is_splitting(the_table(&w)));
    c = command_of(&w, CATALOG_DELETE);
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(split(&w, &s), REPLY_TABLE_BUSY);
    world_deinit(&w);
}

/* The leader of the catalog proposes that a split is done, and has the deletion in its log before
 * it: the replicas serve still. */
static void a_deletion_is_not_done_because_a_split_is(void **state)
{
    (void)state;
    struct world w;
    uint8_t a[12];
    world_init(&w);
    struct table_split s = split_of(&the_table(&w)->partitions[0]);
    s.cuts[0] = key_of(s.table_id, 1000, a);
    assert_int_equal(split(&w, &s), REPLY_OK);
    struct catalog_command c = command_of(&w, CATALOG_DELETE);
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(settle_as(&w, the_table(&w)->partition_count, TABLE_ACTIVE), REPLY_OK);
    assert_non_null(the_table(&w));
    assert_int_equal(the_table(&w)->status, TABLE_DELETING);
    assert_int_equal(settle(&w, the_table(&w)->partition_count), REPLY_OK);
    assert_null(the_table(&w));
    world_deinit(&w);
}

static void bytes_that_are_no_split_are_refused(void **state)
{
    (void)state;
    struct buffer b = {0};
    uint8_t low[12], high[12];
    struct table_split s = {.table_id = 1, .partition = 2, .epoch = 3, .cut_count = 2}, out;
    s.cuts[0] = key_of(1, 5, low);
    s.cuts[1] = key_of(1, 6, high);
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
    s.cuts[1] = key_of(1, 6, high);
    s.share_ppm[0][0] = SPLIT_WHOLE_PPM;
    buffer_clear(&b);
    table_split_encode(&b, &s);
    assert_int_equal(table_split_decode(buffer_slice(&b), &out), STATUS_MALFORMED);
    buffer_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boosts_survive_a_cut_where_the_nodes_can_carry_them),
        cmocka_unit_test(a_table_that_is_cut_at_random_stays_whole),
        cmocka_unit_test(a_cut_is_refused_by_name_of_what_is_wrong),
        cmocka_unit_test(an_update_or_a_deletion_meanwhile_leaves_the_split_to_be_done),
        cmocka_unit_test(a_deletion_is_not_done_because_a_split_is),
        cmocka_unit_test(bytes_that_are_no_split_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
