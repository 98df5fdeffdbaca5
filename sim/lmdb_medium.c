/* lmdb_medium.c - LMDB itself under a simulated node, in /dev/shm if the machine has it. */
#include "sim/lmdb_medium.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/must.h"

static void medium_directory_make(struct lmdb_medium *m)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && m->path[0] == '\0'; i++) {
        snprintf(m->path, sizeof m->path, "%s/weir-sim-XXXXXX", places[i]);
        if (mkdtemp(m->path) == NULL)
            m->path[0] = '\0';
    }
    must(m->path[0] != '\0');
}

struct backing *lmdb_medium_open(struct lmdb_medium *m, const struct config *config)
{
    struct backing *b;
    if (m->path[0] == '\0')
        medium_directory_make(m);
    const struct backing_options options = {m->path, (uint64_t)config->map_initial_bytes,
                                            (uint64_t)config->map_max_bytes};
    must(backing_open_lmdb(&options, &b) == STATUS_OK);
    return b;
}

void lmdb_medium_wipe(struct lmdb_medium *m)
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
