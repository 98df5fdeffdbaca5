/* lab_commands.c - `weir lab run`, suite, sweep, job, result and compare. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/instant.h"
#include "cmd/lab.h"
#include "cmd/lab_adversary.h"
#include "cmd/lab_jobs.h"
#include "cmd/lab_recordings.h"
#include "cmd/lab_until.h"
#include "cmd/usage.h"
#include "lab/fidelity/real/real.h"
#include "lab/scenario/shipped.h"

enum {
    LAB_PARTS_MAX = 1000000
};

/* Exit codes. */
enum {
    LAB_HOLDS = 0,
    LAB_FAILS = 1,
    LAB_WRONG_USE = 2,
    LAB_UNSURE = 3 /* no expectation fails, but some cannot be told */
};

struct lab_arguments {
    struct lab_plan_options plan;
    const char *words[TRACE_MERGE_MAX + 1];
    int word_count;
    const char *out;
    int64_t jobs;
    int64_t part, of;
    int64_t number;
    bool json, quiet, print_jobs, allow_violations, requests;
    bool in_suite;
    bool stopped; /* by a signal */
};

/* ---- options ---- */

static const char *given_too_often(const char *option, int max, struct buffer *error)
{
    buffer_append_format(error, "`%s` may be given at most %d times", option, max);
    return "";
}

static const char *take_set(void *target, const char *value, struct buffer *error)
{
    struct lab_arguments *a = target;
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value)
        return "PATH=VALUE, such as cluster.settings.gac=static";
    if (a->plan.set_count == SCENARIO_SETTINGS_MAX)
        return given_too_often("--set", SCENARIO_SETTINGS_MAX, error);
    a->plan.set[a->plan.set_count++] = (struct scenario_setting){
        slice_make(value, (size_t)(equals - value)), slice_of(equals + 1)};
    return NULL;
}

static const char *take_policy(void *target, const char *value, struct buffer *error)
{
    struct lab_arguments *a = target;
    if (a->plan.policy_file_count == LAB_POLICY_FILES_MAX)
        return given_too_often("--policy", LAB_POLICY_FILES_MAX, error);
    a->plan.policy_files[a->plan.policy_file_count++] = value;
    return lab_policies_load(a->plan.policies, value, error) == STATUS_OK ? NULL : "";
}

/* A file, or the baselines that come with weir. The lists of several become one. */
static const char *take_more(void *target, const char *value, struct buffer *error)
{
    struct lab_arguments *a = target;
    static struct buffer lists;
    struct buffer text = {0};
    const bool shipped = strcmp(value, "baselines") == 0;
    if (shipped || lab_file_read(value, &text, error)) {
        buffer_append_slice(&lists, shipped ? lab_baselines : buffer_slice(&text));
        buffer_append_u8(&lists, '\n');
        a->plan.more = buffer_slice(&lists);
    }
    buffer_deinit(&text);
    return error->size == 0 ? NULL : "";
}

static const char *take_part(void *target, const char *value)
{
    struct lab_arguments *a = target;
    struct slice of = slice_of(value);
    const int64_t part = slice_number(slice_cut(&of, '/')), parts = slice_number(of);
    if (part < 1 || parts < part || parts > LAB_PARTS_MAX)
        return "PART/OF, such as 1/4, with at most 1000000 parts";
    a->part = part;
    a->of = parts;
    return NULL;
}

#define MEMBER(member) FIELD_MEMBER(struct lab_arguments, member)

