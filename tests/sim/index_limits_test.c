/* The limits of a global index on real routers, nodes and GAC servers in virtual time: 8 routers,
 * an index of 16 partitions, 2 servers. Routers keep the limit of the index's reads, its
 * partitions that of its rows. The demand is skewed: half of it is for one key of the index. */
#include "tests/check.h"

#include "engine/node/control_port.h"
#include "sim/check/gac_watch.h"
#include "tests/support/lab.h"

enum {
    ROUTERS = 8,
    PARTITIONS = 16,
    SERVERS = 2,
    PARTITION_UNITS = 1000, /* the maximum of a partition, of writes */
    READS = 400,            /* of the index, a second */
    ROWS = 800,
    KEYS = 64, /* of the index */
    MANY = PARTITIONS * PARTITION_UNITS,
    ANSWERS_MS = 300, /* the last answers of a run have come */
    INDEX_ID = 2,     /* of the index's table: the only table is 1 */
};

struct fixture {
    struct lab lab;
    struct gac_watch watch;
    struct prng prng;
    uint32_t router; /* of the next request */
    int64_t items;   /* written, or tried */
};

/* ---- the table ---- */

static void fixture_call(struct fixture *s, const char *operation, const char *body)
{
    struct counts c = {0};
    lab_call(&s->lab, &c, operation, body);
    lab_pass(&s->lab, 3 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

/* The index has as many partitions as its first throughput needs. */
static void fixture_create(struct fixture *s)
{
    char body[1024];
    snprintf(
        body, sizeof body,
        "{\"TableName\":\"base\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"}],"
        "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"},"
        "{\"AttributeName\":\"g\",\"AttributeType\":\"S\"}],\"ProvisionedThroughput\":{"
        "\"ReadCapacityUnits\":%d,\"WriteCapacityUnits\":%d},\"GlobalSecondaryIndexes\":[{"
        "\"IndexName\":\"by-g\",\"KeySchema\":[{\"AttributeName\":\"g\",\"KeyType\":\"HASH\"}"
        "],\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"},\"ProvisionedThroughput\":{"
        "\"ReadCapacityUnits\":%d,\"WriteCapacityUnits\":%d}}]}",
        MANY, MANY, READS, MANY);
    fixture_call(s, "CreateTable", body);
    snprintf(body, sizeof body,
             "{\"TableName\":\"base\",\"GlobalSecondaryIndexUpdates\":[{\"Update\":{\"IndexName\":"
             "\"by-g\",\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%d,"
             "\"WriteCapacityUnits\":%d}}}]}",
             READS, ROWS);
    fixture_call(s, "UpdateTable", body);
    struct arena arena = {0};
    struct table x = lab_table_of(&s->lab, "base/by-g", &arena);
    assert_int_equal(x.id, INDEX_ID);
    assert_int_equal(x.partition_count, PARTITIONS);
    assert_int_equal(x.rcu, READS);
    assert_int_equal(x.wcu, ROWS);
    arena_deinit(&arena);
}

static void fixture_begin(struct fixture *s, struct prng *p, const char *gac, const char *adaptive)
{
    *s = (struct fixture){.prng = prng_seeded(prng_next(p))};
    lab_init(&s->lab);
    s->lab.world.plan.routers = ROUTERS;
    s->lab.world.plan.gac = SERVERS;
    s->lab.world.plan.seed = prng_next(p) >> 1;
    lab_set(&s->lab, "gac", gac);
    lab_set(&s->lab, "control_split", "0");
    lab_set(&s->lab, "control_adaptive", adaptive);
    lab_set(&s->lab, "burst_max_s", "1");
    lab_set(&s->lab, "table_max_wcu", "100000");
    lab_set(&s->lab, "node_wcu", "1000000");
    lab_set(&s->lab, "node_rcu", "1000000");
    lab_set(&s->lab, "gac_bank_ms", "2000");
    lab_set(&s->lab, "index_backlog_ms", "500");
    lab_start(&s->lab);
    lab_pass(&s->lab, 2 * NS_PER_S);
    fixture_create(s);
    gac_watch_init(&s->watch, s->lab.world.scheduler.now,
                   (struct gac_key){.table = INDEX_ID, .kind = GAC_READ}, READS * 1000,
                   duration_ms(2000));
    s->lab.watch = &s->watch;
}

static void fixture_end(struct fixture *s)
{
    lab_deinit(&s->lab);
}

/* ---- requests ---- */

static uint32_t fixture_key(struct fixture *s)
{
    return prng_below(&s->prng, 2) == 0 ? 0 : (uint32_t)prng_below(&s->prng, KEYS);
}

/* Half a unit of the index. */
static void fixture_query(struct fixture *s, struct counts *counts)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"TableName\":\"base\",\"IndexName\":\"by-g\",\"KeyConditionExpression\":\"g = :g\","
             "\"ExpressionAttributeValues\":{\":g\":{\"S\":\"%u\"}}}",
             fixture_key(s));
    lab_call_at(&s->lab, s->router++ % ROUTERS, counts, "Query", body);
}

/* A unit of the table, and one of the index. */
static void fixture_put(struct fixture *s, struct counts *counts)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"TableName\":\"base\",\"Item\":{\"k\":{\"S\":\"%lld\"},\"g\":{\"S\":\"%u\"}}}",
             (long long)s->items++, fixture_key(s));
    lab_call_at(&s->lab, s->router++ % ROUTERS, counts, "PutItem", body);
}

static void fixture_get(struct fixture *s, struct counts *counts)
{
    lab_call_at(&s->lab, s->router++ % ROUTERS, counts, "GetItem",
                "{\"TableName\":\"base\",\"Key\":{\"k\":{\"S\":\"1\"}}}");
}

