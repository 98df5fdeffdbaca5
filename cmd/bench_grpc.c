#include "cmd/bench_grpc.h"

#include "base/must.h"

enum {
    FRAME_HEAD_SIZE = 9,
    FRAME_LENGTH_MAX = 1 << 20,
    MESSAGE_HEAD_SIZE = 5,
    WINDOW_STEP = 16 * 1024, /* received bytes after which the server may send as many again */
};

enum frame_type {
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_PING = 6,
    FRAME_GOAWAY = 7,
    FRAME_WINDOW_UPDATE = 8,
};

enum {
    FLAG_END_STREAM = 1,
    FLAG_ACK = 1,
    FLAG_END_HEADERS = 4
};

void bench_grpc_deinit(struct bench_grpc *g)
{
    buffer_deinit(&g->partial);
}

static void append_u32_be(struct buffer *out, uint32_t value)
{
    uint32_t swapped = __builtin_bswap32(value);
    buffer_append(out, &swapped, sizeof swapped);
}

static void append_frame(struct buffer *out, enum frame_type type, uint8_t flags, uint32_t stream,
                         struct slice payload)
{
    must(payload.size <= 16384);
    buffer_append_u8(out, (uint8_t)(payload.size >> 16));
    buffer_append_u8(out, (uint8_t)(payload.size >> 8));
    buffer_append_u8(out, (uint8_t)payload.size);
    buffer_append_u8(out, (uint8_t)type);
    buffer_append_u8(out, flags);
    append_u32_be(out, stream);
    buffer_append_slice(out, payload);
}

void bench_grpc_open(struct buffer *out)
{
    buffer_append_text(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    append_frame(out, FRAME_SETTINGS, 0, 0, slice_make(NULL, 0));
}

/* A header whose name stands in HPACK's static table, or (0) follows; never indexed by the peer. */
static void append_header(struct buffer *out, uint8_t name_index, const char *name,
                          struct slice value)
{
    enum {
        PREFIX_MAX = 15
    };
    must(value.size < 127);
    if (name_index < PREFIX_MAX) {
        buffer_append_u8(out, name_index);
    } else {
        buffer_append_u8(out, PREFIX_MAX);
        buffer_append_u8(out, (uint8_t)(name_index - PREFIX_MAX));
    }
    if (name_index == 0) {
        buffer_append_u8(out, (uint8_t)strlen(name));
        buffer_append_text(out, name);
    }
    buffer_append_u8(out, (uint8_t)value.size);
    buffer_append_slice(out, value);
}

/* A protobuf field of bytes. */
static void append_field(struct buffer *out, unsigned number, struct slice value)
{
    size_t size = value.size;
    buffer_append_u8(out, (uint8_t)(number << 3 | 2));
    for (; size >= 128; size >>= 7)
        buffer_append_u8(out, (uint8_t)(size | 128));
    buffer_append_u8(out, (uint8_t)size);
    buffer_append_slice(out, value);
}

void bench_grpc_put(struct bench_grpc *g, struct slice authority, struct slice key,
                    struct slice value, struct buffer *out)
{
    enum {
        METHOD_POST = 0x80 | 3, /* whole entries of the static table */
        SCHEME_HTTP = 0x80 | 6,
        NAME_AUTHORITY = 1, /* names in it */
        NAME_PATH = 4,
        NAME_CONTENT_TYPE = 31,
    };
    struct buffer headers = {0}, message = {0}, data = {0};
    g->stream = g->stream == 0 ? 1 : g->stream + 2;
    g->got_message = g->finished = false;
    buffer_append_u8(&headers, METHOD_POST);
    buffer_append_u8(&headers, SCHEME_HTTP);
    append_header(&headers, NAME_PATH, NULL, slice_of("/etcdserverpb.KV/Put"));
    append_header(&headers, NAME_AUTHORITY, NULL, authority);
    append_header(&headers, NAME_CONTENT_TYPE, NULL, slice_of("application/grpc"));
    append_header(&headers, 0, "te", slice_of("trailers"));
    append_frame(out, FRAME_HEADERS, FLAG_END_HEADERS, g->stream, buffer_slice(&headers));
    append_field(&message, 1, key);
    append_field(&message, 2, value);
    buffer_append_u8(&data, 0); /* not compressed */
    append_u32_be(&data, (uint32_t)message.size);
    buffer_append_slice(&data, buffer_slice(&message));
    append_frame(out, FRAME_DATA, FLAG_END_STREAM, g->stream, buffer_slice(&data));
    buffer_deinit(&headers);
    buffer_deinit(&message);
    buffer_deinit(&data);
}

static void return_window(struct bench_grpc *g, struct buffer *out)
{
    if (g->unreturned < WINDOW_STEP)
        return;
    uint32_t step = __builtin_bswap32(g->unreturned);
    append_frame(out, FRAME_WINDOW_UPDATE, 0, 0, slice_make(&step, sizeof step));
    g->unreturned = 0;
}

static enum status take_frame(struct bench_grpc *g, uint8_t type, uint8_t flags, uint32_t stream,
                              struct slice payload, struct buffer *out)
{
    bool ours = stream == g->stream && g->stream != 0;
    switch (type) {
    case FRAME_DATA:
        g->unreturned += (uint32_t)payload.size;
        g->got_message |= ours && payload.size > MESSAGE_HEAD_SIZE;
        return_window(g, out);
        break;
    case FRAME_RST_STREAM:
        g->got_message = false;
        g->finished |= ours;
        return STATUS_OK;
    case FRAME_SETTINGS:
        if (!(flags & FLAG_ACK))
            append_frame(out, FRAME_SETTINGS, FLAG_ACK, 0, slice_make(NULL, 0));
        return STATUS_OK;
    case FRAME_PING:
        if (!(flags & FLAG_ACK))
            append_frame(out, FRAME_PING, FLAG_ACK, 0, payload);
        return STATUS_OK;
    case FRAME_GOAWAY:
        return STATUS_MALFORMED;
    case FRAME_HEADERS:
        break;
    default:
        return STATUS_OK;
    }
    g->finished |= ours && (flags & FLAG_END_STREAM);
    return STATUS_OK;
}

enum status bench_grpc_feed(struct bench_grpc *g, struct slice bytes, struct buffer *out)
{
    size_t at = 0;
    enum status status = STATUS_OK;
    buffer_append_slice(&g->partial, bytes);
    while (status == STATUS_OK && g->partial.size - at >= FRAME_HEAD_SIZE) {
        const uint8_t *head = g->partial.data + at;
        size_t length = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        uint32_t stream;
        memcpy(&stream, head + 5, sizeof stream);
        if (length > FRAME_LENGTH_MAX)
            return STATUS_MALFORMED;
        if (g->partial.size - at < FRAME_HEAD_SIZE + length)
            break;
        status = take_frame(g, head[3], head[4], __builtin_bswap32(stream) & INT32_MAX,
                            slice_make(head + FRAME_HEAD_SIZE, length), out);
        at += FRAME_HEAD_SIZE + length;
    }
    g->partial.size -= at;
    memmove(g->partial.data, g->partial.data + at, g->partial.size);
    return status;
}
