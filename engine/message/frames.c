/* frames.c - encodes and decodes frames: the fields of every message, then those of its kind. */
#include "engine/message/frames.h"

#include "base/limits.h"
#include "engine/message/request_traits.h"

enum {
    REQUEST_HEAD_SIZE = 38,
    REPLY_HEAD_SIZE = 86
};

_Static_assert(REQUEST_OPS - 1 <= UINT8_MAX, "a frame has the op in one byte");
_Static_assert(REPLY_CODES - 1 <= UINT8_MAX, "the code");
_Static_assert(ANSWER_KINDS - 1 <= UINT8_MAX, "the kind of the answer");
_Static_assert(ADMIT_REASONS - 1 <= UINT8_MAX, "and the reason");
_Static_assert(offsetof(struct request, get) == offsetof(struct request, room),
               "message_clear begins where the union does");
_Static_assert(offsetof(struct reply, item) == offsetof(struct reply, room), "here too");

/* ---- the fields of a kind ---- */

static const size_t field_sizes[] = {
    [FIELD_SLICE] = 4, [FIELD_BOOL] = 1, [FIELD_U8] = 1, [FIELD_U32] = 4, [FIELD_U64] = 8};

static size_t fields_size(const uint16_t *f, const void *message)
{
    size_t size = 0;
    for (; *f != 0; f++) {
        size += field_sizes[field_type(*f)];
        if (field_type(*f) == FIELD_SLICE)
            size += ((const struct slice *)field_of(message, *f))->size;
    }
    return size;
}

/* A switch, because copying a known size is much faster than copying a variable size. */
static uint8_t *fields_put(uint8_t *at, const uint16_t *f, const void *message)
{
    for (;; f++) {
        const void *from = field_of(message, *f);
        switch (field_type(*f)) {
        case FIELD_END:
            return at;
        case FIELD_SLICE:
            at = put_sized(at, *(const struct slice *)from);
            break;
        case FIELD_BOOL:
            must(*(const uint8_t *)from <= 1);
            at = put_u8(at, *(const uint8_t *)from);
            break;
        case FIELD_U8:
            at = put_u8(at, *(const uint8_t *)from);
            break;
        case FIELD_U32:
            at = put_u32(at, *(const uint32_t *)from);
            break;
        case FIELD_U64:
            at = put_u64(at, *(const uint64_t *)from);
            break;
        }
    }
}

/* False: bytes are missing or left over, or a boolean is not 0 or 1. */
static bool fields_take(struct reader *r, const uint16_t *f, void *message)
{
    bool valid = true;
    for (;; f++) {
        void *to = field_of(message, *f);
        switch (field_type(*f)) {
        case FIELD_END:
            return valid && !r->failed && r->left.size == 0;
        case FIELD_SLICE:
            *(struct slice *)to = reader_sized(r);
            break;
        case FIELD_BOOL:
        case FIELD_U8:
            *(uint8_t *)to = reader_u8(r);
            valid &= field_type(*f) == FIELD_U8 || *(const uint8_t *)to <= 1;
            break;
        case FIELD_U32:
            *(uint32_t *)to = reader_u32(r);
            break;
        case FIELD_U64:
            *(uint64_t *)to = reader_u64(r);
            break;
        }
    }
}

/* ---- frames ---- */

/* Zeroes the union, which begins at `from`. The head is read anyway: zeroing it too costs time. */
static inline void message_clear(void *message, size_t from, size_t size)
{
    memset((uint8_t *)message + from, 0, size - from);
}

/* Opens a frame of `size` bytes: writes its length and kind. Returns the place for the rest. */
static uint8_t *frame_open(struct buffer *out, enum message_kind kind, size_t size)
{
    must(size <= FRAME_SIZE_MAX);
    uint8_t *at = buffer_reserve(out, sizeof(uint32_t) + size);
    return put_u8(put_u32(at, (uint32_t)size), (uint8_t)kind);
}

size_t request_size(const struct request *r)
{
    return REQUEST_HEAD_SIZE + fields_size(traits_of(r)->fields, r);
}

/* The last bytes of the buffer are a frame. Whoever gets it must be able to read it. */
static bool request_is_readable(const struct buffer *out, size_t size)
{
    struct request r;
    return request_decode(slice_make(out->data + out->size - size, size), &r) == STATUS_OK;
}

static bool reply_is_readable(const struct buffer *out, size_t size)
{
    struct reply r;
    return reply_decode(slice_make(out->data + out->size - size, size), &r) == STATUS_OK;
}

void request_encode(struct buffer *out, const struct request *r)
{
    must(r->op > 0);
    must(r->op < REQUEST_OPS);
    const size_t size = request_size(r);
    uint8_t *start = frame_open(out, MESSAGE_REQUEST, size);
    uint8_t *at = put_u64(start, r->id);
    at = put_u8(at, (uint8_t)r->op);
    at = put_u32(at, r->partition);
    at = put_u64(at, r->epoch);
    at = put_u64(at, r->key_sharding_version);
    at = put_u64(at, r->sharded_key_version);
    at = fields_put(at, traits_of(r)->fields, r);
    must((size_t)(at - start) + 1 == size);
    buffer_end(out, at);
    must_in_tests(request_is_readable(out, size));
}

