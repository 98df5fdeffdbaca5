/* traffic.c - what it costs to choose a key, and to make a request of a described workload.
 *
 * Method: batches of BATCH, the clock's own cost within a batch is below a tenth of a ns; the p50
 * and the p99 of the batches' means. Time inside the workload is virtual. */
#include <stdio.h>

#include "base/instant.h"
#include "bench/bench.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"
#include "workload/traffic.h"

enum {
    BATCH = 1000,
    BATCHES = 3000,
    KEY_BUDGET_NS = 40,
    REQUEST_BUDGET_NS = 100,
};

static const char *const key_scenes[] = {
    "uniform",     "zipf:0.6",       "zipf:0.99",      "zipf:1.2", "scrambled-zipf:0.99",
    "latest:0.99", "hotspot:0.9:10", "shifting:0.6:10"};

static const struct {
    const char *name, *rate, *mix, *keys, *sizes;
} request_scenes[] = {
    {"ycsb-a-constant-rate", "1M", "ycsb:A", "scrambled-zipf:0.99", "1000"},
    {"ycsb-d-constant-rate", "1M", "ycsb:D", "latest:0.99", "1000"},
    {"ycsb-a-diurnal", "diurnal:1M:4.3:60:0.1", "ycsb:A", "scrambled-zipf:0.99", "1000"},
    {"ycsb-e-twitter-sizes", "1M", "ycsb:E", "scrambled-zipf:0.99", "twitter"},
};

static uint64_t bench_traffic_sink;

static void bench_traffic_keys(const char *text, struct histogram *ps)
{
    struct load_keys k = {.count = 10000000};
    struct prng random = prng_seeded(1);
    uint64_t sum = 0;
    int64_t now_ns = 0;
    must(load_keys_parse(&k, text) == NULL);
    load_keys_start(&k);
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t start = bench_thread_ns();
        for (int i = 0; i < BATCH; i++)
            sum += load_keys_next(&k, &random, now_ns += NS_PER_MS);
        histogram_record(ps, (bench_thread_ns() - start) * BENCH_PS_PER_NS / BATCH);
    }
    load_keys_stop(&k);
    bench_traffic_sink += sum;
}

static void bench_traffic_requests(int scene, struct histogram *ps)
{
    struct traffic_options o = traffic_defaults();
    struct traffic t;
    struct traffic_request r;
    uint64_t sum = 0;
    o.keys.count = 10000000;
    must(rate_curve_parse(&o.rate, request_scenes[scene].rate) == NULL);
    must(traffic_mix_parse(&o.mix, request_scenes[scene].mix) == NULL);
    must(load_keys_parse(&o.keys, request_scenes[scene].keys) == NULL);
    must(item_sizes_parse(&o.sizes, request_scenes[scene].sizes) == NULL);
    traffic_init(&t, &o, 1);
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t start = bench_thread_ns();
        for (int i = 0; i < BATCH; i++) {
            must(traffic_next(&t, &r));
            sum += r.key + (uint64_t)r.size_bytes;
        }
        histogram_record(ps, (bench_thread_ns() - start) * BENCH_PS_PER_NS / BATCH);
    }
    traffic_deinit(&t);
    bench_traffic_sink += sum;
}

static bool bench_traffic_report(const char *name, int budget_ns, const struct histogram *ps,
                                 bool json, struct buffer *out)
{
    const double p50 = bench_ns_at(ps, 50000), p99 = bench_ns_at(ps, 99000);
    if (json) {
        json_write_open(out, '{');
        json_member_text(out, "name", name);
        json_member_integer(out, "budget_ns", budget_ns);
        json_member_real(out, "p50_ns", p50);
        json_member_real(out, "p99_ns", p99);
        json_write_close(out, '}');
    } else {
        printf("%-24s p50 %6.1f ns  p99 %6.1f ns  budget %d ns\n", name, p50, p99, budget_ns);
    }
    return p50 <= budget_ns;
}

static const char about[] =
    "Times the choice of keys (10M keys), and whole requests of a described workload, in batches "
    "of "
    "1000 on the thread's processor clock. Fails if a p50 is over 40 ns a key or 100 ns a "
    "request.\n";

int bench_traffic(int argc, char **argv)
{
    static struct histogram ps;
    struct buffer out = {0};
    bool json = false, within = true;
    int code = bench_parse("weir-bench traffic", about, &json, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (json)
        bench_write_scenes(&out, "traffic", BATCH, 0, KEY_BUDGET_NS);
    for (size_t i = 0; i < COUNT_OF(key_scenes); i++) {
        histogram_init(&ps);
        bench_traffic_keys(key_scenes[i], &ps);
        within &= bench_traffic_report(key_scenes[i], KEY_BUDGET_NS, &ps, json, &out);
    }
    for (int i = 0; i < (int)COUNT_OF(request_scenes); i++) {
        histogram_init(&ps);
        bench_traffic_requests(i, &ps);
        within &= bench_traffic_report(request_scenes[i].name, REQUEST_BUDGET_NS, &ps, json, &out);
    }
    if (json) {
        json_write_close(&out, ']');
        json_member_bool(&out, "within_budget", within);
        json_write_close(&out, '}');
        bench_print(&out);
    } else {
        printf("budgets: %s\n", within ? "kept" : "BROKEN");
    }
    return within ? 0 : 1;
}
