/* What the catalog makes of throughput modes: peaks, warm throughput, switches, promises. */
#include "tests/check.h"

#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/tables.h"
#include "engine/catalog/catalog.h"

enum {
    NODES = 3,
    HOUR_MS = 3600000
};

struct fixture {
    struct catalog *catalog;
    struct config config;
    int64_t wall_ms;
    struct buffer text; /* of the last refusal */
};

static enum reply_code apply(struct fixture *w, struct catalog_command *command)
{
    struct buffer b = {0};
    struct catalog_result result;
    if (command->spec.name.size == 0)
        command->spec.name = slice_of("-");
    catalog_command_encode(&b, command);
    catalog_apply(w->catalog, buffer_slice(&b), &result);
    buffer_clear(&w->text);
    buffer_append_slice(&w->text, result.text);
    buffer_deinit(&b);
    return result.code;
}

static struct catalog_command command_of(const struct fixture *w, enum catalog_op op)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, NODES, w->wall_ms);
    return c;
}

static void fixture_init(struct fixture *w)
{
    *w = (struct fixture){.catalog = catalog_create(), .wall_ms = INT64_C(1700000000000)};
    config_init(&w->config, PROFILE_AWS);
    config_edit_choices(&w->config)->gac = GAC_OFF;
    for (uint32_t node = 1; node <= NODES; node++) {
        struct catalog_command c = command_of(w, CATALOG_NODE);
        c.node = c.generation = node;
        assert_int_equal(apply(w, &c), REPLY_OK);
    }
}

static void fixture_deinit(struct fixture *w)
{
    catalog_destroy(w->catalog);
    buffer_deinit(&w->text);
}

static const struct table *table_named(const struct fixture *w, const char *name)
{
    return catalog_find(w->catalog, slice_of(name));
}

static enum reply_code reconcile(struct fixture *w, const char *name)
{
    const struct table *t = table_named(w, name);
    struct catalog_command c = command_of(w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, t);
    return apply(w, &c);
}

/* 0 and 0 units: on demand. `warm`: writes to be served at once, 0: not said. */
static enum reply_code change(struct fixture *w, enum catalog_op op, const char *name,
                              int64_t units, int64_t warm)
{
    struct catalog_command c = command_of(w, op);
    c.spec = (struct table_spec){.name = slice_of(name),
                                 .partition_key = {slice_of("k"), ATTR_STRING},
                                 .billing = units == 0 ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
                                 .rcu = units,
                                 .wcu = units,
                                 .warm = {[ADMIT_WRITE] = warm}};
    enum reply_code code = apply(w, &c);
    if (code == REPLY_OK)
        assert_int_equal(reconcile(w, name), REPLY_OK);
    return code;
}

static enum reply_code reach(struct fixture *w, const char *name, int64_t read, int64_t write)
{
    struct buffer b = {0};
    struct decision d = {.table_id = table_named(w, name)->id,
                         .peak = {[ADMIT_READ] = read, [ADMIT_WRITE] = write}};
    struct catalog_command c = command_of(w, CATALOG_PEAK);
    decision_encode(&b, &d);
    c.decision = buffer_slice(&b);
    enum reply_code code = apply(w, &c);
    buffer_deinit(&b);
    return code;
}

static int64_t write_promise(const struct fixture *w, uint32_t node)
{
    struct promises promises;
    catalog_count_promises(w->catalog, CATALOG_TABLE_ID, &promises);
    return promises.loads_mcu[node][ADMIT_WRITE];
}

/* ---- on demand ---- */

TEST(a_new_table_on_demand_has_partitions_for_what_it_starts_with)
{
    struct fixture w;
    fixture_init(&w);
    assert_int_equal(change(&w, CATALOG_CREATE, "a", 0, 0), REPLY_OK);
    const struct table *t = table_named(&w, "a");
    assert_int_equal(t->partition_count, 4);
    assert_int_equal(t->warm[ADMIT_READ], 12000);
    assert_int_equal(t->warm[ADMIT_WRITE], 4000);
    for (uint32_t i = 0; i < 4; i++) { /* a hundredth of it is allocated, the rest is burst */
        assert_true(t->partitions[i].on_demand);
        assert_int_equal(t->partitions[i].rate_mcu[ADMIT_READ], 30 * MCU_PER_UNIT);
        assert_int_equal(t->partitions[i].rate_mcu[ADMIT_WRITE], 10 * MCU_PER_UNIT);
        assert_int_equal(t->partitions[i].maximum_mcu[ADMIT_WRITE], 0);
    }
    fixture_deinit(&w);
}

