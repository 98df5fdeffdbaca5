/* control_key_sharding_test.c - when the controller gives a key more shards, and how many. */
#include "base/settings/control.h"
#include "base/settings/key_sharding.h"
#include "control/controller_internal.h"
#include "tests/check.h"
#include "tests/support/control_fixture.h"

struct fixture {
    struct control_fixture s;
    const struct table *table;
    struct buffer keys[8]; /* of the reports */
};

static void fixture_tag(struct fixture *w, const char *value)
{
    struct buffer b = {0};
    tag_append(&b, &(struct tag){slice_of(KEY_SHARDING_TAG), slice_of(value), true});
    struct catalog_command c = control_fixture_command(&w->s, CATALOG_UPDATE);
    c.spec = (struct table_spec){.name = slice_of("t"), .tags = buffer_slice(&b)};
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
    w->table = catalog_find(w->s.catalog, slice_of("t"));
    buffer_deinit(&b);
}

static void fixture_open(struct fixture *w, const char *tag, int64_t wcu)
{
    *w = (struct fixture){0};
    control_fixture_init(&w->s, 3);
    config_edit_control(&w->s.config)->control_split = 0;
    config_edit_control(&w->s.config)->control_adaptive = 0;
    struct catalog_command c = control_fixture_command(&w->s, CATALOG_CREATE);
    c.spec = (struct table_spec){.name = slice_of("t"),
                                 .partition_key = {slice_of("k"), ATTR_STRING},
                                 .sort_key = {slice_of("n"), ATTR_STRING},
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = 100,
                                 .wcu = wcu};
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
    c = control_fixture_command(&w->s, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w->s.catalog, slice_of("t")));
    assert_int_equal(control_fixture_apply(&w->s, &c), REPLY_OK);
    fixture_tag(w, tag);
}

static void fixture_close(struct fixture *w)
{
    for (int i = 0; i < 8; i++)
        buffer_deinit(&w->keys[i]);
    control_fixture_deinit(&w->s);
}

static struct slice fixture_key(struct fixture *w, int slot, const char *key, uint32_t shard)
{
    const struct attr a = {.type = ATTR_STRING, .body = slice_of(key)};
    struct buffer *b = &w->keys[slot];
    buffer_clear(b);
    storage_key_append_collection(b, w->table->id, &a);
    key_shard_put(b->data, key_shard_bare_hash(buffer_slice(b)), shard);
    return buffer_slice(b);
}

/* The report of partition `i` names so many keys of those that were made. */
static void fixture_report(struct fixture *w, uint32_t i, uint32_t count,
                           const struct heavy_key *keys)
{
    const struct partition_info *p = &w->table->partitions[i];
    struct partition_report *r = &w->s.reports[p->id];
    r->table_id = w->table->id;
    r->partition = p->id;
    r->member = p->members[0];
    r->epoch = p->epoch;
    r->heavy_count = count;
    for (uint32_t k = 0; k < count; k++)
        r->heavy[k] = keys[k];
    cluster_loads_take_partition(w->s.loads, w->s.now, r);
}

/* `units` per second for a shard of the key, in partition `i`; then the controller evaluates. */
static void fixture_ask(struct fixture *w, uint32_t i, const char *key, uint32_t shard,
                        int64_t units)
{
    const struct heavy_key k = {fixture_key(w, (int)i, key, shard), units * MCU_PER_UNIT};
    fixture_report(w, i, 1, &k);
}

static void fixture_evaluate(struct fixture *w)
{
    control_fixture_evaluate(&w->s, 500, true);
    w->table = catalog_find(w->s.catalog, slice_of("t"));
}

static const struct sharded_key *fixture_sharded_key(struct fixture *w, const char *key)
{
    return key_sharding_find(w->table->sharded_keys, fixture_key(w, 7, key, 0));
}

static uint32_t fixture_shards(struct fixture *w, const char *key)
{
    const struct sharded_key *k = fixture_sharded_key(w, key);
    return k != NULL ? k->shards : 1;
}

