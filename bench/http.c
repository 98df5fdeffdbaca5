/* http.c - `weir-bench http`: requests per second and latencies over HTTP, closed loop.
 *
 * Measures a `weir local` of its own, the server on one core and the load on another, or any server
 * by --url: then GetItem and PutItem of a table, or plain GETs with --path. One process after
 * another on the same cores: that is how tools/bench compares servers.
 * With --gac, two of its own that differ in global admission control only, in turn. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "bench/bench.h"
#include "bench/http_load.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"

struct bench_http {
    bool json;
    const char *url;
    const char *path;
    struct bench_load load;
    const char *data;
    int server_cpu, load_cpu;
    int64_t gac_rounds; /* 0: no comparison */
    struct buffer out;  /* the JSON so far */
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

static void write_result(struct buffer *out, const char *name, double per_s, int64_t others,
                         const struct histogram *h)
{
    json_write_open(out, '{');
    json_member_text(out, "name", name);
    json_member_real(out, "requests_per_s", per_s);
    json_member_integer(out, "not_admitted", others);
    json_member_open(out, "latency_us", '{'); /* thousandths of a microsecond are nanoseconds */
    json_member_thousandths(out, "p50", histogram_percentile(h, 50000));
    json_member_thousandths(out, "p99", histogram_percentile(h, 99000));
    json_member_thousandths(out, "p99.9", histogram_percentile(h, 99900));
    json_member_thousandths(out, "max", h->max);
    json_write_closes(out, "}}");
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
        write_result(&b->out, name, per_s, others, h);
    else
        printf("%-20s %10.0f/s   p50 %7.0f us   p99 %7.0f us   p99.9 %7.0f us%s\n", name, per_s,
               p50, p99, p999, others ? "   (some were not admitted!)" : "");
}

static enum status bench_http_measure(struct bench_http *b, const char *url,
                                      const struct measure *m, struct load_options *o,
                                      struct buffer *error)
{
    struct load_run *run = NULL;
    enum status status = STATUS_OK;
    if (m->preload)
        status = bench_load_preload(&b->load, url, m->workload, error);
    if (status == STATUS_OK)
        status = bench_load_run(&b->load, url, m->workload, 0, o, &run, error);
    if (status == STATUS_OK)
        print_result(b, m->name, run->results[0].result);
    load_run_destroy(run);
    return status;
}

static enum status measure_all(struct bench_http *b, const char *url, struct buffer *error)
{
    struct load_options *o = must_calloc(1, sizeof *o);
    struct buffer plain = {0};
    enum status status = STATUS_OK;
    if (b->path != NULL) {
        buffer_append_format(&plain, "path=%s", b->path);
        buffer_append_u8(&plain, '\0');
        status = bench_http_measure(b, url, &(struct measure){"GET", (char *)plain.data, false}, o,
                                    error);
    }
    for (size_t i = 0; b->path == NULL && status == STATUS_OK && i < COUNT_OF(table_measures); i++)
        status = bench_http_measure(b, url, &table_measures[i], o, error);
    buffer_deinit(&plain);
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

static bool print_comparison(struct bench_http *b, const char *name, struct bench_side *off,
                             struct bench_side *on)
{
    double without = bench_median(off->per_s, (size_t)b->gac_rounds);
    double with = bench_median(on->per_s, (size_t)b->gac_rounds);
    if (b->json) {
        json_write_open(&b->out, '{');
        json_member_text(&b->out, "name", name);
        json_member_real(&b->out, "without_gac_per_s", without);
        json_member_real(&b->out, "with_gac_per_s", with);
        json_member_real(&b->out, "ratio", with / without);
        json_write_close(&b->out, '}');
    } else
        printf("%-20s %10.0f/s without, %10.0f/s with global admission control: %.1f %%\n", name,
               without, with, 100 * with / without);
    return with >= GAC_BUDGET * without;
}

/* STATUS_IO without an error text: below the budget. */
static enum status compare_gac(struct bench_http *b, const struct bench_server *without,
                               const struct bench_server *with, struct buffer *error)
{
    const struct bench_server *servers[] = {without, with};
    bool kept = true;
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        char url[BENCH_URL_SIZE];
        bench_server_url(servers[i], url);
        status = bench_load_preload(&b->load, url, table_measures[0].workload, error);
    }
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        const struct measure *m = &table_measures[i];
        struct bench_side off = {.server = without, .settings = m->workload};
        struct bench_side on = {.server = with, .settings = m->workload};
        status = bench_load_compare(&b->load, &off, &on, (int)b->gac_rounds, error);
        if (status == STATUS_OK)
            kept &= print_comparison(b, m->name, &off, &on);
    }
    return status == STATUS_OK && !kept ? STATUS_IO : status;
}

