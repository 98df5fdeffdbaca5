/* catalog_key_shards_test.c - the registry of sharded keys in the catalog: what it takes, what it
 * refuses, and what partitions hear. */
#include "tests/check.h"

#include "base/settings/key_sharding.h"
#include "tests/support/catalog_fixture.h"

static void begin(struct catalog_fixture *w, const char *tag)
{
    catalog_fixture_init(w, 3);
    assert_int_equal(catalog_fixture_tag(w, tag), REPLY_OK);
}

static void assert_refused(const struct catalog_fixture *w, enum reply_code got,
                           enum reply_code code, const char *text)
{
    assert_int_equal(got, code);
    if (!slice_is(buffer_slice(&w->text), text))
        fail_msg("%.*s", (int)w->text.size, (const char *)w->text.data);
}

/* What all partitions are told. */
static void assert_told(const struct catalog_fixture *w, uint64_t version)
{
    const struct table *t = catalog_fixture_table(w);
    assert_int_equal(table_key_sharding_version(t), version);
    assert_int_equal(t->status, TABLE_ACTIVE);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        assert_int_equal(t->partitions[i].key_sharding_version, version);
        assert_int_equal(t->partitions[i].indexes_version, t->indexes_version);
    }
    catalog_fixture_reloads(w);
}

static void assert_key(const struct catalog_fixture *w, const char *key, uint32_t shards,
                       uint64_t version, uint32_t before_count, const uint32_t *before)
{
    const struct sharded_key *k = catalog_fixture_sharded_key(w, key);
    assert_non_null(k);
    assert_int_equal(k->shards, shards);
    assert_int_equal(k->version, version);
    assert_int_equal(k->before_count, before_count);
    for (uint32_t i = 0; i < before_count; i++)
        assert_int_equal(k->before[i], before[i]);
}

TEST(a_key_grows_and_keeps_its_former_numbers_until_all_has_moved)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    const uint32_t version = catalog_fixture_table(&w)->indexes_version;
    assert_told(&w, 0);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    assert_key(&w, "hot", 2, 1, 1, (const uint32_t[]){1});
    assert_told(&w, 1);
    assert_int_equal(catalog_fixture_table(&w)->indexes_version, version + 1);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 5), REPLY_OK);
    assert_key(&w, "hot", 5, 2, 2, (const uint32_t[]){1, 2});
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_key(&w, "hot", 5, 2, 0, NULL); /* no request must wait until partitions know version 3 */
    assert_told(&w, 3);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_told(&w, 3);
    catalog_fixture_deinit(&w);
}

/* KEYSHARD-5 */
TEST(a_key_leaves_once_its_items_are_back)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 8), REPLY_OK);
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "hot", 2),
                   REPLY_TABLE_BUSY,
                   "Items of the key are still on their way to their shards: try again");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "hot", 8),
                   REPLY_TABLE_INVALID, "The key has 8 shards: 8 are not fewer");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "hot", 3), REPLY_OK);
    assert_key(&w, "hot", 3, 3, 1, (const uint32_t[]){8});
    assert_refused(
        &w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 9), REPLY_TABLE_BUSY,
        "The key shrinks: its items must be in their owner shards before it grows again");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "hot", 1), REPLY_OK);
    assert_key(&w, "hot", 1, 5, 1, (const uint32_t[]){3});
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_key(&w, "hot", 1, 5, 0, NULL); /* tokens may be known where its shards were */
    assert_int_equal(catalog_fixture_sharded_key(&w, "hot")->widest, 8);
    assert_int_equal(catalog_fixture_sharded_key(&w, "hot")->placed_version, 6);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_FORGET, "hot", 0), REPLY_OK);
    assert_null(catalog_fixture_sharded_key(&w, "hot"));
    assert_told(&w, 7); /* the numbers go on: no version means two things */
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    assert_key(&w, "hot", 2, 8, 1, (const uint32_t[]){1});
    catalog_fixture_deinit(&w);
}