static const struct field common_options[] = {
    {"seeds", FIELD_INTEGER, MEMBER(plan.seeds), "N", .min = 1, .max = 1000000,
     .initial = "as in the scenario", .help = "Runs of each policy."},
    {"seed", FIELD_INTEGER, MEMBER(plan.first_seed), "S", .max = INT64_MAX,
     .help = "The first seed."},
    {"set", FIELD_CUSTOM, .form = "PATH=VALUE", .take = take_set, .initial = "",
     .help = "Change a value of the scenario, before its policies do. May be repeated."},
    {"fidelity", FIELD_CHOICE, MEMBER(plan.fidelity), "NAME", .choices = lab_fidelity_names,
     .initial = "as in the scenario",
     .help = "The kind of cluster. admission: storage and replication are reduced to their costs. "
             "full: real nodes, routers and servers of global admission control in virtual "
             "time. real: processes on this machine, one run at a time. docs/fidelity.md compares "
             "them."},
    {"add", FIELD_CUSTOM, .form = "FILE", .take = take_more, .initial = "",
     .help = "Add the policies of this file, a YAML list, to those of the scenario. baselines: "
             "weir's classic policies. May be repeated."},
    {"policy", FIELD_CUSTOM, .form = "FILE", .take = take_policy, .initial = "",
     .help = "Load admission policies from this shared object (docs/guide-policies.md). The "
             "scenario names them in its settings. May be repeated."},
    {"jobs", FIELD_INTEGER, MEMBER(jobs), "J", .min = 1, .max = LAB_JOBS_MAX,
     .initial = "the number of cores", .help = "The number of processes."},
    {"out", FIELD_TEXT, MEMBER(out), "DIR", .initial = "none; results are only printed",
     .help = "Keep all results in this directory. Finished runs are not repeated, so an "
             "interrupted command can be resumed."},
    {"requests", FIELD_FLAG, MEMBER(requests),
     .help = "Keep rows of each request, and of the optimum in each window, in DIR, too: "
             "docs/requests.md has the columns."},
    {"json", FIELD_FLAG, MEMBER(json), .help = "Print the results as JSON."},
    {"quiet", FIELD_FLAG, MEMBER(quiet), .help = "No progress on standard error."},
    {"allow-violations", FIELD_FLAG, MEMBER(allow_violations),
     .help = "Exit code 0 also if a policy exceeds a limit or the optimum."},
};

static const struct field run_options[] = {
    {"only", FIELD_TEXT, MEMBER(plan.only), "NAME,..", .initial = "all policies",
     .help = "Run only these policies of the scenario."},
};

static const struct field adversary_options[] = {
    {"adversary", FIELD_FLAG, MEMBER(plan.adversary),
     .help = "Run bad policies in the place of the scenario's first policy: refuse-all, "
             "every-other, admit-all and delayed (docs/lab.md). Exit code 1: all expectations of "
             "the first policy hold under one of them."},
};

static const struct field sweep_options[] = {
    {"part", FIELD_PARSED, .form = "PART/OF", .parse = take_part, .initial = "",
     .help = "Run only a part of the runs, for several machines that share DIR."},
    {"print-jobs", FIELD_FLAG, MEMBER(print_jobs),
     .help = "Only print a command for each run without a result, for GNU parallel or another job "
             "engine."},
};

static const struct field result_options[] = {
    {"json", FIELD_FLAG, MEMBER(json), .help = "Print the results as JSON."},
    {"allow-violations", FIELD_FLAG, MEMBER(allow_violations),
     .help = "Exit code 0 also if a policy exceeds a limit or the optimum."},
};

static struct lab_arguments lab_defaults(void)
{
    return (struct lab_arguments){.plan = {.first_seed = 1,
                                           .fidelity = LAB_FIDELITIES,
                                           .policies = lab_policies_begin(),
                                           .real = &lab_real_runner},
                                  .jobs = lab_jobs_default()};
}

/* Prints the fault, and frees it. Returns `code`. */
static int lab_fail(struct buffer *error, int code)
{
    fprintf(stderr, "weir lab: %.*s\n", TEXT_OF(*error));
    buffer_deinit(error);
    return code;
}

/* ---- results of a directory ---- */

static int result_code(const struct lab_arguments *a, const struct lab_result *r)
{
    uint32_t failed;
    lab_result_evaluated(r, &failed);
    if (failed > 0 || (!a->allow_violations && !lab_result_keeps_limits(r)))
        return LAB_FAILS;
    return lab_result_unsure(r) > 0 ? LAB_UNSURE : LAB_HOLDS;
}

/* With --until, the seeds after the last analysis were never to be run. */
static bool runs_lack(const struct lab_result *r, const struct lab_plan *p)
{
    if (p->options.until.ppm > 0)
        return lab_result_runs(r) % (p->runs / p->seeds) != 0;
    return lab_result_runs(r) < p->runs;
}

