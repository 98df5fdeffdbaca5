/* cluster.c - starts and ends the processes of a scenario's cluster. */
#include "lab/fidelity/real/cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "base/instant.h"
#include "base/policies.h"
#include "host/remove_tree.h"
#include "lab/adversaries/adversaries.h"
#include "lab/baselines/baselines.h"

enum {
    READY_WITHIN_MS = 60000,
    POLL_MS = 10,
    FAULT_WAIT_S = 2,
    PORTS_OF_ONE = 3,
    ARGUMENTS_MAX = 20 + 2 * POLICIES_MAX,
    PATH_SIZE = 512
};

static const char *const daemon_names[] = {"node", "router", "gac"};

/* ---- ports ---- */

static int bind_any(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) != 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(a.sin_port);
    return fd;
}

/* All ports are held until each process has its own, so no port is given twice. */
static bool choose_ports(struct lab_cluster *c, struct buffer *error)
{
    int *held = must_calloc((size_t)c->count * PORTS_OF_ONE, sizeof held[0]);
    uint32_t count = 0;
    bool good = true;
    for (uint32_t i = 0; i < c->count && good; i++) {
        uint16_t *ports[PORTS_OF_ONE] = {&c->daemons[i].port, &c->daemons[i].faults_port,
                                         &c->daemons[i].admin_port};
        for (int k = 0; k < PORTS_OF_ONE && good; k++) {
            held[count] = bind_any(ports[k]);
            good = held[count] >= 0;
            count += good;
        }
    }
    if (!good)
        buffer_append_format(error, "cannot find a free port: %s", strerror(errno));
    while (count > 0)
        close(held[--count]);
    free(held);
    return good;
}

/* ---- files ---- */

static bool write_file(const struct lab_cluster *c, const char *name, struct slice text,
                       struct buffer *error)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", c->directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE_PRIVATE);
    bool good = fd >= 0 && write(fd, text.data, text.size) == (ssize_t)text.size;
    if (fd >= 0)
        close(fd);
    if (!good)
        buffer_append_format(error, "cannot write %s: %s", path, strerror(errno));
    return good;
}

static bool make_directory(struct lab_cluster *c, struct buffer *error)
{
    const char *where = getenv("TMPDIR");
    snprintf(c->directory, sizeof c->directory, "%s/weir-lab-real.XXXXXX",
             where != NULL ? where : "/tmp");
    ssize_t size = readlink("/proc/self/exe", c->program, sizeof c->program - 1);
    if (mkdtemp(c->directory) != NULL && size > 0)
        return true;
    buffer_append_format(error, "cannot make the directory %s: %s", c->directory, strerror(errno));
    c->directory[0] = '\0';
    return false;
}

/* The settings of the scenario in which its cluster differs from the profile. */
static bool write_settings(const struct lab_cluster *c, struct buffer *error)
{
    const struct config *config = &c->scenario->cluster.config;
    struct config usual;
    struct buffer text = {0}, changes = {0};
    config_init(&usual, config->profile);
    buffer_append_format(&text, "profile = %s\ncluster_id = lab\nsecret_file = %s/secret\n",
                         profile_name(config->profile), c->directory);
    config_describe_changes(config, &usual, &changes);
    for (size_t i = 0; i < changes.size; i++) {
        if (changes.data[i] == ' ')
            changes.data[i] = '\n';
    }
    buffer_append_slice(&text, buffer_slice(&changes));
    buffer_append_u8(&text, '\n');
    bool good = write_file(c, "settings", buffer_slice(&text), error);
    buffer_deinit(&text);
    buffer_deinit(&changes);
    return good;
}

