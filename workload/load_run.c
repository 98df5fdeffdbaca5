/* load_run.c - connects, turns the loop until all workloads are over, ends each second. */
#include "workload/load_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "host/address.h"

enum {
    CHECK_NS = 20 * 1000 * 1000,
    CONNECT_NS_MAX = INT64_C(3000000000),
    DRAIN_NS_MAX = INT64_C(3000000000),
};

static void load_run_on_stop(void *context)
{
    struct load_run *run = context;
    run->stopped = true;
    int64_t now_ns = loop_now(run->shared.loop).ns;
    for (int i = 0; i < run->count; i++)
        load_workload_stop(&run->workloads[i], now_ns);
}

/* ---- connecting ---- */

static enum status load_run_turn(struct load_run *run, int64_t deadline_ns, struct buffer *error)
{
    if (loop_turn(run->shared.loop, (struct instant){deadline_ns}) == STATUS_OK)
        return STATUS_OK;
    return buffer_explain(error, STATUS_IO, "io_uring: %s", strerror(errno));
}

static bool all_connected(const struct load_run *run)
{
    int64_t connections = 0;
    for (int i = 0; i < run->count; i++)
        connections += run->workloads[i].options.connections;
    return run->shared.connections_up == connections;
}

/* Waits for all connections; when the time is up, one is enough. */
static enum status connect_all(struct load_run *run, struct buffer *error)
{
    const struct client_url *url = &run->shared.load->urls[0];
    struct loop *l = run->shared.loop;
    int64_t until_ns = loop_now(l).ns + CONNECT_NS_MAX;
    for (int i = 0; i < run->count; i++)
        load_workload_connect(&run->workloads[i]);
    while (!all_connected(run) && loop_now(l).ns < until_ns && !run->stopped) {
        if (load_run_turn(run, loop_now(l).ns + CHECK_NS, error) != STATUS_OK)
            return STATUS_IO;
        for (int i = 0; i < run->count; i++)
            load_workload_check(&run->workloads[i], loop_now(l).ns);
    }
    if (run->shared.connections_up > 0)
        return STATUS_OK;
    address_explain("connect to", url->host, url->port,
                    run->shared.connect_error ? run->shared.connect_error : ETIMEDOUT, error);
    return STATUS_IO;
}

/* ---- running ---- */

static bool load_run_is_over(const struct load_run *run, int64_t now_ns)
{
    bool all_over = true;
    int64_t last_end_ns = 0;
    for (int i = 0; i < run->count; i++) {
        all_over &= load_workload_is_over(&run->workloads[i], now_ns);
        last_end_ns = MAX(last_end_ns, run->workloads[i].end_ns);
    }
    return all_over || now_ns > last_end_ns + DRAIN_NS_MAX;
}

static void end_seconds(struct load_run *run, int64_t now_ns)
{
    while (now_ns >= run->shared.start_ns + (run->seconds + 1) * NS_PER_S) {
        run->seconds++;
        for (int i = 0; i < run->count; i++)
            load_result_end_second(&run->workloads[i].result);
        if (run->options->second_over != NULL)
            run->options->second_over(run->options->context, run->results, run->seconds);
    }
}

static enum status run_workloads(struct load_run *run, struct buffer *error)
{
    struct load_shared *s = &run->shared;
    s->start_ns = loop_now(s->loop).ns;
    run->started_wall_ms = loop_wall_ms(s->loop);
    if (s->recorder != NULL)
        trace_recorder_clock(s->recorder, run->started_wall_ms * 1000);
    for (int i = 0; i < run->count; i++)
        load_workload_start(&run->workloads[i]);
    int64_t check_ns = s->start_ns, now_ns = s->start_ns;
    if (run->stopped)
        load_run_on_stop(run);
    while (!load_run_is_over(run, now_ns)) {
        int64_t deadline_ns = check_ns;
        bool check = now_ns >= check_ns;
        if (check)
            check_ns = now_ns + CHECK_NS;
        for (int i = 0; i < run->count; i++) {
            struct load_workload *w = &run->workloads[i];
            load_workload_advance(w, now_ns);
            if (check)
                load_workload_check(w, now_ns);
            deadline_ns = MIN(deadline_ns, load_workload_deadline(w));
        }
        if (load_run_turn(run, deadline_ns, error) != STATUS_OK)
            return STATUS_IO;
        now_ns = loop_now(s->loop).ns;
        end_seconds(run, now_ns);
    }
    for (int i = 0; i < run->count; i++) {
        load_workload_abandon(&run->workloads[i]);
        load_result_end(&run->workloads[i].result);
    }
    return STATUS_OK;
}

/* Workloads on one table share its number in the recording. */
static void name_workload(struct load_run *run, int i)
{
    struct load_workload *w = &run->workloads[i];
    int first = 0;
    while (strcmp(run->workloads[first].options.table, w->options.table) != 0)
        first++;
    w->table_number = first < i ? run->workloads[first].table_number
                                : trace_recorder_table(&run->recorder, w->options.table);
    w->tenant_number = trace_recorder_tenant(&run->recorder, w->options.name);
}

