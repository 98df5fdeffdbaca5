/* Admission across a replication group, in the simulated world: real routers and nodes, virtual
 * time. What a busy follower, a lost leader and many eventual reads do to who is let in. */
#include "tests/check.h"

#include "sim/http_client.h"
#include "sim/node_process.h"
#include "sim/router_process.h"

enum {
    NODES = 3,
    FOLLOWER = 2, /* the one that is made busy */
    ROUTER = NODES + 1,
    CLIENTS = 48,
    PROCESSES = ROUTER + CLIENTS,
};

/* What became of requests. */
struct counts {
    int64_t ok;
    int64_t key_range;
    int64_t throttled; /* by the allocation, the node or a member */
    int64_t failed;
};

struct lab {
    struct scheduler scheduler;
    struct trace trace;
    struct network *network;
    struct config configs[NODES + 1]; /* by node; 0: the router's */
    struct node_process *nodes[NODES + 1];
    struct router_process *router;
    struct http_client clients[CLIENTS];
    struct counts *counts[CLIENTS]; /* of the call under way; NULL: free */
    uint32_t next_client;
    struct buffer body;
};

static void lab_init(struct lab *l)
{
    *l = (struct lab){0};
    for (int i = 0; i <= NODES; i++)
        config_init(&l->configs[i], PROFILE_AWS);
}

static void lab_set(struct lab *l, const char *name, const char *value)
{
    struct buffer error = {0};
    for (int i = 0; i <= NODES; i++)
        assert_int_equal(config_set(&l->configs[i], slice_of(name), slice_of(value), &error),
                         STATUS_OK);
}

static void ignore_leader(void *context, uint32_t node, uint32_t group, uint64_t term)
{
    (void)context, (void)node, (void)group, (void)term;
}

static void lab_start(struct lab *l)
{
    l->network = network_create(&(struct network_options){
        .scheduler = &l->scheduler,
        .trace = &l->trace,
        .processes = PROCESSES,
        .delays = {.least_ns = 50 * NS_PER_US, .spread_ns = 50 * NS_PER_US},
        .seed = 1});
    struct node_process_options node = {.scheduler = &l->scheduler,
                                        .network = l->network,
                                        .trace = &l->trace,
                                        .node_count = NODES,
                                        .leads = ignore_leader,
                                        .timings = {.turn_ns = 20 * NS_PER_US,
                                                    .write_least_ns = 200 * NS_PER_US,
                                                    .write_spread_ns = 50 * NS_PER_US,
                                                    .checkpoint_spread_ns = 50 * NS_PER_MS}};
    struct buffer error = {0};
    for (uint32_t id = 1; id <= NODES; id++) {
        node.id = id;
        node.seed = id;
        node.config = &l->configs[id];
        l->nodes[id] = node_process_create(&node);
        assert_int_equal(node_process_start(l->nodes[id], &error), STATUS_OK);
    }
    l->router = router_process_create(&(struct router_process_options){.scheduler = &l->scheduler,
                                                                       .network = l->network,
                                                                       .trace = &l->trace,
                                                                       .config = &l->configs[0],
                                                                       .process = ROUTER,
                                                                       .node_count = NODES,
                                                                       .seed = 7});
    router_process_start(l->router);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        http_client_init(&l->clients[i], &(struct http_client_options){.scheduler = &l->scheduler,
                                                                       .network = l->network,
                                                                       .process = ROUTER + 1 + i,
                                                                       .router_first = ROUTER,
                                                                       .router_count = 1,
                                                                       .seed = i});
    }
}

static void lab_deinit(struct lab *l)
{
    for (uint32_t i = 0; i < CLIENTS; i++)
        http_client_deinit(&l->clients[i]);
    router_process_destroy(l->router);
    for (uint32_t id = 1; id <= NODES; id++)
        node_process_destroy(l->nodes[id]);
    network_destroy(l->network);
    scheduler_deinit(&l->scheduler);
    buffer_deinit(&l->body);
}

static void lab_pass(struct lab *l, int64_t ns)
{
    struct instant until = instant_add(l->scheduler.now, (struct duration){ns});
    while (scheduler_step(&l->scheduler, until))
        ;
}

/* ---- calls ---- */

static void done(void *context, int status, struct slice body)
{
    struct counts **slot = context;
    struct counts *c = *slot;
    *slot = NULL;
    if (status == 200)
        c->ok++;
    else if (memmem(body.data, body.size, "KeyRange", 8) != NULL)
        c->key_range++;
    else if (memmem(body.data, body.size, "ThroughputExceeded", 18) != NULL)
        c->throttled++;
    else
        c->failed++;
}