/* MODES-2 */
TEST(a_peak_is_kept_and_makes_ready_for_twice_as_much)
{
    struct fixture w;
    fixture_init(&w);
    change(&w, CATALOG_CREATE, "a", 0, 0);
    const struct table *t = table_named(&w, "a");
    assert_int_equal(reach(&w, "a", 0, 1500), REPLY_OK); /* twice that is no more than it has */
    assert_int_equal(t->warm[ADMIT_WRITE], 4000);
    assert_int_equal(t->promised[ADMIT_WRITE], 1500);
    assert_int_equal(reach(&w, "a", 0, 3000), REPLY_OK);
    assert_int_equal(t->warm[ADMIT_WRITE], 6000);
    assert_int_equal(t->warm[ADMIT_READ], 12000);
    assert_int_equal(reach(&w, "a", 0, 10), REPLY_OK);
    assert_int_equal(t->warm[ADMIT_WRITE], 6000);
    assert_int_equal(t->promised[ADMIT_WRITE], 3000);
    assert_int_equal(reach(&w, "a", 0, 30000), REPLY_OK);
    assert_int_equal(t->warm[ADMIT_WRITE], config_tables(&w.config)->table_max_wcu);
    assert_int_equal(t->promised[ADMIT_WRITE], 30000);
    fixture_deinit(&w);
}

/* A hundredth of 4,000 for each new table; what one consumes is counted in full. */
TEST(nodes_are_promised_to_what_tables_on_demand_have_shown_to_need)
{
    struct fixture w;
    fixture_init(&w);
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "table%d", i);
        assert_int_equal(change(&w, CATALOG_CREATE, name, 0, 0), REPLY_OK);
    }
    for (uint32_t node = 1; node <= NODES; node++)
        assert_int_equal(write_promise(&w, node),
                         config_admission(&w.config)->node_wcu * MCU_PER_UNIT);
    assert_int_equal(change(&w, CATALOG_CREATE, "more", 0, 0), REPLY_LIMIT_EXCEEDED);
    assert_non_null(memmem(w.text.data, w.text.size, "no capacity left", 16));
    assert_int_equal(change(&w, CATALOG_CREATE, "more", 1, 0), REPLY_LIMIT_EXCEEDED);
    assert_int_equal(reach(&w, "table7", 0, 500), REPLY_LIMIT_EXCEEDED);
    assert_int_equal(table_named(&w, "table7")->promised[ADMIT_WRITE], 40);
    config_edit_admission(&w.config)->node_wcu += 460;
    assert_int_equal(reach(&w, "table7", 0, 500), REPLY_OK);
    assert_int_equal(change(&w, CATALOG_UPDATE, "table8", 0, 5000), REPLY_LIMIT_EXCEEDED);
    assert_int_equal(table_named(&w, "table8")->warm[ADMIT_WRITE], 4000);
    fixture_deinit(&w);
}

/* ---- warm throughput ---- */

/* MODES-1 */
TEST(a_table_is_created_with_partitions_for_its_warm_throughput)
{
    struct fixture w;
    fixture_init(&w);
    assert_int_equal(change(&w, CATALOG_CREATE, "provisioned", 5, 7500), REPLY_OK);
    assert_int_equal(table_named(&w, "provisioned")->partition_count, 8);
    assert_int_equal(change(&w, CATALOG_CREATE, "demand", 0, 7500), REPLY_OK);
    assert_int_equal(table_named(&w, "demand")->partition_count, 8);
    assert_int_equal(table_named(&w, "demand")->promised[ADMIT_WRITE], 3750);
    assert_int_equal(change(&w, CATALOG_UPDATE, "provisioned", 5, 9000), REPLY_OK);
    assert_int_equal(table_named(&w, "provisioned")->warm[ADMIT_WRITE], 9000);
    assert_int_equal(change(&w, CATALOG_UPDATE, "provisioned", 100, 0), REPLY_OK);
    assert_int_equal(table_named(&w, "provisioned")->warm[ADMIT_READ], 100);
    assert_int_equal(table_named(&w, "provisioned")->warm[ADMIT_WRITE], 9000);
    assert_int_equal(change(&w, CATALOG_CREATE, "much", 5, 40001), REPLY_LIMIT_EXCEEDED);
    assert_non_null(memmem(w.text.data, w.text.size, "write warm throughput of 40001", 30));
    fixture_deinit(&w);
}

