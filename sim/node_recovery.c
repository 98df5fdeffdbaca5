#include "sim/node_recovery.h"

#include "engine/store/log_writer.h"

static enum status replay_segment(struct node *n, const struct disk *d, uint64_t segment,
                                  uint64_t from, bool last, struct node_recovery *out,
                                  struct buffer *error)
{
    struct log_segment_reader reader = {.bytes = disk_read(d, segment),
                                        .start = segment * d->segment_bytes};
    struct log_record record;
    enum status status;
    while ((status = log_segment_next(&reader, &record)) == STATUS_OK) {
        if (record.lsn < from)
            continue;
        out->records++;
        if (node_replay(n, &record) != STATUS_OK) {
            buffer_append_format(error, "the record at lsn %llu cannot be replayed",
                                 (unsigned long long)record.lsn);
            return STATUS_CORRUPT;
        }
    }
    out->next_lsn = reader.ended ? reader.start + d->segment_bytes : reader.start + reader.at;
    if (status == STATUS_NOT_FOUND && (reader.ended || last))
        return STATUS_OK;
    buffer_append_format(error, "the log is damaged at segment %llu, byte %zu",
                         (unsigned long long)segment, reader.at);
    return STATUS_CORRUPT;
}

/* What a torn batch left behind the end must never be taken for records later on. */
static enum status clean_tail(struct disk *d, struct node_recovery *r, struct buffer *error)
{
    uint64_t segment = r->next_lsn / d->segment_bytes, offset = r->next_lsn % d->segment_bytes;
    if (disk_prepare(d, segment) != STATUS_OK) {
        buffer_append_text(error, "cannot allocate the log: the disk is full");
        return STATUS_FULL;
    }
    struct slice bytes = disk_read(d, segment);
    for (size_t i = offset; i < bytes.size && !r->torn; i++)
        r->torn = bytes.data[i] != 0;
    /* As much as embed/node_host.c, and no more: what a segment held before stays behind it. */
    const uint64_t torn_max = LOG_WRITES_MAX * (LOG_BATCH_SIZE_MAX + LOG_BLOCK_SIZE);
    uint64_t size = d->segment_bytes - offset;
    disk_zero(d, segment, offset, size < torn_max ? size : torn_max);
    return STATUS_OK;
}

/* Whether a record of this segment was acknowledged: it may have been prepared ahead of its use, or
 * its first write be torn. */
static bool segment_begun(const struct disk *d, uint64_t segment)
{
    struct log_record record;
    struct log_segment_reader reader = {.bytes = disk_read(d, segment),
                                        .start = segment * d->segment_bytes};
    return log_segment_next(&reader, &record) != STATUS_NOT_FOUND;
}

static enum status replay(struct node *n, struct disk *d, struct buffer *error,
                          struct node_recovery *out)
{
    uint64_t from = store_log_lsn(node_store(n));
    uint64_t first, last;
    out->next_lsn = from;
    bool found = disk_range(d, &first, &last);
    if (found ? first > from / d->segment_bytes : from > 0) {
        buffer_append_format(error, "the log lacks segment %llu, where the backing ends",
                             (unsigned long long)(from / d->segment_bytes));
        return STATUS_CORRUPT;
    }
    if (!found)
        return STATUS_OK;
    while (last > first && !segment_begun(d, last))
        last--;
    enum status status = STATUS_OK;
    if (first < from / d->segment_bytes)
        first = from / d->segment_bytes;
    for (uint64_t s = first; s <= last && status == STATUS_OK; s++)
        status = replay_segment(n, d, s, from, s == last, out, error);
    if (status == STATUS_OK && out->next_lsn < from) {
        buffer_append_text(error, "the log ends before what the backing has taken over");
        return STATUS_CORRUPT;
    }
    return status == STATUS_OK && first <= last ? clean_tail(d, out, error) : status;
}

enum status node_recover(struct node *n, struct disk *d, struct buffer *error,
                         struct node_recovery *out)
{
    *out = (struct node_recovery){0};
    enum status status = replay(n, d, error, out);
    return status == STATUS_OK ? node_check(n, error) : status;
}
