/* local_data.h - the directory of `weir local`: which nodes it holds, and one that is kept in
 * memory.
 *
 * In-memory data are real files, on the tmpfs of /dev/shm: logs and LMDB as on a disk, but nothing
 * outlives the process. A process that is killed leaves the directory behind. */
#ifndef WEIR_CMD_LOCAL_DATA_H
#define WEIR_CMD_LOCAL_DATA_H

#include "cmd/options.h"

struct local_data {
    char path[4000];
    bool in_memory; /* the directory is removed at the end */
};

/* Makes the directory. STATUS_MALFORMED: the directory holds more nodes than are asked for, or the
 * nodes are fewer than --replicas; STATUS_IO. `error` tells what to do. */
enum status local_data_open(struct options *o, struct local_data *out, struct buffer *error);
/* Removes what was in memory. All nodes are closed. */
void local_data_close(struct local_data *d);

/* One line on standard output: how many nodes and replicas, and where the data is. */
void local_data_describe(const struct options *o, const struct local_data *d);

#endif