static void call(struct lab *l, struct counts *counts, const char *operation, const char *body)
{
    uint32_t tried = 0;
    while (l->counts[l->next_client % CLIENTS] != NULL && tried++ < CLIENTS)
        l->next_client++;
    assert_true(tried < CLIENTS);
    uint32_t i = l->next_client++ % CLIENTS;
    l->counts[i] = counts;
    http_client_call(&l->clients[i], operation, slice_of(body), duration_ms(10000), done,
                     &l->counts[i]);
}

static void create_table(struct lab *l, const char *name, int rcu, int wcu)
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"TableName\":\"%s\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"}],"
             "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"}],"
             "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%d,\"WriteCapacityUnits\":%d}}",
             name, rcu, wcu);
    struct counts c = {0};
    call(l, &c, "CreateTable", body);
    lab_pass(l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

struct flow {
    const char *table;
    const char *operation;
    const char *more; /* members of the request */
    int64_t per_second;
    struct counts counts;
    int64_t due_ns;
};

/* Sends each flow's requests at its pace, evenly. */
static void run_flows(struct lab *l, struct flow *flows, int count, int64_t ns)
{
    int64_t end = l->scheduler.now.ns + ns;
    for (int i = 0; i < count; i++)
        flows[i].due_ns = l->scheduler.now.ns;
    while (l->scheduler.now.ns < end) {
        int64_t next = end;
        for (int i = 0; i < count; i++) {
            struct flow *f = &flows[i];
            for (; f->due_ns <= l->scheduler.now.ns && f->per_second > 0;
                 f->due_ns += NS_PER_S / f->per_second) {
                char body[512];
                snprintf(body, sizeof body, "{\"TableName\":\"%s\",%s}", f->table, f->more);
                call(l, &f->counts, f->operation, body);
            }
            if (f->per_second > 0 && f->due_ns < next)
                next = f->due_ns;
        }
        lab_pass(l, next - l->scheduler.now.ns);
    }
}

#define PUT "\"Item\":{\"k\":{\"S\":\"a\"}}"

/* ---- what the nodes know ---- */

/* The one partition of the table that was created as the `table`th, on this node. */
static struct partition_stats stats_of(struct lab *l, uint32_t node, uint32_t table)
{
    struct request r = {.id = 1, .op = REQUEST_STATS};
    struct partition_stats s, found = {0};
    buffer_clear(&l->body);
    node_process_ask(l->nodes[node], &r, &l->body);
    struct reader records = {buffer_slice(&l->body), false};
    while (records.left.size > 0 && partition_stats_decode(&records, &s) == STATUS_OK) {
        if (s.table_id == table)
            found = s;
    }
    assert_int_equal(found.table_id, table);
    return found;
}

static uint32_t leader_of(struct lab *l, uint32_t table)
{
    for (uint32_t node = 1; node <= NODES; node++) {
        if (node_process_is_up(l->nodes[node]) && stats_of(l, node, table).leads)
            return node;
    }
    return 0;
}

/* ---- a busy follower ---- */

struct busy {
    int64_t idle_burst;      /* burst writes admitted per second while the follower was idle */
    int64_t exposed;         /* burst writes admitted once its node had nothing left */
    int64_t refused;         /* by the member */
    int64_t steady_admitted; /* writes per second at the end */
};

/* 100 writes/s allocated and 300 offered, with burst saved; then the follower's own tenant takes
 * more than all its node has. */
static struct busy make_follower_busy(const char *check, const char *report_ms)
{
    struct lab l;
    lab_init(&l);
    lab_set(&l, "write_check", check);
    lab_set(&l, "report_ms", report_ms);
    lab_set(&l, "report_deadline_ms", "60000");
    l.configs[FOLLOWER].node_wcu = 600;
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l, "victim", 10, 100);
    create_table(&l, "noise", 10, 1000);
    assert_int_equal(leader_of(&l, 1), 1);
    lab_pass(&l, 30 * NS_PER_S);
    struct busy b = {0};
    struct flow flows[] = {
        {.table = "victim", .operation = "PutItem", .more = PUT, .per_second = 300},
        {.table = "noise", .operation = "PutItem", .more = PUT, .per_second = 0},
    };
    run_flows(&l, flows, 2, 3 * NS_PER_S);
    b.idle_burst = (flows[0].counts.ok - 300) / 3;
    flows[1].per_second = 1000;
    struct partition_stats before = stats_of(&l, 1, 1);
    do
        run_flows(&l, flows, 2, NS_PER_S / 100);
    while (stats_of(&l, FOLLOWER, 1).kinds[ADMIT_WRITE].levels.node_mcu > 0);
    struct partition_stats dry = stats_of(&l, 1, 1);
    run_flows(&l, flows, 2, 6 * NS_PER_S);
    struct partition_stats after = stats_of(&l, 1, 1);
    b.exposed = after.kinds[ADMIT_WRITE].burst - dry.kinds[ADMIT_WRITE].burst;
    b.refused = after.kinds[ADMIT_WRITE].throttled[ADMIT_REFUSED_MEMBER] -
                before.kinds[ADMIT_WRITE].throttled[ADMIT_REFUSED_MEMBER];
    struct counts so_far = flows[0].counts;
    run_flows(&l, flows, 2, 2 * NS_PER_S);
    b.steady_admitted = (flows[0].counts.ok - so_far.ok) / 2;
    assert_int_equal(flows[0].counts.failed, 0);
    assert_int_equal(flows[1].counts.throttled + flows[1].counts.failed, 0);
    printf("    %-5s report age %4s ms: idle %3lld/s burst, %4lld exposed, %4lld refused, then "
           "%3lld/s admitted\n",
           check, report_ms, (long long)b.idle_burst, (long long)b.exposed, (long long)b.refused,
           (long long)b.steady_admitted);
    lab_deinit(&l);
    return b;
}

