/* frame.h - messages cut out of a stream of bytes: u32 little-endian length, then that many bytes.
 *
 * A frame that arrives whole in one piece is lent out of that piece, uncopied; one that arrives in
 * several is put together in a buffer which grows with what has arrived, never with what a length
 * promises.
 * Not here: what a frame means. */
#ifndef WEIR_HOST_FRAME_H
#define WEIR_HOST_FRAME_H

#include "base/buffer.h"
#include "base/limits.h"
#include "base/status.h"

enum {
    FRAME_HEADER_SIZE = 4
};

struct frame_reader {
    struct buffer partial; /* owns: the header and what is there of one frame */
    bool failed;           /* sticky: the stream has lost its frame boundaries */
};

void frame_reader_deinit(struct frame_reader *r);

/* Calls `frame` (lends for the call) for each frame completed by `bytes`, until it returns false.
 * STATUS_MALFORMED: a length of 0 or above FRAME_SIZE_MAX; close the connection. */
enum status frame_reader_feed(struct frame_reader *r, struct slice bytes,
                              bool (*frame)(void *context, struct slice bytes), void *context);

#endif
