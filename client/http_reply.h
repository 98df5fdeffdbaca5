/* http_reply.h - one HTTP/1.1 answer from a stream of bytes; no I/O.
 *
 * Takes answers with Content-Length, in chunks, or without a body (204, 304). An answer whose end
 * only the end of the connection shows is refused: such a body may be cut off. 1xx answers are
 * skipped. Source: RFC 9112. */
#pragma once

#include "base/buffer.h"

enum {
    HTTP_REPLY_HEAD_MAX = 16 * 1024,
    HTTP_REPLY_BODY_MAX = 1024 * 1024,
};

enum http_reply_state {
    HTTP_REPLY_MORE,   /* bytes are missing */
    HTTP_REPLY_WHOLE,  /* `status` and `body` are valid */
    HTTP_REPLY_BROKEN, /* the connection must be closed */
};

struct http_reply {
    int status;
    bool keeps;        /* the server keeps the connection, and has sent nothing behind the answer */
    struct buffer raw; /* owns */
    struct buffer body; /* owns; followed by a NUL, which is not counted */
};

void http_reply_clear(struct http_reply *r);
void http_reply_deinit(struct http_reply *r);
enum http_reply_state http_reply_feed(struct http_reply *r, struct slice bytes);
