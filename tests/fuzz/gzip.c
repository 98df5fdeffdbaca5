/* gzip from outside: what zlib unpacks, whole and within the limit, comes out the same. */
#include <zlib.h>

#include "base/must.h"
#include "router/gzip.h"

enum {
    SIZE_MAX_UNPACKED = 64 * 1024,
    GZIP_WINDOW = 16 + 15
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What zlib makes of it; false: it is not gzip, or more than the limit, or not all of the bytes. */
static bool unpack_by_zlib(struct buffer *out, struct slice bytes)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes.data, .avail_in = (uInt)bytes.size};
    must(inflateInit2(&z, GZIP_WINDOW) == Z_OK);
    z.next_out = buffer_reserve(out, SIZE_MAX_UNPACKED + 1);
    z.avail_out = SIZE_MAX_UNPACKED + 1;
    int state = inflate(&z, Z_FINISH);
    out->size = SIZE_MAX_UNPACKED + 1 - z.avail_out;
    bool whole = state == Z_STREAM_END && z.avail_in == 0;
    inflateEnd(&z);
    return whole && out->size <= SIZE_MAX_UNPACKED;
}

static void compare(struct slice bytes)
{
    struct buffer expected = {0}, out = {0};
    buffer_append_text(&out, "before");
    const size_t before = out.size;
    enum status status = gzip_unpack(&out, bytes, SIZE_MAX_UNPACKED);
    must(out.size - before <= SIZE_MAX_UNPACKED);
    must(status == STATUS_OK || out.size == before);
    if (unpack_by_zlib(&expected, bytes)) {
        must(status == STATUS_OK);
        must(out.size - before == expected.size);
        must(expected.size == 0 || memcmp(out.data + before, expected.data, expected.size) == 0);
    }
    buffer_deinit(&expected);
    buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer packed = {0};
    compare(slice_make(data, size));
    gzip_pack(&packed, slice_make(data, size));
    compare(buffer_slice(&packed));
    if (size >= 2) { /* one byte of it damaged */
        packed.data[data[0] % packed.size] ^= data[1];
        compare(buffer_slice(&packed));
    }
    buffer_deinit(&packed);
    return 0;
}
