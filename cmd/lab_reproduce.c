/* lab_reproduce.c - `weir lab reproduce`: runs what a directory has again, and compares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lab.h"
#include "cmd/lab_inputs.h"
#include "cmd/lab_jobs.h"
#include "cmd/usage.h"

enum {
    DIFFERENCES_SHOWN = 10 /* runs */
};

struct reproduction {
    const char *directory;
    int word_count;
    int64_t jobs;
    bool quiet;
    uint64_t equal, different;
};

/* ---- one run ---- */

/* From the measures on: what stands before them follows from them, but for the hash. */
static struct slice run_measures(const struct buffer *json)
{
    static const char head[] = "\"measures\":";
    const uint8_t *at = memmem(json->data, json->size, head, sizeof head - 1);
    return at == NULL ? buffer_slice(json) : slice_make(at, json->size - (size_t)(at - json->data));
}

/* The text of a value that goes on at `at`. */
static struct slice value_around(struct slice json, size_t at)
{
    size_t begin = at, end = at;
    while (begin > 0 && strchr(":,[{", json.data[begin - 1]) == NULL)
        begin--;
    while (end < json.size && strchr(",]}", json.data[end]) == NULL)
        end++;
    return slice_make(json.data + begin, end - begin);
}

/* The name of the member whose value goes on at `at`. */
static struct slice name_before(struct slice json, size_t at)
{
    while (at > 1 && (json.data[at - 1] != ':' || json.data[at - 2] != '"'))
        at--;
    size_t end = at > 1 ? at - 2 : 0, begin = end;
    while (begin > 0 && json.data[begin - 1] != '"')
        begin--;
    return slice_make(json.data + begin, end - begin);
}

static void print_difference(const char *path, const struct buffer *then, const struct buffer *now)
{
    struct slice a = run_measures(then), b = run_measures(now);
    if (slice_equal(a, b)) {
        a = buffer_slice(then);
        b = buffer_slice(now);
    }
    size_t at = 0;
    while (at < a.size && at < b.size && a.data[at] == b.data[at])
        at++;
    const struct slice name = name_before(a, at), before = value_around(a, at),
                       after = value_around(b, at);
    printf("%s differs: %.*s was %.*s and is %.*s\n", path, TEXT_OF(name), TEXT_OF(before),
           TEXT_OF(after));
}

static bool compare_run(struct reproduction *r, const char *again, const char *path,
                        struct buffer *error)
{
    char whole[LAB_NAME_SIZE + LAB_PATH_SIZE_MAX];
    struct buffer then = {0}, now = {0};
    snprintf(whole, sizeof whole, "%s/%s", r->directory, path);
    bool good = lab_file_read(whole, &then, error);
    snprintf(whole, sizeof whole, "%s/%s", again, path);
    good = good && lab_file_read(whole, &now, error);
    const bool equal = good && slice_equal(buffer_slice(&then), buffer_slice(&now));
    if (good && !equal && r->different < DIFFERENCES_SHOWN)
        print_difference(path, &then, &now);
    r->equal += equal;
    r->different += good && !equal;
    buffer_deinit(&then);
    buffer_deinit(&now);
    return good;
}

/* ---- all runs ---- */

static bool compare_runs(struct reproduction *r, const struct lab_plan *p, const char *again,
                         struct buffer *error)
{
    struct lab_planned *run = must_calloc(1, sizeof *run);
    bool good = true;
    for (uint64_t i = 0; i < p->runs && good; i++) {
        lab_plan_run(p, i, run);
        if (lab_file_exists(r->directory, run->path))
            good = compare_run(r, again, run->path, error);
    }
    free(run);
    return good;
}

/* The same files, that is. Another build may show the same results. */
static bool inputs_are_there(const struct reproduction *r, const struct lab_plan *p,
                             struct buffer *error)
{
    char path[LAB_NAME_SIZE + LAB_PATH_SIZE_MAX];
    struct buffer then = {0}, now = {0}, why = {0};
    snprintf(path, sizeof path, "%s/plan.json", r->directory);
    const bool good = lab_file_read(path, &then, error) && lab_files_write_plan(p, &now, error);
    const bool same = good && lab_inputs_are_same(&then, &now, false, &why);
    if (good && !same)
        buffer_append_format(error, "the runs of %s cannot be repeated: %.*s", r->directory,
                             TEXT_OF(why));
    else if (good && !lab_inputs_are_same(&then, &now, true, &why))
        printf("%s: %.*s\n", r->directory, TEXT_OF(why));
    buffer_deinit(&then);
    buffer_deinit(&now);
    buffer_deinit(&why);
    return same;
}

static int reproduce_in(struct reproduction *r, const struct lab_plan *p, const char *again,
                        struct buffer *error)
{
    const struct lab_jobs_options o = {.plan = p,
                                       .directory = again,
                                       .only_of = r->directory,
                                       .jobs = r->jobs,
                                       .progress = !r->quiet && isatty(STDERR_FILENO)};
    if (lab_jobs_run(&o) != LAB_JOBS_DONE || !compare_runs(r, p, again, error))
        return 1;
    if (r->equal + r->different == 0)
        buffer_append_format(error, "%s has no runs", r->directory);
    else if (r->different > 0)
        printf("%llu of %llu runs differ\n", (unsigned long long)r->different,
               (unsigned long long)(r->equal + r->different));
    else
        printf("all %llu runs are equal\n", (unsigned long long)r->equal);
    return r->different == 0 && error->size == 0 ? 0 : 1;
}

static int reproduction_run(struct reproduction *r)
{
    char again[LAB_NAME_SIZE];
    struct lab_plan p;
    struct buffer text = {0}, storage = {0}, error = {0};
    int code = 1;
    bool good = lab_files_plan(r->directory, &p, &text, &storage, &error);
    if (good && p.options.fidelity == LAB_REAL) {
        buffer_append_format(&error, "%s has runs at the fidelity real, whose times never repeat",
                             r->directory);
        good = false;
    }
    if (good && inputs_are_there(r, &p, &error) && lab_temporary_make(again)) {
        code = reproduce_in(r, &p, again, &error);
        remove_tree(again);
    }
    if (error.size > 0)
        fprintf(stderr, "weir lab reproduce: %.*s\n", TEXT_OF(error));
    lab_plan_deinit(&p);
    buffer_deinit(&text);
    buffer_deinit(&storage);
    buffer_deinit(&error);
    return code;
}

static const struct field reproduce_options[] = {
    {"jobs", FIELD_INTEGER, FIELD_MEMBER(struct reproduction, jobs), "J", .min = 1,
     .max = LAB_JOBS_MAX, .initial = "the number of cores", .help = "The number of processes."},
    {"quiet", FIELD_FLAG, FIELD_MEMBER(struct reproduction, quiet),
     .help = "No progress on standard error."},
};

int lab_reproduce_command(int argc, char **argv)
{
    struct reproduction r = {.jobs = lab_jobs_default()};
    const struct command_line l = {
        .command = "weir lab reproduce",
        .usage = "DIR [OPTION]...",
        .about = "Runs what a directory of `weir lab run --out`, sweep or replay has again, with "
                 "the same policies and traces, and compares each run byte for byte.\n\n"
                 "Exit code 1: a run differs, or a file that the runs read has changed.",
        .examples = "  weir lab reproduce skew\n",
        .groups = {OPTION_GROUP(NULL, reproduce_options, &r)},
        .words = {&r.directory, &r.word_count, 1, 1, "one directory"},
    };
    const int code = usage_parse(&l, argc, argv);
    return code == USAGE_GO_ON ? reproduction_run(&r) : code;
}
