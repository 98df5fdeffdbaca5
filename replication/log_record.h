/* log_record.h - one record of a node's shared log, as bytes, and a reader that tells a torn tail
 * from damage.
 *
 * The log is an endless run of bytes; a log sequence number (lsn) is a position in it. It is cut
 * into segments of equal size, each a file. One durable write (a batch) covers whole records of one
 * segment. A few may be on their way at once, all in one segment and none in a block of another:
 * then a batch skips to the next block, and its first record tells how much.
 *
 *   RECORD-1  A record says how far the log was on disk when it was written: what cannot be read
 *             before that point is damage, what cannot be read behind it may be torn.
 *   RECORD-2  A segment starts with a LOG_SEGMENT record; all but the last end with LOG_END.
 *   RECORD-3  A record knows its own lsn: what a recycled file held before is never taken for one.
 *             What torn batches left behind the end is zeroed before the log goes on.
 *
 * Not here: files (host), what payloads mean (engine/node). */
#ifndef WEIR_REPLICATION_LOG_RECORD_H
#define WEIR_REPLICATION_LOG_RECORD_H

#include "base/buffer.h"

enum log_kind {
    LOG_SEGMENT = 1,   /* first of a segment: payload = u64 segment size, u32 node */
    LOG_END = 2,       /* last of a segment */
    LOG_WRITE = 3,     /* a put or delete of one item */
    LOG_PARTITION = 4, /* the node holds this partition from here on, with this range and rate */
    LOG_PARTITION_CLOSE = 5,
    LOG_CATALOG = 6,     /* a command of group 0 */
    LOG_NOOP = 7,        /* a leader's first entry of a term */
    LOG_MEMBERS = 8,     /* who is in the group from here on: raft_members_encode */
    LOG_HARD_STATE = 9,  /* not an entry: the group's term, and its vote in `index` */
    LOG_NODE = 10,       /* the node's generation, in `index`; payload: u64, support it gives, ns */
    LOG_SPLIT = 11,      /* an entry: the partition is cut here, what is beyond is its children's */
    LOG_SPLIT_DONE = 12, /* the node has applied the group's entry `index`, by which it was cut or
                            has taken over another one: records of the children follow */
    LOG_BUCKETS = 13,    /* what buckets held: engine/node/buckets.c */
    LOG_MERGE = 14,      /* an entry: a step of a merge with the partition below or above */
    LOG_KINDS,
};

enum {
    LOG_HEADER_SIZE = 56,
    LOG_BLOCK_SIZE = 4096,                  /* of a disk: what is written at once, whole or torn */
    LOG_WRITES_MAX = 4,                     /* batches on their way at once, at most */
    LOG_PAYLOAD_SIZE_MAX = 2 * 1024 * 1024, /* an item, its key, and room */
};

struct log_record {
    uint64_t lsn;
    uint64_t durable_lsn; /* the log was on disk up to here when this was written */
    uint32_t gap;         /* bytes skipped before it, up to the start of a block */
    enum log_kind kind;
    uint32_t group;
    uint64_t term;
    uint64_t index;
    struct slice payload; /* borrows */
};

/* Bytes a record with this payload takes, padding included. */
static inline size_t log_record_size(size_t payload)
{
    return LOG_HEADER_SIZE + ((payload + 7) & ~(size_t)7);
}

/* Bytes from this offset in a segment to the next start of a block; 0: it is one. */
static inline size_t log_block_gap(uint64_t offset)
{
    return (LOG_BLOCK_SIZE - offset % LOG_BLOCK_SIZE) % LOG_BLOCK_SIZE;
}

/* Appends the record, unsealed. Its payload may be given in two parts, to spare a copy. */
void log_record_append(struct buffer *out, const struct log_record *r, struct slice head,
                       struct slice tail);

/* Just before records are written: says in each how far the log is on disk, and sums it up. */
void log_records_seal(struct buffer *records, uint64_t durable_lsn);

/* Reads the record at the start of `bytes`, which is expected at `lsn`. STATUS_MALFORMED: there is
 * no whole, valid record with that lsn here. `size` gets the bytes it takes. */
enum status log_record_read(struct slice bytes, uint64_t lsn, struct log_record *out, size_t *size);

/* Reads a segment record by record. */
struct log_segment_reader {
    struct slice bytes; /* the whole segment file, borrows */
    uint64_t start;     /* lsn of its first byte */
    size_t at;
    uint64_t durable_lsn; /* of the record read last */
    bool ended;           /* LOG_END was read */
};

/* STATUS_OK: a record; STATUS_NOT_FOUND: the end, clean or torn (`r->ended` tells);
 * STATUS_CORRUPT: what cannot be read here was once on disk (RECORD-1). */
enum status log_segment_next(struct log_segment_reader *r, struct log_record *out);

#endif
