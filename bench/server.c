/* server.c - starts the `weir` that stands beside this program, or another server, and awaits it.
 * */
#include "bench/server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "host/remove_tree.h"

enum {
    READY_WAIT_MS = 30000,
    SETTINGS_MAX = 32
};

void bench_pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

void bench_choose_cpus(int *server, int *load)
{
    cpu_set_t allowed;
    bool two = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_ISSET(0, &allowed) &&
               CPU_ISSET(1, &allowed);
    *server = two ? 0 : -1;
    *load = two ? 1 : -1;
}

/* The program `weir` in the folder of this one. False: its path does not fit. */
static bool find_weir(char out[PATH_MAX])
{
    static const char name[] = "weir";
    ssize_t size = readlink("/proc/self/exe", out, PATH_MAX - sizeof name);
    if (size <= 0 || size == PATH_MAX - (ssize_t)sizeof name)
        return false;
    out[size] = '\0';
    char *slash = strrchr(out, '/');
    memcpy(slash + 1, name, sizeof name);
    return true;
}

static _Noreturn void run_child(const char *folder, int cpu, const struct bench_program *program,
                                int output)
{
    bench_pin(cpu);
    dup2(output, STDOUT_FILENO);
    if (chdir(folder) == 0)
        execvp(program->name, (char *const *)(uintptr_t)program->arguments);
    _exit(127);
}

/* Waits until the program is ready. Returns its port; 0: it is not ready in time, or has ended. */
static uint16_t read_port(int input, const struct bench_program *program)
{
    struct buffer text = {0};
    long port = 0;
    for (;;) {
        struct pollfd p = {.fd = input, .events = POLLIN};
        if (poll(&p, 1, READY_WAIT_MS) <= 0)
            break;
        ssize_t size = read(input, buffer_reserve(&text, 256), 255);
        if (size <= 0)
            break;
        text.size += (size_t)size;
        text.data[text.size] = 0;
        const char *ready = strstr((const char *)text.data, program->ready);
        if (ready == NULL || strchr(ready, '\n') == NULL)
            continue;
        const char *colon = memrchr(ready, ':', strcspn(ready, "\n"));
        port = program->port != 0 ? program->port : colon ? strtol(colon + 1, NULL, 10) : 0;
        break;
    }
    buffer_deinit(&text);
    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

enum status bench_program_start(struct bench_server *s, const char *parent, int cpu,
                                const struct bench_program *program, struct buffer *error)
{
    int ends[2];
    *s = (struct bench_server){0};
    snprintf(s->folder, sizeof s->folder, "%s/weir-bench-XXXXXX", parent);
    if (mkdtemp(s->folder) == NULL || pipe(ends) != 0) {
        buffer_append_format(error, "%s: %s", s->folder, strerror(errno));
        return STATUS_IO;
    }
    s->pid = fork();
    if (s->pid == 0) {
        close(ends[0]);
        run_child(s->folder, cpu, program, ends[1]);
    }
    close(ends[1]);
    s->port = read_port(ends[0], program);
    close(ends[0]);
    if (s->port != 0)
        return STATUS_OK;
    buffer_append_format(error, "`%s` did not become ready", program->name);
    bench_server_stop(s);
    return STATUS_IO;
}

enum status bench_server_start(struct bench_server *s, const char *parent, int cpu,
                               const char *const *settings, struct buffer *error)
{
    static const char *const none[] = {"--profile", "off", NULL};
    static const char *const first[] = {"weir",   "local", "--nodes", "1",
                                        "--port", "0",     "--data",  "."};
    enum {
        FIRST = sizeof first / sizeof first[0]
    };
    const char *arguments[FIRST + SETTINGS_MAX + 1] = {0};
    char path[PATH_MAX];
    *s = (struct bench_server){0};
    if (!find_weir(path))
        return buffer_explain(error, STATUS_IO, "the path of `weir` is too long");
    memcpy(arguments, first, sizeof first);
    if (settings == NULL)
        settings = none;
    for (int i = 0; settings[i] != NULL && i < SETTINGS_MAX; i++)
        arguments[FIRST + i] = settings[i];
    return bench_program_start(
        s, parent, cpu,
        &(struct bench_program){.name = path, .arguments = arguments, .ready = "ready "}, error);
}

bool bench_program_is_installed(const char *name)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    bool found = false;
    while (path != NULL && *path != '\0' && !found) {
        const size_t size = strcspn(path, ":");
        const int length = snprintf(file, sizeof file, "%.*s/%s", (int)size, path, name);
        found = length < (int)sizeof file && access(file, X_OK) == 0;
        path += size + (path[size] == ':');
    }
    return found;
}

void bench_server_stop(struct bench_server *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGTERM);
        waitpid(s->pid, NULL, 0);
    }
    if (s->folder[0] != 0)
        remove_tree(s->folder);
    *s = (struct bench_server){0};
}

void bench_server_url(const struct bench_server *s, char out[BENCH_URL_SIZE])
{
    snprintf(out, BENCH_URL_SIZE, "http://127.0.0.1:%u", s->port);
}

int64_t bench_server_cpu_ns(const struct bench_server *s)
{
    clockid_t clock;
    struct timespec t;
    must(clock_getcpuclockid(s->pid, &clock) == 0 && clock_gettime(clock, &t) == 0);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}
