/* frame.c - any bytes, cut anywhere: the same frames come out, or the same refusal.
 *
 * The first byte seeds the cuts; the second says how many of the bytes come in frames whose
 * checksums are right, of 16 bytes each. The whole rest is fed once in one piece and once in small
 * ones. */
#include <stddef.h>
#include <stdint.h>

#include "base/must.h"
#include "base/prng.h"
#include "host/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool collect(void *context, struct slice bytes)
{
    must(bytes.size > 0);
    must(bytes.size <= FRAME_SIZE_MAX);
    buffer_append_sized(context, bytes);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct prng random = prng_seeded(data[0]);
    struct buffer stream = {0};
    size_t framed = data[1] < size - 2 ? data[1] : size - 2;
    for (size_t at = 0; at < framed; at += 16) {
        uint8_t header[FRAME_HEADER_SIZE];
        struct slice content = slice_make(data + 2 + at, framed - at < 16 ? framed - at : 16);
        frame_header(content, header);
        buffer_append(&stream, header, sizeof header);
        buffer_append_slice(&stream, content);
    }
    buffer_append(&stream, data + 2 + framed, size - 2 - framed);
    struct slice all = buffer_slice(&stream), left = all;
    struct frame_reader at_once = {0}, in_pieces = {0};
    struct buffer expected = {0}, actual = {0};
    enum status whole = frame_reader_feed(&at_once, all, collect, &expected);
    enum status cut = STATUS_OK;
    while (left.size > 0) {
        size_t taken = 1 + prng_below(&random, left.size < 9 ? left.size : 9);
        cut = frame_reader_feed(&in_pieces, slice_make(left.data, taken), collect, &actual);
        left = slice_make(left.data + taken, left.size - taken);
    }
    must(whole == cut);
    must(slice_equal(buffer_slice(&expected), buffer_slice(&actual)));
    must(at_once.partial.capacity <= 2 * stream.size + 64);
    buffer_deinit(&stream);
    buffer_deinit(&expected);
    buffer_deinit(&actual);
    frame_reader_deinit(&at_once);
    frame_reader_deinit(&in_pieces);
    return 0;
}
