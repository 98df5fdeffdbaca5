#include "cmd/local_data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "base/settings/replication.h"
#include "base/settings/storage.h"
#include "host/file_lock.h"
#include "host/remove_tree.h"

enum {
    MEMORY_FREE_MIN = 500 * 1024 * 1024,
};

#define MEMORY "/dev/shm"
/* A directory is locked before it has a name that a sweep looks for. */
static const char memory_template[] = MEMORY "/weir-new-XXXXXX";
static const char memory_names[] = MEMORY "/weir-??????";

/* The highest N of the directory's entries node-N; 0: no such entry. */
static uint32_t highest_node(const char *path)
{
    uint32_t highest = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char *end;
        if (strncmp(e->d_name, "node-", 5) != 0 || e->d_name[5] < '1' || e->d_name[5] > '9')
            continue;
        unsigned long id = strtoul(e->d_name + 5, &end, 10);
        if (*end == '\0' && id <= NODES_LIMIT && id > highest)
            highest = (uint32_t)id;
    }
    if (d != NULL)
        closedir(d);
    return highest;
}

/* A node's directory has a LOCK; the directory of `weir local` has none, it holds nodes. */
static bool is_node(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is = directory >= 0 && faccessat(directory, "LOCK", F_OK, 0) == 0;
    if (directory >= 0)
        close(directory);
    return is;
}

/* ---- memory ---- */

/* Locks a file or directory that is there. -1: it cannot be opened, or a process has it locked. */
static int lock_at(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || file_lock_take(fd, 0, NULL, NULL) == STATUS_OK)
        return fd;
    close(fd);
    return -1;
}

/* Removes what killed processes have left. A living process has its directory locked, and, from the
 * time of its first node on, that node's LOCK, as all versions have. */
static void memory_sweep(void)
{
    glob_t found;
    if (glob(memory_names, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char node[64];
        snprintf(node, sizeof node, "%s/node-1/LOCK", found.gl_pathv[i]);
        int directory = lock_at(found.gl_pathv[i]), first = lock_at(node);
        if (directory >= 0 && first >= 0 && remove_tree(found.gl_pathv[i]))
            fprintf(stderr, "weir local: removed %s, which a killed process had left\n",
                    found.gl_pathv[i]);
        if (directory >= 0)
            close(directory);
        if (first >= 0)
            close(first);
    }
    globfree(&found);
}

/* Containers make /dev/shm small: 64 MB is usual. */
static void memory_check_free(void)
{
    struct statvfs s;
    if (statvfs(MEMORY, &s) != 0)
        return;
    const uint64_t free_bytes = (uint64_t)s.f_bavail * s.f_frsize;
    const uint64_t all_bytes = (uint64_t)s.f_blocks * s.f_frsize;
    if (free_bytes < MEMORY_FREE_MIN)
        fprintf(stderr,
                "weir local: " MEMORY
                " has %llu MiB free of %llu MiB. --in-memory keeps all data there and needs %d MiB "
                "free: writes will be refused early. In a container, increase the space with "
                "--shm-size, e.g. docker run --shm-size 1g, or use --data DIR\n",
                (unsigned long long)(free_bytes / MIB), (unsigned long long)(all_bytes / MIB),
                (int)(MEMORY_FREE_MIN / MIB));
}

/* Makes a locked directory. False with errno set. */
static bool memory_make(struct local_data *out)
{
    char made[sizeof memory_template];
    memcpy(made, memory_template, sizeof made);
    if (mkdtemp(made) == NULL)
        return false;
    snprintf(out->path, sizeof out->path, MEMORY "/weir-%s", strrchr(made, '-') + 1);
    out->lock = lock_at(made);
    out->in_memory = out->lock >= 0 && rename(made, out->path) == 0;
    if (!out->in_memory)
        rmdir(made);
    return out->in_memory;
}

static enum status open_memory(struct options *o, struct local_data *out, struct buffer *error)
{
    if (o->data != NULL)
        return buffer_explain(error, STATUS_MALFORMED, "give --data or --in-memory, not both");
    memory_sweep();
    memory_check_free();
    if (!memory_make(out))
        return buffer_explain(error, STATUS_IO,
                              "--in-memory: cannot create a directory in " MEMORY ": %s",
                              strerror(errno));
    /* Every node has several segments from the start, and memory is scarcer than disk. */
    if (config_replication(&o->config)->follower_max_bytes <= 8 * MIB)
        config_edit_storage(&o->config)->log_segment_bytes = 8 * MIB;
    return STATUS_OK;
}

enum status local_data_open(struct options *o, struct local_data *out, struct buffer *error)
{
    *out = (struct local_data){.lock = -1};
    if (o->replicas_given && config_replication(&o->config)->replicas > o->nodes)
        return buffer_explain(
            error, STATUS_MALFORMED,
            "--replicas %lld needs as many nodes: start with --nodes %lld, or with --replicas %u",
            (long long)config_replication(&o->config)->replicas,
            (long long)config_replication(&o->config)->replicas, o->nodes);
    if (o->in_memory)
        return open_memory(o, out, error);
    if (o->data == NULL)
        o->data = "weir-data";
    if (strlen(o->data) >= sizeof out->path)
        return buffer_explain(error, STATUS_MALFORMED,
                              "--data: the path has %zu bytes; the maximum is %zu", strlen(o->data),
                              sizeof out->path - 1);
    memcpy(out->path, o->data, strlen(o->data) + 1);
    out->made = mkdir(o->data, DIRECTORY_MODE_PRIVATE) == 0;
    if (!out->made && errno != EEXIST)
        return buffer_explain(error, STATUS_IO, "cannot create %s: %s", o->data, strerror(errno));
    if (is_node(o->data))
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s is the directory of one node: it has a LOCK. Name the directory "
                              "of all nodes, or an empty one, with --data",
                              o->data);
    uint32_t held = highest_node(o->data);
    if (held <= o->nodes)
        return STATUS_OK;
    return buffer_explain(
        error, STATUS_MALFORMED,
        "%s holds nodes 1 to %u: start with --nodes %u, or name another directory with --data",
        o->data, held, held);
}

void local_data_discard(struct local_data *d)
{
    if (d->made)
        rmdir(d->path);
    local_data_close(d);
}

void local_data_close(struct local_data *d)
{
    if (!d->in_memory)
        return;
    if (!remove_tree(d->path))
        fprintf(stderr, "weir local: cannot remove %s: %s\n", d->path, strerror(errno));
    close(d->lock);
    d->in_memory = false;
}

void local_data_describe(const struct options *o, const struct local_data *d)
{
    unsigned replicas = config_replication(&o->config)->replicas < o->nodes
                            ? (unsigned)config_replication(&o->config)->replicas
                            : (unsigned)o->nodes;
    char *whole = realpath(d->path, NULL);
    printf("weir local: %u node%s, %u replica%s of each new partition, data in %s%s\n", o->nodes,
           o->nodes == 1 ? "" : "s", replicas, replicas == 1 ? "" : "s",
           whole != NULL ? whole : d->path,
           d->in_memory ? " (in memory, removed when weir ends)" : "");
    free(whole);
}
