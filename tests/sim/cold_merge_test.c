/* Merges by themselves on a simulated cluster: a table that was split for its load is whole again
 * once it has been cold, and nothing that was written is lost. */
#include "tests/check.h"

#include "tests/support/lab.h"

enum {
    MAXIMUM = 200, /* of a partition, write units a second */
    KEYS = 8
};

TEST(a_table_that_was_split_for_its_load_is_merged_once_it_is_cold)
{
    struct lab l;
    struct arena arena = {0};
    struct flow flows[KEYS];
    char puts[KEYS][64];
    lab_init(&l);
    lab_set(&l, "partition_max_wcu", "200");
    lab_set(&l, "on_demand_wcu", "200");
    lab_set(&l, "on_demand_rcu", "3000");
    lab_set(&l, "control_on_demand", "0"); /* peaks would keep the partitions */
    lab_set(&l, "control_merge", "1");
    lab_set(&l, "merge_cold_ms", "30000");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    struct counts c = {0};
    lab_call(
        &l, &c, "CreateTable",
        "{\"TableName\":\"log\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"}],"
        "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"}],"
        "\"BillingMode\":\"PAY_PER_REQUEST\"}");
    lab_pass(&l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
    for (int i = 0; i < KEYS; i++) {
        snprintf(puts[i], sizeof puts[i], "\"Item\":{\"k\":{\"S\":\"%d\"}}", i);
        flows[i] = (struct flow){
            .table = "log", .operation = "PutItem", .more = puts[i], .per_second = 600 / KEYS};
    }
    lab_run_flows(&l, flows, KEYS, 60 * NS_PER_S);
    struct table t = lab_table_of(&l, "log", &arena);
    uint32_t split = t.partition_count;
    printf("    %u partitions after the load\n", split);
    assert_true(split >= 4);
    for (int i = 0; i < KEYS; i++) {
        flows[i].per_second = 2;
        flows[i].counts = (struct counts){0};
    }
    lab_run_flows(&l, flows, KEYS, 240 * NS_PER_S);
    t = lab_table_of(&l, "log", &arena);
    int64_t ok = 0, failed = 0, refused = 0;
    for (int i = 0; i < KEYS; i++) {
        ok += flows[i].counts.ok;
        failed += flows[i].counts.failed;
        refused += flows[i].counts.key_range + flows[i].counts.throttled;
    }
    printf("    %u partitions, %lld merges, %lld given up; %lld ok, %lld failed, %lld refused\n",
           t.partition_count, (long long)lab_events_of(&l, EVENT_MERGE),
           (long long)lab_events_of(&l, EVENT_MERGE_GIVEN_UP), (long long)ok, (long long)failed,
           (long long)refused);
    assert_int_equal(t.partition_count, 1);
    assert_int_equal(failed, 0);
    arena_deinit(&arena);
    lab_deinit(&l);
}