/* Prints and writes what the runs of the directory show. Returns the exit code. */
static int print_result(const struct lab_arguments *a, const char *directory,
                        const struct lab_plan *p, bool keep, bool whole, struct buffer *junit)
{
    const struct lab_adversary_options bad = {a->json, a->in_suite, keep, junit};
    if (p->options.adversary)
        return lab_adversary_print(p, directory, &bad);
    struct lab_result *r = lab_result_create(p->scenario, p->options.fidelity);
    struct buffer text = {0}, error = {0};
    bool good = lab_files_gather(directory, p, r, &error);
    if (good)
        lab_result_evaluate(r);
    if (good && keep)
        good = lab_files_finish(directory, r, &error);
    const int code = good ? result_code(a, r) : lab_fail(&error, LAB_FAILS);
    if (good && a->json) {
        lab_result_json(r, &text);
    } else if (good) {
        buffer_append_format(&text, "%s: %s\n", p->scenario->name, p->scenario->about);
        lab_result_print(r, &text);
        if (!whole || runs_lack(r, p))
            buffer_append_format(&text, "%u of %llu runs have results\n", lab_result_runs(r),
                                 (unsigned long long)p->runs);
    }
    fwrite(text.data, 1, text.size, stdout);
    if (junit != NULL)
        lab_result_junit(r, junit);
    buffer_deinit(&text);
    lab_result_destroy(r);
    return code;
}

/* ---- running ---- */

static int run_plan(struct lab_arguments *a, struct lab_plan *p, const char *directory,
                    struct buffer *junit)
{
    struct buffer error = {0};
    if (!lab_files_open(directory, p, &error))
        return lab_fail(&error, LAB_WRONG_USE);
    const struct lab_jobs_options o = {.plan = p,
                                       .directory = directory,
                                       .jobs = p->options.fidelity == LAB_REAL ? 1 : a->jobs,
                                       .part = a->part,
                                       .of = a->of,
                                       .rows = a->requests,
                                       .progress = !a->quiet && isatty(STDERR_FILENO)};
    enum lab_jobs_end end = lab_until_run(&o, p);
    a->stopped = end == LAB_JOBS_STOPPED;
    if (a->of > 1) /* the other parts are elsewhere */
        return end == LAB_JOBS_DONE ? 0 : 1;
    if (end == LAB_JOBS_FAILED)
        return 1;
    int code = print_result(a, directory, p, a->out != NULL, end == LAB_JOBS_DONE, junit);
    if (end == LAB_JOBS_STOPPED)
        fputs("weir lab: stopped; with --out, finished runs are kept\n", stderr);
    return end == LAB_JOBS_STOPPED ? 1 : code;
}

static int run_text(struct lab_arguments *a, const char *directory, struct buffer *junit)
{
    struct lab_plan p;
    struct buffer error = {0};
    const bool good = lab_plan_make(&p, &a->plan, &error) == STATUS_OK;
    const int code = good ? run_plan(a, &p, directory, junit) : lab_fail(&error, LAB_WRONG_USE);
    lab_plan_deinit(&p);
    return code;
}

/* A file, or the name of a shipped scenario; NULL: the one for replaying. */
static bool load_scenario(struct lab_arguments *a, const char *name, struct buffer *text)
{
    const struct lab_shipped replays = {"replay", lab_replay};
    const struct lab_shipped *shipped = name == NULL ? &replays : lab_shipped_find(name);
    struct buffer error = {0};
    a->plan.file = shipped != NULL ? shipped->name : name;
    if (shipped != NULL) {
        a->plan.text = shipped->text;
        return true;
    }
    bool good = lab_file_read(name, text, &error);
    if (!good) {
        nearest_name_suggest(slice_of(name), "", &lab_shipped[0].name, lab_shipped_count,
                             sizeof lab_shipped[0], &error);
        fprintf(stderr, "weir lab: %.*s. `weir lab list` names the scenarios of weir\n",
                (int)error.size, (const char *)error.data);
    }
    a->plan.text = buffer_slice(text);
    buffer_deinit(&error);
    return good;
}

static bool requests_have_a_place(const struct lab_arguments *a)
{
    return !a->requests || a->out != NULL;
}

