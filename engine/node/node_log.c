/* node_log.c - the one log of a node, and the room there is in it. */
#include "engine/node/node_log.h"

enum {
    /* Space that proposals and entries leave for terms and votes. */
    LOG_RESERVE = 64 * 1024
};

bool node_log_has_space(const struct node_log *log, size_t bytes)
{
    return log->env->stop_error == 0 &&
           log->writer.next_lsn + log_record_size(bytes) + 4 * LOG_HEADER_SIZE + LOG_RESERVE <=
               log->space_end;
}