static void assert_widest(const struct catalog_fixture *w, uint32_t widest)
{
    assert_non_null(catalog_fixture_sharded_key(w, "hot"));
    assert_int_equal(catalog_fixture_sharded_key(w, "hot")->widest, widest);
}

/* Only FORGET makes it smaller, and never below what the key has. */
TEST(the_most_shards_are_remembered_until_they_are_forgotten)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 8), REPLY_OK);
    assert_widest(&w, 8);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_FORGET, "hot", 0),
                     REPLY_OK); /* its items move */
    assert_told(&w, 1);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_FORGET, "hot", 0),
                     REPLY_OK); /* it has so many */
    assert_told(&w, 2);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "hot", 2), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_FORGET, "hot", 0), REPLY_OK);
    assert_widest(&w, 8);
    assert_told(&w, 3);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_widest(&w, 8);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 5),
                     REPLY_OK); /* not so many */
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_widest(&w, 8);
    assert_refused(&w, catalog_fixture_change_shards_at(&w, KEY_SHARDS_FORGET, "hot", 0, 3),
                   REPLY_WRONG_PARTITION,
                   "the key is not as the decision saw it"); /* said before it grew */
    assert_widest(&w, 8);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_FORGET, "hot", 0), REPLY_OK);
    assert_widest(&w, 5);
    assert_key(&w, "hot", 5, 5, 0, NULL); /* no request must wait */
    assert_told(&w, 7);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 9), REPLY_OK);
    assert_widest(&w, 9);
    catalog_fixture_deinit(&w);
}

static void assert_counter(const struct catalog_fixture *w, uint32_t before, uint32_t shards,
                           uint32_t widest, bool shrank)
{
    const struct sharded_key *k = catalog_fixture_sharded_key(w, "count");
    assert_non_null(k);
    assert_true(k->counter);
    assert_int_equal(k->before_count, before > 0);
    if (before > 0)
        assert_int_equal(k->before[0], before);
    assert_int_equal(k->shards, shards);
    assert_int_equal(k->widest, widest);
    assert_int_equal(k->shrank, shrank);
    catalog_fixture_reloads(w);
}

/* Also while it remembers from how many it has grown: it remembers the most. */
TEST(a_counter_gives_up_cells)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "counter");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "count", 10), REPLY_OK);
    assert_counter(&w, 1, 10, 10, false);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "count", 4), REPLY_OK);
    assert_counter(&w, 10, 4, 10, true);
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "count", 2),
                   REPLY_TABLE_BUSY,
                   "Items of the key are still on their way to their shards: try again");
    assert_refused(
        &w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "count", 12), REPLY_TABLE_BUSY,
        "The key shrinks: its items must be in their owner shards before it grows again");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "count", 0), REPLY_OK);
    assert_counter(&w, 0, 4, 10, true);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "count", 12), REPLY_OK);
    assert_counter(&w, 4, 12, 12, true); /* tokens may be where ten cells were */
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "count", 0), REPLY_OK);
    assert_counter(&w, 0, 12, 12, false); /* that comes when no token is known from before */
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_SHRINK, "count", 1), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "count", 0), REPLY_OK);
    assert_counter(&w, 0, 1, 12, true);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_FORGET, "count", 0), REPLY_OK);
    assert_null(catalog_fixture_sharded_key(&w, "count"));
    catalog_fixture_deinit(&w);
}

/* They would show cells. */
TEST(a_table_of_counters_has_no_stream)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "counter");
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.billing = BILLING_AS_IT_IS;
    c.spec.stream = 1 + STREAM_BOTH_IMAGES;
    assert_refused(
        &w, catalog_fixture_apply(&w, &c), REPLY_TABLE_INVALID,
        "The table's tag weir:key-sharding makes counters of items, whose parts a stream "
        "would show: TableName: t");
    assert_int_equal(catalog_fixture_tag(&w, NULL), REPLY_OK);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    c = catalog_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_fixture_table(&w));
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_refused(
        &w, catalog_fixture_tag(&w, "counter"), REPLY_TABLE_INVALID,
        "The tag weir:key-sharding is 'counter', and the table has a stream: the items of such "
        "a table may be in parts, which it would show");
    catalog_fixture_deinit(&w);
}