/* Runs in --out, or in a directory that is removed afterwards. */
static int run_somewhere(struct lab_arguments *a, const char *scenario)
{
    char temporary[LAB_NAME_SIZE];
    struct buffer text = {0};
    int code = LAB_WRONG_USE;
    if (!requests_have_a_place(a))
        return usage_wrong("weir lab", "--requests needs --out DIR");
    bool good = load_scenario(a, scenario, &text);
    if (good && a->out != NULL) {
        code = run_text(a, a->out, NULL);
    } else if (good && lab_temporary_make(temporary)) {
        code = run_text(a, temporary, NULL);
        remove_tree(temporary);
    }
    buffer_deinit(&text);
    return code;
}

/* Bad policies are added to the scenario's own, and choose what runs. */
static bool adversary_is_alone(const struct lab_arguments *a)
{
    return !a->plan.adversary ||
           (a->plan.more.size == 0 && a->plan.only == NULL && a->plan.until.ppm == 0);
}

int lab_run_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab run",
        .usage = "SCENARIO [OPTION]...",
        .about = "Runs a scenario: a file, or a scenario of weir (`weir lab list`). Each policy "
                 "runs with the same seeds, so all policies get the same demand.\n\n"
                 "Exit code 1: a run failed, or an expectation does not hold. 3: no expectation "
                 "fails, but some cannot be told with these seeds.",
        .examples = "  weir lab run static-skew --only static-shares\n"
                    "  weir lab run static-skew --seeds 3 --out skew\n"
                    "  weir lab run static-skew --seeds 1 --adversary\n"
                    "  weir lab run static-skew --set cluster.routers=4 --json\n",
        .groups = {OPTION_GROUP(NULL, common_options, &a),
                   OPTION_GROUP("which policies", run_options, &a),
                   OPTION_GROUP("how many seeds", lab_until_options, &a.plan.until),
                   OPTION_GROUP("bad policies", adversary_options, &a)},
        .words = {a.words, &a.word_count, 1, 1, "one scenario"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (!adversary_is_alone(&a))
        return usage_wrong("weir lab run",
                           "--adversary chooses the policies, and judges all seeds: without --add, "
                           "--only, --until");
    return run_somewhere(&a, a.words[0]);
}

/* ---- replaying ---- */

/* Sets the recordings and their length, before what the command line sets. */
static void set_recordings(struct lab_arguments *a, const struct recordings *all,
                           const struct recorded *r, char duration[32])
{
    const uint32_t more = 2;
    snprintf(duration, 32, "%lldms", (long long)(r->end_ns / NS_PER_MS) + 100);
    memmove(a->plan.set + more, a->plan.set, a->plan.set_count * sizeof a->plan.set[0]);
    a->plan.set[0] = (struct scenario_setting){slice_of("duration"), slice_of(duration)};
    a->plan.set[1] =
        (struct scenario_setting){slice_of("workloads.1.trace"), buffer_slice(&all->list)};
    a->plan.set_count += more;
}

static int replay_run(struct lab_arguments *a)
{
    char duration[32];
    const char *scenario;
    struct recordings all = {0};
    struct recorded r;
    int code = 2;
    if (a->plan.set_count + 2 > SCENARIO_SETTINGS_MAX) {
        code = usage_wrong("weir lab replay", "--set may be given at most %d times",
                           SCENARIO_SETTINGS_MAX - 2);
    } else if (recordings_take(&all, a->words, a->word_count, &scenario) &&
               recordings_scan(&all, &r)) {
        set_recordings(a, &all, &r, duration);
        if (!a->json)
            recorded_print(&all, &r);
        code = run_somewhere(a, scenario);
    }
    recordings_deinit(&all);
    return code;
}

