/* log_writer.h - the writing end of a node's shared log: records in, batches out.
 *
 * At most `in_flight_max` batches are written at once. Records that are appended meanwhile form the
 * next batch: group commit without a timer. A record is durable once the log is written up to the
 * record's end. Later bytes may be on disk before that.
 *
 * Invariants
 *   WRITER-1  Batches in flight lie in one segment, and no two of them share a block.
 *   WRITER-2  A batch lies in one segment.
 *   WRITER-3  A batch is written once. After a batch that failed the owner stops. */
#pragma once

#include <sys/queue.h>

#include "replication/log_record.h"

enum {
    LOG_BATCH_SIZE_MAX = 5 * 1024 * 1024
};

/* Bytes that go to the disk in one write. */
struct log_batch {
    TAILQ_ENTRY(log_batch) place;
    uint64_t lsn; /* of the first byte */
    uint32_t gap; /* bytes skipped before it */
    bool in_flight;
    bool written;
    struct buffer bytes;
};

struct log_writer {
    uint32_t node;
    uint32_t in_flight_max;
    uint64_t segment_bytes;
    uint64_t next_lsn;
    uint64_t written_lsn;                       /* everything before it is durable */
    size_t unwritten_bytes;                     /* appended, not yet durable */
    TAILQ_HEAD(log_batches, log_batch) batches; /* owns; the first `in_flight` are on their way */
    struct log_batch *spare;                    /* owns; a batch whose memory is used again */
    uint32_t in_flight;
};

/* Goes on at `next_lsn`, the end of the log as recovery found it. 0 < `in_flight_max` <=
 * LOG_WRITES_MAX. */
void log_writer_init(struct log_writer *w, uint32_t node, uint32_t in_flight_max,
                     uint64_t segment_bytes, uint64_t next_lsn);
void log_writer_deinit(struct log_writer *w);

/* Returns the record's end: the record is durable once the log is durable up to there. */
uint64_t log_writer_append(struct log_writer *w, enum log_kind kind, uint32_t group, uint64_t term,
                           uint64_t index, struct slice payload);

/* The next batch to write now. NULL: no batch, or it may not join the batches in flight. To join,
 * it must be at least as large as the first of them, and in the same segment. It stays valid until
 * log_writer_written. Its segment is lsn / segment_bytes. */
const struct log_batch *log_writer_next(struct log_writer *w);

/* The batch in flight that begins at `lsn` is on disk. Moves `written_lsn` to the first byte that
 * is not on disk. */
void log_writer_written(struct log_writer *w, uint64_t lsn);
