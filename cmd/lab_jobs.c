#include "cmd/lab_jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "cmd/lab_rows.h"

enum {
    REPORT_MS = 500 /* between two lines of progress */
};

/* What a worker tells while it runs; shared memory. */
struct run_progress {
    int64_t now_ns, end_ns;
};

struct worker {
    pid_t pid; /* 0: none */
    uint64_t number;
};

struct running {
    const struct lab_jobs_options *options;
    struct worker workers[LAB_JOBS_MAX];
    struct run_progress *run_progress; /* owns */
    uint64_t next;                     /* run that may begin next */
    uint64_t selected;                 /* runs of this process's part that had no result */
    uint64_t done;
    int64_t begun_ns;
    pid_t pid; /* this process */
    uint32_t active;
    bool failed, stopped;
};

static int64_t lab_wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t lab_jobs_default(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > LAB_JOBS_MAX ? LAB_JOBS_MAX : cores;
}

/* ---- a run ---- */

/* SIGINT and SIGTERM, which end a process unless they are blocked. */
static sigset_t stop_signals(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGINT);
    sigaddset(&s, SIGTERM);
    return s;
}

static bool report_progress(void *context, int64_t now_ns, int64_t end_ns)
{
    struct run_progress *t = context;
    sigset_t pending;
    t->now_ns = now_ns;
    t->end_ns = end_ns;
    sigpending(&pending); /* if blocked: as by run_with_rows */
    return sigismember(&pending, SIGTERM) == 0 && sigismember(&pending, SIGINT) == 0;
}

/* With files of rows. A process that is told to end removes them first. */
static bool run_with_rows(const char *directory, struct lab_planned *run, struct buffer *json,
                          struct buffer *error)
{
    struct lab_rows *rows = must_calloc(1, sizeof *rows);
    const sigset_t stops = stop_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &stops, &before);
    bool good = lab_rows_begin(rows, directory, run, error);
    if (good) {
        run->job.rows = lab_rows_add;
        run->job.rows_context = rows;
        good = lab_run(&run->job, json, error) == STATUS_OK;
        good = lab_rows_end(rows, good, error) && good;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(rows);
    return good;
}

static bool run_numbered(const struct lab_jobs_options *o, uint64_t number,
                         struct run_progress *run_progress, struct buffer *error)
{
    struct lab_planned *run = must_calloc(1, sizeof *run);
    struct buffer json = {0};
    lab_plan_run(o->plan, number, run);
    run->job.progress = run_progress == NULL ? NULL : report_progress;
    run->job.context = run_progress;
    bool good = o->rows ? run_with_rows(o->directory, run, &json, error)
                        : lab_run(&run->job, &json, error) == STATUS_OK;
    good = good && lab_file_write(o->directory, run->path, buffer_slice(&json), error);
    buffer_deinit(&json);
    free(run);
    return good;
}

bool lab_jobs_run_one(const struct lab_plan *p, const char *directory, uint64_t number,
                      struct buffer *error)
{
    const struct lab_jobs_options o = {.plan = p, .directory = directory};
    return run_numbered(&o, number, NULL, error);
}

/* ---- workers ---- */

static bool run_is_there(const struct lab_jobs_options *o, const struct lab_planned *run)
{
    bool there = lab_file_exists(o->directory, run->path);
    for (enum lab_row_file i = 0; o->rows && i < LAB_ROW_FILES; i++) {
        char rows[LAB_PATH_SIZE_MAX];
        lab_rows_name(run, i, rows);
        there = there && lab_file_exists(o->directory, rows);
    }
    return there;
}

static bool is_selected(const struct lab_jobs_options *o, uint64_t number)
{
    struct lab_planned *run = must_calloc(1, sizeof *run);
    bool mine = (o->of == 0 || number % (uint64_t)o->of == (uint64_t)(o->part - 1)) &&
                lab_plan_includes(o->plan, number);
    bool selected = false;
    if (mine) {
        lab_plan_run(o->plan, number, run);
        selected =
            !run_is_there(o, run) && (o->only_of == NULL || lab_file_exists(o->only_of, run->path));
    }
    free(run);
    return selected;
}

_Noreturn static void worker_main(struct running *r, uint32_t slot, uint64_t number)
{
    struct buffer error = {0};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_IGN);          /* the parent ends workers */
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* and so does its end */
    if (getppid() != r->pid)
        _exit(1);
    bool good = run_numbered(r->options, number, &r->run_progress[slot], &error);
    if (!good)
        fprintf(stderr, "weir lab: %.*s\n", (int)error.size, (const char *)error.data);
    buffer_deinit(&error);
    _exit(good ? 0 : 1);
}

