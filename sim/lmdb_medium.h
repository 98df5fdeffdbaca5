/* lmdb_medium.h - LMDB itself under a simulated node: a directory that lives as long as the medium.
 *
 * Each commit of LMDB is synchronous: what is committed outlives the process and the machine. In a
 * run, the job of a checkpoint takes no time. So no crash and no loss of power falls into a commit;
 * tests/fault tests that.
 * Not here: full disks, writes and reads that fail (sim/backing_memory.h). */
#ifndef WEIR_SIM_LMDB_MEDIUM_H
#define WEIR_SIM_LMDB_MEDIUM_H

#include "base/config.h"
#include "engine/store/backing.h"

struct lmdb_medium {
    char path[64]; /* owns the directory; empty: none yet */
};

/* Borrows the medium until the backing is closed. */
struct backing *lmdb_medium_open(struct lmdb_medium *m, const struct config *config);
/* Removes directory and data. */
void lmdb_medium_wipe(struct lmdb_medium *m);

#endif
