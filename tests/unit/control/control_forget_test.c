/* control_forget_test.c - what the controller remembers ends with its partition and its table. */
#include "tests/check.h"

#include "base/settings/control.h"
#include "control/controller_internal.h"
#include "engine/node/core/cluster_loads.h"
#include "tests/support/control_fixture.h"

static struct control_fixture w;

static int start(void **state)
{
    (void)state;
    control_fixture_init(&w, 3);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    control_fixture_deinit(&w);
    return 0;
}

FIXTURE(start, stop)

static void report(uint32_t partition)
{
    const struct partition_report r = {.table_id = 9, .partition = partition, .epoch = 1};
    cluster_loads_take_partition(w.loads, w.now, &r);
}

TEST(a_partition_that_is_gone_is_forgotten)
{
    const struct table *t = control_fixture_create(&w, "t", BILLING_PROVISIONED, 1000, 1000);
    struct demand d = {.units = {100}};
    control_fixture_serve(&w, t, &d, 1000);
    for (uint32_t partition = 40; partition < 50; partition++)
        report(partition); /* of tables that are deleted now */
    control_fixture_evaluate(&w, 1000, false);
    assert_int_equal(w.loads->partitions.count, t->partition_count + 10);
    cluster_loads_keep(w.loads, w.catalog);
    assert_int_equal(w.loads->partitions.count, t->partition_count);
    control_fixture_evaluate(&w, 1000, false);
    for (uint32_t partition = 40; partition < 50; partition++)
        assert_null(control_history(w.controller, partition));
    assert_non_null(control_history(w.controller, t->partitions[0].id));
}

/* Idle partitions have no load yet: then a few may stay that are gone. */
TEST(no_partition_of_the_catalog_is_forgotten)
{
    const struct table *t = control_fixture_create(&w, "t", BILLING_PROVISIONED, 9000, 9000);
    struct demand d = {.units = {100, 100}};
    assert_true(t->partition_count > 1);
    control_fixture_serve(&w, t, &d, 1000);
    report(40);
    report(41);
    cluster_loads_keep(w.loads, w.catalog);
    for (uint32_t i = 0; i < t->partition_count; i++)
        assert_non_null(cluster_loads_of(w.loads, t->partitions[i].id));
    assert_null(cluster_loads_of(w.loads, 40));
}
