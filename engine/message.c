#include "engine/message.h"

#include "base/must.h"

/* Opens a frame: room for its length, then its kind. */
static size_t frame_open(struct buffer *out, enum message_kind kind)
{
    size_t start = out->size;
    buffer_append_u32(out, 0);
    buffer_append_u8(out, (uint8_t)kind);
    return start;
}

static void frame_close(struct buffer *out, size_t start)
{
    size_t length = out->size - start - sizeof(uint32_t);
    must(length <= FRAME_SIZE_MAX);
    uint32_t word = (uint32_t)length;
    memcpy(out->data + start, &word, sizeof word);
}

enum {
    REQUEST_CONSISTENT = 1,
    REQUEST_REVERSE = 2,
    REQUEST_WANT_OLD = 4,
    REQUEST_FLAGS = 7
};

void request_encode(struct buffer *out, const struct request *r)
{
    size_t start = frame_open(out, MESSAGE_REQUEST);
    buffer_append_u64(out, r->id);
    buffer_append_u8(out, (uint8_t)r->op);
    buffer_append_u8(out, (uint8_t)((r->consistent ? REQUEST_CONSISTENT : 0) |
                                    (r->reverse ? REQUEST_REVERSE : 0) |
                                    (r->want_old ? REQUEST_WANT_OLD : 0)));
    buffer_append_u32(out, r->partition);
    buffer_append_u64(out, r->epoch);
    buffer_append_u32(out, r->items_max);
    buffer_append_u32(out, r->bytes_max);
    buffer_append_u64(out, (uint64_t)r->wall_ms);
    buffer_append_sized(out, r->key);
    buffer_append_sized(out, r->end);
    buffer_append_sized(out, r->body);
    frame_close(out, start);
}

enum status request_decode(struct slice frame, struct request *out)
{
    struct reader r = {frame, false};
    *out = (struct request){0};
    if (reader_u8(&r) != MESSAGE_REQUEST)
        return STATUS_MALFORMED;
    out->id = reader_u64(&r);
    uint8_t op = reader_u8(&r);
    uint8_t flags = reader_u8(&r);
    out->partition = reader_u32(&r);
    out->epoch = reader_u64(&r);
    out->items_max = reader_u32(&r);
    out->bytes_max = reader_u32(&r);
    out->wall_ms = (int64_t)reader_u64(&r);
    out->key = reader_sized(&r);
    out->end = reader_sized(&r);
    out->body = reader_sized(&r);
    if (r.failed || r.left.size > 0 || op == 0 || op >= REQUEST_OPS || (flags & ~REQUEST_FLAGS))
        return STATUS_MALFORMED;
    out->op = (enum request_op)op;
    out->consistent = flags & REQUEST_CONSISTENT;
    out->reverse = flags & REQUEST_REVERSE;
    out->want_old = flags & REQUEST_WANT_OLD;
    return STATUS_OK;
}

static void levels_encode(struct buffer *out, const struct admit_levels *l)
{
    buffer_append_u64(out, (uint64_t)l->cap_mcu);
    buffer_append_u64(out, (uint64_t)l->allocation_mcu);
    buffer_append_u64(out, (uint64_t)l->burst_mcu);
    buffer_append_u64(out, (uint64_t)l->node_mcu);
}

static struct admit_levels levels_decode(struct reader *r)
{
    struct admit_levels l;
    l.cap_mcu = (int64_t)reader_u64(r);
    l.allocation_mcu = (int64_t)reader_u64(r);
    l.burst_mcu = (int64_t)reader_u64(r);
    l.node_mcu = (int64_t)reader_u64(r);
    return l;
}

enum {
    REPLY_FOUND = 1,
    REPLY_MORE = 2,
    REPLY_BURST = 4,
    REPLY_FLAGS = 7
};

void reply_encode(struct buffer *out, const struct reply *r)
{
    size_t start = frame_open(out, MESSAGE_REPLY);
    buffer_append_u64(out, r->id);
    buffer_append_u8(out, (uint8_t)r->code);
    buffer_append_u8(out, (uint8_t)((r->found ? REPLY_FOUND : 0) | (r->more ? REPLY_MORE : 0) |
                                    (r->verdict.burst ? REPLY_BURST : 0)));
    buffer_append_u8(out, (uint8_t)r->verdict.reason);
    buffer_append_u32(out, r->verdict.member);
    buffer_append_u64(out, (uint64_t)r->verdict.wait.ns);
    levels_encode(out, &r->verdict.levels);
    buffer_append_u64(out, (uint64_t)r->consumed_mcu);
    buffer_append_u32(out, r->count);
    buffer_append_u64(out, (uint64_t)r->read_bytes);
    buffer_append_u64(out, (uint64_t)r->collection_bytes);
    buffer_append_u32(out, r->leader);
    buffer_append_sized(out, r->body);
    buffer_append_sized(out, r->text);
    frame_close(out, start);
}

