/* Leases of nodes whose settings differ, or have changed over a restart: no two nodes hold a lease
 * of one group at a time. */
#include "tests/check.h"

#include "tests/support/cut_off.h"
#include "tests/support/lab.h"

enum {
    TABLE = 1,
    STEP_NS = 5 * NS_PER_MS
};

/* The answers of nodes asked; a read that is confirmed later is answered then. */
static struct buffer answers[LAB_NODES_MAX + 1];

/* Whether the node answers a strong read of the table at once. */
static bool serves_by_lease(struct lab *l, uint32_t node)
{
    struct request r = {
        .id = 5, .op = REQUEST_RANGE, .range = {.consistent = true, .bytes_max = 1000}};
    const struct partition_info *info =
        node_replica(node_process_node(l->world.nodes[node]), TABLE);
    assert_non_null(info);
    r.partition = info->id;
    r.epoch = info->epoch;
    r.range.lo = info->lo;
    buffer_clear(&answers[node]);
    buffer_append_text(&answers[node], "not answered");
    node_process_request(l->world.nodes[node], &r, &answers[node]);
    return answers[node].size == 0;
}

/* Counts the steps in which two nodes served the table by lease. */
static int both_served(struct lab *l, uint32_t old, int64_t ms)
{
    int both = 0;
    for (int64_t at = 0; at < ms; at += STEP_NS / NS_PER_MS) {
        lab_pass(l, STEP_NS);
        bool served = serves_by_lease(l, old);
        for (uint32_t node = 1; node <= l->world.plan.nodes; node++)
            both += node != old && node_process_is_up(l->world.nodes[node]) && served &&
                    serves_by_lease(l, node);
    }
    return both;
}

static void start(struct lab *l, const char *name, const char *value)
{
    lab_init(l);
    if (name != NULL)
        lab_set(l, name, value);
    lab_start(l);
    lab_pass(l, 2 * NS_PER_S);
    lab_create_table(l, "tab", 100, 100);
    lab_pass(l, 10 * NS_PER_S);
}

static void stop(struct lab *l)
{
    lab_deinit(l);
    for (int i = 0; i <= LAB_NODES_MAX; i++)
        buffer_deinit(&answers[i]);
}

static void set_support(struct lab *l, uint32_t node, const char *value)
{
    struct buffer error = {0};
    assert_int_equal(config_set(&l->configs[node], slice_of("support_ms"), slice_of(value), &error),
                     STATUS_OK);
}

static void restart(struct lab *l, uint32_t node)
{
    struct buffer error = {0};
    node_process_crash(l->world.nodes[node], false);
    assert_int_equal(node_process_start(l->world.nodes[node], &error), STATUS_OK);
}

/* In the middle of a rolling change: the leader has the new, longer support already. */
TEST(a_leader_counts_no_more_support_than_the_others_give)
{
    struct lab l;
    start(&l, NULL, NULL);
    uint32_t first = lab_leader_of(&l, TABLE);
    set_support(&l, first, "5000");
    restart(&l, first);
    lab_pass(&l, 60 * NS_PER_S); /* it leads again: it should */
    assert_int_equal(lab_leader_of(&l, TABLE), first);
    assert_true(serves_by_lease(&l, first));
    world_cut_off(&l.world, first);
    assert_int_equal(both_served(&l, first, 8000), 0);
    uint32_t leader = 0;
    for (uint32_t node = 1; node <= 3; node++)
        leader = node != first && serves_by_lease(&l, node) ? node : leader;
    assert_int_not_equal(leader, 0); /* the test saw two nodes that could have served */
    stop(&l);
}

/* The support of the node's earlier life was longer than its settings are now. */
TEST(a_restart_with_a_shorter_support_keeps_the_longer_one)
{
    struct lab l;
    start(&l, "support_ms", "5000");
    uint32_t first = lab_leader_of(&l, TABLE), other = first % 3 + 1, third = other % 3 + 1;
    assert_true(serves_by_lease(&l, first));
    world_cut_off(&l.world, first);
    set_support(&l, other, "200");
    set_support(&l, third, "200");
    restart(&l, other);
    restart(&l, third);
    assert_int_equal(both_served(&l, first, 12000), 0);
    assert_true(serves_by_lease(&l, other) || serves_by_lease(&l, third));
    restart(&l, other); /* the longer support is over: this life is as quiet as the setting says */
    lab_pass(&l, 2 * NS_PER_S);
    assert_true(serves_by_lease(&l, other) || serves_by_lease(&l, third));
    stop(&l);
}
