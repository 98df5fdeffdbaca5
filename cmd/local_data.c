#include "cmd/local_data.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/settings/replication.h"
#include "base/settings/storage.h"

enum {
    DEPTH_MAX = 16 /* directories open at once while a tree is removed */
};

static const char memory_template[] = "/dev/shm/weir-XXXXXX";

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

static enum status open_memory(struct options *o, struct local_data *out, struct buffer *error)
{
    if (o->data != NULL)
        return buffer_explain(error, STATUS_MALFORMED, "give --data or --in-memory, not both");
    memcpy(out->path, memory_template, sizeof memory_template);
    if (mkdtemp(out->path) == NULL)
        return buffer_explain(error, STATUS_IO,
                              "--in-memory: cannot create a directory in /dev/shm: %s",
                              strerror(errno));
    out->in_memory = true;
    /* Every node has several segments from the start, and memory is scarcer than disk. */
    if (config_replication(&o->config)->follower_max_bytes <= 8 * MIB)
        config_edit_storage(&o->config)->log_segment_bytes = 8 * MIB;
    return STATUS_OK;
}

enum status local_data_open(struct options *o, struct local_data *out, struct buffer *error)
{
    *out = (struct local_data){0};
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
        return buffer_explain(error, STATUS_MALFORMED, "--data: the path is too long");
    memcpy(out->path, o->data, strlen(o->data) + 1);
    if (mkdir(o->data, 0755) != 0 && errno != EEXIST)
        return buffer_explain(error, STATUS_IO, "cannot create %s: %s", o->data, strerror(errno));
    uint32_t held = highest_node(o->data);
    if (held <= o->nodes)
        return STATUS_OK;
    return buffer_explain(
        error, STATUS_MALFORMED,
        "%s holds nodes 1 to %u: start with --nodes %u, or name another directory with --data",
        o->data, held, held);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

void local_data_close(struct local_data *d)
{
    if (d->in_memory && nftw(d->path, remove_one, DEPTH_MAX, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "weir local: cannot remove %s: %s\n", d->path, strerror(errno));
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
