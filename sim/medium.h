/* medium.h - the disk under the store of a simulated node: LMDB itself, and reads and writes that
 * fail.
 *
 * What LMDB has committed outlives the process and the machine: each commit is synchronous. A run
 * does the work of a checkpoint at one moment, so neither a crash nor a loss of power falls into a
 * commit (tests/fault does that).
 * Not here: how long a write takes (sim/node_process); the log (sim/disk). */
#ifndef WEIR_SIM_MEDIUM_H
#define WEIR_SIM_MEDIUM_H

#include "engine/store/backing.h"

struct medium {
    char path[64]; /* owns the directory; empty: none yet */
    uint64_t map_initial_bytes;
    uint64_t map_max_bytes;
    bool full;                /* writes find no space */
    bool fails;               /* the next write fails */
    uint32_t unreadable;      /* so many of 64 keys cannot be read, by their hash */
    uint32_t unreadable_left; /* until so many reads have failed */
    bool hides_errors;        /* a mistake, to show that it is found: a failed read finds nothing */
};

/* Borrows the medium until the backing is closed. */
struct backing *medium_open(struct medium *m);
/* Removes directory and data. */
void medium_wipe(struct medium *m);

#endif
