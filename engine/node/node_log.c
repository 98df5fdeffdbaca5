/* node_log.c - the free space in the node's log. */
#include "engine/node/node_log.h"

enum {
    /* Space that proposals and entries leave free for terms and votes. */
    LOG_RESERVE = 64 * 1024
};

bool node_log_has_space(const struct node_log *log, size_t bytes)
{
    return log->env->stop_error == 0 &&
           log->writer.next_lsn + log_record_size(bytes) + 4 * LOG_HEADER_SIZE + LOG_RESERVE <=
               log->space_end;
}