int lab_replay_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab replay",
        .usage = "RECORDING... [SCENARIO] [OPTION]...",
        .about = "Replays a recording of `weir router --record`, `weir local --record` or `weir "
                 "load --record`, or a trace of Twitter's caches. The recording becomes the first "
                 "workload of the scenario. Recordings of several routers are merged by time: each "
                 "has its start by its machine's clock. They must have the same salt. The default "
                 "SCENARIO has three nodes, one router and a table of 100 read and 100 write "
                 "units. --set changes policy, capacity and table.",
        .examples = "  weir lab replay day.trace --set tables.1.wcu=500\n"
                    "  weir lab replay router-1.trace router-2.trace --set cluster.routers=2\n"
                    "  weir lab replay day.trace --set tables.1.wcu=500 \\\n"
                    "      --set cluster.settings.gac=static\n"
                    "  weir lab replay day.trace --add baselines --out replayed\n",
        .groups = {OPTION_GROUP(NULL, common_options, &a),
                   OPTION_GROUP("which policies", run_options, &a),
                   OPTION_GROUP("how many seeds", lab_until_options, &a.plan.until)},
        .words = {a.words, &a.word_count, 1, COUNT_OF(a.words),
                  "1 to 64 recordings, and perhaps a scenario"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    return replay_run(&a);
}

/* ---- the suite ---- */

/* Wrong use is worst, then a failure, then what cannot be told. */
static int worse_code(int a, int b)
{
    static const int ranks[] = {
        [LAB_HOLDS] = 0, [LAB_UNSURE] = 1, [LAB_FAILS] = 2, [LAB_WRONG_USE] = 3};
    return ranks[a] > ranks[b] ? a : b;
}

static const char *suite_summary(const struct lab_arguments *a, int code)
{
    if (a->stopped)
        return "stopped before the last scenario";
    if (a->plan.adversary)
        return code == 0 ? "each scenario fails under each bad policy"
                         : "not each scenario fails under each bad policy";
    static const char *const summaries[] = {
        [LAB_HOLDS] = "all expectations hold",
        [LAB_FAILS] = "not all expectations hold",
        [LAB_WRONG_USE] = "not all scenarios can be run with these options",
        [LAB_UNSURE] = "no expectation fails, but some cannot be told: run more seeds"};
    return summaries[code];
}

static void take_shipped(struct lab_arguments *a, const struct lab_shipped *s)
{
    a->plan.file = s->name;
    a->plan.text = s->text;
}

/* Whether at least one scenario can be run with these options. Otherwise prints the fault of the
 * first: it is that of all. */
static bool suite_can_run(struct lab_arguments *a)
{
    struct buffer error = {0};
    bool can = false;
    for (size_t i = lab_shipped_count; i-- > 0 && !can;) {
        struct lab_plan p;
        buffer_clear(&error);
        take_shipped(a, &lab_shipped[i]);
        can = lab_plan_make(&p, &a->plan, &error) == STATUS_OK;
        lab_plan_deinit(&p);
    }
    if (!can)
        fprintf(stderr, "weir lab suite: no scenario can be run: %.*s\n", TEXT_OF(error));
    buffer_deinit(&error);
    return can;
}

static int suite_in(struct lab_arguments *a, const char *directory)
{
    struct buffer junit = {0}, error = {0};
    int code = 0;
    if (a->plan.adversary && !a->json)
        lab_adversary_print_head();
    for (size_t i = 0; i < lab_shipped_count && !a->stopped; i++) {
        char below[LAB_NAME_SIZE + 256];
        snprintf(below, sizeof below, "%s/%s", directory, lab_shipped[i].name);
        take_shipped(a, &lab_shipped[i]);
        code = worse_code(code, run_text(a, below, &junit));
        if (!a->plan.adversary)
            putchar('\n');
        fflush(stdout);
    }
    if (a->out != NULL && !lab_files_write_junit(directory, &junit, &error))
        code = lab_fail(&error, LAB_FAILS);
    fprintf(a->json ? stderr : stdout, "%s\n", suite_summary(a, code));
    buffer_deinit(&junit);
    return code;
}

/* Scenarios become directories in DIR. */
static int suite_run(struct lab_arguments *a)
{
    char temporary[LAB_NAME_SIZE];
    if (a->out != NULL && lab_file_exists(a->out, "plan.json"))
        return usage_wrong("weir lab suite",
                           "--out %s has the runs of one scenario: choose another directory",
                           a->out);
    if (!requests_have_a_place(a))
        return usage_wrong("weir lab suite", "--requests needs --out DIR");
    if (!suite_can_run(a))
        return LAB_WRONG_USE;
    if (a->out != NULL)
        return suite_in(a, a->out);
    if (!lab_temporary_make(temporary))
        return LAB_FAILS;
    const int code = suite_in(a, temporary);
    remove_tree(temporary);
    return code;
}