/* Starts the next run in a free slot. False: nothing is left to start. */
static bool start_next(struct running *r, uint32_t slot)
{
    while (r->next < r->options->plan->runs && !is_selected(r->options, r->next))
        r->next++;
    if (r->next == r->options->plan->runs)
        return false;
    r->run_progress[slot] = (struct run_progress){0};
    pid_t pid = fork();
    if (pid == 0)
        worker_main(r, slot, r->next);
    if (pid < 0) {
        fprintf(stderr, "weir lab: cannot start a process: %s\n", strerror(errno));
        r->failed = true;
        return false;
    }
    r->workers[slot] = (struct worker){pid, r->next++};
    r->active++;
    return true;
}

static void start_all(struct running *r)
{
    for (uint32_t i = 0; i < (uint32_t)r->options->jobs && !r->failed && !r->stopped; i++) {
        if (r->workers[i].pid == 0 && !start_next(r, i))
            return;
    }
}

static void running_reap(struct running *r)
{
    int how;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) {
        for (uint32_t i = 0; i < (uint32_t)r->options->jobs; i++) {
            if (r->workers[i].pid != pid)
                continue;
            bool good = WIFEXITED(how) && WEXITSTATUS(how) == 0;
            if (!good && !r->stopped && !r->failed && !WIFEXITED(how))
                fprintf(stderr, "weir lab: run %llu was ended by signal %d\n",
                        (unsigned long long)r->workers[i].number, WTERMSIG(how));
            r->failed |= !good && !r->stopped;
            r->done += good;
            r->active--;
            r->workers[i].pid = 0;
        }
    }
}

static void end_workers(struct running *r)
{
    for (uint32_t i = 0; i < (uint32_t)r->options->jobs; i++) {
        if (r->workers[i].pid > 0)
            kill(r->workers[i].pid, SIGTERM);
    }
}

/* ---- progress ---- */

static void print_progress(const struct running *r)
{
    double parts = 0, virtual_s = 0;
    for (uint32_t i = 0; i < (uint32_t)r->options->jobs; i++) {
        const struct run_progress *t = &r->run_progress[i];
        if (r->workers[i].pid == 0 || t->end_ns == 0)
            continue;
        parts += (double)t->now_ns / (double)t->end_ns;
        virtual_s += (double)t->now_ns / 1e9;
    }
    double done = (double)r->done + parts;
    double took_s = (double)(lab_wall_ns() - r->begun_ns) / 1e9;
    fprintf(stderr, "\r%s: %llu of %llu runs, %u at work (%.0f virtual s)",
            r->options->plan->scenario->name, (unsigned long long)r->done,
            (unsigned long long)r->selected, r->active, virtual_s);
    if (done > 0.05)
        fprintf(stderr, ", about %.0f s left  ", took_s / done * ((double)r->selected - done));
    fflush(stderr);
}

static void wait_for_news(struct running *r, const sigset_t *signals)
{
    struct timespec t = {.tv_nsec = REPORT_MS * NS_PER_MS};
    int got = sigtimedwait(signals, NULL, &t);
    if (got == SIGINT || got == SIGTERM) {
        r->stopped = true;
        end_workers(r);
    }
    running_reap(r);
    if (r->failed)
        end_workers(r);
    if (r->options->progress)
        print_progress(r);
}

static void run_workers(struct running *r)
{
    sigset_t signals = stop_signals(), before;
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (start_all(r); r->active > 0; start_all(r))
        wait_for_news(r, &signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

enum lab_jobs_end lab_jobs_run(const struct lab_jobs_options *o)
{
    struct running *r = must_calloc(1, sizeof *r);
    size_t size = (size_t)o->jobs * sizeof r->run_progress[0];
    must(o->jobs >= 1 && o->jobs <= LAB_JOBS_MAX);
    r->options = o;
    r->begun_ns = lab_wall_ns();
    r->pid = getpid();
    r->run_progress = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(r->run_progress != MAP_FAILED);
    for (uint64_t i = 0; i < o->plan->runs; i++)
        r->selected += is_selected(o, i);
    fflush(NULL);
    run_workers(r);
    if (o->progress && r->selected > 0)
        fputc('\n', stderr);
    enum lab_jobs_end end = r->stopped  ? LAB_JOBS_STOPPED
                            : r->failed ? LAB_JOBS_FAILED
                                        : LAB_JOBS_DONE;
    munmap(r->run_progress, size);
    free(r);
    return end;
}
