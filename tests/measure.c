/* measure.c - runs a test's command and notes what it cost.
 *
 *     measure [--memory] [--needs PROGRAM] LIMIT FILE COMMAND [ARGUMENT...]
 *
 * LIMIT: seconds of processor time that each process of the command may take. A machine that is
 * busy, or stands still for a while, spends none of them.
 * Writes `{"wall_s": .., "cpu_s": .., "code": ..}` to FILE, also for a command that fails. `cpu_s`
 * counts every process that the command left to its parents to wait for: daemons of a cluster, too.
 * TMPDIR of the command is a directory of its own, below TMPDIR or /tmp; with --memory, below
 * /dev/shm if there is space. The directory stays if the command fails by itself and has left
 * something in it.
 * Promises: the exit code is the command's (128 + signal). A process that outlives the command by
 * ENDS_S is killed, and makes a command that succeeded fail: code 99. (A browser's helpers end by
 * themselves soon after it.) Without PROGRAM, the command is not run: code 77. The command is
 * killed if this process is killed. */
#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CODE_SKIPPED = 77,
    CODE_LEFT_BEHIND = 99,
    CODE_CANNOT_RUN = 126,
    CHILDREN_MAX = 1 << 16,
    ENDS_S = 5,
    MEMORY_MIN_MIB = 1024, /* unit tests need about 200; containers have 64 by default */
    FILES_MAX = 16         /* that the removal of a directory has open */
};

static volatile sig_atomic_t command_pid, end_requested;
static char temporary[4096]; /* TMPDIR of the command; "": none could be made */

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
    end_requested = 1;
    if (command_pid > 0)
        kill(command_pid, signal);
}

/* The kernel gives orphans of the command to this process. Kills one generation of them; their
 * number. */
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

static bool memory_has_space(void)
{
    struct statvfs found;
    return statvfs("/dev/shm", &found) == 0 && access("/dev/shm", W_OK) == 0 &&
           found.f_bavail / 1024 * (found.f_frsize / 1024) >= MEMORY_MIN_MIB;
}

/* Without a directory the command gets the TMPDIR that this process has, and tells by itself what
 * is wrong. */
static void temporary_make(bool memory)
{
    const char *where = getenv("TMPDIR");
    if (where == NULL || where[0] == '\0')
        where = memory && memory_has_space() ? "/dev/shm" : "/tmp";
    snprintf(temporary, sizeof temporary, "%s/weir-suite-XXXXXX", where);
    if (mkdtemp(temporary) == NULL)
        temporary[0] = '\0';
    else
        setenv("TMPDIR", temporary, 1);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info, (void)type, (void)place;
    remove(path);
    return 0;
}

static void temporary_end(bool failed)
{
    if (temporary[0] == '\0' || rmdir(temporary) == 0)
        return;
    if (failed)
        fprintf(stderr, "measure: what the test has left stands in %s\n", temporary);
    else
        nftw(temporary, remove_entry, FILES_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int main(int argc, char **argv)
{
    bool memory = argc > 1 && strcmp(argv[1], "--memory") == 0;
    argv += memory;
    argc -= memory;
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
        fprintf(stderr,
                "usage: measure [--memory] [--needs PROGRAM] LIMIT FILE COMMAND [ARGUMENT...]\n");
        return CODE_CANNOT_RUN;
    }
    argv++;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    temporary_make(memory);
    double begun_s = now_s();
    const pid_t own_pid = getpid();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != own_pid)
            _exit(CODE_CANNOT_RUN);
        const struct rlimit limit = {(rlim_t)limit_s, (rlim_t)limit_s + 1};
        setrlimit(RLIMIT_CPU, &limit);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "measure: cannot run %s: %s\n", argv[2], strerror(errno));
        _exit(CODE_CANNOT_RUN);
    }
    command_pid = child;
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    signal(SIGHUP, pass_on);
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
    temporary_end(code != 0 && code != CODE_SKIPPED && !end_requested);
    note(argv[1], now_s() - begun_s, code);
    return code;
}