int lab_suite_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab suite",
        .usage = "[OPTION]...",
        .about =
            "Runs all scenarios of weir, with all their policies, and checks every expectation.\n\n"
            "Exit code 1: a run failed, or an expectation does not hold. 3: no expectation "
            "fails, but some cannot be told with these seeds.",
        .examples = "  weir lab suite --seeds 10 --out suite\n"
                    "  weir lab suite --seeds 1 --adversary\n",
        .groups = {OPTION_GROUP(NULL, common_options, &a),
                   OPTION_GROUP("how many seeds", lab_until_options, &a.plan.until),
                   OPTION_GROUP("bad policies", adversary_options, &a)},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    a.in_suite = true;
    if (!adversary_is_alone(&a))
        return usage_wrong("weir lab suite",
                           "--adversary chooses the policies, and judges all seeds: without --add, "
                           "--until");
    return suite_run(&a);
}

/* ---- sweeps ---- */

/* The text as one word of a shell's command. */
static void append_shell_word(struct buffer *out, const char *text)
{
    buffer_append_u8(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            buffer_append_text(out, "'\\'");
        buffer_append_u8(out, (uint8_t)*text);
    }
    buffer_append_u8(out, '\'');
}

static int print_jobs(const struct lab_arguments *a)
{
    struct lab_plan p;
    struct buffer error = {0}, word = {0};
    struct lab_planned *run = must_calloc(1, sizeof *run);
    append_shell_word(&word, a->out);
    bool good =
        lab_plan_make(&p, &a->plan, &error) == STATUS_OK && lab_files_open(a->out, &p, &error);
    for (uint64_t i = 0; good && i < p.runs; i++) {
        lab_plan_run(&p, i, run);
        if (!lab_file_exists(a->out, run->path))
            printf("weir lab job %.*s %llu\n", TEXT_OF(word), (unsigned long long)i);
    }
    lab_plan_deinit(&p);
    free(run);
    buffer_deinit(&word);
    return good ? 0 : lab_fail(&error, LAB_WRONG_USE);
}

int lab_sweep_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab sweep",
        .usage = "SCENARIO --out DIR [OPTION]...",
        .about = "Runs a scenario at every combination of the values of its axes (`sweep:` in the "
                 "file). Several machines can share the work: docs/lab.md shows GNU parallel and "
                 "Slurm.",
        .examples = "  weir lab sweep mine.yaml --out sweep\n"
                    "  weir lab sweep mine.yaml --out sweep --print-jobs | parallel\n",
        .groups = {OPTION_GROUP(NULL, common_options, &a),
                   OPTION_GROUP("sharing the work", sweep_options, &a)},
        .words = {a.words, &a.word_count, 1, 1, "one scenario"},
    };
    int code = usage_parse(&l, argc, argv);
    struct buffer text = {0};
    if (code != USAGE_GO_ON)
        return code;
    if (a.out == NULL)
        return usage_wrong("weir lab sweep", "needs --out DIR");
    if (a.print_jobs && a.requests)
        return usage_wrong("weir lab sweep", "the jobs of --print-jobs cannot have --requests");
    a.plan.sweep = true;
    if (!load_scenario(&a, a.words[0], &text))
        code = 2;
    else
        code = a.print_jobs ? print_jobs(&a) : run_text(&a, a.out, NULL);
    buffer_deinit(&text);
    return code;
}

/* ---- directories ---- */

/* Calls `use` with the plan of a directory. Returns the exit code. */
static int with_plan(const struct lab_arguments *a,
                     int (*use)(const struct lab_arguments *a, const struct lab_plan *p))
{
    struct lab_plan p;
    struct buffer text = {0}, storage = {0}, error = {0};
    const bool good = lab_files_plan(a->words[0], &p, &text, &storage, &error);
    const int code = good ? use(a, &p) : lab_fail(&error, LAB_WRONG_USE);
    lab_plan_deinit(&p);
    buffer_deinit(&text);
    buffer_deinit(&storage);
    return code;
}

