/* frame.h - messages cut out of a stream of bytes.
 *
 * Frame: u32 length | u64 checksum, XXH3 of the content | the content.
 *
 * A frame that arrives in one piece is lent out of that piece, uncopied. A frame that arrives in
 * several pieces is collected in a buffer. The buffer grows with the bytes that have arrived, never
 * with the length that a header names.
 * Not here: what a frame means. */
#pragma once

#include "base/buffer.h"
#include "base/limits.h"

enum {
    FRAME_HEADER_SIZE = 12
};

struct frame_reader {
    struct buffer partial; /* owns: the header and the bytes that have come of one frame */
    size_t size_max;       /* of a frame's content; 0: FRAME_SIZE_MAX */
    enum status failed;    /* sticky: the stream has lost its frame boundaries */
};

/* Makes the header of `content`, which has 1 .. FRAME_SIZE_MAX bytes. */
void frame_header(struct slice content, uint8_t out[FRAME_HEADER_SIZE]);

void frame_reader_deinit(struct frame_reader *r);

/* Calls `frame` (lends for the call) for each frame completed by `bytes`, until it returns false.
 * The callback may change `size_max`. STATUS_MALFORMED: a length of 0 or above `size_max`.
 * STATUS_CORRUPT: a checksum that does not match. The caller must close the connection after
 * both. */
enum status frame_reader_feed(struct frame_reader *r, struct slice bytes,
                              bool (*frame)(void *context, struct slice bytes), void *context);
