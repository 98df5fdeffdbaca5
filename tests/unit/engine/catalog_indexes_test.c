/* Global indexes in the catalog: a change of a table and of its indexes is done as a whole or not at
 * all. */
#include "tests/check.h"

#include "base/gac_policy.h"
#include "base/settings/replication.h"
#include "base/settings/tables.h"
#include "engine/catalog/catalog.h"

struct world {
    struct catalog *catalog;
    struct config config;
    struct catalog_result result;
    struct buffer globals; /* of the next command */
};

static enum reply_code apply(struct world *w, struct catalog_command *c)
{
    struct buffer bytes = {0};
    catalog_command_encode(&bytes, c);
    catalog_apply(w->catalog, buffer_slice(&bytes), &w->result);
    buffer_deinit(&bytes);
    assert_true(w->result.code == REPLY_OK || w->result.row_count == 0);
    return w->result.code;
}

static struct catalog_command command_of(struct world *w, enum catalog_op op, int64_t rcu)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, 3, 1000);
    c.spec.name = slice_of("t");
    c.spec.billing = BILLING_PROVISIONED;
    c.spec.rcu = rcu;
    c.spec.wcu = 10;
    c.spec.globals = buffer_slice(&w->globals);
    return c;
}

static void give(struct world *w, const char *index, enum table_billing billing, int64_t rcu)
{
    const struct table_spec spec = {
        .name = slice_of(index), .billing = billing, .rcu = rcu, .wcu = 10};
    table_spec_append_sized(&w->globals, &spec);
}

static void reconcile(struct world *w, const char *name)
{
    const struct table *t = catalog_find(w->catalog, slice_of(name));
    struct catalog_command c = command_of(w, CATALOG_RECONCILED, 0);
    c.spec.globals = slice_make(NULL, 0);
    catalog_command_reconciled(&c, t);
    assert_int_equal(apply(w, &c), REPLY_OK);
}

/* Table t with the indexes by-a and by-b, reconciled. `gac`: what the table says. */
static void world_init_as(struct world *w, uint8_t gac, enum table_billing billing)
{
    struct index list[] = {{.name = slice_of("by-a"),
                            .partition_count = 1,
                            .keys = {{slice_of("a"), ATTR_STRING}},
                            .projection = PROJECT_ALL},
                           {.name = slice_of("by-b"),
                            .partition_count = 1,
                            .keys = {{slice_of("b"), ATTR_STRING}},
                            .projection = PROJECT_KEYS}};
    struct buffer indexes = {0};
    *w = (struct world){.catalog = catalog_create()};
    config_init(&w->config, PROFILE_AWS);
    config_edit_replication(&w->config)->replicas = 1;
    for (uint32_t node = 1; node <= 3; node++) {
        struct catalog_command c = command_of(w, CATALOG_NODE, 0);
        c.node = node;
        c.generation = 1;
        assert_int_equal(apply(w, &c), REPLY_OK);
    }
    give(w, "by-a", billing, 20);
    give(w, "by-b", billing, 30);
    struct catalog_command c = command_of(w, CATALOG_CREATE, 10);
    c.spec.gac = gac;
    c.spec.billing = billing;
    c.spec.partition_key = (struct key_attr){slice_of("p"), ATTR_STRING};
    const struct index_set set = {c.spec.partition_key, {{NULL, 0}, 0}, 2, 0, list};
    index_set_encode(&indexes, &set);
    c.spec.indexes = buffer_slice(&indexes);
    assert_int_equal(apply(w, &c), REPLY_OK);
    buffer_deinit(&indexes);
    buffer_clear(&w->globals);
    reconcile(w, "t");
    reconcile(w, "t/by-a");
    reconcile(w, "t/by-b");
}

static void world_init(struct world *w)
{
    world_init_as(w, GAC_AS_CONFIGURED, BILLING_PROVISIONED);
}

static void world_deinit(struct world *w)
{
    catalog_destroy(w->catalog);
    buffer_deinit(&w->globals);
}

static void expect_table(const struct world *w, const char *name, enum table_status status,
                         enum table_billing billing, int64_t rcu)
{
    const struct table *t = catalog_find(w->catalog, slice_of(name));
    assert_int_equal(t->status, status);
    assert_int_equal(t->billing, billing);
    assert_int_equal(t->rcu, rcu);
}

