/* http.c - `weir-bench http`: requests per second and latencies over HTTP, closed loop.
 *
 * Measures a `weir local` of its own, the server on one core and the load on another, or any server
 * by --url: then GetItem and PutItem of a table, or plain GETs with --path. One process after
 * another on the same cores: that is how tools/bench compares servers.
 * With --gac, two of its own that differ in global admission control only, in turn. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/instant.h"
#include "base/must.h"
#include "bench/bench.h"
#include "bench/server.h"
#include "cmd/load_run.h"
#include "cmd/load_setup.h"

struct bench_http {
    bool json;
    bool is_unsigned;
    const char *url;
    const char *path;
    const char *duration;
    const char *connections;
    const char *keys;
    const char *item_bytes;
    const char *data;
    int server_cpu, load_cpu;
    int gac_rounds; /* 0: no comparison */
    bool any_output;
};

enum {
    GAC_ROUNDS_MAX = 99
};
static const double GAC_BUDGET = 0.97; /* of what is served without */

struct measure {
    const char *name;
    const char *workload; /* settings */
    bool preload;
};

static const struct measure table_measures[] = {
    {"PutItem", "read-ratio=0", true},
    {"GetItem", "read-ratio=1", false},
    {"GetItem consistent", "read-ratio=1,consistent", false},
};

static const char help_text[] =
    "usage: weir-bench http [--json] [options]\n\n"
    "Requests per second and latencies of PutItem (durable) and GetItem over HTTP, one after the\n"
    "other, each answered before the connection's next one is sent.\n\n"
    "  --url URL         measure that server instead of a `weir local` started for it\n"
    "  --path /PATH      plain GETs of that path\n"
    "  --duration TIME   of each measurement (5s)\n"
    "  --connections N   (64)\n"
    "  --keys N          keys in the table (10000)\n"
    "  --item-bytes N    (100)\n"
    "  --data DIR        where the started server keeps its data (/tmp)\n"
    "  --unsigned        requests without a signature\n"
    "  --server-cpu N    (0; -1: any)\n"
    "  --load-cpu N      (1; -1: any)\n"
    "  --gac ROUNDS      servers with and without global admission control, in turn: medians of\n"
    "                    so many rounds; fails if less than 97 % is left with it\n"
    "\nexamples:\n  weir-bench http --json --duration 10s\n"
    "  weir-bench http --gac 7 --duration 2s\n";

/* The measurement as a command line of `weir load`. */
static enum status parse_load(const struct bench_http *b, const char *url, const char *settings,
                              struct load_options *o, struct buffer *error)
{
    char group[2048];
    snprintf(group, sizeof group, "bench:rate=max,%s%s%s", settings, b->path ? ",path=" : "",
             b->path ? b->path : "");
    const char *arguments[] = {
        "load",         "--url",        url,           "--table", "bench",
        "--duration",   b->duration,    "--keys",      b->keys,   "--connections",
        b->connections, "--item-bytes", b->item_bytes, "--wcu",   "1000000",
        "--rcu",        "1000000",      "--workload",  group,     "--create-table",
        "--on-demand",  "--unsigned"};
    enum {
        COUNT = sizeof arguments / sizeof arguments[0]
    };
    char *argv[COUNT];
    int count = 0;
    for (int i = 0; i < COUNT; i++) {
        bool left_out = i == COUNT - 1 ? !b->is_unsigned : i == COUNT - 2 && b->gac_rounds > 0;
        if (!left_out)
            argv[count++] = (char *)(uintptr_t)arguments[i];
    }
    return load_options_parse(o, count, argv, error);
}

static enum status run_once(const struct load_options *o, int64_t requests_max,
                            struct load_run **out, struct buffer *error)
{
    struct load_run_options options = {.load = o,
                                       .workloads = o->workloads,
                                       .workload_count = 1,
                                       .requests_max = requests_max,
                                       .try_again = requests_max > 0};
    return load_run(&options, out, error);
}

static enum status preload(const struct bench_http *b, const char *url, struct load_options *o,
                           struct buffer *error)
{
    struct load_run *run = NULL;
    enum status status = parse_load(b, url, "distribution=sequential,duration=1h", o, error);
    if (status == STATUS_OK)
        status = load_setup_tables(o, error);
    if (status == STATUS_OK)
        status = run_once(o, (int64_t)o->workloads[0].keys.count, &run, error);
    load_run_destroy(run);
    return status;
}

