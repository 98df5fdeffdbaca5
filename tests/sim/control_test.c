/* The controller in the simulated world: what it decides, done by real nodes under load, while
 * machines fail. */
#include "tests/check.h"

#include "engine/catalog/catalog.h"
#include "engine/node/control_port.h"
#include "tests/support/lab.h"

enum {
    KEYS = 200,
    PAUSE_MS = 3, /* between writes */
    TABLE = 1
};

/* ---- what the catalog says ---- */

static bool has_replica(const struct table *t, uint32_t node)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        if (partition_member_on(&t->partitions[i], node) != 0)
            return true;
    }
    return false;
}

static bool is_moving(const struct table *t)
{
    bool moving = false;
    for (uint32_t i = 0; i < t->partition_count; i++)
        moving |= t->partitions[i].leaving != 0;
    return moving;
}

/* Whether the node itself still holds anything of the table. */
static bool holds(struct lab *l, uint32_t node, uint32_t table)
{
    struct request r = {.id = 1, .op = REQUEST_STATS};
    struct partition_stats s;
    bool found = false;
    buffer_clear(&l->body);
    node_process_request(l->world.nodes[node], &r, &l->body);
    struct reader records = {buffer_slice(&l->body), false};
    while (records.left.size > 0 && partition_stats_decode(&records, &s) == STATUS_OK)
        found |= s.table_id == table;
    return found;
}

static bool holds_catalog(struct lab *l, uint32_t node)
{
    return node_catalog(node_process_node(l->world.nodes[node])) != NULL;
}

static void drain(struct lab *l, uint32_t node)
{
    struct buffer body = {0};
    struct decision d = {.to_node = node, .drain = true};
    decision_encode(&body, &d);
    struct request r = {
        .id = 1, .op = REQUEST_DECIDE, .decide = {buffer_slice(&body), CATALOG_DRAIN}};
    world_request(&l->world, &r, &l->body);
    buffer_deinit(&body);
}

/* ---- writing, and reading back ---- */

/* A value for each key, the last one that was acknowledged; 0: none. */
struct writer {
    struct lab *lab;
    struct http_client client;
    uint32_t key;
    int64_t value;
    bool busy;
    bool stop;
    int64_t acknowledged[KEYS];
    int64_t attempted[KEYS];
    int64_t ok;
    int64_t failed;
};

static void write_next(struct writer *w);

static void write_later(void *context, uint64_t argument)
{
    struct writer *w = context;
    (void)argument;
    if (!w->stop)
        write_next(w);
}

static void written(void *context, int status, struct slice body)
{
    struct writer *w = context;
    (void)body;
    w->busy = false;
    if (status == 200) {
        w->acknowledged[w->key] = w->value;
        w->ok++;
    } else {
        w->failed++;
    }
    if (!w->stop)
        scheduler_in(&w->lab->world.scheduler, duration_ms(PAUSE_MS), write_later, w, 0);
}

static void write_next(struct writer *w)
{
    char body[256];
    w->key = (w->key + 1) % KEYS;
    w->attempted[w->key] = ++w->value;
    snprintf(body, sizeof body,
             "{\"TableName\":\"moved\",\"Item\":{\"k\":{\"S\":\"%u\"},\"v\":{\"N\":\"%lld\"}}}",
             w->key, (long long)w->value);
    w->busy = true;
    http_client_call(&w->client, "PutItem", slice_of(body), duration_ms(10000), written, w);
}

struct check {
    int64_t value;
    bool answered;
};

static void checked(void *context, int status, struct slice body)
{
    struct check *c = context;
    const char *at = memmem(body.data, body.size, "{\"N\":\"", 6);
    c->answered = status == 200;
    c->value = at == NULL ? 0 : strtoll(at + 6, NULL, 10);
}

/* No acknowledged write is lost: a key holds the last acknowledged value, or one tried later. */
static void read_back(struct writer *w)
{
    while (w->busy)
        lab_pass(w->lab, NS_PER_MS);
    for (uint32_t key = 0; key < KEYS; key++) {
        char body[256];
        struct check c = {0};
        int tries = 0;
        snprintf(body, sizeof body,
                 "{\"TableName\":\"moved\",\"Key\":{\"k\":{\"S\":\"%u\"}},\"ConsistentRead\":true}",
                 key);
        http_client_call(&w->client, "GetItem", slice_of(body), duration_ms(10000), checked, &c);
        while (!c.answered && tries++ < 100)
            lab_pass(w->lab, 10 * NS_PER_MS);
        assert_true(c.answered);
        assert_true(c.value >= w->acknowledged[key] && c.value <= w->attempted[key]);
    }
}

