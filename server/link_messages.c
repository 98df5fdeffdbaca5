/* link_messages.c - encodes frames without their length: the link writes its own. */
#include "server/link_messages.h"

#include <stdio.h>

#include "base/limits.h"
#include "engine/message/frames.h"

enum {
    LENGTH_SIZE = 4
};

static bool frame_send(const struct link_port *p, uint64_t link, const struct buffer *b)
{
    return p->send(p->context, link, slice_make(b->data + LENGTH_SIZE, b->size - LENGTH_SIZE));
}

bool link_send_request(const struct link_port *p, uint64_t link, struct buffer *scratch,
                       const struct request *r)
{
    if (link == 0 || request_size(r) > FRAME_SIZE_MAX)
        return false;
    buffer_clear(scratch);
    request_encode(scratch, r);
    return frame_send(p, link, scratch);
}

bool link_send_reply(const struct link_port *p, uint64_t link, struct buffer *scratch,
                     const struct reply *r)
{
    char text[96];
    struct reply refusal = {.id = r->id, .code = REPLY_LIMIT_EXCEEDED};
    if (reply_size(r) > FRAME_SIZE_MAX) {
        snprintf(text, sizeof text, "The answer takes %zu bytes, a message between processes %d",
                 reply_size(r), FRAME_SIZE_MAX);
        refusal.text = slice_of(text);
        r = &refusal;
    }
    buffer_clear(scratch);
    reply_encode(scratch, r);
    return frame_send(p, link, scratch);
}
