/* medium.c - the disk under the store of a simulated node: LMDB itself, and reads and writes that
 * fail. The directory is in /dev/shm if the machine has it, and is named after its process. */
#include "sim/medium.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/must.h"
#include "base/probe.h"

struct medium_backing {
    struct backing backing; /* first */
    struct backing *lmdb;   /* owns */
    struct medium *medium;  /* borrows */
    bool refused;           /* the medium has refused the last write */
};

static struct medium_backing *medium_of(struct backing *b)
{
    return (struct medium_backing *)b;
}

static const struct backing_methods *lmdb_methods(struct backing *b)
{
    return medium_of(b)->lmdb->methods;
}

/* Returns `status`, or an error if the key cannot be read. */
static enum status medium_read(struct backing *b, struct slice key, enum status status)
{
    struct medium *m = medium_of(b)->medium;
    if (m->unreadable_left == 0 || XXH3_64bits(key.data, key.size) % 64 >= m->unreadable)
        return status;
    PROBE("a read of the store fails");
    m->unreadable_left--;
    errno = EIO;
    return m->hides_errors ? STATUS_NOT_FOUND : STATUS_IO;
}

static void medium_close(struct backing *b)
{
    lmdb_methods(b)->close(medium_of(b)->lmdb);
    free(b);
}

static struct backing_info medium_info(struct backing *b)
{
    return lmdb_methods(b)->info(medium_of(b)->lmdb);
}

static enum status medium_get(struct backing *b, struct slice key, struct slice *value)
{
    return medium_read(b, key, lmdb_methods(b)->get(medium_of(b)->lmdb, key, value));
}

static enum status medium_seek(struct backing *b, struct slice key, bool reverse,
                               struct backing_change *out)
{
    enum status status = lmdb_methods(b)->seek(medium_of(b)->lmdb, key, reverse, out);
    return medium_read(b, status == STATUS_OK ? out->key : key, status);
}

static enum status medium_step(struct backing *b, bool reverse, struct backing_change *out)
{
    enum status status = lmdb_methods(b)->step(medium_of(b)->lmdb, reverse, out);
    return status == STATUS_OK ? medium_read(b, out->key, status) : status;
}

static enum status medium_refresh(struct backing *b)
{
    return lmdb_methods(b)->refresh(medium_of(b)->lmdb);
}

static enum status medium_write(struct backing *b, const struct backing_batch *batch,
                                uint64_t *erased_bytes)
{
    struct medium_backing *at = medium_of(b);
    bool fails = at->medium->fails;
    at->medium->fails = false;
    at->refused = fails || at->medium->full;
    if (at->refused)
        return fails ? STATUS_IO : STATUS_FULL;
    return lmdb_methods(b)->write(at->lmdb, batch, erased_bytes);
}

static enum status medium_grow(struct backing *b)
{
    return medium_of(b)->refused ? STATUS_FULL : lmdb_methods(b)->grow(medium_of(b)->lmdb);
}

static enum status medium_snapshot_open(struct backing *b, struct backing_snapshot **out)
{
    return lmdb_methods(b)->snapshot_open(medium_of(b)->lmdb, out);
}

static void medium_snapshot_close(struct backing *b, struct backing_snapshot *s)
{
    lmdb_methods(b)->snapshot_close(medium_of(b)->lmdb, s);
}

static enum status medium_snapshot_get(struct backing *b, struct backing_snapshot *s,
                                       struct slice key, struct slice *value)
{
    return medium_read(b, key, lmdb_methods(b)->snapshot_get(medium_of(b)->lmdb, s, key, value));
}

static enum status medium_snapshot_seek(struct backing *b, struct backing_snapshot *s,
                                        struct slice key, bool after, struct backing_change *out)
{
    return medium_read(b, key,
                       lmdb_methods(b)->snapshot_seek(medium_of(b)->lmdb, s, key, after, out));
}

static void medium_touch(struct backing *b, struct slice key, bool reverse, uint64_t bytes)
{
    lmdb_methods(b)->touch(medium_of(b)->lmdb, key, reverse, bytes);
}

static void medium_directory_make(struct medium *m)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && m->path[0] == '\0'; i++) {
        snprintf(m->path, sizeof m->path, "%s/weir-sim-%d-XXXXXX", places[i], (int)getpid());
        if (mkdtemp(m->path) == NULL)
            m->path[0] = '\0';
    }
    must(m->path[0] != '\0');
}

struct backing *medium_open(struct medium *m)
{
    static const struct backing_methods methods = {
        .close = medium_close,
        .info = medium_info,
        .get = medium_get,
        .seek = medium_seek,
        .step = medium_step,
        .refresh = medium_refresh,
        .write = medium_write,
        .grow = medium_grow,
        .snapshot_open = medium_snapshot_open,
        .snapshot_close = medium_snapshot_close,
        .snapshot_get = medium_snapshot_get,
        .snapshot_seek = medium_snapshot_seek,
        .touch = medium_touch,
    };
    if (m->path[0] == '\0')
        medium_directory_make(m);
    const struct backing_options options = {m->path, m->map_initial_bytes, m->map_max_bytes};
    struct medium_backing *b = must_calloc(1, sizeof *b);
    b->backing.methods = &methods;
    b->medium = m;
    must(backing_open_lmdb(&options, &b->lmdb) == STATUS_OK);
    return &b->backing;
}

void medium_wipe(struct medium *m)
{
    static const char *const files[] = {"data.mdb", "lock.mdb"};
    char path[sizeof m->path + 16];
    if (m->path[0] == '\0')
        return;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", m->path, files[i]);
        unlink(path);
    }
    rmdir(m->path);
    m->path[0] = '\0';
}

void medium_sweep(void)
{
    glob_t found;
    if (glob("{/dev/shm,/tmp}/weir-sim-*-*", GLOB_BRACE, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct medium m;
        const long pid = strtol(strstr(found.gl_pathv[i], "weir-sim-") + 9, NULL, 10);
        snprintf(m.path, sizeof m.path, "%s", found.gl_pathv[i]);
        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            medium_wipe(&m);
    }
    globfree(&found);
}