TEST(the_number_of_shards_follows_the_rate)
{
    static const struct {
        int64_t units;
        uint32_t shards;
    } CASES[] = {{0, 1},    {200, 1},  {800, 1},  {801, 2},      {900, 2},
                 {2200, 3}, {4000, 5}, {4001, 6}, {100000, 125}, {1000000000, KEY_SHARDS_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        assert_int_equal(control_shards_for(CASES[i].units * MCU_PER_UNIT, 800), CASES[i].shards);
    for (size_t i = 1; i < 4; i++) {
        static const int64_t units[] = {0, 900, 2200, 4000};
        struct fixture w;
        fixture_open(&w, "auto", 10000);
        fixture_ask(&w, 0, "hot", 0, units[i]);
        fixture_evaluate(&w);
        assert_int_equal(fixture_shards(&w, "hot"),
                         control_shards_for(units[i] * MCU_PER_UNIT, 800));
        assert_int_equal(w.s.decision_count, 1);
        assert_int_equal(w.s.decisions[0].event.kind, EVENT_KEY_SHARDED);
        assert_int_equal(w.s.decisions[0].event.before, 1);
        fixture_close(&w);
    }
}

TEST(the_rates_of_all_shards_count_and_each_once)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "auto", 10000);
    assert_true(w.table->partition_count >= 3);
    fixture_ask(&w, 0, "hot", 0, 1500);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "hot"), 2);
    fixture_ask(&w, 0, "hot", 0, 1000);
    fixture_ask(&w, 1, "hot", 1, 900);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "hot"), 3);
    assert_int_equal(w.s.decisions[0].event.kind, EVENT_KEY_GROWN);
    fixture_evaluate(&w); /* the same reports: nothing new */
    assert_int_equal(w.s.decision_count, 0);
    fixture_ask(&w, 0, "hot", 0, 1000);
    fixture_ask(&w, 1, "hot", 1, 1000);
    w.s.reports[w.table->partitions[1].id].epoch--; /* of a wider range */
    cluster_loads_take_partition(w.s.loads, w.s.now, &w.s.reports[w.table->partitions[1].id]);
    fixture_ask(&w, 2, "hot", 1, 500); /* the shard was split off */
    fixture_evaluate(&w);
    assert_int_equal(w.s.decision_count, 0);
    fixture_close(&w);
}

TEST(it_grows_once_and_never_shrinks_by_itself)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "auto", 10000);
    fixture_ask(&w, 0, "hot", 0, 4000);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "hot"), 5);
    for (int i = 0; i < 10; i++) {
        fixture_ask(&w, 0, "hot", 0, i < 5 ? 4070 : 300); /* within what may be measured wrong */
        fixture_evaluate(&w);
        assert_int_equal(w.s.decision_count, 0);
    }
    fixture_close(&w);
}

TEST(old_reports_and_other_tables_do_not_count)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "off", 10000);
    fixture_ask(&w, 0, "hot", 0, 4000);
    fixture_evaluate(&w);
    assert_int_equal(w.s.decision_count, 0);
    fixture_tag(&w, "auto");
    control_fixture_evaluate(&w.s, 5000, true);
    assert_int_equal(w.s.decision_count, 0);
    config_edit_control(&w.s.config)->control_key_sharding = 0;
    fixture_ask(&w, 0, "hot", 0, 4000);
    fixture_evaluate(&w);
    assert_int_equal(w.s.decision_count, 0);
    fixture_close(&w);
}

TEST(what_the_table_may_be_asked_for_bounds_it)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "auto", 1500);
    fixture_ask(&w, 0, "hot", 0, 40000); /* nearly all of it is refused, and comes again */
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "hot"), 2);
    fixture_ask(&w, 0, "hot", 0, 40000);
    fixture_evaluate(&w);
    assert_int_equal(w.s.decision_count, 0);
    fixture_close(&w);
}

TEST(a_number_in_the_tag_is_what_a_hot_key_gets)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "4", 10000);
    fixture_ask(&w, 0, "hot", 0, 700);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "hot"), 1);
    fixture_ask(&w, 0, "hot", 0, 9000);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "hot"), 4);
    fixture_ask(&w, 0, "hot", 0, 9000);
    fixture_evaluate(&w);
    assert_int_equal(w.s.decision_count, 0);
    fixture_close(&w);
}

