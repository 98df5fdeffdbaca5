/* Policies with real buckets in random worlds: none admits more in a window
 * than the optimum. */
#include "lab/measure/measure.h"

#include <math.h>

#include "base/instant.h"
#include "base/token_bucket.h"
#include "tests/check.h"

enum {
    TABLES = 3,
    PARTITIONS = 8,
    NODES = 4,
    RESOURCES = TABLES + PARTITIONS + NODES,
    COST_MAX = 5000
};

#define WINDOW_NS (100 * NS_PER_MS)

struct fixture {
    struct token_bucket buckets[RESOURCES]; /* each is a resource */
    uint32_t flows[PARTITIONS];
    uint32_t paths[PARTITIONS][5];
    struct measure *measure;
    int64_t refuse_percent; /* a policy that refuses without need */
};

static void begin_world(struct fixture *w, struct prng *p)
{
    *w = (struct fixture){.measure = measure_create(&(struct measure_options){0})};
    w->refuse_percent = prng_below(p, 2) ? 0 : prng_between(p, 1, 60);
    for (uint32_t r = 0; r < RESOURCES; r++) {
        int64_t rate = prng_between(p, 1000, 200000);
        int64_t capacity = prng_between(p, 1000, rate * 3 + 1000);
        token_bucket_init(&w->buckets[r], capacity, rate, INT64_C(1) << 40,
                          prng_between(p, 0, capacity), (struct instant){0});
        measure_add_resource(w->measure, r < TABLES                ? MEASURE_TABLE
                                         : r < TABLES + PARTITIONS ? MEASURE_PARTITION
                                                                   : MEASURE_NODE);
    }
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        uint32_t *path = w->paths[i];
        path[0] = i % TABLES;
        path[1] = TABLES + i;
        for (uint32_t k = 0; k < 3; k++)
            path[2 + k] = TABLES + PARTITIONS + (i + k) % NODES;
        uint32_t stream = measure_add_stream(w->measure, i, i % TABLES, 1);
        w->flows[i] = measure_add_flow(w->measure, stream, prng_between(p, 1, 9), path, 5);
    }
}

/* What the buckets have at the begin of the window, and what flows in until its
 * end. */
static void report_capacities(struct fixture *w, int64_t now_ns, int64_t slack)
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        struct token_bucket *b = &w->buckets[r];
        token_bucket_refill(b, (struct instant){now_ns});
        int64_t inflow = (b->rate * WINDOW_NS + NS_PER_S - 1) / NS_PER_S;
        measure_set_capacity(w->measure, r, b->balance + inflow);
        measure_set_slack(w->measure, r, slack);
    }
}

static uint32_t decide(struct fixture *w, struct prng *p, uint32_t partition, int64_t now_ns,
                       int64_t cost)
{
    if (prng_between(p, 1, 100) <= w->refuse_percent)
        return 1;
    for (int k = 0; k < 5; k++) {
        struct token_bucket *b = &w->buckets[w->paths[partition][k]];
        token_bucket_refill(b, (struct instant){now_ns});
        if (!token_bucket_has(b, cost))
            return 2;
    }
    for (int k = 0; k < 5; k++)
        token_bucket_debit(&w->buckets[w->paths[partition][k]], cost);
    return 0;
}

static double violations_of(struct prng *p, int64_t slack)
{
    struct fixture w;
    begin_world(&w, p);
    for (int64_t window = 0; window < 60; window++) {
        int64_t times[40], count = prng_between(p, 0, 40);
        report_capacities(&w, window * WINDOW_NS, slack);
        for (int64_t i = 0; i < count; i++)
            times[i] = window * WINDOW_NS + i * (WINDOW_NS / 40);
        for (int64_t i = 0; i < count; i++) {
            uint32_t partition = (uint32_t)prng_below(p, PARTITIONS);
            int64_t cost = prng_between(p, 1, COST_MAX);
            uint32_t reason = decide(&w, p, partition, times[i], cost);
            measure_request(w.measure, &(struct measure_request){.flow = w.flows[partition],
                                                                 .reason = reason,
                                                                 .at_ns = times[i],
                                                                 .cost_mcu = cost,
                                                                 .latency_ns = -1});
        }
        measure_advance(w.measure, (window + 1) * WINDOW_NS);
    }
    measure_end(w.measure, 60 * WINDOW_NS);
    struct measure_selector all = MEASURE_ALL;
    char error[256];
    double violations, good, wrong, jain;
    assert_null(measure_value(w.measure, "optimum_violations", &all, &violations, error, 256));
    assert_null(measure_value(w.measure, "goodput_ratio", &all, &good, error, 256));
    assert_null(measure_value(w.measure, "false_throttle", &all, &wrong, error, 256));
    assert_null(measure_value(w.measure, "fairness_jain", &all, &jain, error, 256));
    if (slack > 0)
        assert_true(good >= 0 && good <= 1);
    assert_true(wrong >= 0 && wrong <= 1 && jain > 0 && jain <= 1 + 1e-9);
    measure_destroy(w.measure);
    return violations;
}

static void property(struct prng *p)
{
    assert_true(violations_of(p, COST_MAX) == 0);
}

TEST(no_policy_admits_more_than_the_optimum)
{
    check_seeds(300, property);
}

/* So the test above would notice. */
TEST(without_slack_the_debt_of_buckets_shows)
{
    struct prng p = prng_seeded(1);
    double violations = 0;
    for (int i = 0; i < 50; i++)
        violations += violations_of(&p, 0);
    assert_true(violations > 0);
}