enum status reply_decode(struct slice frame, struct reply *out)
{
    struct reader r = {frame, false};
    *out = (struct reply){0};
    if (reader_u8(&r) != MESSAGE_REPLY)
        return STATUS_MALFORMED;
    out->id = reader_u64(&r);
    uint8_t code = reader_u8(&r);
    uint8_t flags = reader_u8(&r);
    uint8_t reason = reader_u8(&r);
    out->verdict.member = reader_u32(&r);
    out->verdict.wait.ns = (int64_t)reader_u64(&r);
    out->verdict.levels = levels_decode(&r);
    out->consumed_mcu = (int64_t)reader_u64(&r);
    out->count = reader_u32(&r);
    out->read_bytes = (int64_t)reader_u64(&r);
    out->collection_bytes = (int64_t)reader_u64(&r);
    out->leader = reader_u32(&r);
    out->body = reader_sized(&r);
    out->text = reader_sized(&r);
    if (r.failed || r.left.size > 0 || code >= REPLY_CODES || reason >= ADMIT_REASONS ||
        (flags & ~REPLY_FLAGS))
        return STATUS_MALFORMED;
    out->code = (enum reply_code)code;
    out->verdict.reason = (enum admit_reason)reason;
    out->found = flags & REPLY_FOUND;
    out->more = flags & REPLY_MORE;
    out->verdict.burst = flags & REPLY_BURST;
    return STATUS_OK;
}

enum status message_kind_of(struct slice frame, enum message_kind *out)
{
    if (frame.size == 0 || frame.data[0] < MESSAGE_REQUEST || frame.data[0] > MESSAGE_PEER)
        return STATUS_MALFORMED;
    *out = (enum message_kind)frame.data[0];
    return STATUS_OK;
}

void partition_stats_encode(struct buffer *out, const struct partition_stats *s)
{
    buffer_append_u32(out, s->partition);
    buffer_append_u32(out, s->node);
    buffer_append_u32(out, s->table_id);
    buffer_append_u8(out, s->leads);
    buffer_append_u8(out, s->voters);
    buffer_append_u8(out, s->caught_up);
    buffer_append_u64(out, (uint64_t)s->bytes);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        buffer_append_u64(out, (uint64_t)s->kinds[kind].allocated_mcu);
        const struct partition_counts *c = &s->kinds[kind].counts;
        buffer_append_u64(out, (uint64_t)c->load.consumed_mcu);
        buffer_append_u64(out, (uint64_t)c->load.refused_mcu);
        buffer_append_u64(out, (uint64_t)c->admitted);
        buffer_append_u64(out, (uint64_t)c->burst);
        for (int reason = 0; reason < ADMIT_REASONS; reason++)
            buffer_append_u64(out, (uint64_t)c->load.refused[reason]);
        levels_encode(out, &s->kinds[kind].levels);
    }
}

enum status partition_stats_decode(struct reader *r, struct partition_stats *out)
{
    out->partition = reader_u32(r);
    out->node = reader_u32(r);
    out->table_id = reader_u32(r);
    out->leads = reader_u8(r);
    out->voters = reader_u8(r);
    out->caught_up = reader_u8(r);
    out->bytes = (int64_t)reader_u64(r);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->kinds[kind].allocated_mcu = (int64_t)reader_u64(r);
        struct partition_counts *c = &out->kinds[kind].counts;
        c->load.consumed_mcu = (int64_t)reader_u64(r);
        c->load.refused_mcu = (int64_t)reader_u64(r);
        c->admitted = (int64_t)reader_u64(r);
        c->burst = (int64_t)reader_u64(r);
        for (int reason = 0; reason < ADMIT_REASONS; reason++)
            c->load.refused[reason] = (int64_t)reader_u64(r);
        out->kinds[kind].levels = levels_decode(r);
    }
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}