/* KEYSHARD-4 */
TEST(what_rests_on_an_older_view_is_refused)
{
    static const char *const TEXT = "the key is not as the decision saw it";
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    assert_refused(&w, catalog_fixture_change_shards_at(&w, KEY_SHARDS_GROW, "hot", 2, 1),
                   REPLY_WRONG_PARTITION, TEXT);
    for (enum key_shards_change word = KEY_SHARDS_MOVED; word <= KEY_SHARDS_SHRINK; word++)
        assert_refused(&w, catalog_fixture_change_shards_at(&w, word, "hot", 1, 0),
                       REPLY_WRONG_PARTITION, TEXT);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 4), REPLY_OK);
    for (enum key_shards_change word = KEY_SHARDS_GROW; word <= KEY_SHARDS_SHRINK; word++) {
        assert_refused(&w, catalog_fixture_change_shards_at(&w, word, "hot", 8, 1),
                       REPLY_WRONG_PARTITION, TEXT);
        assert_refused(&w, catalog_fixture_change_shards_at(&w, word, "hot", 8, 0),
                       REPLY_WRONG_PARTITION, TEXT);
    }
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 4),
                   REPLY_WRONG_PARTITION, "the key has as many shards");
    assert_key(&w, "hot", 4, 2, 2, (const uint32_t[]){1, 2});
    catalog_fixture_deinit(&w);
}

TEST(no_key_grows_unless_the_tag_asks_for_it)
{
    static const char *const TEXT = "the table's tag weir:key-sharding does not ask for it";
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    static const char *const OTHERS[] = {NULL, "off", "what?", "1", "129"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        assert_int_equal(catalog_fixture_tag(&w, OTHERS[i]), REPLY_OK);
        assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 3),
                       REPLY_WRONG_PARTITION, TEXT);
    }
    assert_key(&w, "hot", 2, 1, 1, (const uint32_t[]){1});
    assert_int_equal(catalog_fixture_tag(&w, "counter"), REPLY_OK); /* of another kind */
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 3),
                   REPLY_WRONG_PARTITION, TEXT);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "count", 10), REPLY_OK);
    assert_true(catalog_fixture_sharded_key(&w, "count")->counter);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_MOVED, "count", 0), REPLY_OK);
    assert_int_equal(catalog_fixture_tag(&w, "128"), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 128), REPLY_OK);
    catalog_fixture_deinit(&w);
}

TEST(the_tag_of_older_tables_asks_for_it_unless_the_new_one_is_there)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, NULL);
    assert_int_equal(catalog_fixture_tag_named(&w, "weir:salting", "auto"), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    assert_int_equal(catalog_fixture_tag(&w, "off"), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 3),
                     REPLY_WRONG_PARTITION);
    assert_int_equal(catalog_fixture_tag_named(&w, "weir:salting", "counter"), REPLY_OK);
    assert_false(table_counts(catalog_fixture_table(&w)));
    assert_int_equal(catalog_fixture_tag(&w, NULL), REPLY_OK);
    assert_true(table_counts(catalog_fixture_table(&w)));
    catalog_fixture_deinit(&w);
}

TEST(only_keys_of_tables_with_a_sort_key_are_spread)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_DELETE);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2),
                     REPLY_TABLE_BUSY);
    assert_int_equal(catalog_fixture_reconcile(&w, 2, TABLE_DELETING), REPLY_OK);
    c = catalog_fixture_command(&w, CATALOG_CREATE);
    c.spec.sort_key = (struct key_attr){0};
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 2, TABLE_CREATING), REPLY_OK);
    assert_refused(
        &w, catalog_fixture_tag(&w, "auto"), REPLY_TABLE_INVALID,
        "The tag weir:key-sharding is 'auto', which spreads the items of a partition key by "
        "their sort keys, and the table has no sort key. For counters there is 'counter'");
    assert_int_equal(catalog_fixture_tag(&w, "17"), REPLY_TABLE_INVALID);
    assert_int_equal(catalog_fixture_tag(&w, "off"), REPLY_OK);
    assert_int_equal(catalog_fixture_tag(&w, "counter"), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    catalog_fixture_deinit(&w);
}

