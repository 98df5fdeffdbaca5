/* log_append.h - the end of a log, written in whole blocks.
 *
 * Segment files are open for direct I/O where the file system supports it. Such a write needs no
 * kernel thread, but its size must be whole blocks. An append that begins within a block writes
 * that block again: the same bytes, the new bytes, then zeros. Written bytes are never overwritten
 * with different bytes, so a torn block loses none of them.
 * Not here: which segment, and its content (host/log_dir.h, replication/log_record.h). */
#pragma once

#include "host/loop.h"

struct log_append {
    int fd; /* of the last append; -1 before the first */
    int64_t end;
    uint8_t tail[WRITE_ALIGNMENT]; /* the last block of the last append */
};

void log_append_init(struct log_append *a);

/* Writes `bytes` at `offset`, durably, after all earlier appends. An append that begins a block may
 * begin before earlier appends are done. The error of `done` is the error of loop_write_sync. An
 * append within a block that does not continue the last append reads that block first, and the
 * caller waits. */
void log_append(struct log_append *a, struct loop *l, int fd, int64_t offset, struct slice bytes,
                void (*done)(void *context, int error), void *context);
