/* node_recovery.c - reads segments record by record, from where the store ends. */
#include "server/node_recovery.h"

#include <errno.h>

/* Reports `status` of the operation `what`, with errno. */
static enum status recovery_fail(const struct node_recovery *r, struct buffer *error,
                                 enum status status, const char *what)
{
    int number = errno;
    return buffer_explain(error, status, "cannot %s the log in %s: %s", what, r->place,
                          status == STATUS_IO && number != 0 ? strerror(number)
                                                             : status_text(status));
}

/* The segment size stated by the record; the present size if the record states none. */
static uint64_t segment_bytes_stated(const struct node_recovery *r, const struct log_record *record)
{
    uint64_t stated = 0;
    if (record->kind != LOG_SEGMENT)
        return r->segment_bytes;
    if (record->payload.size >= sizeof stated)
        memcpy(&stated, record->payload.data, sizeof stated);
    return stated;
}

static enum status replay_fail(const struct node_recovery *r, const struct log_record *record,
                               struct buffer *error)
{
    return buffer_explain(error, STATUS_CORRUPT,
                          "the log in %s does not fit the node's data: the whole record of kind %u "
                          "and partition %u at segment %llx, byte %llu cannot be replayed: restore "
                          "the directory, or this node's data, from a replica",
                          r->place, (unsigned)record->kind, record->group,
                          (unsigned long long)(record->lsn / r->segment_bytes),
                          (unsigned long long)(record->lsn % r->segment_bytes));
}

/* Replays one segment from the lsn `from`. Sets `next_lsn` to the end of its last record. */
static enum status segment_replay(struct node_recovery *r, uint64_t segment, struct slice bytes,
                                  uint64_t from, bool last, struct buffer *error)
{
    struct log_segment_reader reader = {.bytes = bytes, .start = segment * r->segment_bytes};
    struct log_record record;
    enum status status;
    while ((status = log_segment_next(&reader, &record)) == STATUS_OK) {
        uint64_t stated = segment_bytes_stated(r, &record);
        if (stated != r->segment_bytes)
            return buffer_explain(error, STATUS_CORRUPT,
                                  "the log in %s was written with log_segment_bytes = %llu: start "
                                  "with that value",
                                  r->place, (unsigned long long)stated);
        if (record.lsn < from)
            continue;
        r->replayed++;
        if (node_replay(r->node, &record) != STATUS_OK)
            return replay_fail(r, &record, error);
    }
    r->next_lsn = reader.ended ? reader.start + r->segment_bytes : reader.start + reader.at;
    if (status == STATUS_NOT_FOUND && (reader.ended || last))
        return STATUS_OK;
    return buffer_explain(error, STATUS_CORRUPT,
                          "the log in %s is damaged at segment %llx, byte %zu, before records that "
                          "were acknowledged: restore the directory, or this node's data, from a "
                          "replica",
                          r->place, (unsigned long long)segment, reader.at);
}

/* NODE-RECOVERY-2. */
static enum status tail_clean(struct node_recovery *r, struct buffer *error)
{
    const uint64_t torn_max = LOG_WRITES_MAX * (LOG_BATCH_SIZE_MAX + LOG_BLOCK_SIZE);
    uint64_t segment = r->next_lsn / r->segment_bytes, offset = r->next_lsn % r->segment_bytes;
    uint64_t size = r->segment_bytes - offset;
    enum status status = r->log->prepare(r->log->context, segment);
    if (status == STATUS_OK)
        status = r->log->zero(r->log->context, segment, offset, MIN(size, torn_max));
    return status == STATUS_OK ? status : recovery_fail(r, error, status, "write");
}

static enum status segment_read(struct node_recovery *r, uint64_t segment, struct buffer *memory,
                                struct slice *out, struct buffer *error)
{
    enum status status = r->log->read(r->log->context, segment, memory, out);
    return status == STATUS_OK ? status : recovery_fail(r, error, status, "read");
}

/* Lowers `*last` to the last segment that may have an acknowledged record, but not below `first`.
 * Later segments were made ahead of use, or their first write was torn. segment_replay reports
 * damage at the start of a segment. */
static enum status last_find(struct node_recovery *r, uint64_t first, uint64_t *last,
                             struct buffer *memory, struct buffer *error)
{
    for (; *last > first; --*last) {
        struct log_record record;
        struct log_segment_reader reader = {.start = *last * r->segment_bytes};
        enum status status = segment_read(r, *last, memory, &reader.bytes, error);
        if (status != STATUS_OK)
            return status;
        if (log_segment_next(&reader, &record) != STATUS_NOT_FOUND)
            return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status segments_replay(struct node_recovery *r, uint64_t first, uint64_t last,
                                   uint64_t from, struct buffer *memory, struct buffer *error)
{
    enum status status = last_find(r, first, &last, memory, error);
    for (uint64_t s = first; s <= last && status == STATUS_OK; s++) {
        struct slice bytes;
        status = segment_read(r, s, memory, &bytes, error);
        if (status == STATUS_OK)
            status = segment_replay(r, s, bytes, from, s == last, error);
    }
    if (status == STATUS_OK && r->next_lsn < from)
        return buffer_explain(error, STATUS_CORRUPT,
                              "the log in %s ends before the position of LMDB's data: it was "
                              "truncated",
                              r->place);
    return status == STATUS_OK && first <= last ? tail_clean(r, error) : status;
}

static enum status log_replay(struct node_recovery *r, struct buffer *error)
{
    uint64_t from = store_log_lsn(node_store(r->node));
    uint64_t first, last;
    r->next_lsn = from;
    bool found = r->log->range(r->log->context, &first, &last);
    if (found ? first > from / r->segment_bytes : from > 0)
        return buffer_explain(error, STATUS_CORRUPT,
                              "the log in %s lacks segment %llx, where LMDB's data ends: it was "
                              "removed, or written with another log_segment_bytes",
                              r->place, (unsigned long long)(from / r->segment_bytes));
    if (!found)
        return STATUS_OK;
    if (first < from / r->segment_bytes)
        first = from / r->segment_bytes;
    struct buffer memory = {0};
    enum status status = segments_replay(r, first, last, from, &memory, error);
    buffer_deinit(&memory);
    return status;
}

enum status node_recover(struct node_recovery *r, struct buffer *error)
{
    enum status status = log_replay(r, error);
    if (status == STATUS_OK)
        status = node_check(r->node, error);
    if (status != STATUS_OK)
        return status;
    status = r->log->prepare(r->log->context, r->next_lsn / r->segment_bytes);
    return status == STATUS_OK ? status : recovery_fail(r, error, status, "allocate");
}
