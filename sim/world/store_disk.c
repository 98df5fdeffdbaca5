/* store_disk.c - the disk under the store of a simulated node: LMDB itself, and reads and
 * writes that fail. The directory is in /dev/shm if the machine has it, and is named after its
 * process. */
#include "sim/world/store_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/must.h"
#include "base/probe.h"

/* The backing is LMDB's own, with some methods replaced. */
static struct store_disk *store_disk_of(struct backing *b)
{
    return (struct store_disk *)b->methods; /* its first member */
}

/* Returns `status`, or an error if the key cannot be read. */
static enum status store_disk_read(struct backing *b, struct slice key, enum status status)
{
    struct store_disk *m = store_disk_of(b);
    if (m->unreadable_left == 0 || XXH3_64bits(key.data, key.size) % 64 >= m->unreadable)
        return status;
    PROBE("a read of the store fails");
    m->unreadable_left--;
    errno = EIO;
    return m->hides_errors ? STATUS_NOT_FOUND : STATUS_IO;
}

static enum status store_disk_get(struct backing *b, struct slice key, struct slice *value)
{
    return store_disk_read(b, key, store_disk_of(b)->lmdb->get(b, key, value));
}

static enum status store_disk_seek(struct backing *b, struct slice key, bool reverse,
                                   struct backing_change *out)
{
    enum status status = store_disk_of(b)->lmdb->seek(b, key, reverse, out);
    return store_disk_read(b, status == STATUS_OK ? out->key : key, status);
}

static enum status store_disk_step(struct backing *b, bool reverse, struct backing_change *out)
{
    enum status status = store_disk_of(b)->lmdb->step(b, reverse, out);
    return status == STATUS_OK ? store_disk_read(b, out->key, status) : status;
}

static enum status store_disk_write(struct backing *b, const struct backing_batch *batch,
                                    uint64_t *erased_bytes)
{
    struct store_disk *m = store_disk_of(b);
    bool fails = m->fails;
    m->fails = false;
    m->refused = fails || m->full;
    if (m->refused)
        return fails ? STATUS_IO : STATUS_FULL;
    return m->lmdb->write(b, batch, erased_bytes);
}

static enum status store_disk_grow(struct backing *b)
{
    return store_disk_of(b)->refused ? STATUS_FULL : store_disk_of(b)->lmdb->grow(b);
}

static enum status store_disk_snapshot_get(struct backing *b, struct backing_snapshot *s,
                                           struct slice key, struct slice *value)
{
    return store_disk_read(b, key, store_disk_of(b)->lmdb->snapshot_get(b, s, key, value));
}

static enum status store_disk_snapshot_seek(struct backing *b, struct backing_snapshot *s,
                                            struct slice key, bool after,
                                            struct backing_change *out)
{
    return store_disk_read(b, key, store_disk_of(b)->lmdb->snapshot_seek(b, s, key, after, out));
}

/* False: there cannot be a directory, or a sweep came before the lock. */
static bool store_disk_directory_made(struct store_disk *m, const char *place)
{
    snprintf(m->path, sizeof m->path, "%s/weir-sim-%d-XXXXXX", place, (int)getpid());
    if (mkdtemp(m->path) == NULL)
        return false;
    m->lock = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->lock >= 0 && flock(m->lock, LOCK_EX) == 0 && access(m->path, F_OK) == 0)
        return true;
    close(m->lock);
    return false;
}

struct backing *store_disk_open(struct store_disk *m)
{
    struct backing *b;
    if (m->path[0] == '\0') /* /tmp also in the rare case of a sweep */
        must(store_disk_directory_made(m, "/dev/shm") || store_disk_directory_made(m, "/tmp"));
    const struct backing_options options = {.path = m->path,
                                            .map_initial_bytes = m->map_initial_bytes,
                                            .map_max_bytes = m->map_max_bytes};
    must(backing_open_lmdb(&options, &b) == STATUS_OK);
    m->refused = false;
    m->lmdb = b->methods;
    m->methods = *m->lmdb;
    m->methods.get = store_disk_get;
    m->methods.seek = store_disk_seek;
    m->methods.step = store_disk_step;
    m->methods.write = store_disk_write;
    m->methods.grow = store_disk_grow;
    m->methods.snapshot_get = store_disk_snapshot_get;
    m->methods.snapshot_seek = store_disk_snapshot_seek;
    b->methods = &m->methods;
    return b;
}

void store_disk_wipe(struct store_disk *m)
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
    close(m->lock);
    m->path[0] = '\0';
}

void store_disk_sweep(void)
{
    glob_t found;
    if (glob("{/dev/shm,/tmp}/weir-sim-*-*", GLOB_BRACE, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct store_disk m;
        snprintf(m.path, sizeof m.path, "%s", found.gl_pathv[i]);
        m.lock = open(m.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (m.lock >= 0 && flock(m.lock, LOCK_EX | LOCK_NB) == 0)
            store_disk_wipe(&m);
        else if (m.lock >= 0)
            close(m.lock);
    }
    globfree(&found);
}
