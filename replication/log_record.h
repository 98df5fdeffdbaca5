/* log_record.h - the bytes of one record of a node's shared log, and a reader that distinguishes a
 * torn tail from damage.
 *
 * The log is an endless run of bytes; a log sequence number (lsn) is a position in it. The log is
 * split into segments of equal size, each a file. One durable write (a batch) covers whole records
 * of one segment. Up to LOG_WRITES_MAX batches may be in flight, all in one segment. No two of them
 * share a block: a batch skips to the next block, and its first record tells the gap.
 *
 *   RECORD-1  A record says how far the log was on disk when the record was written. Unreadable
 *             bytes before that point are damage; unreadable bytes behind it may be torn.
 *   RECORD-2  A segment starts with a LOG_SEGMENT record; all but the last end with LOG_END.
 *   RECORD-3  A record contains its own lsn, so old bytes of a recycled file are never taken for a
 *             record. Remains of torn batches behind the end are zeroed before the log goes on.
 *
 * Not here: files (host), the meaning of payloads (engine/node). */
#pragma once

#include "base/buffer.h"

enum log_kind {
    LOG_SEGMENT = 1,   /* first of a segment: payload = u64 segment size, u32 node */
    LOG_END = 2,       /* last of a segment */
    LOG_WRITE = 3,     /* a put or delete of one item */
    LOG_PARTITION = 4, /* the node holds this partition from here on; range and rate */
    LOG_PARTITION_CLOSE = 5,
    LOG_CATALOG = 6,    /* a command of group 0 */
    LOG_NOOP = 7,       /* a leader's first entry of a term */
    LOG_MEMBERS = 8,    /* the group's members from here on: raft_members_encode */
    LOG_HARD_STATE = 9, /* not an entry: the group's term, and its vote in `index` */
    LOG_NODE = 10,      /* the node's generation in `index`; payload: u64, support given, ns */
    LOG_SPLIT = 11,     /* an entry: the partition is split; its children get the upper keys */
    /* The node has applied the entry `index`, a split or an absorb: records of the children
     * follow. */
    LOG_SPLIT_DONE = 12,
    LOG_BUCKETS = 13, /* the balances of buckets: engine/node/replica/bucket_mirrors.c */
    LOG_MERGE = 14,   /* an entry: a step of a merge with the partition below or above */
    LOG_INDEXES =
        15, /* an entry: what partitions of the table know of it from here on: u32 version,
                       * the attribute by which items expire (sized), stream_latest, u64 version of
                       * sharded keys, index_set */
    LOG_KINDS,
};

enum {
    LOG_HEADER_SIZE = 56,
    LOG_BLOCK_SIZE = 4096, /* of a disk: a smaller write is never torn apart */
    LOG_WRITES_MAX = 4,    /* the most batches in flight */
    /* An item, the item before, which a stream shows, their key, and a reserve. */
    LOG_PAYLOAD_SIZE_MAX = 4352 * 1024,
};

struct log_record {
    uint64_t lsn;
    uint64_t durable_lsn; /* the log was on disk up to here when the record was written */
    uint32_t gap;         /* bytes skipped before the record, up to the start of a block */
    enum log_kind kind;
    uint32_t group;
    uint64_t term;
    uint64_t index;
    struct slice payload; /* borrows */
};

/* Bytes of a record with this payload, padding included. */
static inline size_t log_record_size(size_t payload)
{
    return LOG_HEADER_SIZE + ((payload + 7) & ~(size_t)7);
}

/* Bytes from this offset in a segment to the next start of a block; 0: at a start. */
static inline size_t log_block_gap(uint64_t offset)
{
    return (LOG_BLOCK_SIZE - offset % LOG_BLOCK_SIZE) % LOG_BLOCK_SIZE;
}

/* Appends the record, unsealed. The payload comes in two parts to spare a copy. */
void log_record_append(struct buffer *out, const struct log_record *r, struct slice head,
                       struct slice tail);

/* Call just before records are written. Sets durable_lsn and the checksum of each record. */
void log_records_seal(struct buffer *records, uint64_t durable_lsn);

/* Reads the record at the start of `bytes`, expected at `lsn`. STATUS_MALFORMED: no whole, valid
 * record with that lsn. `size` gets the bytes of the record. */
enum status log_record_read(struct slice bytes, uint64_t lsn, struct log_record *out, size_t *size);

/* Reads a segment record by record. */
struct log_segment_reader {
    struct slice bytes; /* the whole segment file, borrows */
    uint64_t start;     /* lsn of its first byte */
    size_t at;
    uint64_t durable_lsn; /* of the last record read */
    bool ended;           /* LOG_END was read */
};

/* STATUS_OK: a record. STATUS_NOT_FOUND: the end, clean or torn (`r->ended` tells). STATUS_CORRUPT:
 * the unreadable bytes were once on disk (RECORD-1). */
enum status log_segment_next(struct log_segment_reader *r, struct log_record *out);