static void without_a_check_a_busy_follower_is_bursted_over(void **state)
{
    (void)state;
    struct busy b = make_follower_busy("off", "100");
    assert_true(b.idle_burst >= 190);
    assert_int_equal(b.refused, 0);
    assert_true(b.exposed >= 190 * 6);
}

static void a_gauge_stops_bursts_as_late_as_it_is_old(void **state)
{
    (void)state;
    static const char *const ages_ms[] = {"10", "100", "1000", "5000"};
    static const int64_t ages[] = {10, 100, 1000, 5000};
    for (int i = 0; i < 4; i++) {
        struct busy b = make_follower_busy("gauge", ages_ms[i]);
        assert_true(b.idle_burst >= 190);
        assert_true(b.refused > 0);
        assert_true(b.exposed <= 200 * ages[i] / 1000 + 10);
        if (ages[i] <= 1000)
            assert_in_range(b.steady_admitted, 99, 101); /* the allocation passes, untouched */
    }
}

static void leases_bound_the_exposure_at_every_report_age(void **state)
{
    (void)state;
    enum {
        LEASE_MS = 200, /* member_lease_ms: at most this much of the demand is outstanding */
        OUTSTANDING_MAX = 200 * LEASE_MS / 1000 * 5 / 4 + 20
    };
    static const char *const ages_ms[] = {"10", "100", "1000", "5000"};
    for (int i = 0; i < 4; i++) {
        struct busy b = make_follower_busy("lease", ages_ms[i]);
        assert_true(b.idle_burst >= 150); /* the first leases have to be asked for */
        assert_true(b.refused > 0);
        assert_true(b.exposed <= OUTSTANDING_MAX);
        assert_in_range(b.steady_admitted, 99, 101);
    }
}

static void a_silent_member_has_no_headroom(void **state)
{
    (void)state;
    struct lab l;
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l, "victim", 10, 100);
    lab_pass(&l, 30 * NS_PER_S);
    struct flow flow = {.table = "victim", .operation = "PutItem", .more = PUT, .per_second = 300};
    node_process_crash(l.nodes[3], false);
    lab_pass(&l, 2 * NS_PER_S);
    struct partition_stats before = stats_of(&l, 1, 1);
    run_flows(&l, &flow, 1, 2 * NS_PER_S);
    struct partition_stats after = stats_of(&l, 1, 1);
    assert_true(after.leads);
    assert_int_equal(after.kinds[ADMIT_WRITE].burst, before.kinds[ADMIT_WRITE].burst);
    assert_true(after.kinds[ADMIT_WRITE].throttled[ADMIT_REFUSED_MEMBER] > 100);
    assert_in_range(flow.counts.ok, 200, 302); /* what is allocated passes */
    lab_deinit(&l);
}

/* ---- a lost leader ---- */

/* Its leader dies; what the next one says, and how many ms later. */
static struct admit_levels fail_over(struct lab *l, int64_t *gap_ms)
{
    uint32_t leader = leader_of(l, 1);
    int64_t before_ns = l->scheduler.now.ns;
    node_process_crash(l->nodes[leader], false);
    while (leader_of(l, 1) == 0)
        lab_pass(l, NS_PER_S / 100);
    *gap_ms = (l->scheduler.now.ns - before_ns) / NS_PER_MS;
    assert_true(leader_of(l, 1) != leader);
    return stats_of(l, leader_of(l, 1), 1).kinds[ADMIT_WRITE].levels;
}

