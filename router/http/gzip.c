/* gzip.c - packs and unpacks whole bodies as gzip and deflate, with libdeflate.
 *
 * The unpacked size is not known in advance: gzip tells the size of its last member only, and the
 * size may be wrong. A guess that is too small grows, up to the caller's limit. */
#include "router/http/gzip.h"

#include <libdeflate.h>

enum {
    FASTEST = 1,
    LENGTH_SIZE = 4, /* the last bytes of gzip: the unpacked size modulo 2^32 */
    ROOM_MIN = 4096,
    /* A guess for JSON, and what a wrong guess grows by: all unpacking of one member takes at most
     * 4/3 of the last one. */
    ROOM_FACTOR = 4,
};

static size_t gzip_guess(enum content_coding coding, struct slice bytes)
{
    uint32_t size = 0;
    if (coding == CODING_DEFLATE)
        return bytes.size * ROOM_FACTOR;
    if (bytes.size >= LENGTH_SIZE)
        memcpy(&size, bytes.data + bytes.size - LENGTH_SIZE, LENGTH_SIZE);
    return size;
}

static enum libdeflate_result gzip_unpack_one(struct libdeflate_decompressor *d,
                                              enum content_coding coding, struct slice bytes,
                                              uint8_t *to, size_t room, size_t *taken, size_t *size)
{
    return coding == CODING_GZIP
               ? libdeflate_gzip_decompress_ex(d, bytes.data, bytes.size, to, room, taken, size)
               : libdeflate_zlib_decompress_ex(d, bytes.data, bytes.size, to, room, taken, size);
}

/* Unpacks one member or stream. `bytes` moves past its end. */
static enum status gzip_unpack_member(struct libdeflate_decompressor *d, struct buffer *out,
                                      enum content_coding coding, struct slice *bytes, size_t guess,
                                      size_t size_max)
{
    size_t room = MAX(guess, ROOM_MIN), taken = 0, size = 0;
    for (;;) {
        room = MIN(room, size_max);
        enum libdeflate_result result =
            gzip_unpack_one(d, coding, *bytes, buffer_reserve(out, room + 1), room, &taken, &size);
        if (result == LIBDEFLATE_SUCCESS)
            break;
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
            return STATUS_MALFORMED;
        if (room == size_max)
            return STATUS_TOO_LARGE;
        room *= ROOM_FACTOR;
    }
    out->size += size;
    *bytes = slice_make(bytes->data + taken, bytes->size - taken);
    return STATUS_OK;
}

enum status coding_unpack(struct buffer *out, enum content_coding coding, struct slice bytes,
                          size_t size_max)
{
    must(coding != CODING_IDENTITY);
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    const size_t before = out->size;
    const size_t guess = gzip_guess(coding, bytes);
    must(d != NULL);
    enum status status;
    do {
        status = gzip_unpack_member(d, out, coding, &bytes, guess, size_max - (out->size - before));
    } while (status == STATUS_OK && bytes.size > 0 && coding == CODING_GZIP);
    libdeflate_free_decompressor(d);
    if (status == STATUS_OK && bytes.size > 0)
        status = STATUS_MALFORMED;
    if (status != STATUS_OK)
        out->size = before;
    return status;
}

void coding_pack(struct buffer *out, enum content_coding coding, struct slice bytes)
{
    must(coding != CODING_IDENTITY);
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(FASTEST);
    must(c != NULL);
    const bool gzip = coding == CODING_GZIP;
    size_t room = gzip ? libdeflate_gzip_compress_bound(c, bytes.size)
                       : libdeflate_zlib_compress_bound(c, bytes.size);
    uint8_t *to = buffer_reserve(out, room);
    size_t size = gzip ? libdeflate_gzip_compress(c, bytes.data, bytes.size, to, room)
                       : libdeflate_zlib_compress(c, bytes.data, bytes.size, to, room);
    must(size > 0);
    libdeflate_free_compressor(c);
    out->size += size;
}
