/* control_eviction_test.c - what the controller remembers ends with its partition. */
#include "tests/check.h"

#include "control/controller_internal.h"
#include "engine/node/core/cluster_loads.h"
#include "tests/support/control_world.h"

enum {
    GONE = 40 /* partitions from here on are of tables that are deleted */
};

static struct control_world w;

static int start(void **state)
{
    (void)state;
    control_world_begin(&w);
    for (uint32_t node = 1; node <= CONTROL_NODES; node++)
        control_world_add_node(&w, node);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    control_world_end(&w);
    return 0;
}

FIXTURE(start, stop)

static void report(uint32_t partition)
{
    const struct partition_report r = {.table_id = 9, .partition = partition, .epoch = 1};
    cluster_loads_take_partition(w.loads, w.now, &r);
}

static const struct table *create(int64_t units)
{
    struct catalog_command c = catalog_world_command(&w.c, CATALOG_CREATE);
    c.spec = (struct table_spec){.name = slice_of("t"),
                                 .partition_key = {slice_of("id"), ATTR_STRING},
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = units,
                                 .wcu = units};
    assert_int_equal(catalog_world_apply(&w.c, &c), REPLY_OK);
    const struct table *t = catalog_world_table(&w.c, "t");
    for (uint32_t i = 0; i < t->partition_count; i++)
        report(t->partitions[i].id);
    return t;
}

TEST(a_deleted_partition_is_evicted)
{
    const struct table *t = create(1000);
    for (uint32_t partition = GONE; partition < GONE + 10; partition++)
        report(partition);
    control_world_evaluate(&w, CONTROL_EVALUATION_MS);
    assert_int_equal(w.loads->partitions.count, t->partition_count + 10);
    cluster_loads_keep(w.loads, w.c.catalog);
    assert_int_equal(w.loads->partitions.count, t->partition_count);
    control_world_evaluate(&w, CONTROL_EVALUATION_MS);
    for (uint32_t partition = GONE; partition < GONE + 10; partition++)
        assert_null(control_history(w.controller, partition));
    assert_non_null(control_history(w.controller, t->partitions[0].id));
}

TEST(no_partition_of_the_catalog_is_evicted)
{
    const struct table *t = create(9000);
    assert_true(t->partition_count > 1);
    report(GONE);
    report(GONE + 1);
    cluster_loads_keep(w.loads, w.c.catalog);
    for (uint32_t i = 0; i < t->partition_count; i++)
        assert_non_null(cluster_loads_of(w.loads, t->partitions[i].id));
    assert_null(cluster_loads_of(w.loads, GONE));
}
