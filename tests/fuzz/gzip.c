/* Packed bodies from outside: what zlib unpacks, whole and within the limit, comes out the same.
 * The first byte says which coding. */
#include <zlib.h>

#include "base/must.h"
#include "router/http/gzip.h"

enum {
    SIZE_MAX_UNPACKED = 64 * 1024,
    ZLIB_WINDOW = 15,
    GZIP_WINDOW = 16 + 15
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One member or stream. */
static bool unpack_member_by_zlib(struct buffer *out, enum content_coding coding,
                                  struct slice *bytes)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes->data, .avail_in = (uInt)bytes->size};
    const uInt room = (uInt)(SIZE_MAX_UNPACKED + 1 - out->size);
    must(inflateInit2(&z, coding == CODING_GZIP ? GZIP_WINDOW : ZLIB_WINDOW) == Z_OK);
    z.next_out = buffer_reserve(out, room);
    z.avail_out = room;
    int state = inflate(&z, Z_FINISH);
    out->size += room - z.avail_out;
    *bytes = slice_make(bytes->data + (bytes->size - z.avail_in), z.avail_in);
    inflateEnd(&z);
    return state == Z_STREAM_END && out->size <= SIZE_MAX_UNPACKED;
}

/* What zlib makes of it; false: it is not of that coding, or more than the limit, or not all of the
 * bytes. */
static bool unpack_by_zlib(struct buffer *out, enum content_coding coding, struct slice bytes)
{
    bool good = unpack_member_by_zlib(out, coding, &bytes);
    while (good && bytes.size > 0 && coding == CODING_GZIP)
        good = unpack_member_by_zlib(out, coding, &bytes);
    return good && bytes.size == 0;
}

static void compare(enum content_coding coding, struct slice bytes)
{
    struct buffer expected = {0}, out = {0};
    buffer_append_text(&out, "before");
    const size_t before = out.size;
    enum status status = coding_unpack(&out, coding, bytes, SIZE_MAX_UNPACKED);
    must(out.size - before <= SIZE_MAX_UNPACKED);
    must(status == STATUS_OK || out.size == before);
    if (unpack_by_zlib(&expected, coding, bytes)) {
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
    if (size == 0)
        return 0;
    enum content_coding coding = data[0] % 2 == 0 ? CODING_GZIP : CODING_DEFLATE;
    struct slice bytes = slice_make(data + 1, size - 1);
    compare(coding, bytes);
    coding_pack(&packed, coding, bytes);
    compare(coding, buffer_slice(&packed));
    if (size >= 3) { /* one byte of it damaged */
        packed.data[data[1] % packed.size] ^= data[2];
        compare(coding, buffer_slice(&packed));
    }
    if (coding == CODING_GZIP &&
        packed.size < SIZE_MAX_UNPACKED) { /* and another member behind it */
        coding_pack(&packed, coding, bytes);
        compare(coding, buffer_slice(&packed));
    }
    buffer_deinit(&packed);
    return 0;
}
