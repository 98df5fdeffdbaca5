/* log_append.h - the end of a log, written in whole blocks.
 *
 * Segment files are open for direct I/O where the file system has it: such a write needs no thread
 * of the kernel's. It comes in whole blocks, so the block in which the log ends is written again
 * with every append: the same bytes, then the new ones, then zeros. Nothing that was written is
 * ever written with other bytes, so a torn block loses nothing of it.
 * Not here: which segment, and what is in it (host/log_dir.h, replication/log_record.h). */
#ifndef WEIR_HOST_LOG_APPEND_H
#define WEIR_HOST_LOG_APPEND_H

#include "host/loop.h"

struct log_append {
    int fd; /* of the last append; -1 before the first */
    int64_t end;
    uint8_t tail[WRITE_ALIGNMENT]; /* from the block in which the log ends, up to the end */
};

void log_append_init(struct log_append *a);

/* Writes `bytes` at `offset`, durably. One at a time: the next one after `done`, whose error is
 * that of loop_write_sync. Where this does not go on from the last append it first reads the block
 * it begins in, while the caller waits. */
void log_append(struct log_append *a, struct loop *l, int fd, int64_t offset, struct slice bytes,
                void (*done)(void *context, int error), void *context);

#endif
