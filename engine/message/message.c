/* message.c - what routers, nodes and the catalog say to each other. */
#include "engine/message/message.h"

#include "base/must.h"

enum {
    /* Before the bytes of their own, and with the lengths of those. */
    REQUEST_HEAD_SIZE = 31,
    REQUEST_SIZE_MIN = REQUEST_HEAD_SIZE + 3 * 4,
    REPLY_HEAD_SIZE = 88,
    REPLY_SIZE_MIN = REPLY_HEAD_SIZE + 2 * 4,
};

/* Opens a frame of `size` bytes: its length, then its kind. Returns where the rest goes. */
static uint8_t *frame_open(struct buffer *out, enum message_kind kind, size_t size)
{
    must(size <= FRAME_SIZE_MAX);
    uint8_t *at = buffer_reserve(out, sizeof(uint32_t) + size);
    return put_u8(put_u32(at, (uint32_t)size), (uint8_t)kind);
}

enum {
    REQUEST_CONSISTENT = 1,
    REQUEST_REVERSE = 2,
    REQUEST_WANT_OLD = 4,
    REQUEST_FLAGS = 7
};

size_t request_size(const struct request *r)
{
    return REQUEST_SIZE_MIN + r->key.size + r->end.size + r->body.size;
}

void request_encode(struct buffer *out, const struct request *r)
{
    const size_t size = request_size(r);
    uint8_t *start = frame_open(out, MESSAGE_REQUEST, size);
    uint8_t *at = put_u64(start, r->id);
    at = put_u8(at, (uint8_t)r->op);
    at = put_u8(at, (uint8_t)((r->consistent ? REQUEST_CONSISTENT : 0) |
                              (r->reverse ? REQUEST_REVERSE : 0) |
                              (r->want_old ? REQUEST_WANT_OLD : 0)));
    at = put_u32(at, r->partition);
    at = put_u64(at, r->epoch);
    at = put_u32(at, r->items_max);
    at = put_u32(at, r->bytes_max);
    at = put_sized(at, r->key);
    at = put_sized(at, r->end);
    at = put_sized(at, r->body);
    must((size_t)(at - start) + 1 == size);
    buffer_end(out, at);
}

enum status request_decode(struct slice frame, struct request *out)
{
    struct reader r = {frame, false};
    const uint8_t *at = reader_take(&r, REQUEST_HEAD_SIZE).data;
    if (at == NULL || get_u8(&at) != MESSAGE_REQUEST)
        return STATUS_MALFORMED;
    *out = (struct request){.id = get_u64(&at)};
    uint8_t op = get_u8(&at);
    uint8_t flags = get_u8(&at);
    out->partition = get_u32(&at);
    out->epoch = get_u64(&at);
    out->items_max = get_u32(&at);
    out->bytes_max = get_u32(&at);
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

static uint8_t *put_levels(uint8_t *at, const struct admit_levels *l)
{
    at = put_u64(at, (uint64_t)l->cap_mcu);
    at = put_u64(at, (uint64_t)l->allocation_mcu);
    at = put_u64(at, (uint64_t)l->burst_mcu);
    return put_u64(at, (uint64_t)l->node_mcu);
}

static struct admit_levels get_levels(const uint8_t **at)
{
    struct admit_levels l;
    l.cap_mcu = (int64_t)get_u64(at);
    l.allocation_mcu = (int64_t)get_u64(at);
    l.burst_mcu = (int64_t)get_u64(at);
    l.node_mcu = (int64_t)get_u64(at);
    return l;
}

enum {
    REPLY_FOUND = 1,
    REPLY_MORE = 2,
    REPLY_BURST = 4,
    REPLY_FLAGS = 7
};

size_t reply_size(const struct reply *r)
{
    return REPLY_SIZE_MIN + r->body.size + r->text.size;
}

void reply_encode(struct buffer *out, const struct reply *r)
{
    const size_t size = reply_size(r);
    uint8_t *start = frame_open(out, MESSAGE_REPLY, size);
    uint8_t *at = put_u64(start, r->id);
    at = put_u8(at, (uint8_t)r->code);
    at = put_u8(at, (uint8_t)((r->found ? REPLY_FOUND : 0) | (r->more ? REPLY_MORE : 0) |
                              (r->verdict.burst ? REPLY_BURST : 0)));
    at = put_u8(at, (uint8_t)r->verdict.reason);
    at = put_u32(at, r->verdict.member);
    at = put_u64(at, (uint64_t)r->verdict.wait.ns);
    at = put_levels(at, &r->verdict.levels);
    at = put_u64(at, (uint64_t)r->consumed_mcu);
    at = put_u32(at, r->count);
    at = put_u64(at, (uint64_t)r->read_bytes);
    at = put_u64(at, (uint64_t)r->collection_bytes);
    at = put_u32(at, r->leader);
    at = put_sized(at, r->body);
    at = put_sized(at, r->text);
    must((size_t)(at - start) + 1 == size);
    buffer_end(out, at);
}

enum status reply_decode(struct slice frame, struct reply *out)
{
    struct reader r = {frame, false};
    const uint8_t *at = reader_take(&r, REPLY_HEAD_SIZE).data;
    if (at == NULL || get_u8(&at) != MESSAGE_REPLY)
        return STATUS_MALFORMED;
    *out = (struct reply){.id = get_u64(&at)};
    uint8_t code = get_u8(&at);
    uint8_t flags = get_u8(&at);
    uint8_t reason = get_u8(&at);
    out->verdict.member = get_u32(&at);
    out->verdict.wait.ns = (int64_t)get_u64(&at);
    out->verdict.levels = get_levels(&at);
    out->consumed_mcu = (int64_t)get_u64(&at);
    out->count = get_u32(&at);
    out->read_bytes = (int64_t)get_u64(&at);
    out->collection_bytes = (int64_t)get_u64(&at);
    out->leader = get_u32(&at);
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
        uint8_t *at = buffer_reserve(out, sizeof(struct admit_levels));
        buffer_end(out, put_levels(at, &s->kinds[kind].levels));
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
        const uint8_t *at = reader_take(r, sizeof(struct admit_levels)).data;
        if (at == NULL)
            return STATUS_MALFORMED;
        out->kinds[kind].levels = get_levels(&at);
    }
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}