TEST(an_index_changes_alone_or_with_its_table)
{
    struct world w;
    world_init(&w);
    give(&w, "by-b", BILLING_PROVISIONED, 40);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE, 10);
    c.spec.billing = BILLING_AS_IT_IS;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(w.result.index_count, 1);
    assert_true(slice_is(w.result.table->name, "t"));
    expect_table(&w, "t", TABLE_ACTIVE, BILLING_PROVISIONED, 10);
    expect_table(&w, "t/by-a", TABLE_ACTIVE, BILLING_PROVISIONED, 20);
    expect_table(&w, "t/by-b", TABLE_UPDATING, BILLING_PROVISIONED, 40);
    reconcile(&w, "t/by-b");
    buffer_clear(&w.globals);
    give(&w, "by-a", BILLING_PROVISIONED, 50);
    c = command_of(&w, CATALOG_UPDATE, 60);
    assert_int_equal(apply(&w, &c), REPLY_OK);
    expect_table(&w, "t", TABLE_UPDATING, BILLING_PROVISIONED, 60);
    expect_table(&w, "t/by-a", TABLE_UPDATING, BILLING_PROVISIONED, 50);
    world_deinit(&w);
}

static void expect_unchanged(const struct world *w)
{
    expect_table(w, "t", TABLE_ACTIVE, BILLING_PROVISIONED, 10);
    expect_table(w, "t/by-a", TABLE_ACTIVE, BILLING_PROVISIONED, 20);
    expect_table(w, "t/by-b", TABLE_ACTIVE, BILLING_PROVISIONED, 30);
    assert_int_equal(w->result.index_count, 0);
}

TEST(a_change_that_one_index_refuses_changes_nothing)
{
    struct world w;
    world_init(&w);
    give(&w, "by-a", BILLING_PROVISIONED, 50);
    give(&w, "by-b", BILLING_PROVISIONED, config_tables(&w.config)->table_max_rcu + 1);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE, 60);
    assert_int_equal(apply(&w, &c), REPLY_LIMIT_EXCEEDED);
    expect_unchanged(&w);
    buffer_clear(&w.globals);
    give(&w, "by-a", BILLING_PROVISIONED, 50);
    give(&w, "by-c", BILLING_PROVISIONED, 50);
    c = command_of(&w, CATALOG_UPDATE, 60);
    assert_int_equal(apply(&w, &c), REPLY_TABLE_INVALID);
    expect_unchanged(&w);
    buffer_clear(&w.globals);
    give(&w, "by-a", BILLING_PROVISIONED, 50);
    give(&w, "by-a", BILLING_PROVISIONED, 70);
    c = command_of(&w, CATALOG_UPDATE, 60);
    assert_int_equal(apply(&w, &c), REPLY_TABLE_INVALID);
    expect_unchanged(&w);
    world_deinit(&w);
}

TEST(the_billing_mode_changes_with_all_indexes_or_not)
{
    struct world w;
    world_init(&w);
    give(&w, "by-a", BILLING_ON_DEMAND, 0);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE, 0);
    c.spec.billing = BILLING_ON_DEMAND;
    assert_int_equal(apply(&w, &c), REPLY_TABLE_INVALID);
    expect_unchanged(&w);
    give(&w, "by-b", BILLING_ON_DEMAND, 0);
    c = command_of(&w, CATALOG_UPDATE, 0);
    c.spec.billing = BILLING_ON_DEMAND;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(w.result.index_count, 2);
    expect_table(&w, "t", TABLE_UPDATING, BILLING_ON_DEMAND, 0);
    expect_table(&w, "t/by-a", TABLE_UPDATING, BILLING_ON_DEMAND, 0);
    expect_table(&w, "t/by-b", TABLE_UPDATING, BILLING_ON_DEMAND, 0);
    world_deinit(&w);
}

TEST(an_index_that_is_changing_refuses_another_change)
{
    struct world w;
    world_init(&w);
    give(&w, "by-a", BILLING_PROVISIONED, 50);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE, 0);
    c.spec.billing = BILLING_AS_IT_IS;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(apply(&w, &c), REPLY_TABLE_BUSY);
    assert_true(slice_is(w.result.table->name, "t/by-a"));
    expect_table(&w, "t/by-a", TABLE_UPDATING, BILLING_PROVISIONED, 50);
    world_deinit(&w);
}

TEST(a_table_is_deleted_only_while_no_index_is_changing)
{
    struct world w;
    world_init(&w);
    give(&w, "by-a", BILLING_PROVISIONED, 50);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE, 0);
    c.spec.billing = BILLING_AS_IT_IS;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    buffer_clear(&w.globals);
    c = command_of(&w, CATALOG_DELETE, 0);
    assert_int_equal(apply(&w, &c), REPLY_TABLE_BUSY);
    assert_true(slice_is(w.result.table->name, "t/by-a"));
    expect_table(&w, "t", TABLE_ACTIVE, BILLING_PROVISIONED, 10);
    reconcile(&w, "t/by-a");
    assert_int_equal(apply(&w, &c), REPLY_OK);
    expect_table(&w, "t", TABLE_DELETING, BILLING_PROVISIONED, 10);
    expect_table(&w, "t/by-a", TABLE_DELETING, BILLING_PROVISIONED, 50);
    world_deinit(&w);
}