/* Only processes of this directory know it: what protects a cluster on loopback is its port. */
static bool write_secret(const struct lab_cluster *c, struct buffer *error)
{
    uint8_t bytes[24];
    char text[2 * sizeof bytes + 1];
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
    if (fd >= 0)
        close(fd);
    if (!good) {
        buffer_append_format(error, "cannot read /dev/urandom: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return write_file(c, "secret", slice_of(text), error);
}

/* ---- processes ---- */

static void list_of(const struct lab_cluster *c, enum lab_daemon_kind kind, struct buffer *out)
{
    buffer_clear(out);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct lab_daemon *d = &c->daemons[i];
        if (d->kind == kind)
            buffer_append_format(out, "%s%u=127.0.0.1:%u", out->size > 0 ? "," : "", d->number,
                                 d->port);
    }
    buffer_append_u8(out, 0);
}

struct arguments {
    const char *list[ARGUMENTS_MAX + 1];
    int count;
};

static void arguments_add(struct arguments *a, const char *name, const char *value)
{
    must(a->count + 2 <= ARGUMENTS_MAX);
    a->list[a->count++] = name;
    a->list[a->count++] = value;
}

/* The files of `--policy`. Policies of one file lie side by side. Each process has the baselines
 * anyway; adversaries do not run here. */
static void argue_policies(struct arguments *a, const struct policies *policies)
{
    const char *last = NULL;
    for (uint32_t i = 0; policies != NULL && i < policies->count; i++) {
        const char *file = policies->entries[i].file;
        if (file != last && file != baselines_source && file != adversaries_source)
            arguments_add(a, "--policy", file);
        last = file;
    }
}

static void log_path(const struct lab_cluster *c, const struct lab_daemon *d, char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, "%s/%s-%u.log", c->directory, daemon_names[d->kind], d->number);
}

/* In the new process. It ends when its parent does. */
_Noreturn static void daemon_become(const struct lab_cluster *c, const struct lab_daemon *d,
                                    const struct arguments *a, pid_t parent)
{
    char path[PATH_SIZE];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0); /* Ctrl-C reaches the parent, which ends it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    log_path(c, d, path);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND, FILE_MODE_PRIVATE),
        in = open("/dev/null", O_RDONLY);
    if (getppid() == parent && log >= 0 && in >= 0 && dup2(in, 0) == 0 && dup2(log, 1) == 1 &&
        dup2(log, 2) == 2)
        execv(c->program, (char *const *)(uintptr_t)a->list);
    _exit(127);
}

bool lab_daemon_start(const struct lab_cluster *c, struct lab_daemon *d, struct buffer *error)
{
    char id[16], listen[32], faults[16], admin[32], data[PATH_SIZE], settings[PATH_SIZE];
    struct buffer peers = {0}, servers = {0};
    struct arguments a = {.list = {c->program, daemon_names[d->kind]}, .count = 2};
    if (d->pid != 0)
        return true;
    list_of(c, LAB_NODE, &peers);
    list_of(c, LAB_GAC, &servers);
    snprintf(id, sizeof id, "%u", d->number);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", d->port);
    snprintf(faults, sizeof faults, "%u", d->faults_port);
    snprintf(admin, sizeof admin, "127.0.0.1:%u", d->admin_port);
    snprintf(data, sizeof data, "%s/data-%u", c->directory, d->number);
    snprintf(settings, sizeof settings, "%s/settings", c->directory);
    argue_policies(&a, c->scenario->cluster.config.policies);
    arguments_add(&a, "--config", settings);
    arguments_add(&a, "--id", id);
    arguments_add(&a, "--listen", listen);
    arguments_add(&a, "--faults", faults);
    if (d->kind != LAB_GAC)
        arguments_add(&a, "--peers", (const char *)peers.data);
    if (d->kind != LAB_NODE && c->scenario->cluster.gac > 0)
        arguments_add(&a, "--gac", (const char *)servers.data);
    if (d->kind == LAB_NODE)
        arguments_add(&a, "--data", data);
    if (d->kind == LAB_ROUTER)
        arguments_add(&a, "--admin", admin);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        daemon_become(c, d, &a, parent);
    if (pid < 0)
        buffer_append_format(error, "cannot start a process: %s", strerror(errno));
    else
        d->pid = pid;
    buffer_deinit(&peers);
    buffer_deinit(&servers);
    return pid > 0;
}

void lab_daemon_kill(struct lab_daemon *d)
{
    if (d->pid == 0)
        return;
    kill(d->pid, SIGKILL);
    waitpid(d->pid, NULL, 0);
    d->pid = 0;
}

struct lab_daemon *lab_cluster_daemon(const struct lab_cluster *c, enum lab_daemon_kind kind,
                                      uint32_t number)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->daemons[i].kind == kind && c->daemons[i].number == number)
            return &c->daemons[i];
    }
    must(false);
    return NULL;
}

/* ---- logs ---- */

