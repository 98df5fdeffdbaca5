/* log_record.c - records as bytes: writing, and reading with all checks. */
#include "replication/log_record.h"

#include <xxhash.h>

/* Layout: checksum u64 over all that follows, padding excluded | lsn u64 | durable lsn u64 |
 * payload size u32 | group u32 | term u64 | index u64 | kind u8 and 3 zero bytes | gap u32 |
 * payload. */
_Static_assert(LOG_HEADER_SIZE == 8 * 7, "seven words");

void log_record_append(struct buffer *out, const struct log_record *r, struct slice head,
                       struct slice tail)
{
    size_t payload = head.size + tail.size;
    must(payload <= LOG_PAYLOAD_SIZE_MAX);
    size_t size = log_record_size(payload);
    uint8_t *p = buffer_reserve(out, size);
    uint32_t payload_size = (uint32_t)payload;
    memset(p, 0, 8);
    memcpy(p + 8, &r->lsn, 8);
    memset(p + 16, 0, 8);
    memcpy(p + 24, &payload_size, 4);
    memcpy(p + 28, &r->group, 4);
    memcpy(p + 32, &r->term, 8);
    memcpy(p + 40, &r->index, 8);
    memset(p + 48, 0, 4);
    p[48] = (uint8_t)r->kind;
    memcpy(p + 52, &r->gap, 4);
    if (head.size > 0)
        memcpy(p + LOG_HEADER_SIZE, head.data, head.size);
    if (tail.size > 0)
        memcpy(p + LOG_HEADER_SIZE + head.size, tail.data, tail.size);
    memset(p + LOG_HEADER_SIZE + payload, 0, size - LOG_HEADER_SIZE - payload);
    out->size += size;
}

void log_records_seal(struct buffer *records, uint64_t durable_lsn)
{
    for (size_t at = 0; at < records->size;) {
        uint8_t *p = records->data + at;
        uint32_t payload;
        memcpy(&payload, p + 24, 4);
        memcpy(p + 16, &durable_lsn, 8);
        uint64_t checksum = XXH3_64bits(p + 8, LOG_HEADER_SIZE - 8 + payload);
        memcpy(p, &checksum, 8);
        at += log_record_size(payload);
    }
}

enum status log_record_read(struct slice bytes, uint64_t lsn, struct log_record *out, size_t *size)
{
    if (bytes.size < LOG_HEADER_SIZE)
        return STATUS_MALFORMED;
    const uint8_t *p = bytes.data;
    uint64_t checksum;
    uint32_t payload;
    memcpy(&checksum, p, 8);
    memcpy(&out->lsn, p + 8, 8);
    memcpy(&out->durable_lsn, p + 16, 8);
    memcpy(&payload, p + 24, 4);
    memcpy(&out->group, p + 28, 4);
    memcpy(&out->term, p + 32, 8);
    memcpy(&out->index, p + 40, 8);
    memcpy(&out->gap, p + 52, 4);
    uint8_t kind = p[48];
    if (out->lsn != lsn || out->durable_lsn > lsn || payload > LOG_PAYLOAD_SIZE_MAX || kind == 0 ||
        kind >= LOG_KINDS || log_record_size(payload) > bytes.size)
        return STATUS_MALFORMED;
    if (XXH3_64bits(p + 8, LOG_HEADER_SIZE - 8 + payload) != checksum)
        return STATUS_MALFORMED;
    out->kind = (enum log_kind)kind;
    out->payload = slice_make(p + LOG_HEADER_SIZE, payload);
    *size = log_record_size(payload);
    return STATUS_OK;
}

/* Whether a later record was written when the bytes at `r->at` were on disk. */
static bool was_durable(const struct log_segment_reader *r)
{
    struct log_record record;
    size_t size;
    for (size_t at = r->at + 8; at + LOG_HEADER_SIZE <= r->bytes.size; at += 8) {
        uint64_t lsn = r->start + at;
        struct slice rest = slice_make(r->bytes.data + at, r->bytes.size - at);
        if (log_record_read(rest, lsn, &record, &size) == STATUS_OK &&
            record.durable_lsn > r->start + r->at)
            return true;
    }
    return false;
}

/* Whether the log continues with a record `gap` bytes further on. */
static bool read_behind(struct log_segment_reader *r, size_t gap, struct log_record *out)
{
    size_t size, at = r->at + gap;
    if (at > r->bytes.size)
        return false;
    struct slice rest = slice_make(r->bytes.data + at, r->bytes.size - at);
    if (log_record_read(rest, r->start + at, out, &size) != STATUS_OK || out->gap != gap ||
        out->durable_lsn < r->durable_lsn || out->durable_lsn > r->start + r->at)
        return false;
    r->at = at + size;
    r->durable_lsn = out->durable_lsn;
    r->ended = out->kind == LOG_END;
    return true;
}

enum status log_segment_next(struct log_segment_reader *r, struct log_record *out)
{
    if (r->ended)
        return STATUS_NOT_FOUND;
    size_t gap = log_block_gap(r->at);
    if (read_behind(r, 0, out) || (gap > 0 && read_behind(r, gap, out)))
        return STATUS_OK;
    return was_durable(r) ? STATUS_CORRUPT : STATUS_NOT_FOUND;
}