static void start_lab(struct lab *l, struct writer *w, uint32_t nodes)
{
    lab_init(l);
    l->world.plan.nodes = nodes;
    lab_set(l, "node_unresponsive_ms", "20000");
    lab_start(l);
    lab_pass(l, 2 * NS_PER_S);
    lab_create_table(l, "moved", 4000, 2500); /* three partitions */
    *w = (struct writer){.lab = l};
    const struct http_client_options http = lab_http(l, 99);
    http_client_init(&w->client, &http);
    write_next(w);
}

static void end_lab(struct lab *l, struct writer *w)
{
    w->stop = true;
    read_back(w);
    http_client_deinit(&w->client);
    lab_deinit(l);
}

/* ---- moves ---- */

TEST(a_drained_node_gives_all_its_replicas_away_under_load)
{
    struct lab l;
    struct writer w;
    struct arena arena = {0};
    start_lab(&l, &w, 5);
    struct table t = lab_table_of(&l, "moved", &arena);
    uint32_t node = partition_node(&t.partitions[0], 0);
    lab_pass(&l, 2 * NS_PER_S);
    int64_t before = w.ok;
    drain(&l, node);
    lab_pass(&l, 20 * NS_PER_S);
    t = lab_table_of(&l, "moved", &arena);
    assert_false(has_replica(&t, node));
    assert_false(is_moving(&t));
    assert_false(holds(&l, node, TABLE) || holds_catalog(&l, node));
    for (uint32_t i = 0; i < t.partition_count; i++)
        assert_int_equal(t.partitions[i].member_count, 3);
    assert_true(lab_events_of(&l, EVENT_REPLICA_MOVED) >= 1);
    assert_true(w.ok > before + 3000);
    printf("    %lld writes acknowledged, %lld failed\n", (long long)w.ok, (long long)w.failed);
    assert_int_equal(w.failed, 0);
    end_lab(&l, &w);
    arena_deinit(&arena);
}

TEST(an_unresponsive_nodes_replicas_are_replaced)
{
    struct lab l;
    struct writer w;
    struct arena arena = {0};
    start_lab(&l, &w, 4);
    struct table t = lab_table_of(&l, "moved", &arena);
    uint32_t node = 4;
    assert_true(has_replica(&t, node));
    node_process_crash(l.world.nodes[node], false);
    lab_pass(&l, 15 * NS_PER_S);
    t = lab_table_of(&l, "moved", &arena);
    assert_true(has_replica(&t, node)); /* it may come back yet */
    lab_pass(&l, 25 * NS_PER_S);
    t = lab_table_of(&l, "moved", &arena);
    assert_false(has_replica(&t, node));
    assert_false(is_moving(&t));
    assert_true(lab_events_of(&l, EVENT_REPLICA_REPLACED) >= 1);
    struct buffer error = {0};
    assert_int_equal(node_process_start(l.world.nodes[node], &error), STATUS_OK);
    lab_pass(&l, 20 * NS_PER_S);
    assert_false(holds(&l, node, TABLE)); /* what it held nobody counts on any more */
    end_lab(&l, &w);
    arena_deinit(&arena);
}

/* Those that founded it are drained or die, all of them. */
TEST(the_catalog_outlives_the_nodes_that_founded_it)
{
    struct lab l;
    struct writer w;
    struct buffer error = {0};
    start_lab(&l, &w, 5);
    for (uint32_t node = 1; node <= 2; node++) {
        assert_true(holds_catalog(&l, node));
        drain(&l, node);
        lab_pass(&l, 20 * NS_PER_S);
        assert_false(holds_catalog(&l, node));
        node_process_crash(l.world.nodes[node], true);
    }
    lab_create_table(&l, "meanwhile", 10, 10);
    node_process_crash(l.world.nodes[3], true);
    lab_pass(&l, 5 * NS_PER_S);
    assert_true(lab_catalog_leader(&l) >= 4);
    lab_create_table(&l, "without", 10, 10);
    for (uint32_t node = 1; node <= 3; node++)
        assert_int_equal(node_process_start(l.world.nodes[node], &error), STATUS_OK);
    lab_pass(&l, 10 * NS_PER_S);
    for (uint32_t node = 1; node <= 5; node++)
        assert_int_equal(holds_catalog(&l, node), node >= 3);
    lab_create_table(&l, "afterwards", 10, 10);
    end_lab(&l, &w);
}