enum status request_decode(struct slice frame, struct request *out)
{
    struct reader r = {frame, false};
    const uint8_t *at = reader_take(&r, REQUEST_HEAD_SIZE).data;
    if (at == NULL || get_u8(&at) != MESSAGE_REQUEST)
        return STATUS_MALFORMED;
    out->id = get_u64(&at);
    uint8_t op = get_u8(&at);
    out->partition = get_u32(&at);
    out->epoch = get_u64(&at);
    out->key_sharding_version = get_u64(&at);
    out->sharded_key_version = get_u64(&at);
    if (op == 0 || op >= REQUEST_OPS)
        return STATUS_MALFORMED;
    out->op = (enum request_op)op;
    message_clear(out, offsetof(struct request, get), sizeof *out);
    return fields_take(&r, traits_of(out)->fields, out) ? STATUS_OK : STATUS_MALFORMED;
}

_Static_assert(sizeof(struct admit_balances) == 4 * sizeof(int64_t),
               "four numbers, as in the frame");

size_t reply_size(const struct reply *r)
{
    return REPLY_HEAD_SIZE + sizeof(uint32_t) + r->text.size +
           fields_size(answer_fields[r->kind], r);
}

void reply_encode(struct buffer *out, const struct reply *r)
{
    must(r->code < REPLY_CODES);
    must(r->kind < ANSWER_KINDS);
    must(r->verdict.reason < ADMIT_REASONS);
    must(r->verdict.cause < ADMIT_REASONS);
    const size_t size = reply_size(r);
    uint8_t *start = frame_open(out, MESSAGE_REPLY, size);
    uint8_t *at = put_u64(start, r->id);
    at = put_u8(at, (uint8_t)r->code);
    at = put_u8(at, (uint8_t)r->kind);
    at = put_u32(at, r->leader);
    at = put_u32(at, r->overload_hint);
    at = put_u8(at, r->verdict.burst);
    at = put_u8(at, (uint8_t)r->verdict.reason);
    at = put_u8(at, (uint8_t)r->verdict.cause);
    at = put_u32(at, r->verdict.member);
    at = put_u32(at, r->verdict.index);
    at = put_u64(at, (uint64_t)r->verdict.wait.ns);
    at = put_bytes(at, slice_make(&r->verdict.balances, sizeof r->verdict.balances));
    at = put_u64(at, (uint64_t)r->consumed_mcu);
    at = put_u64(at, r->applied);
    at = put_sized(at, r->text);
    at = fields_put(at, answer_fields[r->kind], r);
    must((size_t)(at - start) + 1 == size);
    buffer_end(out, at);
    must_in_tests(reply_is_readable(out, size));
}

enum status reply_decode(struct slice frame, struct reply *out)
{
    struct reader r = {frame, false};
    const uint8_t *at = reader_take(&r, REPLY_HEAD_SIZE).data;
    if (at == NULL || get_u8(&at) != MESSAGE_REPLY)
        return STATUS_MALFORMED;
    out->id = get_u64(&at);
    uint8_t code = get_u8(&at);
    uint8_t kind = get_u8(&at);
    out->leader = get_u32(&at);
    out->overload_hint = get_u32(&at);
    uint8_t burst = get_u8(&at);
    uint8_t reason = get_u8(&at);
    uint8_t cause = get_u8(&at);
    out->verdict.member = get_u32(&at);
    out->verdict.index = get_u32(&at);
    out->verdict.wait.ns = (int64_t)get_u64(&at);
    memcpy(&out->verdict.balances, at, sizeof out->verdict.balances);
    at += sizeof out->verdict.balances;
    out->consumed_mcu = (int64_t)get_u64(&at);
    out->applied = get_u64(&at);
    out->text = reader_sized(&r);
    if (code >= REPLY_CODES || kind >= ANSWER_KINDS || burst > 1 || reason >= ADMIT_REASONS ||
        cause >= ADMIT_REASONS)
        return STATUS_MALFORMED;
    out->code = (enum reply_code)code;
    out->kind = (enum answer_kind)kind;
    out->verdict.flags = burst; /* WEIR_VERDICT_BURST */
    out->verdict.reason = (enum admit_reason)reason;
    out->verdict.cause = (enum admit_reason)cause;
    message_clear(out, offsetof(struct reply, item), sizeof *out);
    return fields_take(&r, answer_fields[kind], out) ? STATUS_OK : STATUS_MALFORMED;
}

enum status message_kind_of(struct slice frame, enum message_kind *out)
{
    if (frame.size == 0 || frame.data[0] < MESSAGE_REQUEST || frame.data[0] > MESSAGE_PEER)
        return STATUS_MALFORMED;
    *out = (enum message_kind)frame.data[0];
    return STATUS_OK;
}