static void print_result(struct bench_http *b, const char *name, const struct load_result *r)
{
    const struct histogram *h = &r->latency_admitted;
    double elapsed_s = (double)r->elapsed_ns / 1e9;
    double per_s = elapsed_s > 0 ? (double)r->admitted / elapsed_s : 0;
    int64_t others = r->refused + r->failed + r->unfinished;
    double p50 = (double)histogram_percentile(h, 50000) / 1e3;
    double p99 = (double)histogram_percentile(h, 99000) / 1e3;
    double p999 = (double)histogram_percentile(h, 99900) / 1e3;
    if (b->json)
        printf("%s{\"name\":\"%s\",\"requests_per_s\":%.1f,\"not_admitted\":%lld,\"latency_us\":{"
               "\"p50\":%.1f,\"p99\":%.1f,\"p99.9\":%.1f,\"max\":%.1f}}",
               b->any_output ? ",\n" : "", name, per_s, (long long)others, p50, p99, p999,
               (double)h->max / 1e3);
    else
        printf("%-20s %10.0f/s   p50 %7.0f us   p99 %7.0f us   p99.9 %7.0f us%s\n", name, per_s,
               p50, p99, p999, others ? "   (some were not admitted!)" : "");
    b->any_output = true;
}

/* `*out` is the caller's to destroy. */
static enum status run_measure(const struct bench_http *b, const char *url, const struct measure *m,
                               struct load_options *o, struct load_run **out, struct buffer *error)
{
    enum status status = parse_load(b, url, m->workload, o, error);
    if (status == STATUS_OK)
        status = run_once(o, 0, out, error);
    if (status == STATUS_OK && load_run_results(*out)[0].result->admitted == 0) {
        buffer_append_format(error, "%s: no request was admitted", m->name);
        status = STATUS_IO;
    }
    return status;
}

static enum status measure(struct bench_http *b, const char *url, const struct measure *m,
                           struct load_options *o, struct buffer *error)
{
    struct load_run *run = NULL;
    enum status status = STATUS_OK;
    if (m->preload)
        status = preload(b, url, o, error);
    if (status == STATUS_OK)
        status = run_measure(b, url, m, o, &run, error);
    if (status == STATUS_OK)
        print_result(b, m->name, load_run_results(run)[0].result);
    load_run_destroy(run);
    return status;
}

static enum status measure_all(struct bench_http *b, const char *url, struct buffer *error)
{
    static const struct measure plain = {"GET", "read-ratio=1", false};
    struct load_options *o = calloc(1, sizeof *o);
    must(o != NULL);
    enum status status = STATUS_OK;
    if (b->path != NULL)
        status = measure(b, url, &plain, o, error);
    for (size_t i = 0; b->path == NULL && status == STATUS_OK &&
                       i < sizeof table_measures / sizeof table_measures[0];
         i++)
        status = measure(b, url, &table_measures[i], o, error);
    free(o);
    return status;
}

/* ---- with and without global admission control ---- */

/* Both have a limit, far above what can be served: one at the router, one at the partition. */
#define ROOMY                                                                       \
    "--set", "table_max_wcu=1000000", "--set", "table_max_rcu=1000000", "--set",    \
        "partition_max_wcu=1000000", "--set", "partition_max_rcu=1000000", "--set", \
        "node_wcu=100000000", "--set", "node_rcu=100000000"
static const char *const without_gac[] = {ROOMY, "--set", "gac=off", NULL};
static const char *const with_gac[] = {ROOMY, "--set", "gac=lease", NULL};

/* Requests per second, of one measure. */
struct comparison {
    double without[GAC_ROUNDS_MAX];
    double with[GAC_ROUNDS_MAX];
};

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], compare_numbers);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static bool print_comparison(struct bench_http *b, const char *name, struct comparison *c)
{
    double without = median(c->without, b->gac_rounds), with = median(c->with, b->gac_rounds);
    if (b->json)
        printf("%s{\"name\":\"%s\",\"without_gac_per_s\":%.1f,\"with_gac_per_s\":%.1f,"
               "\"ratio\":%.4f}",
               b->any_output ? ",\n" : "", name, without, with, with / without);
    else
        printf("%-20s %10.0f/s without, %10.0f/s with global admission control: %.1f %%\n", name,
               without, with, 100 * with / without);
    b->any_output = true;
    return with >= GAC_BUDGET * without;
}

static enum status compare_once(const struct bench_http *b, const char *url,
                                const struct measure *m, struct load_options *o, double *per_s,
                                struct buffer *error)
{
    struct load_run *run = NULL;
    enum status status = run_measure(b, url, m, o, &run, error);
    if (status == STATUS_OK) {
        const struct load_result *r = load_run_results(run)[0].result;
        *per_s = (double)r->admitted * 1e9 / (double)r->elapsed_ns;
        if (r->refused > 0) {
            buffer_append_format(error, "%s: %lld requests were throttled", m->name,
                                 (long long)r->refused);
            status = STATUS_IO;
        }
    }
    load_run_destroy(run);
    return status;
}

