/* measure.c - runs a test's command and notes what it cost.
 *
 *     measure [--needs PROGRAM] LIMIT FILE COMMAND [ARGUMENT...]
 *
 * LIMIT: seconds of processor time that each process of the command may take. A machine that is
 * busy, or stands still for a while, spends none of them.
 * Writes `{"wall_s": .., "cpu_s": .., "code": ..}` to FILE, also for a command that fails. `cpu_s` counts every
 * process that the command left to its parents to wait for: daemons of a cluster, too.
 * Promises: the exit code is the command's (128 + signal). A process that outlives the command by ENDS_S is
 * killed, and makes a command that succeeded fail: code 99. (A browser's helpers end by themselves soon after it.) Without PROGRAM, the command is not run: code 77. */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CODE_SKIPPED = 77,
    CODE_LEFT_BEHIND = 99,
    CODE_CANNOT_RUN = 126,
    CHILDREN_MAX = 1 << 16,
    ENDS_S = 5
};

static volatile sig_atomic_t command_pid;

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ctest ends a test that takes too long: its command ends, and then what the command has left. */
static void pass_on(int signal)
{
    if (command_pid > 0)
        kill(command_pid, signal);
}

/* The kernel gives orphans of the command to this process. Kills one generation of them; their number. */
static int kill_orphans(void)
{
    char path[64], text[CHILDREN_MAX];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    int killed = 0;
    char *rest = NULL;
    for (char *at = strtok_r(text, " ", &rest); at != NULL;
         at = strtok_r(NULL, " ", &rest), killed++) {
        int pid = atoi(at);
        char name[64] = "?";
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *comm = fopen(path, "r");
        if (comm != NULL) {
            if (fgets(name, sizeof name, comm) != NULL)
                name[strcspn(name, "\n")] = '\0';
            fclose(comm);
        }
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) { /* it had ended by itself */
            killed--;
            continue;
        }
        fprintf(stderr, "measure: process %d (%s) outlives its test: killed\n", pid, name);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    return killed;
}

/* Whether all that the command has left end by themselves. */
static bool orphans_end(void)
{
    const double until_s = now_s() + ENDS_S;
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    for (;;) {
        const pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0)
            return true; /* there is none */
        if (ended == 0 && now_s() >= until_s)
            return false;
        if (ended == 0)
            nanosleep(&pause, NULL);
    }
}

static int reap_orphans(void)
{
    int total = 0, killed;
    if (orphans_end())
        return 0;
    while ((killed = kill_orphans()) > 0)
        total += killed;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return total;
}

static void note(const char *path, double wall_s, int code)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    mkdir(dirname(folder), 0777);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "measure: cannot write %s: %s\n", path, strerror(errno));
        return;
    }
    fprintf(file, "{\"wall_s\": %.3f, \"cpu_s\": %.3f, \"code\": %d}\n", wall_s,
            seconds(used.ru_utime) + seconds(used.ru_stime), code);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "--needs") == 0) {
        if (access(argv[2], X_OK) != 0) {
            printf("skipped: there is no %s: `tools/build --library` makes it\n", argv[2]);
            return CODE_SKIPPED;
        }
        argv += 2;
        argc -= 2;
    }
    const int limit_s = argc < 4 ? 0 : atoi(argv[1]);
    if (limit_s <= 0) {
        fprintf(stderr, "usage: measure [--needs PROGRAM] LIMIT FILE COMMAND [ARGUMENT...]\n");
        return CODE_CANNOT_RUN;
    }
    argv++;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    double begun_s = now_s();
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {(rlim_t)limit_s, (rlim_t)limit_s + 1};
        setrlimit(RLIMIT_CPU, &limit);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "measure: cannot run %s: %s\n", argv[2], strerror(errno));
        _exit(CODE_CANNOT_RUN);
    }
    command_pid = child;
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, 0)) !=
           child) /* orphans that have ended must not stay as zombies */
        if (ended < 0 && errno != EINTR)
            return CODE_CANNOT_RUN;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (reap_orphans() > 0 && code == 0)
        code = CODE_LEFT_BEHIND;
    if (code == 128 + SIGXCPU)
        fprintf(stderr, "measure: more than %d s of processor time\n", limit_s);
    note(argv[1], now_s() - begun_s, code);
    return code;
}
