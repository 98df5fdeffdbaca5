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
#include "cmd/usage.h"
#include "router/json/json_writer.h"
#include "workload/load_run.h"
#include "workload/load_setup.h"

struct bench_http {
    bool json;
    bool is_unsigned;
    const char *url;
    const char *path;
    const char *duration;
    int64_t connections, keys, item_bytes;
    const char *data;
    int server_cpu, load_cpu;
    int64_t gac_rounds; /* 0: no comparison */
    struct buffer out;  /* the JSON so far */
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

/* The measurement as a command line of `weir load`. */
static enum status parse_load(const struct bench_http *b, const char *url, const char *settings,
                              struct load_options *o, struct buffer *error)
{
    struct buffer text = {0};
    char *argv[32], *rest;
    int argc = 0;
    buffer_append_format(&text,
                         "load\n--url\n%s\n--table\nbench\n--duration\n%s\n--keys\n%lld\n"
                         "--connections\n%lld\n--item-bytes\n%lld\n--wcu\n1M\n--rcu\n1M\n"
                         "--create-table%s%s\n--workload\nbench:rate=max,%s%s%s",
                         url, b->duration, (long long)b->keys, (long long)b->connections,
                         (long long)b->item_bytes, b->gac_rounds > 0 ? "" : "\n--on-demand",
                         b->is_unsigned ? "\n--unsigned" : "", settings, b->path ? ",path=" : "",
                         b->path ? b->path : "");
    buffer_append_u8(&text, '\0');
    for (char *word = strtok_r((char *)text.data, "\n", &rest); word != NULL;
         word = strtok_r(NULL, "\n", &rest))
        argv[argc++] = word;
    enum command_line_result result = load_options_parse(o, argc, argv, error);
    buffer_deinit(&text);
    return result == COMMAND_LINE_TAKEN ? STATUS_OK : STATUS_MALFORMED;
}

static enum status bench_http_preload(const struct bench_http *b, const char *url,
                                      struct load_options *o, struct buffer *error)
{
    enum status status = parse_load(b, url, "read-ratio=0", o, error);
    uint64_t next_number;
    if (status == STATUS_OK)
        status = load_setup_tables(o, error);
    if (status != STATUS_OK)
        return status;
    return load_preload(
        &(struct load_run_options){.load = o, .workloads = o->workloads, .workload_count = 1},
        &next_number, error);
}

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
    json_write_close(out, '}');
    json_write_close(out, '}');
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

/* `*out` is the caller's to destroy. */
static enum status run_measure(const struct bench_http *b, const char *url, const struct measure *m,
                               struct load_options *o, struct load_run **out, struct buffer *error)
{
    enum status status = parse_load(b, url, m->workload, o, error);
    if (status == STATUS_OK)
        status = load_run(
            &(struct load_run_options){.load = o, .workloads = o->workloads, .workload_count = 1},
            out, error);
    if (status == STATUS_OK && (*out)->results[0].result->admitted == 0) {
        buffer_append_format(error, "%s: no request was admitted", m->name);
        status = STATUS_IO;
    }
    return status;
}

static enum status bench_http_measure(struct bench_http *b, const char *url,
                                      const struct measure *m, struct load_options *o,
                                      struct buffer *error)
{
    struct load_run *run = NULL;
    enum status status = STATUS_OK;
    if (m->preload)
        status = bench_http_preload(b, url, o, error);
    if (status == STATUS_OK)
        status = run_measure(b, url, m, o, &run, error);
    if (status == STATUS_OK)
        print_result(b, m->name, run->results[0].result);
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
        status = bench_http_measure(b, url, &plain, o, error);
    for (size_t i = 0; b->path == NULL && status == STATUS_OK &&
                       i < sizeof table_measures / sizeof table_measures[0];
         i++)
        status = bench_http_measure(b, url, &table_measures[i], o, error);
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

static bool print_comparison(struct bench_http *b, const char *name, struct comparison *c)
{
    double without = bench_median(c->without, (size_t)b->gac_rounds);
    double with = bench_median(c->with, (size_t)b->gac_rounds);
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

static enum status compare_once(const struct bench_http *b, const char *url,
                                const struct measure *m, struct load_options *o, double *per_s,
                                struct buffer *error)
{
    struct load_run *run = NULL;
    enum status status = run_measure(b, url, m, o, &run, error);
    if (status == STATUS_OK) {
        const struct load_result *r = run->results[0].result;
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
    enum status status = bench_http_preload(b, without, o, error);
    if (status == STATUS_OK)
        status = bench_http_preload(b, with, o, error);
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

#define MEMBER(member) OPTION_MEMBER(struct bench_http, member)

static const struct option http_options[] = {
    {"url", "URL", OPTION_TEXT, MEMBER(url), .initial = "a `weir local` started for the bench",
     .help = "The server to measure."},
    {"path", "/PATH", OPTION_TEXT, MEMBER(path), .help = "Measure plain GETs of that path."},
    {"duration", "TIME", OPTION_TEXT, MEMBER(duration), .help = "How long each measurement takes."},
    {"connections", "N", OPTION_INTEGER, MEMBER(connections), .least = 1, .most = 10000,
     .help = "How many connections there are."},
    {"keys", "N", OPTION_INTEGER, MEMBER(keys), .least = 1, .most = 1000000000,
     .help = "How many keys the table has."},
    {"item-bytes", "N", OPTION_INTEGER, MEMBER(item_bytes), .least = 1, .most = ITEM_SIZE_MAX,
     .help = "The size of an item in bytes, names and values together."},
    {"data", "DIR", OPTION_TEXT, MEMBER(data),
     .help = "The started server keeps its data in a new directory below DIR."},
    {"unsigned", NULL, OPTION_FLAG, MEMBER(is_unsigned), .help = "Requests have no signature."},
    {"server-cpu", "N", OPTION_INTEGER, MEMBER(server_cpu), .least = -1, .most = CPU_SETSIZE - 1,
     .help = "The core of the started server. -1: any."},
    {"load-cpu", "N", OPTION_INTEGER, MEMBER(load_cpu), .least = -1, .most = CPU_SETSIZE - 1,
     .help = "The core of the load. -1: any."},
    {"gac", "ROUNDS", OPTION_INTEGER, MEMBER(gac_rounds), .least = 1, .most = GAC_ROUNDS_MAX,
     .initial = "",
     .help = "Measure servers with and without global admission control, in turn, and compare the "
             "medians of so many rounds. Fails if less than 97 % is left with it."},
    {"json", NULL, OPTION_FLAG, MEMBER(json), .help = "Print one JSON object."},
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
    cpu_set_t allowed;
    bool two = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_ISSET(0, &allowed) &&
               CPU_ISSET(1, &allowed);
    struct bench_http b = {.duration = "5s",
                           .connections = 64,
                           .keys = 10000,
                           .item_bytes = 100,
                           .data = "/tmp",
                           .server_cpu = two ? 0 : -1,
                           .load_cpu = two ? 1 : -1};
    int code = bench_http_parse(&b, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    struct buffer error = {0};
    json_write_open(&b.out, '{');
    json_member_text(&b.out, "bench", "http");
    json_member_integer(&b.out, "connections", b.connections);
    json_member_integer(&b.out, "item_bytes", b.item_bytes);
    json_member_open(&b.out, "measures", '[');
    enum status status = b.gac_rounds > 0 ? run_comparison(&b, &error) : run_alone(&b, &error);
    json_write_close(&b.out, ']');
    json_write_close(&b.out, '}');
    if (b.json)
        bench_print(&b.out);
    else
        buffer_deinit(&b.out);
    if (error.size > 0)
        fprintf(stderr, "weir-bench http: %.*s\n", (int)error.size, (char *)error.data);
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}
