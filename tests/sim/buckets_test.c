/* A partition's buckets at all its replicas, in the simulated world: real routers and nodes,
 * virtual time. What replicas serve together, and what is remembered when nodes come and go. */
#include "tests/check.h"

#include "tests/support/lab.h"

enum {
    TABLE = 1
};

#define PUT    "\"Item\":{\"k\":{\"S\":\"a\"}}"
#define GET    "\"Key\":{\"k\":{\"S\":\"a\"}}"
#define STRONG GET ",\"ConsistentRead\":true"

static struct admit_balances balances_of(struct lab *l, uint32_t node, enum admit_kind kind)
{
    return lab_stats_of(l, node, TABLE).kinds[kind].balances;
}

static uint32_t wait_for_leader(struct lab *l)
{
    uint32_t leader;
    while ((leader = lab_leader_of(l, TABLE)) == 0)
        lab_pass(l, NS_PER_S / 100);
    return leader;
}

static void kill_and_restart(struct lab *l, uint32_t node)
{
    struct buffer error = {0};
    node_process_crash(l->world.nodes[node], false);
    lab_pass(l, 2 * NS_PER_S);
    assert_int_equal(node_process_start(l->world.nodes[node], &error), STATUS_OK);
    lab_pass(l, 3 * NS_PER_S);
    buffer_deinit(&error);
}

/* ---- many eventual reads ---- */

struct readers {
    const char *read_cap;
    const char *read_tokens;
    const char *more;
    const char *rcu_max; /* of a partition */
    int rcu;             /* of the table */
    bool leaders_change;
};

static int64_t reads_admitted(const struct readers *r)
{
    enum {
        SECONDS = 12
    };
    struct lab l;
    lab_init(&l);
    lab_set(&l, "read_cap", r->read_cap);
    lab_set(&l, "read_tokens", r->read_tokens);
    lab_set(&l, "partition_max_rcu", r->rcu_max);
    lab_set(&l, "burst_max_s", "0");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_create_table(&l, "readers", r->rcu, 10);
    struct flow flows[] = {
        {.table = "readers", .operation = "GetItem", .more = r->more, .per_second = 950},
        {.table = "readers", .operation = "PutItem", .more = PUT, .per_second = 10},
    };
    lab_run_flows(&l, flows, 2, 4 * NS_PER_S); /* what the buckets held */
    flows[0].counts = flows[1].counts = (struct counts){0};
    for (int i = 0; i < SECONDS; i++) {
        if (r->leaders_change && i == 4)
            node_process_crash(l.world.nodes[wait_for_leader(&l)], false);
        lab_run_flows(&l, flows, 2, NS_PER_S);
    }
    if (!r->leaders_change)
        assert_int_equal(flows[0].counts.failed + flows[1].counts.failed, 0);
    if (!r->leaders_change)
        assert_in_range(flows[1].counts.ok, 119, 121); /* writes are not held up */
    int64_t admitted = flows[0].counts.ok / SECONDS;
    printf("    %s, %s: %lld reads/s admitted of 950\n", r->read_cap, r->read_tokens,
           (long long)admitted);
    lab_deinit(&l);
    return admitted;
}

TEST(replicas_serve_together_what_the_partition_may)
{
    struct readers r = {"group", "local", STRONG, "3000", 100, false};
    assert_in_range(reads_admitted(&r), 98, 102); /* the leader's, a unit each */
    r.more = GET;                                 /* half a unit each, by any replica */
    assert_in_range(reads_admitted(&r), 196, 204);
    r.read_tokens = "group";
    assert_in_range(reads_admitted(&r), 196, 204);
    r.leaders_change = true;
    assert_in_range(reads_admitted(&r), 196, 204);
    r = (struct readers){"replica", "group", GET, "3000", 100, false};
    assert_in_range(reads_admitted(&r), 588, 612); /* each replica has its own */
}

