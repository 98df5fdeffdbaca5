#include "cmd/sim_jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/policies.h"
#include "base/probe.h"

enum {
    SEED_S_MAX = 300, /* a longer run counts as endless */
    REPORT_S_MAX = 10 /* of a run that failed */
};

/* ---- probes ---- */

/* The linker makes both names if the build has probes. Otherwise both are NULL. */
extern struct probe __start_weir_probes[] __attribute__((weak));
extern struct probe __stop_weir_probes[] __attribute__((weak));

size_t sim_probe_count(void)
{
    size_t count = (size_t)(__stop_weir_probes - __start_weir_probes);
    return MIN(count, SIM_PROBES_MAX);
}

const char *sim_probe_name(size_t i)
{
    return __start_weir_probes[i].name;
}

static void take_probes(uint64_t *out)
{
    for (size_t i = 0; i < sim_probe_count(); i++) {
        out[i] = __start_weir_probes[i].hits;
        __start_weir_probes[i].hits = 0;
    }
}

static int64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* ---- one seed ---- */

/* For the signal handler only: the current run. */
static struct sim *running;
static uint64_t running_seed;

static void job_report(const void *bytes, size_t size)
{
    ssize_t written = write(STDERR_FILENO, bytes, size);
    (void)written;
}

/* The signal may have come in the middle of malloc, which the description needs: then it waits for
 * its own lock. So the seed is told first, and the alarm ends the process. */
static void report_and_exit(int number)
{
    char line[80];
    struct buffer text = {0};
    signal(number, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    alarm(REPORT_S_MAX);
    int size = snprintf(line, sizeof line, "\nseed %llu %s\n", (unsigned long long)running_seed,
                        number == SIGPROF   ? "does not end"
                        : number == SIGSEGV ? "accessed invalid memory"
                                            : "aborted");
    job_report(line, (size_t)size);
    if (running != NULL)
        sim_describe(running, &text);
    job_report(text.data, text.size);
    _exit(3);
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = report_and_exit};
    sigaction(SIGABRT, &action, NULL);
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer reports more */
    sigaction(SIGSEGV, &action, NULL);
#endif
    sigaction(SIGPROF, &action, NULL);
}