/* They start with nothing, like nodes that are yet to begin a cluster. */
TEST(nodes_that_left_the_catalog_found_no_other)
{
    struct lab l;
    struct buffer error = {0};
    lab_init(&l);
    l.world.plan.nodes = 5;
    lab_set(&l, "replicas", "2");
    lab_start(&l);
    lab_pass(&l, 2 * NS_PER_S);
    for (uint32_t node = 1; node <= 2; node++) {
        drain(&l, node);
        lab_pass(&l, 20 * NS_PER_S);
    }
    for (int life = 0; life < 2; life++) { /* by the log's word, then by a checkpoint's */
        for (uint32_t node = 1; node <= 2; node++) {
            assert_false(holds_catalog(&l, node));
            node_process_crash(l.world.nodes[node], true);
        }
        for (uint32_t node = 1; node <= 2; node++)
            assert_int_equal(node_process_start(l.world.nodes[node], &error), STATUS_OK);
        lab_pass(&l, 15 * NS_PER_S);
    }
    assert_false(holds_catalog(&l, 1) || holds_catalog(&l, 2));
    assert_true(lab_catalog_leader(&l) >= 3);
    lab_create_table(&l, "afterwards", 10, 10);
    lab_deinit(&l);
}

/* While replicas are on their way, nodes die and come back, one after the other. */
TEST(no_acknowledged_write_is_lost_while_replicas_move_and_nodes_fail)
{
    uint64_t first = check_first_seed(1);
    for (uint64_t seed = first; seed < first + 3; seed++) {
        struct lab l;
        struct writer w;
        struct arena arena = {0};
        struct prng prng = prng_seeded(seed);
        start_lab(&l, &w, 5);
        lab_pass(&l, NS_PER_S);
        uint32_t drained = 1 + (uint32_t)prng_below(&prng, 5);
        drain(&l, drained);
        for (int round = 0; round < 4; round++) {
            uint32_t node = 1 + (uint32_t)prng_below(&prng, 5);
            struct buffer error = {0};
            lab_pass(&l, (int64_t)prng_below(&prng, 2 * NS_PER_S));
            node_process_crash(l.world.nodes[node], prng_below(&prng, 2) == 0);
            lab_pass(&l, (int64_t)prng_below(&prng, 3 * NS_PER_S));
            assert_int_equal(node_process_start(l.world.nodes[node], &error), STATUS_OK);
            lab_pass(&l, NS_PER_S);
        }
        lab_pass(&l, 40 * NS_PER_S);
        struct table t = lab_table_of(&l, "moved", &arena);
        assert_false(has_replica(&t, drained));
        assert_false(is_moving(&t));
        assert_false(holds(&l, drained, TABLE) || holds_catalog(&l, drained));
        printf("    seed %llu: node %u drained, %lld writes acknowledged, %lld failed\n",
               (unsigned long long)seed, drained, (long long)w.ok, (long long)w.failed);
        end_lab(&l, &w);
        arena_deinit(&arena);
    }
}

/* ---- splits ---- */

/* An on-demand table of one partition at one and a half times what that serves. */
TEST(an_on_demand_table_is_split_until_nothing_is_throttled)
{
    enum {
        FLOWS = 30
    };
    struct lab l;
    struct counts c = {0};
    struct flow flows[FLOWS];
    char puts[FLOWS][64];
    struct arena arena = {0};
    int64_t throttled = 0, ok = 0, failed = 0, early = 0;
    lab_init(&l);
    lab_set(&l, "on_demand_wcu", "1000");
    lab_set(&l, "on_demand_rcu", "3000");
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_call(&l, &c, "CreateTable",
             "{\"TableName\":\"grows\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":"
             "\"S\"}],\"BillingMode\":\"PAY_PER_REQUEST\"}");
    lab_pass(&l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
    for (int i = 0; i < FLOWS; i++) {
        snprintf(puts[i], sizeof puts[i], "\"Item\":{\"k\":{\"S\":\"%d\"}}", i);
        flows[i] = (struct flow){
            .table = "grows", .operation = "PutItem", .more = puts[i], .per_second = 50};
    }
    lab_run_flows(&l, flows, FLOWS, 10 * NS_PER_S);
    for (int i = 0; i < FLOWS; i++) {
        early += flows[i].counts.key_range + flows[i].counts.throttled;
        failed += flows[i].counts.failed;
        flows[i].counts = (struct counts){0};
    }
    lab_run_flows(&l, flows, FLOWS, 5 * NS_PER_S);
    for (int i = 0; i < FLOWS; i++) {
        throttled += flows[i].counts.key_range + flows[i].counts.throttled;
        ok += flows[i].counts.ok;
        failed += flows[i].counts.failed;
    }
    struct table t = lab_table_of(&l, "grows", &arena);
    printf("    %lld writes throttled in the first 10 s, %lld in the next 5; %u partitions\n",
           (long long)early, (long long)throttled, t.partition_count);
    assert_true(t.partition_count >= 2);
    assert_true(lab_events_of(&l, EVENT_SPLIT) >= 1);
    assert_true(early > 0);
    assert_int_equal(throttled, 0);
    assert_int_equal(failed, 0);
    assert_true(ok >= 7400);
    arena_deinit(&arena);
    lab_deinit(&l);
}