/* Routers keep the limit of an index's reads; the rows are written by nodes, which know no tokens. */
TEST(routers_keep_the_limits_of_an_indexs_reads_if_they_keep_its_tables)
{
    static const uint8_t choices[] = {1 + GAC_OFF, 1 + GAC_LEASE, GAC_AS_CONFIGURED};
    for (size_t i = 0; i < sizeof choices; i++) {
        struct world w;
        world_init_as(&w, choices[i], BILLING_PROVISIONED);
        const struct table *t = catalog_find(w.catalog, slice_of("t"));
        const struct table *x = catalog_find(w.catalog, slice_of("t/by-b"));
        assert_int_equal(x->gac, choices[i]);
        assert_int_equal(x->partitions[0].gac, choices[i]);
        assert_true(x->partitions[0].of_index);
        assert_false(t->partitions[0].of_index);
        assert_int_equal(table_gac_setting(x->gac, true, ADMIT_READ), choices[i]);
        assert_int_equal(table_gac_setting(x->gac, true, ADMIT_WRITE), 1 + GAC_OFF);
        assert_int_equal(table_gac_setting(t->gac, false, ADMIT_WRITE), choices[i]);
        world_deinit(&w);
    }
}

/* The maximum of writes bounds each partition of an index, that of reads only if no router does. */
TEST(a_maximum_of_an_index_bounds_its_partitions_where_no_router_keeps_it)
{
    for (int kept = 0; kept < 2; kept++) {
        struct world w;
        world_init_as(&w, kept ? 1 + GAC_LEASE : 1 + GAC_OFF, BILLING_ON_DEMAND);
        const struct table_spec more = {
            .name = slice_of("by-a"), .billing = BILLING_ON_DEMAND, .maximum = {70, 50}};
        table_spec_append_sized(&w.globals, &more);
        struct catalog_command c = command_of(&w, CATALOG_UPDATE, 0);
        c.spec.billing = BILLING_AS_IT_IS;
        assert_int_equal(apply(&w, &c), REPLY_OK);
        const struct table *x = catalog_find(w.catalog, slice_of("t/by-a"));
        assert_int_equal(x->partitions[0].maximum_mcu[ADMIT_READ], kept ? 0 : 70000);
        assert_int_equal(x->partitions[0].maximum_mcu[ADMIT_WRITE], 50000);
        world_deinit(&w);
    }
}

/* ---- types of key attributes ---- */

#define REDEFINED                                                                              \
    "One or more parameter values were invalid: Attributes cannot be redefined. Please check " \
    "that "                                                                                    \
    "your attribute has the same type as previously defined. Existing schema: "

static void refused_index(const struct index *x, const char *text)
{
    struct world w;
    struct buffer bytes = {0};
    world_init(&w);
    const struct index_set set = {
        {slice_of("p"), ATTR_STRING}, {{NULL, 0}, 0}, 1, 0, (struct index *)x};
    index_set_encode(&bytes, &set);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE, 10);
    c.spec.billing = BILLING_AS_IT_IS;
    c.spec.add_index = buffer_slice(&bytes);
    assert_int_equal(apply(&w, &c), REPLY_TABLE_INVALID);
    assert_true(slice_is(w.result.text, text));
    buffer_deinit(&bytes);
    world_deinit(&w);
}

TEST(a_key_attribute_of_a_new_index_keeps_its_type)
{
    struct index x = {.name = slice_of("by-more"),
                      .partition_count = 1,
                      .sort_count = 1,
                      .keys = {{slice_of("c"), ATTR_STRING}, {slice_of("p"), ATTR_NUMBER}},
                      .projection = PROJECT_ALL};
    refused_index(&x, REDEFINED "Schema:[SchemaElement: key{p:S:HASH}] New schema: "
                                "Schema:[SchemaElement: key{c:S:HASH}, SchemaElement: "
                                "key{p:N:RANGE}]");
    x.sort_count = 0;
    x.keys[0] = (struct key_attr){slice_of("b"), ATTR_BINARY};
    refused_index(&x, REDEFINED "Schema:[SchemaElement: key{b:S:HASH}] New schema: "
                                "Schema:[SchemaElement: key{b:B:HASH}]");
}