static void burst_survives_a_failover(void **state)
{
    (void)state;
    struct lab l;
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l, "saver", 10, 100);
    lab_pass(&l, 30 * NS_PER_S);
    struct flow flow = {.table = "saver", .operation = "PutItem", .more = PUT, .per_second = 400};
    run_flows(&l, &flow, 1, 5 * NS_PER_S);
    lab_pass(&l, NS_PER_S / 100);
    struct admit_levels saved = stats_of(&l, leader_of(&l, 1), 1).kinds[ADMIT_WRITE].levels;
    assert_in_range(saved.burst_mcu, 1000 * 1000, 3000 * 1000);
    int64_t gap_ms;
    struct admit_levels now = fail_over(&l, &gap_ms);
    /* 100 units a second are 100 mcu a millisecond */
    assert_in_range(now.burst_mcu + now.allocation_mcu,
                    saved.burst_mcu + saved.allocation_mcu + 100 * gap_ms - 10000,
                    saved.burst_mcu + saved.allocation_mcu + 100 * gap_ms + 10000);
    lab_deinit(&l);
}

static void debt_survives_a_failover(void **state)
{
    (void)state;
    enum {
        BYTES = 100 * 1024
    };
    struct lab l;
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l, "debtor", 10, 10);
    static char big[BYTES + 256];
    int size = snprintf(big, sizeof big,
                        "{\"TableName\":\"debtor\",\"Item\":{\"k\":{\"S\":\"a\"},\"v\":{\"S\":\"");
    memset(big + size, 'x', BYTES);
    snprintf(big + size + BYTES, 16, "\"}}}");
    struct counts c = {0};
    call(&l, &c, "PutItem", big);
    lab_pass(&l, NS_PER_S / 10);
    assert_int_equal(c.ok, 1);
    struct admit_levels owed = stats_of(&l, leader_of(&l, 1), 1).kinds[ADMIT_WRITE].levels;
    assert_true(owed.allocation_mcu < -80 * 1000);
    int64_t gap_ms;
    struct admit_levels now = fail_over(&l, &gap_ms);
    assert_true(now.allocation_mcu <= owed.allocation_mcu + 10 * gap_ms + 1000);
    lab_deinit(&l);
}

/* ---- many eventual reads ---- */

static int64_t reads_admitted(const char *read_tokens, bool consistent)
{
    struct lab l;
    lab_init(&l);
    lab_set(&l, "read_tokens", read_tokens);
    lab_set(&l, "burst_max_s", "0");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    create_table(&l, "readers", 100, 10);
    struct flow flows[] = {
        {.table = "readers",
         .operation = "GetItem",
         .more = consistent ? "\"Key\":{\"k\":{\"S\":\"a\"}},\"ConsistentRead\":true"
                            : "\"Key\":{\"k\":{\"S\":\"a\"}}",
         .per_second = 950},
        {.table = "readers", .operation = "PutItem", .more = PUT, .per_second = 10},
    };
    run_flows(&l, flows, 2, 2 * NS_PER_S); /* what the buckets held */
    flows[0].counts = flows[1].counts = (struct counts){0};
    run_flows(&l, flows, 2, 4 * NS_PER_S);
    assert_int_equal(flows[0].counts.failed + flows[1].counts.failed, 0);
    assert_in_range(flows[1].counts.ok, 39, 41); /* writes are not held up */
    printf("    %s, %s: %lld reads/s admitted of 950\n", consistent ? "strong" : "eventual",
           read_tokens, (long long)flows[0].counts.ok / 4);
    lab_deinit(&l);
    return flows[0].counts.ok / 4;
}

static void eventual_reads_use_the_tokens_of_the_whole_group(void **state)
{
    (void)state;
    int64_t strong = reads_admitted("local", true);
    int64_t local = reads_admitted("local", false);
    int64_t group = reads_admitted("group", false);
    assert_in_range(strong, 98, 102); /* 1 unit each, the leader's alone */
    assert_in_range(group, 588, 612); /* half a unit each, at three replicas */
    assert_true(local <= group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_check_a_busy_follower_is_bursted_over),
        cmocka_unit_test(a_gauge_stops_bursts_as_late_as_it_is_old),
        cmocka_unit_test(leases_bound_the_exposure_at_every_report_age),
        cmocka_unit_test(a_silent_member_has_no_headroom),
        cmocka_unit_test(burst_survives_a_failover),
        cmocka_unit_test(debt_survives_a_failover),
        cmocka_unit_test(eventual_reads_use_the_tokens_of_the_whole_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
