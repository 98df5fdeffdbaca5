/* What nodes report of their load, as bytes and added up. */
#include "tests/check.h"

#include "engine/loads.h"

static void totals_go_on_over_a_restart_and_a_change_of_leader(void **state)
{
    (void)state;
    struct loads *l = loads_create();
    struct partition_report r = {.table_id = 1, .partition = 70, .member = raft_member_id(1, 1)};
    int64_t *consumed = &r.totals[ADMIT_WRITE].consumed_mcu;
    *consumed = 5000;
    loads_take_partition(l, (struct instant){1}, &r);
    assert_int_equal(loads_of(l, 70)->totals[ADMIT_WRITE].consumed_mcu, 0);
    *consumed = 6000;
    loads_take_partition(l, (struct instant){2}, &r);
    assert_int_equal(loads_of(l, 70)->totals[ADMIT_WRITE].consumed_mcu, 1000);
    *consumed = 200; /* the node was restarted */
    loads_take_partition(l, (struct instant){3}, &r);
    assert_int_equal(loads_of(l, 70)->totals[ADMIT_WRITE].consumed_mcu, 1200);
    r.member = raft_member_id(2, 1); /* another one leads, and has led before */
    *consumed = 90000;
    loads_take_partition(l, (struct instant){4}, &r);
    assert_int_equal(loads_of(l, 70)->totals[ADMIT_WRITE].consumed_mcu, 1200);
    *consumed = 90500;
    loads_take_partition(l, (struct instant){5}, &r);
    assert_int_equal(loads_of(l, 70)->totals[ADMIT_WRITE].consumed_mcu, 1700);
    assert_null(loads_of(l, 71));
    loads_destroy(l);
}

static void damaged_reports_are_refused(void **state)
{
    (void)state;
    struct buffer b = {0};
    struct partition_report r = {.table_id = 1, .partition = 2, .member = raft_member_id(3, 1)};
    struct partition_report out;
    partition_report_encode(&b, &r);
    for (size_t size = 0; size < b.size; size++) {
        struct reader reader = {slice_make(b.data, size), false};
        assert_int_equal(partition_report_decode(&reader, &out), STATUS_MALFORMED);
    }
    r.items = -1; /* but not the bytes */
    buffer_clear(&b);
    partition_report_encode(&b, &r);
    struct reader reader = {buffer_slice(&b), false};
    assert_int_equal(partition_report_decode(&reader, &out), STATUS_MALFORMED);
    struct node_report node = {.node = 0};
    buffer_clear(&b);
    node_report_encode(&b, &node);
    reader = (struct reader){buffer_slice(&b), false};
    assert_int_equal(node_report_decode(&reader, &node), STATUS_MALFORMED);
    buffer_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_go_on_over_a_restart_and_a_change_of_leader),
        cmocka_unit_test(damaged_reports_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
