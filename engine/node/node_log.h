/* node_log.h - the one log of a node, and the room there is in it. */
#ifndef WEIR_ENGINE_NODE_NODE_LOG_H
#define WEIR_ENGINE_NODE_NODE_LOG_H

#include "engine/node/env.h"

struct node_log {
    struct node_env *env;
    struct log_writer writer;
    uint64_t space_end; /* segments exist up to here */
    bool disk_full;
    int error;             /* why no segment can be made, where it is not for lack of space */
    bool map_full;         /* the last checkpoint found no room in the store */
    uint64_t local_lsn;    /* own records before it are in the store: where the log was durable to
                              at the last checkpoint */
    uint64_t relogged_lsn; /* no checkpoint before the log is durable up to here */
    uint64_t replay_lsn;   /* before the start: of the record being replayed */
};

/* Room in the log for what replication must write: `bytes` of payload. */
bool node_log_has_space(const struct node_log *log, size_t bytes);

#endif
