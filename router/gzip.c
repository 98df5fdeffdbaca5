#include "router/gzip.h"

#include <libdeflate.h>

#include "base/must.h"

enum {
    FASTEST = 1,
    LENGTH_SIZE = 4 /* at the end of gzip's bytes: how many they unpack to, modulo 2^32 */
};

/* Room for what the bytes say they unpack to; if they lie, unpacking finds out. */
static size_t room_for(struct slice bytes, size_t size_max)
{
    uint32_t told = 0;
    if (bytes.size >= LENGTH_SIZE)
        memcpy(&told, bytes.data + bytes.size - LENGTH_SIZE, LENGTH_SIZE);
    return told < size_max ? told : size_max;
}

enum status gzip_unpack(struct buffer *out, struct slice bytes, size_t size_max)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t room = room_for(bytes, size_max), taken = 0, size = 0;
    must(d != NULL);
    enum libdeflate_result result = libdeflate_gzip_decompress_ex(
        d, bytes.data, bytes.size, buffer_reserve(out, room + 1), room, &taken, &size);
    libdeflate_free_decompressor(d);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE && room == size_max)
        return STATUS_TOO_LARGE;
    if (result != LIBDEFLATE_SUCCESS || taken != bytes.size)
        return STATUS_MALFORMED;
    out->size += size;
    return STATUS_OK;
}

void gzip_pack(struct buffer *out, struct slice bytes)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(FASTEST);
    must(c != NULL);
    size_t room = libdeflate_gzip_compress_bound(c, bytes.size);
    size_t size =
        libdeflate_gzip_compress(c, bytes.data, bytes.size, buffer_reserve(out, room), room);
    must(size > 0);
    libdeflate_free_compressor(c);
    out->size += size;
}
