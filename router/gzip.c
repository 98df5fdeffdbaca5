#include "router/gzip.h"

#include <zlib.h>

#include "base/must.h"

enum {
    GZIP_WINDOW = 16 + 15, /* zlib's way to ask for gzip's framing with its largest window */
    GZIP_STEP = 64 * 1024,
};

/* Packed bytes are bounded by the owner's limits, far below zlib's 4 GB. */
static z_stream stream_of(struct slice bytes)
{
    must(bytes.size < UINT32_MAX);
    return (z_stream){.next_in = (Bytef *)(uintptr_t)bytes.data, .avail_in = (uInt)bytes.size};
}

enum status gzip_unpack(struct buffer *out, struct slice bytes, size_t size_max)
{
    z_stream z = stream_of(bytes);
    size_t start = out->size;
    int state = Z_OK;
    must(inflateInit2(&z, GZIP_WINDOW) == Z_OK);
    while (state == Z_OK && out->size - start <= size_max) {
        z.next_out = buffer_reserve(out, GZIP_STEP);
        z.avail_out = GZIP_STEP;
        state = inflate(&z, Z_NO_FLUSH);
        out->size += GZIP_STEP - z.avail_out;
    }
    uInt left = z.avail_in;
    inflateEnd(&z);
    if (out->size - start > size_max)
        return STATUS_TOO_LARGE;
    return state == Z_STREAM_END && left == 0 ? STATUS_OK : STATUS_MALFORMED;
}

void gzip_pack(struct buffer *out, struct slice bytes)
{
    z_stream z = stream_of(bytes);
    must(deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    uLong room = deflateBound(&z, bytes.size);
    z.next_out = buffer_reserve(out, room);
    z.avail_out = (uInt)room;
    must(deflate(&z, Z_FINISH) == Z_STREAM_END);
    out->size += room - z.avail_out;
    deflateEnd(&z);
}