/* STATUS_IO without an error text: below the budget. */
static enum status compare_gac(struct bench_http *b, const char *without, const char *with,
                               struct buffer *error)
{
    struct load_options *o = calloc(1, sizeof *o);
    must(o != NULL);
    bool kept = true;
    enum status status = preload(b, without, o, error);
    if (status == STATUS_OK)
        status = preload(b, with, o, error);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        const struct measure *m = &table_measures[i];
        struct comparison c;
        for (int j = 0; j < 2 * b->gac_rounds && status == STATUS_OK; j++) {
            int round = j / 2;
            bool gac = (j + round) % 2; /* each goes first as often as the other */
            status = compare_once(b, gac ? with : without, m, o,
                                  gac ? &c.with[round] : &c.without[round], error);
        }
        if (status == STATUS_OK)
            kept &= print_comparison(b, m->name, &c);
    }
    free(o);
    return status == STATUS_OK && !kept ? STATUS_IO : status;
}

static enum status run_comparison(struct bench_http *b, struct buffer *error)
{
    struct bench_server off = {0}, on = {0};
    char off_url[64], on_url[64];
    enum status status = bench_server_start(&off, b->data, b->server_cpu, without_gac, error);
    if (status == STATUS_OK)
        status = bench_server_start(&on, b->data, b->server_cpu, with_gac, error);
    bench_pin(b->load_cpu);
    snprintf(off_url, sizeof off_url, "http://127.0.0.1:%u", off.port);
    snprintf(on_url, sizeof on_url, "http://127.0.0.1:%u", on.port);
    if (status == STATUS_OK)
        status = compare_gac(b, off_url, on_url, error);
    bench_server_stop(&off);
    bench_server_stop(&on);
    return status;
}

static enum status run_alone(struct bench_http *b, struct buffer *error)
{
    struct bench_server server = {0};
    char url[64];
    enum status status = STATUS_OK;
    if (b->url == NULL) {
        status = bench_server_start(&server, b->data, b->server_cpu, NULL, error);
        snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
        b->url = url;
    }
    bench_pin(b->load_cpu);
    if (status == STATUS_OK)
        status = measure_all(b, b->url, error);
    bench_server_stop(&server);
    return status;
}

static int parse(struct bench_http *b, int argc, char **argv)
{
    int64_t server_cpu = b->server_cpu, load_cpu = b->load_cpu, rounds = 0;
    const struct bench_option options[] = {
        {.name = "json", .flag = &b->json},
        {.name = "unsigned", .flag = &b->is_unsigned},
        {.name = "url", .text = &b->url},
        {.name = "path", .text = &b->path},
        {.name = "duration", .text = &b->duration},
        {.name = "connections", .text = &b->connections},
        {.name = "keys", .text = &b->keys},
        {.name = "item-bytes", .text = &b->item_bytes},
        {.name = "data", .text = &b->data},
        {.name = "server-cpu", .number = &server_cpu, .least = -1, .most = CPU_SETSIZE - 1},
        {.name = "load-cpu", .number = &load_cpu, .least = -1, .most = CPU_SETSIZE - 1},
        {.name = "gac", .number = &rounds, .least = 1, .most = GAC_ROUNDS_MAX},
    };
    int code = bench_parse(options, sizeof options / sizeof options[0], help_text, argc, argv);
    b->server_cpu = (int)server_cpu;
    b->load_cpu = (int)load_cpu;
    b->gac_rounds = (int)rounds;
    if (code >= 0 || rounds == 0 || b->url == NULL)
        return code;
    fputs("weir-bench http: --gac starts its own servers: --url does not go with it\n", stderr);
    return 2;
}

int bench_http(int argc, char **argv)
{
    cpu_set_t allowed;
    bool two = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_ISSET(0, &allowed) &&
               CPU_ISSET(1, &allowed);
    struct bench_http b = {.duration = "5s",
                           .connections = "64",
                           .keys = "10000",
                           .item_bytes = "100",
                           .data = "/tmp",
                           .server_cpu = two ? 0 : -1,
                           .load_cpu = two ? 1 : -1};
    int code = parse(&b, argc, argv);
    if (code >= 0)
        return code;
    struct buffer error = {0};
    if (b.json)
        printf("{\"bench\":\"http\",\"connections\":%s,\"item_bytes\":%s,\"measures\":[",
               b.connections, b.item_bytes);
    enum status status = b.gac_rounds > 0 ? run_comparison(&b, &error) : run_alone(&b, &error);
    if (b.json)
        printf("]}\n");
    if (error.size > 0)
        fprintf(stderr, "weir-bench http: %.*s\n", (int)error.size, (char *)error.data);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