/* Of a table on demand, whose partition of 100 read units nothing else bounds. */
static int64_t reads_on_demand(const char *read_cap)
{
    enum {
        SECONDS = 10
    };
    struct lab l;
    struct counts c = {0};
    struct flow flow = {.table = "readers", .operation = "GetItem", .more = GET, .per_second = 950};
    lab_init(&l);
    lab_set(&l, "read_cap", read_cap);
    lab_set(&l, "partition_max_rcu", "100");
    lab_set(&l, "on_demand_rcu", "100");
    lab_set(&l, "on_demand_wcu", "100");
    lab_set(&l, "control_split", "0");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_call(&l, &c, "CreateTable",
             "{\"TableName\":\"readers\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":"
             "\"S\"}],\"BillingMode\":\"PAY_PER_REQUEST\"}");
    lab_pass(&l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
    lab_run_flows(&l, &flow, 1, 3 * NS_PER_S);
    flow.counts = (struct counts){0};
    lab_run_flows(&l, &flow, 1, SECONDS * NS_PER_S);
    assert_int_equal(flow.counts.failed, 0);
    printf("    %s: %lld reads/s admitted of 950\n", read_cap, (long long)flow.counts.ok / SECONDS);
    lab_deinit(&l);
    return flow.counts.ok / SECONDS;
}

TEST(the_partition_maximum_bounds_all_replicas_together)
{
    assert_in_range(reads_on_demand("group"), 196, 204);
    assert_in_range(reads_on_demand("measured"), 294, 306);
    assert_in_range(reads_on_demand("replica"), 588, 612);
}

/* ---- what is remembered ---- */

/* A table of 100 that has saved for 40 s and has then spent some of that. */
static void save_and_spend(struct lab *l, const char *operation, const char *more)
{
    lab_init(l);
    lab_start(l);
    lab_pass(l, NS_PER_S);
    lab_create_table(l, "saver", 100, 100);
    lab_pass(l, 40 * NS_PER_S);
    struct flow flow = {.table = "saver", .operation = operation, .more = more, .per_second = 400};
    lab_run_flows(l, &flow, 1, 5 * NS_PER_S);
    assert_int_equal(flow.counts.throttled + flow.counts.failed, 0);
    lab_pass(l, NS_PER_S / 5);
}

static int64_t saved_at(struct lab *l, uint32_t node, enum admit_kind kind)
{
    struct admit_balances balances = balances_of(l, node, kind);
    return balances.burst_mcu + balances.allocation_mcu;
}

static void every_replica_knows_what_is_saved(struct lab *l, enum admit_kind kind)
{
    int64_t saved = saved_at(l, lab_leader_of(l, TABLE), kind);
    for (uint32_t node = 1; node <= 3; node++)
        assert_in_range(saved_at(l, node, kind), saved - 1000, saved + 1000);
}

TEST(what_is_saved_outlives_leaders_and_restarts)
{
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct lab l;
        bool reads = kind == ADMIT_READ;
        save_and_spend(&l, reads ? "GetItem" : "PutItem", reads ? STRONG : PUT);
        every_replica_knows_what_is_saved(&l, kind);
        int64_t before = saved_at(&l, lab_leader_of(&l, TABLE), kind);
        int64_t begun_ns = l.world.scheduler.now.ns;
        assert_in_range(before, 2000 * 1000, 3000 * 1000);
        for (uint32_t node = 1; node <= 3;
             node++) { /* one after the other, the leader among them */
            kill_and_restart(&l, node);
            wait_for_leader(&l);
        }
        lab_pass(&l, NS_PER_S);
        int64_t came = (l.world.scheduler.now.ns - begun_ns) / NS_PER_MS * 100;
        int64_t after = saved_at(&l, wait_for_leader(&l), kind);
        assert_in_range(after, before + came - 5000, before + came + 5000);
        every_replica_knows_what_is_saved(&l, kind);
        lab_deinit(&l);
    }
}

/* Nobody is left to tell: the disks do. Time in which all are down adds nothing. */
TEST(savings_and_debt_outlive_a_restart_of_all)
{
    struct lab l;
    struct buffer error = {0};
    save_and_spend(&l, "GetItem", STRONG);
    lab_pass(&l, 2 * NS_PER_S); /* it is on the disks by then */
    int64_t saved = saved_at(&l, wait_for_leader(&l), ADMIT_READ);
    for (uint32_t node = 1; node <= 3; node++)
        node_process_crash(l.world.nodes[node], false);
    lab_pass(&l, 20 * NS_PER_S);
    for (uint32_t node = 1; node <= 3; node++)
        assert_int_equal(node_process_start(l.world.nodes[node], &error), STATUS_OK);
    uint32_t leader = wait_for_leader(&l);
    int64_t now = saved_at(&l, leader, ADMIT_READ);
    assert_in_range(now, saved - 250 * 1000, saved + 150 * 1000); /* what came since the record */
    buffer_deinit(&error);
    lab_deinit(&l);
}

TEST(a_mirror_has_no_debt_that_nobody_spent)
{
    struct lab l;
    save_and_spend(&l, "PutItem", PUT);
    uint32_t leader = lab_leader_of(&l, TABLE), follower = leader % 3 + 1;
    struct flow flow = {.table = "saver", .operation = "PutItem", .more = PUT, .per_second = 400};
    kill_and_restart(&l, follower);
    for (int i = 0; i < 50; i++) {
        lab_run_flows(&l, &flow, 1, NS_PER_S / 10);
        assert_true(balances_of(&l, follower, ADMIT_WRITE).burst_mcu >= 0);
    }
    lab_deinit(&l);
}

/* ---- sharing ---- */

