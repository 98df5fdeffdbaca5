/* crowd.c - a table, and requests for it at all routers of a lab. */
#include "tests/support/crowd.h"

#include <math.h>
#include <string.h>

#include "engine/item/storage_key.h"
#include "tests/check.h"

/* ---- the table ---- */

static void set_throughput(struct crowd *c, int64_t rcu, int64_t wcu)
{
    char body[256];
    struct counts counts = {0};
    snprintf(body, sizeof body,
             "{\"TableName\":\"%s\",\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%lld,"
             "\"WriteCapacityUnits\":%lld}}",
             c->table, (long long)rcu, (long long)wcu);
    lab_call(c->lab, &counts, "UpdateTable", body);
    lab_pass(c->lab, 2 * NS_PER_S);
    assert_int_equal(counts.ok, 1);
}

/* Tries numbers until every partition has its keys. */
static void find_keys(struct crowd *c)
{
    struct arena arena = {0};
    struct table t = lab_table_of(c->lab, c->table, &arena);
    uint32_t counts[CROWD_PARTITIONS_MAX] = {0}, missing = c->partition_count * CROWD_KEYS;
    assert_int_equal(t.partition_count, c->partition_count);
    for (uint32_t number = 0; missing > 0; number++) {
        char text[16];
        struct buffer key = {0};
        int size = snprintf(text, sizeof text, "%u", number);
        storage_key_append(&key, t.id, &(struct attr){ATTR_STRING, slice_make(text, (size_t)size)},
                           NULL);
        size_t at = (size_t)(table_partition_of(&t, buffer_slice(&key)) - t.partitions);
        if (counts[at] < CROWD_KEYS) {
            memcpy(c->keys[at][counts[at]++], text, sizeof text);
            missing--;
        }
        buffer_deinit(&key);
    }
    arena_deinit(&arena);
}

void crowd_init(struct crowd *c, struct lab *l, uint32_t partitions, int64_t units, bool writes,
                uint64_t seed)
{
    enum {
        OTHER_KIND = 1000 /* units of the kind that the crowd does not use */
    };
    *c = (struct crowd){.lab = l,
                        .table = "crowd",
                        .writes = writes,
                        .units = units,
                        .partition_count = partitions,
                        .prng = prng_seeded(seed)};
    lab_create_table(l, c->table, OTHER_KIND, (int)partitions * CROWD_PARTITION_UNITS);
    set_throughput(c, writes ? OTHER_KIND : units, writes ? units : OTHER_KIND);
    find_keys(c);
    for (uint32_t i = 0; i < l->world.plan.routers; i++)
        c->routers[i] = 1;
    for (uint32_t i = 0; i < partitions; i++)
        c->partitions[i] = 1;
}

/* ---- weights ---- */

void crowd_zipf(struct crowd *c, double *weights, uint32_t count, double s)
{
    for (uint32_t i = 0; i < count; i++)
        weights[i] = pow(i + 1, -s);
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)prng_below(&c->prng, i);
        double weight = weights[i - 1];
        weights[i - 1] = weights[other];
        weights[other] = weight;
    }
}

void crowd_hot(double *weights, uint32_t count, uint32_t at, double part)
{
    for (uint32_t i = 0; i < count; i++)
        weights[i] = i == at ? part : (1 - part) / (count - 1);
}

static uint32_t crowd_draw(struct crowd *c, const double *weights, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += weights[i];
    double at = prng_unit(&c->prng) * sum;
    uint32_t i = 0;
    while (i + 1 < count && at >= weights[i])
        at -= weights[i++];
    return i;
}

/* ---- requests ---- */

static void crowd_arrive(struct crowd *c)
{
    char body[160];
    uint32_t router = crowd_draw(c, c->routers, c->lab->world.plan.routers);
    uint32_t partition = crowd_draw(c, c->partitions, c->partition_count);
    const char *key = c->keys[partition][prng_below(&c->prng, CROWD_KEYS)];
    if (c->writes)
        snprintf(body, sizeof body, "{\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%s\"}}}",
                 c->table, key);
    else
        snprintf(body, sizeof body,
                 "{\"TableName\":\"%s\",\"ConsistentRead\":true,\"Key\":{\"k\":{\"S\":\"%s\"}}}",
                 c->table, key);
    lab_call_at(c->lab, router, &c->counts[router], c->writes ? "PutItem" : "GetItem", body);
}

void crowd_run(struct crowd *c, int64_t ns)
{
    int64_t end = c->lab->world.scheduler.now.ns + ns;
    for (;;) {
        int64_t next = c->lab->world.scheduler.now.ns +
                       (int64_t)(-log(1 - prng_unit(&c->prng)) * 1e9 / (double)c->per_second);
        if (next >= end)
            break;
        lab_pass(c->lab, next - c->lab->world.scheduler.now.ns);
        crowd_arrive(c);
    }
    lab_pass(c->lab, end - c->lab->world.scheduler.now.ns);
}

struct counts crowd_counts(const struct crowd *c)
{
    struct counts sum = {0};
    for (uint32_t i = 0; i < c->lab->world.plan.routers; i++) {
        sum.ok += c->counts[i].ok;
        sum.key_range += c->counts[i].key_range;
        sum.throttled += c->counts[i].throttled;
        sum.failed += c->counts[i].failed;
    }
    return sum;
}

void crowd_measure(struct crowd *c)
{
    memset(c->counts, 0, sizeof c->counts);
}
