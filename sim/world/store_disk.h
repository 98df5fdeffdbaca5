/* store_disk.h - the disk under the store of a simulated node: LMDB itself, and reads and writes
 * that fail.
 *
 * Each commit of LMDB is synchronous: what is committed outlives the process and the machine. A
 * checkpoint waits for some virtual time (node_process.h), but its commit takes none. So no crash
 * and no loss of power falls into a commit; tests/fault tests that.
 * Not here: how long a write takes (node_process.h), and the log (log_disk.h). */
#pragma once

#include "engine/store/backing.h"

struct store_disk {
    struct backing_methods methods;     /* first; of the open backing */
    const struct backing_methods *lmdb; /* borrows */
    char path[64];                      /* owns the directory; empty: none yet */
    int lock;                           /* of the directory: its process is alive */
    uint64_t map_initial_bytes;
    uint64_t map_max_bytes;
    bool full;                /* writes find no space */
    bool fails;               /* the next write fails */
    bool refused;             /* the last write was refused */
    uint32_t unreadable;      /* of 64 keys, this many cannot be read; a hash chooses them */
    uint32_t unreadable_left; /* reads that still fail; then all keys can be read */
    bool hides_errors;        /* a planted mutation: a failed read finds nothing */
};

/* Borrows the disk until the backing is closed. */
struct backing *store_disk_open(struct store_disk *m);
/* Removes directory and data. */
void store_disk_wipe(struct store_disk *m);
/* Removes the directories and data of processes that are gone. */
void store_disk_sweep(void);
