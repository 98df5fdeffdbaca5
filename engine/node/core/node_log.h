/* node_log.h - the single log of a node, and the free space in it and in the store. */
#pragma once

#include "engine/node/core/env.h"

struct node_log {
    struct node_env *env;
    struct log_writer writer;
    uint64_t space_end;    /* segments exist up to here */
    int segment_error;     /* errno of the last attempt to make a segment; 0: success, or none */
    bool map_full;         /* the last checkpoint found no room in the store */
    bool space_refused;    /* a write was refused for want of space since the last checkpoint began:
                              the next one shows whether there is space */
    uint64_t refused_full; /* requests, since the node's start, as the next one */
    uint64_t refused_waiting; /* until a checkpoint shows whether there is space */
    uint64_t local_lsn;    /* own records before it are in the store: where the log was durable to
                              at the last checkpoint */
    uint64_t relogged_lsn; /* no checkpoint before the log is durable up to here */
    uint64_t replay_lsn;   /* before the start: of the record being replayed */
};

enum {
    LOG_RESERVE = 64 * 1024 /* proposals and entries leave this free for terms and votes */
};

/* Whether the log has space for an entry of replication with `bytes` of payload. */
static inline bool node_log_has_space(const struct node_log *log, size_t bytes)
{
    return log->env->stop_error == 0 &&
           log->writer.next_lsn + log_record_size(bytes) + 4 * LOG_HEADER_SIZE + LOG_RESERVE <=
               log->space_end;
}