static enum status run_comparison(struct bench_http *b, struct buffer *error)
{
    struct bench_server off = {0}, on = {0};
    enum status status = bench_server_start(&off, b->data, b->server_cpu, without_gac, error);
    if (status == STATUS_OK)
        status = bench_server_start(&on, b->data, b->server_cpu, with_gac, error);
    bench_pin(b->load_cpu);
    if (status == STATUS_OK)
        status = compare_gac(b, &off, &on, error);
    bench_server_stop(&off);
    bench_server_stop(&on);
    return status;
}

static enum status run_alone(struct bench_http *b, struct buffer *error)
{
    struct bench_server server = {0};
    char url[BENCH_URL_SIZE];
    enum status status = STATUS_OK;
    if (b->url == NULL) {
        status = bench_server_start(&server, b->data, b->server_cpu, NULL, error);
        bench_server_url(&server, url);
        b->url = url;
    }
    bench_pin(b->load_cpu);
    if (status == STATUS_OK)
        status = measure_all(b, b->url, error);
    bench_server_stop(&server);
    return status;
}

#define MEMBER(member) FIELD_MEMBER(struct bench_http, member)

static const struct field http_options[] = {
    {"url", FIELD_TEXT, MEMBER(url), "URL", .initial = "a `weir local` started for the bench",
     .help = "The server to measure."},
    {"path", FIELD_TEXT, MEMBER(path), "/PATH", .help = "Measure plain GETs of this path."},
    {"duration", FIELD_TEXT, MEMBER(load.duration), "TIME",
     .help = "The duration of each measurement."},
    {"connections", FIELD_INTEGER, MEMBER(load.connections), "N", .min = 1, .max = 10000,
     .help = "The number of connections."},
    {"keys", FIELD_INTEGER, MEMBER(load.keys), "N", .min = 1, .max = 1000000000,
     .help = "The number of keys in the table."},
    {"item-bytes", FIELD_INTEGER, MEMBER(load.item_bytes), "N", .min = 1, .max = ITEM_SIZE_MAX,
     .help = "The size of an item in bytes, names and values together."},
    {"data", FIELD_TEXT, MEMBER(data), "DIR",
     .help = "The started server keeps its data in a new directory below DIR."},
    {"unsigned", FIELD_FLAG, MEMBER(load.is_unsigned), .help = "Requests have no signature."},
    {"server-cpu", FIELD_INTEGER, MEMBER(server_cpu), "N", .min = -1, .max = CPU_SETSIZE - 1,
     .help = "The core of the started server. -1: any."},
    {"load-cpu", FIELD_INTEGER, MEMBER(load_cpu), "N", .min = -1, .max = CPU_SETSIZE - 1,
     .help = "The core of the load. -1: any."},
    {"gac", FIELD_INTEGER, MEMBER(gac_rounds), "ROUNDS", .min = 1, .max = BENCH_ROUNDS_MAX,
     .initial = "",
     .help = "Measure servers with and without global admission control, in turn, and compare the "
             "medians of this number of rounds. Fails if the ratio is below 97 %."},
    {"json", FIELD_FLAG, MEMBER(json), .help = "Print one JSON object."},
};

#undef MEMBER

static int bench_http_parse(struct bench_http *b, int argc, char **argv)
{
    const struct command_line line = {
        .command = "weir-bench http",
        .usage = "[option]...",
        .about =
            "Requests per second and latencies of PutItem (durable) and GetItem over HTTP, one "
            "after the other. Each request is answered before the next one is sent on its "
            "connection.\n",
        .examples = "  weir-bench http --json --duration 10s\n"
                    "  weir-bench http --gac 7 --duration 2s\n",
        .groups = {OPTION_GROUP(NULL, http_options, b)}};
    int code = usage_parse(&line, argc, argv);
    if (code == USAGE_GO_ON && b->gac_rounds > 0 && b->url != NULL)
        return usage_wrong(line.command, "--gac starts its own servers: --url does not go with it");
    return code;
}

int bench_http(int argc, char **argv)
{
    struct bench_http b = {
        .load = {.duration = "5s", .connections = 64, .keys = 10000, .item_bytes = 100},
        .data = "/tmp"};
    bench_choose_cpus(&b.server_cpu, &b.load_cpu);
    int code = bench_http_parse(&b, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    b.load.provisioned = b.gac_rounds > 0;
    struct buffer error = {0};
    json_write_open(&b.out, '{');
    json_member_text(&b.out, "bench", "http");
    json_member_integer(&b.out, "connections", b.load.connections);
    json_member_integer(&b.out, "item_bytes", b.load.item_bytes);
    json_member_open(&b.out, "measures", '[');
    enum status status = b.gac_rounds > 0 ? run_comparison(&b, &error) : run_alone(&b, &error);
    json_write_closes(&b.out, "]}");
    return bench_end("http", b.json, &b.out, &error, status == STATUS_OK);
}
