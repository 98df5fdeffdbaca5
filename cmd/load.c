/* load.c - `weir load`: the tables, the preload, the run, the report. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "server/host/policy_file.h"
#include "workload/load_run.h"
#include "workload/load_setup.h"
#include "workload/trace_file.h"

struct progress {
    const struct load_options *options;
    bool tty;
    FILE *history; /* borrows; NULL: none */
    FILE *record;  /* the same */
    FILE *json;    /* of --json=FILE, the same */
    uint64_t next_number;
};

static void show_second(void *context, const struct load_workload_result *all, int64_t second)
{
    const struct progress *p = context;
    struct buffer line = {0};
    load_progress_line(all, p->options->workload_count, second, &line);
    fprintf(stderr, p->tty ? "\r\033[K%.*s" : "%.*s\n", TEXT_OF(line));
    fflush(stderr);
    buffer_deinit(&line);
}

static void end_progress(const struct progress *p)
{
    if (p->tty)
        fputs("\r\033[K", stderr);
}

static struct load_run_options run_options(const struct load_options *o, struct progress *p)
{
    return (struct load_run_options){.load = o,
                                     .workloads = o->workloads,
                                     .workload_count = o->workload_count,
                                     .history = p->history,
                                     .first_number = p->next_number,
                                     .second_over = o->quiet ? NULL : show_second,
                                     .context = p};
}

static void preload_second(void *context, const struct load_workload_result *all,
                           UNUSED int64_t second)
{
    const struct progress *p = context;
    fprintf(stderr,
            p->tty ? "\r\033[Kpreload of %s: %lld of %llu keys"
                   : "preload of %s: %lld of %llu keys\n",
            all[0].options->table, (long long)all[0].result->admitted,
            (unsigned long long)all[0].options->traffic.keys.count);
    fflush(stderr);
}

static enum status load_preload_tables(const struct load_options *o, struct progress *p,
                                       struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < o->workload_count && status == STATUS_OK; i++) {
        struct load_run_options options = run_options(o, p);
        options.workloads = &o->workloads[i];
        options.workload_count = 1;
        options.second_over = o->quiet ? NULL : preload_second;
        if (o->workloads[i].path[0] == 0)
            status = load_preload(&options, &p->next_number, error);
        end_progress(p);
    }
    return status;
}

/* NULL: no such file is wanted. */
static enum status open_file(const char *path, const char *mode, FILE **out, struct buffer *error)
{
    if (path == NULL || (*out = fopen(path, mode)) != NULL)
        return STATUS_OK;
    return buffer_explain(error, STATUS_IO, "cannot write %s: %s", path, strerror(errno));
}

static enum status write_text(FILE *f, const char *path, const struct buffer *text,
                              struct buffer *error)
{
    if (fwrite(text->data, 1, text->size, f) == text->size && fflush(f) == 0)
        return STATUS_OK;
    return buffer_explain(error, STATUS_IO, "%s: %s", path, strerror(errno));
}

static enum status load_report(const struct load_options *o, const struct progress *p,
                               const struct load_run *run, struct buffer *error)
{
    const struct load_workload_result *all = run->results;
    enum status status = STATUS_OK;
    struct buffer text = {0};
    if (!o->json || o->json_path != NULL) {
        load_summary(all, o->workload_count, &text);
        status = write_text(stdout, "standard output", &text, error);
    }
    buffer_clear(&text);
    if (status == STATUS_OK && o->json) {
        FILE *f = p->json != NULL ? p->json : stdout;
        load_json(o, all, o->workload_count, run->started_wall_ms, &text);
        if (p->json != NULL) /* fails for a pipe, which has no former content */
            (void)!ftruncate(fileno(p->json), 0);
        status = write_text(f, o->json_path ? o->json_path : "standard output", &text, error);
    }
    buffer_deinit(&text);
    return status;
}

/* Fails a run in which no request was admitted or refused. */
static enum status check_answers(const struct load_options *o, const struct load_run *run,
                                 struct buffer *error)
{
    const struct load_workload_result *all = run->results;
    int64_t sent = 0, answered = 0;
    for (int i = 0; i < o->workload_count; i++) {
        sent += all[i].result->sent;
        answered += all[i].result->admitted + all[i].result->refused;
    }
    if (sent == 0 || answered > 0 || run->stopped)
        return STATUS_OK;
    return buffer_explain(error, STATUS_IO, "none of %lld requests succeeded", (long long)sent);
}

static enum status load_run_all(const struct load_options *o, struct progress *p,
                                struct buffer *error)
{
    struct load_run_options options = run_options(o, p);
    struct load_run *finished = NULL;
    options.record = p->record;
    enum status status = load_run(&options, &finished, error);
    end_progress(p);
    if (status == STATUS_OK)
        status = load_report(o, p, finished, error);
    if (status == STATUS_OK)
        status = check_answers(o, finished, error);
    load_run_destroy(finished);
    return status;
}

static enum status close_file(FILE *f, const char *path, enum status status, struct buffer *error)
{
    if (f == NULL)
        return status;
    bool failed = ferror(f) != 0;
    if ((fclose(f) != 0 || failed) && status == STATUS_OK)
        return buffer_explain(error, STATUS_IO, "%s: %s", path, strerror(errno));
    return status;
}

/* A fault of a trace is an error before tables are created and filled. */
static enum status try_traces(const struct load_options *o, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < o->workload_count && status == STATUS_OK; i++) {
        const struct load_workload_options *w = &o->workloads[i];
        if (w->replay[0] != 0)
            status = trace_file_try(w->replay, w->table, error);
    }
    return status;
}

static int load_from_options(const struct load_options *o)
{
    struct buffer error = {0};
    struct progress p = {.options = o, .tty = isatty(STDERR_FILENO)};
    enum status status = try_traces(o, &error);
    if (status == STATUS_OK) /* a file of an earlier run is kept until this run has ended */
        status = open_file(o->json_path, "ae", &p.json, &error);
    if (status == STATUS_OK)
        status = load_setup_tables(o, &error);
    if (status == STATUS_OK)
        status = open_file(o->history_path, "we", &p.history, &error);
    if (status == STATUS_OK)
        status = open_file(o->record_path, "we", &p.record, &error);
    if (status == STATUS_OK && o->preload)
        status = load_preload_tables(o, &p, &error);
    if (status == STATUS_OK)
        status = load_run_all(o, &p, &error);
    status = close_file(p.history, o->history_path, status, &error);
    status = close_file(p.record, o->record_path, status, &error);
    status = close_file(p.json, o->json_path, status, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "weir load: %.*s\n", TEXT_OF(error));
    buffer_deinit(&error);
    return status == STATUS_OK ? 0 : 1;
}

static enum status load_policy(struct policies *policies, const char *path, struct buffer *error)
{
    enum status status = policy_file_load(policies, path, error);
    return status == STATUS_OK ? retry_policies_check(policies, error) : status;
}

int cmd_load(int argc, char **argv)
{
    static struct policies policies;
    static const struct load_policies files = {&policies, load_policy};
    struct buffer text = {0};
    struct load_options *o = must_calloc(1, sizeof *o);
    policy_file_begin(&policies);
    int code = usage_print("weir load", load_options_parse(o, argc, argv, &files, &text), &text);
    if (code == USAGE_GO_ON)
        code = load_from_options(o);
    buffer_deinit(&text);
    free(o);
    return code;
}