static void read_log(const struct lab_cluster *c, const struct lab_daemon *d, struct buffer *out)
{
    char path[PATH_SIZE];
    log_path(c, d, path);
    buffer_clear(out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0;) {
        n = read(fd, buffer_reserve(out, 4096), 4096);
        out->size += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
}

static bool is_ready(const struct lab_cluster *c, const struct lab_daemon *d, struct buffer *log)
{
    read_log(c, d, log);
    return (log->size >= 5 && memcmp(log->data, "ready", 5) == 0) ||
           memmem(log->data, log->size, "\nready", 6) != NULL;
}

/* The last line of its log. */
static void append_last_line(const struct lab_cluster *c, const struct lab_daemon *d,
                             struct buffer *error)
{
    struct buffer log = {0};
    read_log(c, d, &log);
    while (log.size > 0 && log.data[log.size - 1] == '\n')
        log.size--;
    const uint8_t *line = log.size == 0 ? NULL : memrchr(log.data, '\n', log.size);
    size_t skip = line == NULL ? 0 : (size_t)(line - log.data) + 1;
    buffer_append_format(error, "weir %s %u ended: %.*s", daemon_names[d->kind], d->number,
                         (int)(log.size - skip),
                         log.size == 0 ? "" : (const char *)log.data + skip);
    buffer_deinit(&log);
}

bool lab_cluster_check(struct lab_cluster *c, struct buffer *error)
{
    for (uint32_t i = 0; i < c->count; i++) {
        struct lab_daemon *d = &c->daemons[i];
        if (d->pid == 0 || waitpid(d->pid, NULL, WNOHANG) != d->pid)
            continue;
        d->pid = 0;
        append_last_line(c, d, error);
        return false;
    }
    return true;
}

/* ---- the whole ---- */

static bool wait_ready(struct lab_cluster *c, bool (*stopped)(void *context), void *context,
                       struct buffer *error)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * NS_PER_MS};
    struct buffer log = {0};
    bool good = true;
    int polls = READY_WITHIN_MS / POLL_MS;
    for (uint32_t i = 0; i < c->count && good;) {
        if (is_ready(c, &c->daemons[i], &log)) {
            i++;
            continue;
        }
        good = lab_cluster_check(c, error) && !stopped(context) && polls-- > 0;
        nanosleep(&pause, NULL);
    }
    if (!good && error->size == 0)
        buffer_append_text(error,
                           polls <= 0 ? "the processes were not ready within a minute" : "stopped");
    buffer_deinit(&log);
    return good;
}

static void add_daemons(struct lab_cluster *c, enum lab_daemon_kind kind, int64_t count)
{
    for (uint32_t i = 1; i <= count; i++)
        c->daemons[c->count++] = (struct lab_daemon){.kind = kind, .number = i};
}

bool lab_cluster_start(struct lab_cluster *c, const struct scenario *s,
                       bool (*stopped)(void *context), void *context, struct buffer *error)
{
    const struct scenario_cluster *cluster = &s->cluster;
    *c = (struct lab_cluster){.scenario = s};
    c->daemons = must_calloc((size_t)(cluster->nodes + cluster->routers + cluster->gac),
                             sizeof c->daemons[0]);
    add_daemons(c, LAB_NODE, cluster->nodes);
    add_daemons(c, LAB_ROUTER, cluster->routers);
    add_daemons(c, LAB_GAC, cluster->gac);
    if (!make_directory(c, error) || !write_secret(c, error) || !write_settings(c, error) ||
        !choose_ports(c, error))
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        if (!lab_daemon_start(c, &c->daemons[i], error))
            return false;
    }
    return wait_ready(c, stopped, context, error);
}

void lab_cluster_end(struct lab_cluster *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        lab_daemon_kill(&c->daemons[i]);
    if (c->directory[0] != '\0')
        remove_tree(c->directory);
    free(c->daemons);
    *c = (struct lab_cluster){0};
}

/* ---- faults ports ---- */

bool lab_daemon_fault(const struct lab_daemon *d, const char *command)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(d->faults_port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval timeout = {.tv_sec = FAULT_WAIT_S};
    char line[256], answer[256];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    int size = snprintf(line, sizeof line, "%s\n", command);
    bool good = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                send(fd, line, (size_t)size, MSG_NOSIGNAL) == size &&
                recv(fd, answer, sizeof answer, 0) >= 2 && memcmp(answer, "ok", 2) == 0;
    close(fd);
    return good;
}