/* By the time of the processor: a busy machine makes no seed endless. 0: no more. */
static void watch_time(int64_t seconds)
{
    const struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void run_once(const struct sim_options *o, struct sim_result *result, struct buffer *report)
{
    running_seed = o->seed;
    running = sim_create(o);
    sim_run(running, result);
    if (result->violated) {
        buffer_append_format(report, "seed %llu: violation\n", (unsigned long long)o->seed);
        buffer_append_slice(report, sim_violation(running));
        sim_describe(running, report);
    }
    struct sim *done = running;
    running = NULL;
    sim_destroy(done);
}

static void run_seed(const struct sim_jobs_options *o, uint64_t seed, struct sim_result *result,
                     struct buffer *report)
{
    struct sim_options options = o->sim;
    options.seed = seed;
    watch_time(SEED_S_MAX);
    run_once(&options, result, report);
    if (!o->once) {
        struct sim_result again;
        struct buffer ignored = {0};
        run_once(&options, &again, &ignored);
        buffer_deinit(&ignored);
        if (again.hash != result->hash) {
            result->violated = true;
            if (o->sim.policies != NULL && o->sim.policies->count > 0)
                buffer_append_text(report, "a policy of --policy may differ between runs: it must "
                                           "keep only the states that weir gives it\n");
            buffer_append_format(report,
                                 "seed %llu: the same seed gave two different runs: %016llx and "
                                 "%016llx, %llu and %llu events\n",
                                 (unsigned long long)seed, (unsigned long long)result->hash,
                                 (unsigned long long)again.hash, (unsigned long long)result->events,
                                 (unsigned long long)again.events);
        }
    }
    watch_time(0);
}

/* ---- what a process says of a seed ---- */

struct word {
    uint64_t seed;
    bool ended; /* otherwise it begins */
    struct sim_result result;
    uint64_t probes[SIM_PROBES_MAX]; /* hits since the last word */
    size_t report_size;              /* the text follows */
};

static void sim_jobs_count(struct sim_summary *s, const struct word *w)
{
    const struct sim_result *r = &w->result;
    if (r->violated) {
        if (s->violations < SIM_SEEDS_NAMED)
            s->first_violations[s->violations] = w->seed;
        s->violations++;
    }
    if (r->undecided) {
        if (s->undecided < SIM_SEEDS_NAMED)
            s->first_undecided[s->undecided] = w->seed;
        s->undecided++;
    }
    s->seeds++;
    s->injected += r->injected;
    s->events += r->events;
    s->virtual_ns += r->virtual_ns;
    s->clients.calls += r->clients.calls;
    s->clients.ok += r->clients.ok;
    s->clients.failed += r->clients.failed;
    s->clients.unknown += r->clients.unknown;
    s->calm_ns_max = MAX(s->calm_ns_max, r->calm_ns);
    for (size_t i = 0; i < sim_probe_count(); i++)
        s->probes[i] += w->probes[i];
}

static void sim_jobs_write_all(int fd, const void *data, size_t size)
{
    for (const char *p = data; size > 0;) {
        ssize_t n = TEMP_FAILURE_RETRY(write(fd, p, size));
        if (n <= 0)
            _exit(4); /* the reader is gone */
        p += n;
        size -= (size_t)n;
    }
}

static bool read_all(int fd, void *data, size_t size)
{
    for (char *p = data; size > 0;) {
        ssize_t n = TEMP_FAILURE_RETRY(read(fd, p, size));
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* ---- processes ---- */

static bool sim_jobs_late(const struct sim_jobs_options *o)
{
    return o->wall_s_max > 0 && wall_ns() > o->begun_ns + o->wall_s_max * NS_PER_S;
}

struct job {
    pid_t pid; /* 0: has ended */
    int fd;
    uint64_t seed; /* the last seed begun */
    bool begun;
};

static _Noreturn void sim_jobs_work(const struct sim_jobs_options *o, uint64_t first, uint64_t step,
                                    int fd)
{
    watch_signals();
    for (uint64_t seed = first; seed < o->sim.seed + o->seeds && !sim_jobs_late(o); seed += step) {
        struct word w = {.seed = seed};
        struct buffer report = {0};
        sim_jobs_write_all(fd, &w, sizeof w);
        run_seed(o, seed, &w.result, &report);
        take_probes(w.probes);
        w.ended = true;
        w.report_size = report.size;
        sim_jobs_write_all(fd, &w, sizeof w);
        sim_jobs_write_all(fd, report.data, report.size);
        buffer_deinit(&report);
    }
    _exit(0);
}

static void sim_jobs_start(struct job *j, const struct sim_jobs_options *o, uint64_t first)
{
    int pipes[2];
    must(pipe(pipes) == 0);
    fflush(stdout);
    fflush(stderr);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        close(pipes[0]);
        sim_jobs_work(o, first, o->jobs, pipes[1]);
    }
    close(pipes[1]);
    *j = (struct job){.pid = pid, .fd = pipes[0], .seed = first};
}

static void sim_jobs_print_progress(const struct sim_jobs_options *o, const struct sim_summary *s)
{
    if (o->progress && (s->seeds % 20 == 0 || s->seeds == o->seeds))
        fprintf(stderr, "\r%llu of %llu seeds, %llu violations", (unsigned long long)s->seeds,
                (unsigned long long)o->seeds, (unsigned long long)s->violations);
}

static void print_report(const struct sim_jobs_options *o, const void *text, size_t size)
{
    if (o->quiet || size == 0)
        return;
    if (o->progress)
        fputc('\n', stderr);
    fwrite(text, 1, size, stdout);
    fputc('\n', stdout);
    fflush(stdout);
}

/* The process has ended, during a seed or between seeds. */
static void sim_jobs_ended(struct job *j, const struct sim_jobs_options *o, struct sim_summary *s)
{
    close(j->fd);
    waitpid(j->pid, NULL, 0);
    store_disk_sweep();
    j->pid = 0;
    if (!j->begun)
        return;
    struct word w = {.seed = j->seed, .result = {.violated = true}};
    sim_jobs_count(s, &w);
    char text[80];
    int size = snprintf(text, sizeof text, "seed %llu: the run did not finish\n",
                        (unsigned long long)j->seed);
    print_report(o, text, (size_t)size);
    if (j->seed + o->jobs < o->sim.seed + o->seeds)
        sim_jobs_start(j, o, j->seed + o->jobs);
}

static void sim_jobs_receive(struct job *j, const struct sim_jobs_options *o, struct sim_summary *s)
{
    struct word w;
    if (!read_all(j->fd, &w, sizeof w)) {
        sim_jobs_ended(j, o, s);
        return;
    }
    j->seed = w.seed;
    j->begun = !w.ended;
    if (!w.ended)
        return;
    char *text = must_calloc(w.report_size + 1, 1);
    if (read_all(j->fd, text, w.report_size))
        print_report(o, text, w.report_size);
    free(text);
    sim_jobs_count(s, &w);
    sim_jobs_print_progress(o, s);
}

static void run_many(const struct sim_jobs_options *o, struct sim_summary *s)
{
    struct job jobs[SIM_JOBS_MAX] = {0};
    struct pollfd polls[SIM_JOBS_MAX];
    uint32_t count_of_jobs = o->jobs;
    for (uint32_t i = 0; i < count_of_jobs && i < o->seeds; i++)
        sim_jobs_start(&jobs[i], o, o->sim.seed + i);
    for (;;) {
        nfds_t running_jobs = 0;
        struct job *by_poll[SIM_JOBS_MAX];
        for (uint32_t i = 0; i < count_of_jobs; i++) {
            if (jobs[i].pid == 0)
                continue;
            by_poll[running_jobs] = &jobs[i];
            polls[running_jobs++] = (struct pollfd){.fd = jobs[i].fd, .events = POLLIN};
        }
        if (running_jobs == 0)
            return;
        if (poll(polls, running_jobs, -1) < 0)
            continue;
        for (nfds_t i = 0; i < running_jobs; i++) {
            if (polls[i].revents != 0)
                sim_jobs_receive(by_poll[i], o, s);
        }
    }
}

static void run_here(const struct sim_jobs_options *o, struct sim_summary *s)
{
    watch_signals();
    for (uint64_t i = 0; i < o->seeds && !sim_jobs_late(o); i++) {
        struct word w = {.seed = o->sim.seed + i};
        struct buffer report = {0};
        run_seed(o, w.seed, &w.result, &report);
        take_probes(w.probes);
        print_report(o, report.data, report.size);
        buffer_deinit(&report);
        sim_jobs_count(s, &w);
        sim_jobs_print_progress(o, s);
    }
}

void sim_jobs_run(const struct sim_jobs_options *options, struct sim_summary *out)
{
    struct sim_jobs_options o = *options;
    o.begun_ns = wall_ns();
    must(o.jobs <= SIM_JOBS_MAX);
    store_disk_sweep(); /* what killed runs have left */
    *out = (struct sim_summary){0};
    if (o.jobs == 0)
        run_here(&o, out);
    else
        run_many(&o, out);
    if (o.progress)
        fputc('\n', stderr);
    out->wall_ns = wall_ns() - o.begun_ns;
}