/* Raised allocations are not lost because the table is made ready for more. */
TEST(making_ready_leaves_allocations_as_they_are)
{
    struct fixture w;
    fixture_init(&w);
    change(&w, CATALOG_CREATE, "a", 2000, 0);
    const struct table *t = table_named(&w, "a");
    struct decision d = {.table_id = t->id, .rate_count = 1};
    d.rates[0] = (struct decision_rate){.partition = t->partitions[0].id,
                                        .epoch = t->partitions[0].epoch,
                                        .rate_mcu = {900000, 900000}};
    struct buffer b = {0};
    struct catalog_command c = command_of(&w, CATALOG_RATES);
    decision_encode(&b, &d);
    c.decision = buffer_slice(&b);
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(change(&w, CATALOG_UPDATE, "a", 2000, 6000), REPLY_OK);
    assert_int_equal(table_named(&w, "a")->partitions[0].rate_mcu[ADMIT_WRITE], 900000);
    buffer_deinit(&b);
    fixture_deinit(&w);
}

/* ---- switches ---- */

TEST(a_table_is_switched_to_on_demand_four_times_in_a_rolling_day)
{
    struct fixture w;
    fixture_init(&w);
    change(&w, CATALOG_CREATE, "a", 10, 0);
    for (int i = 0; i < 4; i++) {
        w.wall_ms += HOUR_MS;
        assert_int_equal(change(&w, CATALOG_UPDATE, "a", 0, 0), REPLY_OK);
        assert_int_equal(change(&w, CATALOG_UPDATE, "a", 10, 0), REPLY_OK); /* at any time */
    }
    w.wall_ms += HOUR_MS;
    assert_int_equal(change(&w, CATALOG_UPDATE, "a", 0, 0), REPLY_LIMIT_EXCEEDED);
    assert_non_null(memmem(w.text.data, w.text.size, "4 times within 24 hours", 23));
    assert_int_equal(table_named(&w, "a")->billing, BILLING_PROVISIONED);
    w.wall_ms += 20 * HOUR_MS - 1; /* the first one is a millisecond short of a day ago */
    assert_int_equal(change(&w, CATALOG_UPDATE, "a", 0, 0), REPLY_LIMIT_EXCEEDED);
    w.wall_ms += 1;
    assert_int_equal(change(&w, CATALOG_UPDATE, "a", 0, 0), REPLY_OK);
    assert_int_equal(table_named(&w, "a")->on_demand_ms[0], w.wall_ms);
    fixture_deinit(&w);
}

TEST(what_was_provisioned_is_served_at_once_after_a_switch)
{
    struct fixture w;
    fixture_init(&w);
    change(&w, CATALOG_CREATE, "a", 10000, 0);
    change(&w, CATALOG_UPDATE, "a", 100, 0);
    assert_int_equal(change(&w, CATALOG_UPDATE, "a", 0, 0), REPLY_OK);
    const struct table *t = table_named(&w, "a");
    assert_int_equal(t->warm[ADMIT_WRITE], 10000); /* the most it ever was */
    assert_int_equal(t->warm[ADMIT_READ], 12000);  /* what a new table has is more */
    assert_int_equal(t->promised[ADMIT_WRITE], 5000);
    assert_int_equal(t->partition_count, 10);
    assert_int_equal(t->partitions[9].rate_mcu[ADMIT_WRITE], 500 * MCU_PER_UNIT);
    fixture_deinit(&w);
}

TEST(a_maximum_bounds_what_each_partition_serves)
{
    struct fixture w;
    fixture_init(&w);
    change(&w, CATALOG_CREATE, "a", 0, 0);
    struct catalog_command c = command_of(&w, CATALOG_UPDATE);
    c.spec = (struct table_spec){
        .name = slice_of("a"), .billing = BILLING_ON_DEMAND, .maximum = {[ADMIT_WRITE] = 300}};
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(reconcile(&w, "a"), REPLY_OK);
    const struct table *t = table_named(&w, "a");
    assert_int_equal(t->partitions[3].maximum_mcu[ADMIT_WRITE], 300 * MCU_PER_UNIT);
    assert_int_equal(t->partitions[3].maximum_mcu[ADMIT_READ], 0);
    assert_int_equal(t->warm[ADMIT_WRITE], 4000);
    uint64_t version = t->version;
    c.gac = GAC_LEASE; /* routers keep it */
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(reconcile(&w, "a"), REPLY_OK);
    t = table_named(&w, "a");
    assert_int_equal(t->partitions[3].maximum_mcu[ADMIT_WRITE], 0);
    assert_int_equal(t->version, version + 1);
    c.gac = GAC_OFF;
    c.spec.maximum[ADMIT_WRITE] = MAXIMUM_NONE;
    assert_int_equal(apply(&w, &c), REPLY_OK);
    assert_int_equal(table_named(&w, "a")->partitions[3].maximum_mcu[ADMIT_WRITE], 0);
    fixture_deinit(&w);
}
