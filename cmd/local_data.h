/* local_data.h - the directory of `weir local`: its nodes, and directories in memory.
 *
 * In-memory data are real files on the tmpfs of /dev/shm: logs and LMDB as on a disk. The process
 * removes them at its end. A killed process leaves the directory behind: the next start with
 * --in-memory removes it. */
#pragma once

#include "cmd/options.h"

struct local_data {
    char path[4000];
    bool made;      /* the directory was missing */
    bool in_memory; /* the directory is removed at the end */
    int lock;       /* of a directory in memory, held while the process lives */
};

/* Makes the directory. STATUS_MALFORMED: the directory holds more nodes than are asked for, or the
 * nodes are fewer than --replicas; STATUS_IO. `error` tells what to do. */
enum status local_data_open(struct options *o, struct local_data *out, struct buffer *error);
/* Removes a directory in memory. All nodes must be closed. */
void local_data_close(struct local_data *d);
/* The same after a failed start: also removes a directory that was made, and is empty. */
void local_data_discard(struct local_data *d);

/* One line on standard output: the count of nodes and replicas, and the place of the data. */
void local_data_describe(const struct options *o, const struct local_data *d);
