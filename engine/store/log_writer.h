/* log_writer.h - the writing end of a node's shared log: records in, batches out.
 *
 * Everything appended while as many batches as may be are on their way to the disk goes out with
 * the next one: group commit by itself, without a timer. A record is durable once the log is
 * written up to its end, whatever of what follows it is on disk already.
 *
 * Invariants: W1 batches in flight lie in one segment, and no two in one block of it. W2 a batch
 * lies in one segment. W3 a batch that failed is never written again: the owner stops. */
#ifndef WEIR_ENGINE_STORE_LOG_WRITER_H
#define WEIR_ENGINE_STORE_LOG_WRITER_H

#include <sys/queue.h>

#include "replication/log_record.h"

enum {
    LOG_BATCH_SIZE_MAX = 4 * 1024 * 1024
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

/* Goes on at `next_lsn`, which recovery found to be the end. 0 < `in_flight_max` <= LOG_WRITES_MAX.
 */
void log_writer_init(struct log_writer *w, uint32_t node, uint32_t in_flight_max,
                     uint64_t segment_bytes, uint64_t next_lsn);
void log_writer_deinit(struct log_writer *w);

/* The record's end: it is durable once the log is up to there. */
uint64_t log_writer_append(struct log_writer *w, enum log_kind kind, uint32_t group, uint64_t term,
                           uint64_t index, struct slice payload);

/* The next batch to write now, if there is one and it may join those in flight: it is as large as
 * the first of them. It stays put until log_writer_written; `lsn` tells segment (lsn /
 * segment_bytes) and offset. */
const struct log_batch *log_writer_next(struct log_writer *w);

/* The batch in flight that begins at `lsn` is on disk: moves `written_lsn` as far as all is. */
void log_writer_written(struct log_writer *w, uint64_t lsn);

#endif
