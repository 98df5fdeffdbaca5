/* link_messages.h - requests and replies as frames over a link. */
#pragma once

#include "server/ports.h"

struct buffer;
struct reply;
struct request;

/* `scratch` is working memory. False, and nothing is sent: the link is down (also if `link` is 0),
 * or the request is larger than a frame. */
bool link_send_request(const struct link_port *p, uint64_t link, struct buffer *scratch,
                       const struct request *r);
/* A reply larger than a frame is replaced by a refusal. */
bool link_send_reply(const struct link_port *p, uint64_t link, struct buffer *scratch,
                     const struct reply *r);
