#include "replication/log_record.h"

#include <xxhash.h>

#include "base/must.h"

/* Layout: checksum u64 over all that follows, padding excluded | lsn u64 | batch lsn u64 |
 * payload size u32 | group u32 | term u64 | index u64 | kind u8 and 7 zero bytes | payload. */
_Static_assert(LOG_HEADER_SIZE == 8 * 7, "seven words");

void log_record_append(struct buffer *out, const struct log_record *r, struct slice head,
                       struct slice tail)
{
    size_t payload = head.size + tail.size;
    must(payload <= LOG_PAYLOAD_SIZE_MAX);
    must(r->batch_lsn <= r->lsn);
    size_t size = log_record_size(payload);
    uint8_t *p = buffer_reserve(out, size);
    uint32_t payload_size = (uint32_t)payload;
    memcpy(p + 8, &r->lsn, 8);
    memcpy(p + 16, &r->batch_lsn, 8);
    memcpy(p + 24, &payload_size, 4);
    memcpy(p + 28, &r->group, 4);
    memcpy(p + 32, &r->term, 8);
    memcpy(p + 40, &r->index, 8);
    memset(p + 48, 0, 8);
    p[48] = (uint8_t)r->kind;
    if (head.size > 0)
        memcpy(p + LOG_HEADER_SIZE, head.data, head.size);
    if (tail.size > 0)
        memcpy(p + LOG_HEADER_SIZE + head.size, tail.data, tail.size);
    memset(p + LOG_HEADER_SIZE + payload, 0, size - LOG_HEADER_SIZE - payload);
    uint64_t checksum = XXH3_64bits(p + 8, LOG_HEADER_SIZE - 8 + payload);
    memcpy(p, &checksum, 8);
    out->size += size;
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
    memcpy(&out->batch_lsn, p + 16, 8);
    memcpy(&payload, p + 24, 4);
    memcpy(&out->group, p + 28, 4);
    memcpy(&out->term, p + 32, 8);
    memcpy(&out->index, p + 40, 8);
    uint8_t kind = p[48];
    if (out->lsn != lsn || out->batch_lsn > lsn || payload > LOG_PAYLOAD_SIZE_MAX || kind == 0 ||
        kind >= LOG_KINDS || log_record_size(payload) > bytes.size)
        return STATUS_MALFORMED;
    if (XXH3_64bits(p + 8, LOG_HEADER_SIZE - 8 + payload) != checksum)
        return STATUS_MALFORMED;
    out->kind = (enum log_kind)kind;
    out->payload = slice_make(p + LOG_HEADER_SIZE, payload);
    *size = log_record_size(payload);
    return STATUS_OK;
}

/* Whether a record of a batch that began after `at` can be read anywhere behind it: that batch was
 * written only once everything before it was on disk. */
static bool later_batch_follows(const struct log_segment_reader *r)
{
    struct log_record record;
    size_t size;
    for (size_t at = r->at + 8; at + LOG_HEADER_SIZE <= r->bytes.size; at += 8) {
        uint64_t lsn = r->start + at;
        struct slice rest = slice_make(r->bytes.data + at, r->bytes.size - at);
        if (log_record_read(rest, lsn, &record, &size) == STATUS_OK &&
            record.batch_lsn > r->start + r->at)
            return true;
    }
    return false;
}

enum status log_segment_next(struct log_segment_reader *r, struct log_record *out)
{
    if (r->ended)
        return STATUS_NOT_FOUND;
    struct slice rest = slice_make(r->bytes.data + r->at, r->bytes.size - r->at);
    size_t size;
    bool valid = log_record_read(rest, r->start + r->at, out, &size) == STATUS_OK &&
                 (out->batch_lsn == r->batch_lsn || out->batch_lsn == out->lsn);
    if (!valid)
        return later_batch_follows(r) ? STATUS_CORRUPT : STATUS_NOT_FOUND;
    r->at += size;
    r->batch_lsn = out->batch_lsn;
    r->ended = out->kind == LOG_END;
    return STATUS_OK;
}
