/* catalog_ttl_test.c - time to live in the catalog: who may change it, and what partitions hear. */
#include "tests/check.h"

#include "base/settings/tables.h"
#include "tests/support/catalog_fixture.h"

static enum reply_code change(struct catalog_fixture *w, enum table_ttl ttl, const char *attribute,
                              int64_t wall_ms)
{
    struct catalog_command c = catalog_fixture_command(w, CATALOG_UPDATE);
    c.spec = (struct table_spec){
        .name = slice_of("t"), .ttl = ttl, .ttl_attribute = slice_of(attribute)};
    c.wall_ms = wall_ms;
    return catalog_fixture_apply(w, &c);
}

static void reconcile(struct catalog_fixture *w)
{
    const struct table *t = catalog_fixture_table(w);
    assert_int_equal(catalog_fixture_reconcile(w, t->partition_count, TABLE_UPDATING), REPLY_OK);
    assert_int_equal(catalog_fixture_table(w)->status, TABLE_ACTIVE);
    catalog_fixture_reloads(w);
}

static void assert_refused(struct catalog_fixture *w, enum reply_code code, const char *text)
{
    assert_int_equal(code, REPLY_TABLE_INVALID);
    assert_true(slice_is(buffer_slice(&w->text), text));
}

/* What all partitions are told. */
static void assert_told(const struct catalog_fixture *w, const char *attribute)
{
    const struct table *t = catalog_fixture_table(w);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        assert_true(slice_is(t->partitions[i].ttl, attribute));
        assert_int_equal(t->partitions[i].indexes_version, t->indexes_version);
    }
}

TEST(it_is_enabled_and_disabled_in_the_words_of_the_service)
{
    struct catalog_fixture w;
    (void)state;
    catalog_fixture_init(&w, 3);
    const uint32_t version = catalog_fixture_table(&w)->indexes_version;
    assert_told(&w, "");
    assert_refused(&w, change(&w, TTL_DISABLING, "a", 1000), "TimeToLive is already disabled");
    assert_int_equal(change(&w, TTL_ENABLING, "a", 1000), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_ENABLING);
    assert_int_equal(catalog_fixture_table(&w)->indexes_version, version + 1);
    assert_told(&w, "a");
    assert_int_equal(change(&w, TTL_DISABLING, "a", 1000), REPLY_TABLE_BUSY);
    reconcile(&w);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_ENABLED);
    assert_told(&w, "a");
    assert_refused(&w, change(&w, TTL_ENABLING, "a", 1000), "TimeToLive is already enabled");
    for (int i = 0; i < 2; i++)
        assert_refused(&w, change(&w, i == 0 ? TTL_ENABLING : TTL_DISABLING, "b", 1000),
                       "TimeToLive is active on a different AttributeName: current AttributeName "
                       "is a");
    assert_int_equal(change(&w, TTL_DISABLING, "a", 1000), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_DISABLING);
    assert_told(&w, "");
    reconcile(&w);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_DISABLED);
    assert_int_equal(catalog_fixture_table(&w)->indexes_version, version + 2);
    catalog_fixture_deinit(&w);
}

TEST(a_second_change_waits_if_the_configuration_says_so)
{
    static const char *const TEXT =
        "Time to live has been modified multiple times within a fixed interval";
    struct catalog_fixture w;
    (void)state;
    catalog_fixture_init(&w, 3);
    config_edit_tables(&w.config)->ttl_change_ms = 3600000;
    assert_int_equal(change(&w, TTL_ENABLING, "a", 1000), REPLY_OK);
    reconcile(&w);
    assert_refused(&w, change(&w, TTL_DISABLING, "a", 3600999), TEXT);
    assert_refused(&w, change(&w, TTL_ENABLING, "a", 2000), TEXT);
    assert_int_equal(change(&w, TTL_DISABLING, "a", 3601000), REPLY_OK);
    catalog_fixture_deinit(&w);
}

/* Each leader of the catalog has a clock of its own. */
TEST(a_change_does_not_wait_for_the_clock_of_an_earlier_leader)
{
    struct catalog_fixture w;
    (void)state;
    catalog_fixture_init(&w, 3);
    for (int i = 0; i < 2; i++) {
        config_edit_tables(&w.config)->ttl_change_ms = i * 60000;
        assert_int_equal(change(&w, TTL_ENABLING, "a", 900000), REPLY_OK);
        reconcile(&w);
        assert_int_equal(change(&w, TTL_DISABLING, "a", 1000), REPLY_OK);
        reconcile(&w);
    }
    catalog_fixture_deinit(&w);
}

TEST(other_changes_leave_it_as_it_is)
{
    struct catalog_fixture w;
    (void)state;
    catalog_fixture_init(&w, 3);
    assert_int_equal(change(&w, TTL_ENABLING, "a", 1000), REPLY_OK);
    reconcile(&w);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec.rcu += 10;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    reconcile(&w);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_ENABLED);
    assert_int_equal(catalog_fixture_halve(&w, catalog_fixture_at(&w, 0)), REPLY_OK);
    assert_told(&w, "a");
    catalog_fixture_deinit(&w);
}

TEST(bytes_that_make_no_sense_are_refused)
{
    static uint8_t name[TTL_NAME_SIZE_MAX + 1];
    static const struct {
        enum table_ttl ttl;
        size_t size;
    } CASES[] = {{TTL_DISABLED, 1},
                 {TTL_ENABLED, 1},
                 {TTL_ENABLING, 0},
                 {TTL_ENABLING, TTL_NAME_SIZE_MAX + 1}};
    (void)state;
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

/* A change was reconciled, and that was proposed twice. Between the two another change began, with
 * the same status and as many partitions: the second proposal must not end it before any partition
 * knows of it. */
TEST(what_was_settled_before_a_change_does_not_end_the_change)
{
    struct catalog_fixture w;
    catalog_fixture_init(&w, 3);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_UPDATE);
    c.spec = (struct table_spec){.name = slice_of("t"), .stream = 1 + STREAM_BOTH_IMAGES};
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    struct catalog_command late = catalog_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&late, catalog_fixture_table(&w));
    reconcile(&w);
    assert_int_equal(change(&w, TTL_ENABLING, "a", 1000), REPLY_OK);
    assert_int_equal(catalog_fixture_apply(&w, &late), REPLY_OK);
    assert_int_equal(catalog_fixture_table(&w)->status, TABLE_UPDATING);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_ENABLING);
    reconcile(&w);
    assert_int_equal(catalog_fixture_table(&w)->ttl, TTL_ENABLED);
    catalog_fixture_deinit(&w);
}
