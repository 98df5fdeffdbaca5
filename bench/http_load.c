/* http_load.c - command lines of `weir load`, run in this process. */
#include "bench/http_load.h"

#include <stdlib.h>

#include "bench/bench.h"
#include "workload/client_exchange.h"
#include "workload/load_setup.h"

/* The measurement as a command line of `weir load`. */
static enum status parse_load(const struct bench_load *l, const char *url, const char *settings,
                              struct load_options *o, struct buffer *error)
{
    struct buffer text = {0};
    char *argv[32], *rest;
    int argc = 0;
    buffer_append_format(&text,
                         "load\n--url\n%s\n--table\nbench\n--duration\n%s\n--keys\n%lld\n"
                         "--connections\n%lld\n--item-bytes\n%lld\n--wcu\n1M\n--rcu\n1M\n"
                         "--create-table%s%s\n--workload\nbench:rate=max,%s",
                         url, l->duration, (long long)l->keys, (long long)l->connections,
                         (long long)l->item_bytes, l->provisioned ? "" : "\n--on-demand",
                         l->is_unsigned ? "\n--unsigned" : "", settings);
    buffer_append_u8(&text, '\0');
    for (char *word = strtok_r((char *)text.data, "\n", &rest); word != NULL;
         word = strtok_r(NULL, "\n", &rest))
        argv[argc++] = word;
    enum command_line_result result = load_options_parse(o, argc, argv, NULL, error);
    buffer_deinit(&text);
    return result == COMMAND_LINE_TAKEN ? STATUS_OK : STATUS_MALFORMED;
}

enum status bench_load_preload(const struct bench_load *l, const char *url, const char *settings,
                               struct buffer *error)
{
    struct load_options *o = must_calloc(1, sizeof *o);
    uint64_t next_number;
    enum status status = parse_load(l, url, settings, o, error);
    if (status == STATUS_OK)
        status = load_setup_tables(o, error);
    if (status == STATUS_OK)
        status = load_preload(
            &(struct load_run_options){.load = o, .workloads = o->workloads, .workload_count = 1},
            &next_number, error);
    free(o);
    return status;
}

enum status bench_load_run(const struct bench_load *l, const char *url, const char *settings,
                           uint64_t first_number, struct load_options *o, struct load_run **out,
                           struct buffer *error)
{
    enum status status = parse_load(l, url, settings, o, error);
    if (status == STATUS_OK)
        status = load_run(&(struct load_run_options){.load = o,
                                                     .workloads = o->workloads,
                                                     .workload_count = 1,
                                                     .first_number = first_number},
                          out, error);
    if (status == STATUS_OK && (*out)->results[0].result->admitted == 0)
        return buffer_explain(error, STATUS_IO, "%s: no request was admitted", settings);
    return status;
}

/* Over the whole round: what the server finishes after the last answer counts too. */
static enum status round_measure(struct bench_side *side, int round, const struct load_result *r,
                                 int64_t cpu_ns, struct buffer *error)
{
    const int64_t answered_ns = bench_clock_ns();
    enum status status = side->finish != NULL ? side->finish(side, round, error) : STATUS_OK;
    const int64_t span_ns = r->elapsed_ns + bench_clock_ns() - answered_ns;
    cpu_ns = bench_server_cpu_ns(side->server) - cpu_ns;
    side->per_s[round] = (double)r->admitted * 1e9 / (double)span_ns;
    side->cpu_us[round] = (double)cpu_ns / 1e3 / (double)r->admitted;
    side->sent += r->offered;
    if (status == STATUS_OK && r->refused + r->failed > 0)
        status = buffer_explain(error, STATUS_IO, "%s: %lld requests were throttled, %lld failed",
                                side->settings, (long long)r->refused, (long long)r->failed);
    return status;
}

enum status bench_load_round(const struct bench_load *l, struct bench_side *side, int round,
                             struct buffer *error)
{
    char url[BENCH_URL_SIZE];
    struct load_options *o = must_calloc(1, sizeof *o);
    struct load_run *run = NULL;
    bench_server_url(side->server, url);
    const int64_t cpu_ns = bench_server_cpu_ns(side->server);
    enum status status =
        bench_load_run(l, url, side->settings, (uint64_t)side->sent + 1, o, &run, error);
    if (status == STATUS_OK)
        status = round_measure(side, round, run->results[0].result, cpu_ns, error);
    load_run_destroy(run);
    free(o);
    return status;
}

enum status bench_load_compare(const struct bench_load *l, struct bench_side *a,
                               struct bench_side *b, int rounds, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 * rounds && status == STATUS_OK; i++)
        status = bench_load_round(l, (i + i / 2) % 2 ? b : a, i / 2, error);
    return status;
}

enum status bench_request(const struct client_url *url, const char *what, struct slice request,
                          struct buffer *error)
{
    struct buffer answer = {0};
    int http_status = 0;
    enum status status = client_exchange(url, request, &http_status, &answer, error);
    if (status == STATUS_OK && http_status != 200)
        status = buffer_explain(error, STATUS_IO, "%s: the server answered %.*s", what,
                                (int)MIN(answer.size, 500), (const char *)answer.data);
    buffer_deinit(&answer);
    return status;
}