/* So many a second of one kind, and a hundred reads of the table itself. */
static struct counts fixture_run(struct fixture *s,
                                 void (*one)(struct fixture *s, struct counts *counts),
                                 int64_t per_second, int64_t seconds)
{
    struct counts counts = {0}, gets = {0};
    int64_t requested = 0;
    for (int64_t i = 0; i < per_second * seconds; i++) {
        one(s, &counts);
        if (i * 100 / per_second == requested) {
            fixture_get(s, &gets);
            requested++;
        }
        lab_pass(&s->lab, NS_PER_S / per_second);
    }
    lab_pass(&s->lab, ANSWERS_MS * NS_PER_MS);
    assert_int_equal(gets.ok, requested);
    assert_int_equal(counts.failed + counts.maximum, 0);
    return counts;
}

static int64_t offered(const struct counts *c)
{
    return c->ok + c->throttled + c->key_range;
}

/* ---- reads ---- */

/* Nine tenths of what the index may read. */
static struct counts reads_within(struct prng *p, const char *gac)
{
    static struct fixture s;
    fixture_begin(&s, p, gac, "0");
    fixture_run(&s, fixture_query, 2 * READS * 9 / 10, 4);
    struct counts c = fixture_run(&s, fixture_query, 2 * READS * 9 / 10, 5);
    assert_int_equal(s.watch.over_mcu, 0);
    assert_int_equal(c.key_range, 0);
    fixture_end(&s);
    return c;
}

static void skewed_reads_within_the_indexs_limit_are_served(struct prng *p)
{
    const struct counts lease = reads_within(p, "lease"), off = reads_within(p, "off");
    printf(
        "    skewed reads at 0.9 of the index's limit: throttled of %lld: lease %lld, off %lld\n",
        (long long)offered(&lease), (long long)lease.throttled, (long long)off.throttled);
    assert_true(lease.throttled <= offered(&lease) / 1000);
    assert_true(off.throttled > offered(&off) / 4);
}

static void reads_above_the_indexs_limit_get_the_limit(struct prng *p)
{
    static struct fixture s;
    fixture_begin(&s, p, "lease", "0");
    fixture_run(&s, fixture_query, 4 * READS, 8); /* what was saved up goes */
    struct counts c = fixture_run(&s, fixture_query, 4 * READS, 5);
    /* What came in while the first run's answers were awaited is there, too. */
    const int64_t max = 2 * READS * (5 * 1000 + ANSWERS_MS) / 1000;
    printf("    skewed reads at twice the index's limit: served of it %.1f %%\n",
           (double)c.ok * 100 / (double)max);
    assert_in_range(c.ok, max * 97 / 100, max * 101 / 100);
    assert_int_equal(s.watch.over_mcu, 0);
    assert_true(s.watch.taken_mcu > READS * 5 * 1000);
    fixture_end(&s);
}

/* ---- rows ---- */

/* The units that rows of the index have cost, at all leaders. */
static int64_t rows_of(struct fixture *s)
{
    struct request r = {.id = 1, .op = REQUEST_STATS};
    struct buffer body = {0};
    int64_t mcu = 0;
    for (uint32_t n = 1; n <= s->lab.world.plan.nodes; n++) {
        struct partition_stats stats;
        buffer_clear(&body);
        node_process_request(s->lab.world.nodes[n], &r, &body);
        struct reader records = {buffer_slice(&body), false};
        while (records.left.size > 0 && partition_stats_decode(&records, &stats) == STATUS_OK) {
            if (stats.table_id == INDEX_ID && stats.leads)
                mcu += stats.kinds[ADMIT_WRITE].counts.load.consumed_mcu;
        }
    }
    buffer_deinit(&body);
    return mcu / 1000;
}

/* The skew is served within the index's units once allocations have followed the demand. */
static void skewed_rows_get_the_indexs_units_by_adaptive_capacity(struct prng *p)
{
    static struct fixture s;
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        fixture_begin(&s, p, "lease", adaptive ? "1" : "0");
        fixture_run(&s, fixture_put, ROWS * 9 / 10, 15);
        struct counts c = fixture_run(&s, fixture_put, ROWS * 9 / 10, 5);
        printf(
            "    skewed rows at 0.9 of the index's units, adaptive %s: throttled of %lld: %lld\n",
            adaptive ? "on" : "off", (long long)offered(&c), (long long)c.throttled);
        assert_int_equal(c.key_range, 0);
        if (adaptive)
            assert_int_equal(c.throttled, 0);
        else
            assert_true(c.throttled > offered(&c) / 4);
        fixture_end(&s);
    }
}

static void rows_above_the_indexs_units_get_the_units(struct prng *p)
{
    static struct fixture s;
    fixture_begin(&s, p, "lease", "1");
    fixture_run(&s, fixture_put, ROWS * 2, 15);
    const int64_t before = rows_of(&s);
    fixture_run(&s, fixture_put, ROWS * 2, 10);
    const int64_t rows = rows_of(&s) - before;
    printf("    skewed rows at twice the index's units: written of them %.1f %%\n",
           (double)rows * 100 / (ROWS * 10));
    /* Partitions that wait while others are served save up to a second (burst_max_s). */
    assert_in_range(rows, ROWS * 10 * 90 / 100, ROWS * (10 + 1));
    fixture_end(&s);
}

#define SCENARIO(name)        \
    TEST(test_##name)         \
    {                         \
        check_seeds(1, name); \
    }

SCENARIO(skewed_reads_within_the_indexs_limit_are_served)
SCENARIO(reads_above_the_indexs_limit_get_the_limit)
SCENARIO(skewed_rows_get_the_indexs_units_by_adaptive_capacity)
SCENARIO(rows_above_the_indexs_units_get_the_units)
