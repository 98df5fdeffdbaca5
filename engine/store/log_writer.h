/* log_writer.h - the writing end of a node's shared log: records in, batches out.
 *
 * Everything appended while a batch is on its way to the disk goes out with the next one: group
 * commit by itself, without a timer. A record is durable once log_writer_written has reported its
 * batch. Records of a written batch are handed back, in order, to be applied.
 *
 * Invariants: W1 one batch is in flight at most. W2 a batch lies in one segment. W3 a batch that
 * failed is never written again: the owner stops. */
#ifndef WEIR_ENGINE_STORE_LOG_WRITER_H
#define WEIR_ENGINE_STORE_LOG_WRITER_H

#include "replication/log_record.h"

enum {
    LOG_BATCH_SIZE_MAX = 4 * 1024 * 1024
};

/* Bytes that go to the disk in one write. */
struct log_batch {
    struct log_batch *next;
    uint64_t lsn; /* of the first byte */
    struct buffer bytes;
};

struct log_writer {
    uint32_t node;
    uint64_t segment_bytes;
    uint64_t next_lsn;
    uint64_t written_lsn;    /* everything before it is durable */
    size_t unwritten_bytes;  /* appended, not yet durable */
    struct log_batch *first; /* owns the chain; the head is in flight if `in_flight` */
    struct log_batch *last;
    struct log_batch *spare; /* owns; a batch whose memory is used again */
    bool in_flight;
};

/* Goes on at `next_lsn`, which recovery found to be the end. */
void log_writer_init(struct log_writer *w, uint32_t node, uint64_t segment_bytes,
                     uint64_t next_lsn);
void log_writer_deinit(struct log_writer *w);

/* The record's end: it is durable once the log is up to there. */
uint64_t log_writer_append(struct log_writer *w, enum log_kind kind, uint32_t group, uint64_t term,
                           uint64_t index, struct slice payload);

/* The batch to write now, if there is one and none is in flight. It stays put until
 * log_writer_written; `lsn` tells segment (lsn / segment_bytes) and offset. */
const struct log_batch *log_writer_next(struct log_writer *w);

/* The batch in flight is on disk: returns it for reading its records; then release it. */
const struct log_batch *log_writer_written(struct log_writer *w);
void log_writer_release(struct log_writer *w);

#endif
