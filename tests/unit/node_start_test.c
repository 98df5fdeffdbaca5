/* The first turn of a node that recovers. */
#include "tests/check.h"

#include "tests/support/lone_node.h"

/* Each replica that is alone in its group runs at the first turn, and writes a term and a vote. */
static void groups_that_run_at_once_stay_within_the_log(void **state)
{
    (void)state;
    enum {
        ROOM = 80 * 1024, /* some records more than a node keeps in reserve */
    };
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "table_partitions_max", "2000");
    lone_set(&w, "partition_max_wcu", "10");
    lone_open_table(&w, 1, 20000);
    assert_int_equal(w.table.partition_count, 2000);
    lone_checkpoint_all(&w);
    uint64_t most = w.log.size + ROOM;
    lone_die(&w);
    lone_start(&w, most);
    assert_true(node_log_end(w.node) > w.log.size); /* some of them ran */
    assert_true(node_log_end(w.node) <= most);
    lone_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_that_run_at_once_stay_within_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