/* Requests that the partition's maximum refuses, in the last seconds. */
static void fixture_throttle(struct fixture *w, const char *key, int64_t units)
{
    struct partition_report *r = &w->s.reports[w->table->partitions[0].id];
    for (int i = 0; i < 6; i++) {
        r->totals[ADMIT_WRITE].consumed_mcu += 500 * MCU_PER_UNIT;
        r->totals[ADMIT_WRITE].refused[ADMIT_REFUSED_KEY_RANGE] += 100;
        fixture_ask(w, 0, key, 0, units);
        fixture_evaluate(w);
    }
}

static void fixture_calm(struct fixture *w, const char *key, int64_t units, int evaluations)
{
    struct partition_report *r = &w->s.reports[w->table->partitions[0].id];
    for (int i = 0; i < evaluations; i++) {
        r->totals[ADMIT_WRITE].consumed_mcu += 500 * MCU_PER_UNIT;
        fixture_ask(w, 0, key, 0, units);
        fixture_evaluate(w);
    }
}

TEST(a_counter_begins_at_its_limit_and_doubles_at_those_of_its_cells)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "counter", 10000);
    fixture_calm(&w, "count", 950, 6);
    assert_int_equal(fixture_shards(&w, "count"), 1); /* not refused */
    fixture_throttle(&w, "count", 950);
    assert_int_equal(fixture_shards(&w, "count"), 10);
    assert_true(fixture_sharded_key(&w, "count")->counter);
    fixture_calm(&w, "count", 500, 30);
    assert_int_equal(fixture_shards(&w, "count"), 10);
    fixture_throttle(&w, "count", 950);
    assert_int_equal(fixture_shards(&w, "count"), 20); /* once: the load must spread first */
    fixture_calm(&w, "count", 500, 30);
    fixture_ask(&w, 0, "count", 0, 17000);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "count"), 40);
    fixture_close(&w);
}

TEST(the_hottest_keys_come_first)
{
    struct fixture w;
    struct heavy_key keys[HEAVY_KEYS_MAX];
    (void)state;
    fixture_open(&w, "auto", 40000);
    config_edit_key_sharding(&w.s.config)->sharded_keys_max = 2;
    for (int i = 0; i < HEAVY_KEYS_MAX; i++) {
        char name[8];
        snprintf(name, sizeof name, "key%d", i);
        keys[i] = (struct heavy_key){fixture_key(&w, i, name, 0), (1000 + 100 * i) * MCU_PER_UNIT};
    }
    fixture_report(&w, 0, HEAVY_KEYS_MAX, keys);
    fixture_evaluate(&w);
    assert_int_equal(fixture_shards(&w, "key3"), 2);
    assert_int_equal(fixture_shards(&w, "key2"), 2);
    assert_int_equal(fixture_shards(&w, "key1"), 1);
    assert_int_equal(w.table->sharded_keys->count, 2);
    fixture_report(&w, 0, HEAVY_KEYS_MAX, keys);
    fixture_evaluate(&w);
    assert_int_equal(w.s.decision_count, 1);
    assert_int_equal(w.s.ops[0], CATALOG_EVENT);
    assert_int_equal(w.s.decisions[0].event.kind, EVENT_KEY_SHARDING_FULL);
    fixture_report(&w, 0, HEAVY_KEYS_MAX, keys);
    fixture_evaluate(&w); /* said once */
    assert_int_equal(w.s.decision_count, 0);
    fixture_close(&w);
}

TEST(a_key_that_shrinks_or_has_grown_often_waits)
{
    struct fixture w;
    (void)state;
    fixture_open(&w, "auto", 40000);
    for (uint32_t i = 0; i < 12; i++) {
        fixture_ask(&w, 0, "hot", 0, 1800 + 900 * i);
        fixture_evaluate(&w);
    }
    assert_int_equal(fixture_sharded_key(&w, "hot")->before_count, KEY_SHARDS_BEFORE_MAX);
    assert_int_equal(w.s.decision_count, 0);
    fixture_close(&w);
}