static struct load_run *create_run(const struct load_run_options *options, struct loop *loop)
{
    struct load_run *run = must_calloc(1, sizeof *run);
    run->options = options;
    run->count = options->workload_count;
    run->shared = (struct load_shared){.loop = loop,
                                       .load = options->load,
                                       .history = {.file = options->history},
                                       .parser = json_parser_create(),
                                       .try_again = options->try_again};
    if (options->first_number > 0)
        run->shared.last_number = options->first_number - 1;
    if (options->record != NULL) {
        trace_recorder_init(&run->recorder, options->record, options->load->record_salt);
        run->shared.recorder = &run->recorder;
    }
    run->workloads = must_calloc((size_t)run->count, sizeof run->workloads[0]);
    run->results = must_calloc((size_t)run->count, sizeof run->results[0]);
    for (int i = 0; i < run->count; i++) {
        struct load_workload *w = &run->workloads[i];
        load_workload_init(w, &run->shared, &options->workloads[i], options->requests_max,
                           options->load->seed * 1000 + (uint64_t)i);
        run->results[i] = (struct load_workload_result){&w->options, &w->result};
        if (options->record != NULL)
            name_workload(run, i);
    }
    return run;
}

static enum status open_traces(struct load_run *run, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < run->count && status == STATUS_OK; i++)
        status = load_workload_open(&run->workloads[i], error);
    return status;
}

static enum status check_traces(const struct load_run *run, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < run->count && status == STATUS_OK && !run->stopped; i++)
        if (run->workloads[i].options.replay[0] != 0)
            status = trace_file_error(&run->workloads[i].trace, error);
    return status;
}

enum status load_run(const struct load_run_options *options, struct load_run **out,
                     struct buffer *error)
{
    struct loop *loop = NULL;
    enum status status = loop_create(&loop);
    struct load_run *run = create_run(options, loop);
    if (status == STATUS_OK)
        status = loop_on_stop(run->shared.loop, load_run_on_stop, run);
    if (status != STATUS_OK)
        loop_explain(error);
    prctl(PR_SET_TIMERSLACK, 1000UL); /* ns: arrivals are due to the microsecond */
    if (status == STATUS_OK)
        status = open_traces(run, error);
    if (status == STATUS_OK)
        status = connect_all(run, error);
    if (status == STATUS_OK)
        status = run_workloads(run, error);
    if (status == STATUS_OK)
        status = check_traces(run, error);
    loop_destroy(run->shared.loop);
    run->shared.loop = NULL;
    run->options = NULL;
    if (run->shared.recorder != NULL)
        trace_recorder_deinit(&run->recorder);
    run->shared.recorder = NULL;
    if (status != STATUS_OK) {
        load_run_destroy(run);
        return status;
    }
    *out = run;
    return STATUS_OK;
}

void load_run_destroy(struct load_run *run)
{
    if (run == NULL)
        return;
    for (int i = 0; i < run->count; i++)
        load_workload_deinit(&run->workloads[i]);
    load_history_deinit(&run->shared.history);
    json_parser_destroy(run->shared.parser);
    free(run->workloads);
    free(run->results);
    free(run);
}

enum status load_preload(const struct load_run_options *options, uint64_t *next_number,
                         struct buffer *error)
{
    struct load_workload_options w = options->workloads[0];
    struct load_run_options o = *options;
    struct load_run *run = NULL;
    must(options->workload_count == 1);
    if (w.traffic.keys.kind == LOAD_KEYS_SINGLE)
        w.traffic.keys.count = 1;
    else
        w.traffic.keys.kind =
            load_keys_share_one(&w.traffic.keys) ? LOAD_KEYS_APPEND : LOAD_KEYS_SEQUENTIAL;
    w.traffic.clients = (struct traffic_clients){
        .count = w.concurrency ? w.concurrency : w.connections * w.pipeline};
    w.traffic.mix = (struct traffic_mix){.fraction = {[TRAFFIC_UPDATE] = 1}};
    w.retry = (struct retry_options){0};
    w.replay[0] = 0;
    w.condition[0] = 0;
    w.traffic.start_ns = 0;
    w.duration_ns = INT64_C(86400) * NS_PER_S;
    w.traffic.end_ns = w.duration_ns;
    o.workloads = &w;
    o.requests_max = (int64_t)w.traffic.keys.count;
    o.try_again = true;
    enum status status = load_run(&o, &run, error);
    if (status == STATUS_OK && run->stopped)
        status = buffer_explain(error, STATUS_IO, "stopped during the preload");
    if (status == STATUS_OK)
        *next_number = run->shared.last_number + 1;
    load_run_destroy(run);
    return status;
}