static int use_job(const struct lab_arguments *a, const struct lab_plan *p)
{
    struct buffer error = {0};
    if ((uint64_t)a->number >= p->runs)
        return usage_wrong("weir lab job",
                           "number %lld: the plan of the directory has runs 0 to %llu",
                           (long long)a->number, (unsigned long long)p->runs - 1);
    if (!lab_files_open(a->words[0], p, &error))
        return lab_fail(&error, LAB_WRONG_USE);
    const bool good = lab_jobs_run_one(p, a->words[0], (uint64_t)a->number, &error);
    return good ? 0 : lab_fail(&error, LAB_FAILS);
}

int lab_job_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab job",
        .usage = "DIR NUMBER",
        .about = "Executes one run of a sweep's directory, and writes its result there. Job "
                 "engines call it: `weir lab sweep --print-jobs` prints the commands.",
        .examples = "  weir lab job sweep 2\n",
        .words = {a.words, &a.word_count, 2, 2, "a directory and the number of a run"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    if (!field_parse_integer(a.words[1], 0, LAB_RUNS_MAX, &a.number))
        return usage_wrong("weir lab job", "NUMBER must be a number from 0 to %d, not `%s`",
                           LAB_RUNS_MAX, a.words[1]);
    return with_plan(&a, use_job);
}

static int use_result(const struct lab_arguments *a, const struct lab_plan *p)
{
    return print_result(a, a->words[0], p, true, true, NULL);
}

int lab_result_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab result",
        .usage = "DIR [--json]",
        .about =
            "Combines the runs of a directory, checks the expectations, and writes "
            "result.json, result.csv and junit.xml there.\n\n"
            "Exit code 1: an expectation does not hold. 3: none fails, but some cannot be told.",
        .examples = "  weir lab result sweep\n",
        .groups = {OPTION_GROUP(NULL, result_options, &a)},
        .words = {a.words, &a.word_count, 1, 1, "one directory"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    return with_plan(&a, use_result);
}

static int use_compare(const struct lab_arguments *a, const struct lab_plan *p)
{
    struct lab_result *r = lab_result_create(p->scenario, p->options.fidelity);
    struct buffer text = {0}, error = {0};
    char first[256];
    const char *comma = strchr(a->words[1], ',');
    int code = LAB_WRONG_USE;
    enum status status = STATUS_NOT_FOUND;
    snprintf(first, sizeof first, "%.*s", comma == NULL ? 0 : (int)(comma - a->words[1]),
             a->words[1]);
    const bool good = lab_files_gather(a->words[0], p, r, &error);
    if (good && comma != NULL)
        status = lab_result_compare(r, first, comma + 1, &text);
    if (!good) {
        code = lab_fail(&error, LAB_FAILS);
    } else if (status == STATUS_OK) {
        code = 0;
    } else {
        lab_result_policies(r, &error);
        fprintf(stderr,
                "weir lab compare: `%s` must be two or more policies with runs, %sseparated by "
                "commas; policies with runs in %s: %.*s\n",
                a->words[1], status == STATUS_MALFORMED ? "each named once, " : "", a->words[0],
                TEXT_OF(error));
    }
    fwrite(text.data, 1, text.size, stdout);
    lab_result_destroy(r);
    buffer_deinit(&text);
    buffer_deinit(&error);
    return code;
}

int lab_compare_command(int argc, char **argv)
{
    struct lab_arguments a = lab_defaults();
    const struct command_line l = {
        .command = "weir lab compare",
        .usage = "DIR POLICY,OTHER[,OTHER]...",
        .about = "Compares a policy of a directory with others, measure by measure: means, the "
                 "paired difference over common seeds, its 95 % interval and its p value. The p "
                 "values are adjusted by Holm's method over all rows. For a sweep: at each point.",
        .examples = "  weir lab compare skew weir,static-shares\n",
        .words = {a.words, &a.word_count, 2, 2, "a directory and two or more policies"},
    };
    int code = usage_parse(&l, argc, argv);
    if (code != USAGE_GO_ON)
        return code;
    return with_plan(&a, use_compare);
}
