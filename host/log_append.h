/* log_append.h - the end of a log, written in whole blocks.
 *
 * Segment files are open for direct I/O where the file system has it: such a write needs no thread
 * of the kernel's. It comes in whole blocks, so an append that begins within a block writes that
 * block again: the same bytes, then the new ones, then zeros. Nothing that was written is ever
 * written with other bytes, so a torn block loses nothing of it.
 * Not here: which segment, and what is in it (host/log_dir.h, replication/log_record.h). */
#ifndef WEIR_HOST_LOG_APPEND_H
#define WEIR_HOST_LOG_APPEND_H

#include "host/loop.h"

struct log_append {
    int fd; /* of the last append; -1 before the first */
    int64_t end;
    uint8_t tail[WRITE_ALIGNMENT]; /* of the last append, from the block it ends in */
};

void log_append_init(struct log_append *a);

/* Writes `bytes` at `offset`, durably, behind all appends before it. It may begin before those are
 * done if it begins a block. The error of `done` is that of loop_write_sync. Where this goes on
 * within a block, but not from the last append, it first reads that block, while the caller waits.
 */
void log_append(struct log_append *a, struct loop *l, int fd, int64_t offset, struct slice bytes,
                void (*done)(void *context, int error), void *context);

#endif
