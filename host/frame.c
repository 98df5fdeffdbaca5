/* frame.c - collects frames from pieces, within bounds. */
#include "host/frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct header {
    uint32_t length;
    uint64_t checksum;
};

void frame_reader_deinit(struct frame_reader *r)
{
    buffer_deinit(&r->partial);
}

static uint64_t checksum_of(struct slice content)
{
    return XXH3_64bits(content.data, content.size);
}

void frame_header(struct slice content, uint8_t out[FRAME_HEADER_SIZE])
{
    must(content.size > 0);
    must(content.size <= FRAME_SIZE_MAX);
    put_u64(put_u32(out, (uint32_t)content.size), checksum_of(content));
}

static struct header header_at(const uint8_t *at)
{
    struct header h = {.length = get_u32(&at)};
    h.checksum = get_u64(&at);
    return h;
}

static bool is_length(const struct frame_reader *r, uint32_t length)
{
    size_t most = r->size_max == 0 ? FRAME_SIZE_MAX : r->size_max;
    return length > 0 && length <= most;
}

/* Hands out a complete frame. False: stop. */
static bool frame_deliver(struct frame_reader *r, const struct header *h, struct slice content,
                          bool (*frame)(void *context, struct slice bytes), void *context)
{
    if (h->checksum != checksum_of(content)) {
        r->failed = STATUS_CORRUPT;
        return false;
    }
    return frame(context, content);
}

/* Moves bytes until `partial` holds `size_needed` bytes. */
static void move_into(struct buffer *partial, struct slice *from, size_t size_needed)
{
    size_t missing = partial->size < size_needed ? size_needed - partial->size : 0;
    size_t taken = MIN(from->size, missing);
    buffer_append(partial, from->data, taken);
    *from = slice_make(from->data + taken, from->size - taken);
}

/* Continues the frame begun earlier with `bytes`. False: stop. */
static bool feed_partial(struct frame_reader *r, struct slice *bytes,
                         bool (*frame)(void *context, struct slice bytes), void *context)
{
    move_into(&r->partial, bytes, FRAME_HEADER_SIZE);
    if (r->partial.size < FRAME_HEADER_SIZE)
        return true;
    struct header h = header_at(r->partial.data);
    if (!is_length(r, h.length)) {
        r->failed = STATUS_MALFORMED;
        return false;
    }
    move_into(&r->partial, bytes, FRAME_HEADER_SIZE + (size_t)h.length);
    if (r->partial.size < FRAME_HEADER_SIZE + (size_t)h.length)
        return true;
    /* Taken out first: the callback may feed this reader, or close its connection. */
    struct buffer whole = r->partial;
    r->partial = (struct buffer){0};
    bool go_on =
        frame_deliver(r, &h, slice_make(whole.data + FRAME_HEADER_SIZE, h.length), frame, context);
    buffer_deinit(&whole);
    return go_on;
}

enum status frame_reader_feed(struct frame_reader *r, struct slice bytes,
                              bool (*frame)(void *context, struct slice bytes), void *context)
{
    bool go_on = r->failed == STATUS_OK;
    while (go_on && bytes.size > 0) {
        struct header h = {0};
        if (r->partial.size == 0 && bytes.size >= FRAME_HEADER_SIZE)
            h = header_at(bytes.data);
        if (!is_length(r, h.length) || bytes.size - FRAME_HEADER_SIZE < h.length) {
            go_on = feed_partial(r, &bytes, frame, context);
            continue;
        }
        struct slice content = slice_make(bytes.data + FRAME_HEADER_SIZE, h.length);
        bytes = slice_make(content.data + h.length, bytes.size - FRAME_HEADER_SIZE - h.length);
        go_on = frame_deliver(r, &h, content, frame, context);
    }
    return r->failed;
}