TEST(a_new_table_of_the_same_name_begins_empty)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_DELETE);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 2, TABLE_DELETING), REPLY_OK);
    c = catalog_fixture_command(&w, CATALOG_CREATE);
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_int_equal(catalog_fixture_reconcile(&w, 2, TABLE_CREATING), REPLY_OK);
    assert_null(catalog_fixture_sharded_key(&w, "hot"));
    assert_told(&w, 0);
    catalog_fixture_deinit(&w);
}

TEST(it_waits_for_other_changes_that_partitions_must_hear)
{
    static const char *const TEXT =
        "The table is being updated, or partitions of it are being merged";
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.stream = 1 + STREAM_NEW_IMAGE;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2),
                   REPLY_TABLE_BUSY, TEXT);
    assert_int_equal(catalog_fixture_reconcile(&w, 2, TABLE_UPDATING), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    catalog_fixture_deinit(&w);

    begin(&w, "auto");
    assert_int_equal(catalog_fixture_say(&w, MERGE_BEGIN, catalog_fixture_at(&w, 1)), REPLY_OK);
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2),
                   REPLY_TABLE_BUSY, TEXT);
    catalog_fixture_deinit(&w);
}

TEST(pieces_of_a_partition_know_what_it_was_told)
{
    struct catalog_fixture w;
    (void)state;
    begin(&w, "auto");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_OK);
    assert_told(&w, 1);
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 3),
                     REPLY_OK); /* meanwhile */
    assert_told(&w, 2);
    assert_int_equal(catalog_fixture_at(&w, 1)->parent, catalog_fixture_at(&w, 0)->id);
    assert_int_equal(catalog_fixture_reconcile(&w, 3, TABLE_ACTIVE), REPLY_OK);
    assert_told(&w, 2);
    catalog_fixture_deinit(&w);
}

TEST(the_registry_has_bounds)
{
    struct catalog_fixture w;
    char name[2000];
    (void)state;
    begin(&w, "auto");
    for (uint32_t shards = 2; shards < 2 + KEY_SHARDS_BEFORE_MAX; shards++)
        assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", shards),
                         REPLY_OK);
    assert_refused(
        &w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "hot", 100), REPLY_TABLE_BUSY,
        "The key has grown often: its items must be in their owner shards before it grows again");
    config_edit_key_sharding(&w.config)->sharded_keys_max = 2;
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "second", 2), REPLY_OK);
    assert_refused(&w, catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "third", 2),
                   REPLY_LIMIT_EXCEEDED, "The cluster has its limit of 2 sharded keys");
    assert_int_equal(catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, "second", 3), REPLY_OK);
    config_edit_key_sharding(&w.config)->sharded_keys_max = 1000;
    enum reply_code code = REPLY_OK;
    for (int i = 0; i < 1000 && code == REPLY_OK; i++) {
        snprintf(name, sizeof name, "%01000d", i);
        code = catalog_fixture_change_shards(&w, KEY_SHARDS_GROW, name, 2);
    }
    assert_refused(&w, code, REPLY_LIMIT_EXCEEDED,
                   "The table's sharded keys have their limit of 262144 bytes");
    assert_null(catalog_fixture_sharded_key(&w, name));
    assert_true(catalog_fixture_table(&w)->key_sharding.size > KEY_SHARDING_SIZE_MAX - 1100);
    catalog_fixture_reloads(&w);
    catalog_fixture_deinit(&w);
}

TEST(bytes_that_make_no_sense_are_refused)
{
    struct catalog_fixture w;
    struct buffer key = {0}, bytes = {0};
    (void)state;
    begin(&w, "auto");
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
                                   .key_shards = {.word = KEY_SHARDS_GROW,
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
