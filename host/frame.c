#include "host/frame.h"

void frame_reader_deinit(struct frame_reader *r)
{
    buffer_deinit(&r->partial);
}

static uint32_t length_at(const uint8_t *header)
{
    uint32_t length;
    memcpy(&length, header, sizeof length);
    return length;
}

static bool is_length(uint32_t length)
{
    return length > 0 && length <= FRAME_SIZE_MAX;
}

/* Up to `size_wanted` bytes in all. */
static void move_into(struct buffer *partial, struct slice *from, size_t size_wanted)
{
    size_t missing = partial->size < size_wanted ? size_wanted - partial->size : 0;
    size_t taken = from->size < missing ? from->size : missing;
    buffer_append(partial, from->data, taken);
    *from = slice_make(from->data + taken, from->size - taken);
}

/* Completes the frame begun earlier as far as `bytes` reach. False: stop. */
static bool feed_partial(struct frame_reader *r, struct slice *bytes,
                         bool (*frame)(void *context, struct slice bytes), void *context)
{
    move_into(&r->partial, bytes, FRAME_HEADER_SIZE);
    if (r->partial.size < FRAME_HEADER_SIZE)
        return true;
    uint32_t length = length_at(r->partial.data);
    if (!is_length(length)) {
        r->failed = true;
        return false;
    }
    move_into(&r->partial, bytes, FRAME_HEADER_SIZE + (size_t)length);
    if (r->partial.size < FRAME_HEADER_SIZE + (size_t)length)
        return true;
    /* Taken out first: the callback may feed, or end, this very reader's connection. */
    struct buffer whole = r->partial;
    r->partial = (struct buffer){0};
    bool go_on = frame(context, slice_make(whole.data + FRAME_HEADER_SIZE, length));
    buffer_deinit(&whole);
    return go_on;
}

enum status frame_reader_feed(struct frame_reader *r, struct slice bytes,
                              bool (*frame)(void *context, struct slice bytes), void *context)
{
    bool go_on = !r->failed;
    while (go_on && bytes.size > 0) {
        bool whole = r->partial.size == 0 && bytes.size >= FRAME_HEADER_SIZE &&
                     is_length(length_at(bytes.data)) &&
                     bytes.size - FRAME_HEADER_SIZE >= length_at(bytes.data);
        if (!whole) {
            go_on = feed_partial(r, &bytes, frame, context);
            continue;
        }
        size_t length = length_at(bytes.data);
        struct slice content = slice_make(bytes.data + FRAME_HEADER_SIZE, length);
        bytes = slice_make(content.data + length, bytes.size - FRAME_HEADER_SIZE - length);
        go_on = frame(context, content);
    }
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}