/* Three tables of 100 ask for 400, 900 and 200 a second; nodes have 1,000. */
static void share(const char *check, int64_t served[3])
{
    static const int64_t rates[] = {400, 900, 200};
    enum {
        SECONDS = 20
    };
    struct lab l;
    struct flow flows[3];
    char names[3][8];
    lab_init(&l);
    lab_set(&l, "write_check", check);
    lab_set(&l, "node_wcu", "1000");
    lab_set(&l, "node_depth_ms", "1000"); /* reports of headroom are old compared with less */
    lab_set(&l, "control_leaders", "0");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof names[i], "tab%d", i);
        lab_create_table(&l, names[i], 10, 100);
        flows[i] = (struct flow){
            .table = names[i], .operation = "PutItem", .more = PUT, .per_second = rates[i]};
    }
    lab_pass(&l, 120 * NS_PER_S); /* enough is saved */
    uint32_t leaders = 0;
    for (uint32_t i = 1; i <= 3; i++)
        leaders |= 1U << lab_leader_of(&l, i);
    assert_int_equal(leaders, 0xE);            /* each on a node of its own */
    lab_run_flows(&l, flows, 3, 6 * NS_PER_S); /* what the nodes' buckets held */
    for (int i = 0; i < 3; i++)
        flows[i].counts = (struct counts){0};
    lab_run_flows(&l, flows, 3, SECONDS * NS_PER_S);
    for (int i = 0; i < 3; i++)
        served[i] = flows[i].counts.ok / SECONDS;
    printf("    %s: %lld, %lld, %lld served\n", check, (long long)served[0], (long long)served[1],
           (long long)served[2]);
    lab_deinit(&l);
}

TEST(leaders_on_three_nodes_share_what_is_left_of_each)
{
    static const char *const checks[] = {"gauge", "lease"};
    for (int i = 0; i < 2; i++) {
        int64_t served[3];
        share(checks[i], served);
        assert_in_range(served[0], 388, 412);
        assert_in_range(served[1], 388, 412);
        assert_in_range(served[2], 194, 206);
    }
}

/* ---- a neighbour on demand ---- */

/* A table of 400 over four partitions, of which one key takes 250; then a new table on demand asks
 * for twice what the nodes have, spread over all its partitions. */
TEST(a_new_table_on_demand_takes_nothing_that_is_reserved_for_others)
{
    enum {
        KEYS = 64,
        SECONDS = 40
    };
    (void)state;
    struct lab l;
    struct counts c = {0};
    static char puts[KEYS][64];
    lab_init(&l);
    lab_set(&l, "node_wcu", "1500");
    lab_set(&l, "partition_max_wcu", "1000");
    lab_set(&l, "control_split", "0");
    lab_set(&l, "gac", "lease");
    l.world.plan.gac = 1;
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_call(&l, &c, "CreateTable",
             "{\"TableName\":\"neighbour\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":"
             "\"S\"}],\"ProvisionedThroughput\":{\"ReadCapacityUnits\":10,\"WriteCapacityUnits\":"
             "400},\"WarmThroughput\":{\"WriteUnitsPerSecond\":4000}}");
    lab_pass(&l, 5 * NS_PER_S);
    lab_call(&l, &c, "CreateTable",
             "{\"TableName\":\"noisy\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":"
             "\"S\"}],\"BillingMode\":\"PAY_PER_REQUEST\"}");
    lab_pass(&l, 10 * NS_PER_S);
    assert_int_equal(c.ok, 2);
    for (int i = 0; i < KEYS; i++)
        snprintf(puts[i], sizeof puts[i], "\"Item\":{\"k\":{\"S\":\"%d\"}}", i);
    struct flow flows[] = {
        {.table = "neighbour", .operation = "PutItem", .more = PUT, .per_second = 250},
        {.table = "noisy",
         .operation = "PutItem",
         .puts = puts,
         .put_count = KEYS,
         .per_second = 3000},
    };
    lab_run_flows(&l, flows, 1, 5 * NS_PER_S);
    for (int i = 0; i < SECONDS * 10; i++) {
        lab_run_flows(&l, flows, 2, NS_PER_S / 10);
        for (uint32_t node = 1; node <= 3; node++) /* never a second in debt */
            assert_true(balances_of(&l, node, ADMIT_WRITE).node_mcu > -1500 * 1000);
    }
    printf("    neighbour: %lld of %d refused; noisy: %lld/s served\n",
           (long long)flows[0].counts.throttled, 250 * (SECONDS + 5),
           (long long)flows[1].counts.ok / SECONDS);
    assert_int_equal(flows[0].counts.throttled + flows[0].counts.key_range, 0);
    assert_int_equal(flows[0].counts.failed, 0);
    assert_in_range(flows[1].counts.ok / SECONDS, 1100, 1300);
    lab_deinit(&l);
}
