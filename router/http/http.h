/* http.h - one HTTP/1.1 connection: bytes into requests, answers into bytes.
 *
 * A plain request that came whole, as SDKs send them, is read directly (plain.c). llhttp parses all
 * others, strictly; http.c adds the rules of RFC 9112 that llhttp leaves out.
 *
 * Promises: requests come out one by one, in order. The head is copied to a buffer, where every
 * header line and the target can be looked up until the next request begins. A body is read in
 * place; only one that arrives in pieces is copied. A request whose end two readers could see in
 * two places is refused:
 *   HTTP-1  a line ends in CR LF; neither byte stands alone outside a body
 *   HTTP-2  no line begins with a space or a tab
 *   HTTP-3  Host, Content-Length, X-Amz-Target, Authorization, Content-Type, Origin stand once
 *   HTTP-4  HTTP/1.1 has a Host
 *   HTTP-5  Transfer-Encoding is `chunked`, or the request is refused
 *   HTTP-6  nothing of a head is cut: what is too long is refused
 * Not here: time (router.c), what requests mean (endpoints.c). */
#ifndef WEIR_ROUTER_HTTP_HTTP_H
#define WEIR_ROUTER_HTTP_HTTP_H

#include <llhttp.h>

#include "base/buffer.h"
#include "base/config.h"
#include "router/http/gzip.h"

enum {
    HTTP_TARGET_MAX = 96,
    HTTP_HOST_MAX = 256,
    HTTP_PATH_MAX = 512,
    HTTP_ORIGIN_MAX = 256,
    HTTP_BEARER_MAX = 128,     /* the admin token's file holds fewer */
    HTTP_TEXT_KEPT_MAX = 4096, /* a head's buffer that is kept for the next one */
    HTTP_REQUEST_ID_SIZE = 52,
    HTTP_DATE_SIZE = 29,
    HTTP_PACKED_SIZE_MIN = 4096, /* a smaller body fits a few packets anyway */
};

enum http_event {
    HTTP_EVENT_MORE,    /* all bytes taken; not yet a request */
    HTTP_EVENT_HEADERS, /* the header lines are there: look at them, then call again with the rest
                         */
    HTTP_EVENT_REQUEST, /* a request; its body is in `body` */
    HTTP_EVENT_REFUSED, /* `refusal` says why; answer it, then close */
};

enum http_refusal {
    HTTP_REFUSAL_NONE,
    HTTP_REFUSAL_MALFORMED,
    HTTP_REFUSAL_HEADERS, /* too long */
    HTTP_REFUSAL_BODY,    /* too long */
    HTTP_REFUSAL_TARGET,  /* the path is too long */
    HTTP_REFUSAL_CODING,  /* a transfer coding besides chunked */
};

enum http_content_type {
    HTTP_TYPE_NONE,
    HTTP_TYPE_AMZ_JSON,
    HTTP_TYPE_JSON,
    HTTP_TYPE_OTHER
};

/* Header lines that may stand only once. */
enum http_once {
    HTTP_ONCE_HOST = 1,
    HTTP_ONCE_TARGET = 2,
    HTTP_ONCE_LENGTH = 4,
    HTTP_ONCE_AUTHORIZATION = 8,
    HTTP_ONCE_TYPE = 16,
    HTTP_ONCE_ORIGIN = 32,
};

/* The codings of Accept-Encoding; RFC 9110 12.5.3. */
enum http_accepted {
    HTTP_ACCEPTED_IDENTITY,
    HTTP_ACCEPTED_GZIP,
    HTTP_ACCEPTED_DEFLATE,
    HTTP_ACCEPTED_ANY, /* `*` */
    HTTP_ACCEPTED
};

/* Bytes in the head's text. */
struct http_span {
    uint32_t at;
    uint32_t size;
};

/* A request's head. */
struct http_head {
    llhttp_method_t method;
    enum http_content_type type;
    enum content_coding body_coding;
    uint32_t attempt;                 /* amz-sdk-request: attempt=N; 0 if not there */
    uint32_t once;                    /* bits of enum http_once: lines that were there */
    uint16_t accepted[HTTP_ACCEPTED]; /* 1 + thousandths of a weight; 0: not named */
    bool unknown_coding;              /* another Content-Encoding */
    bool expects_continue;
    bool keep_alive;
    bool http_1_0;
    bool malformed;              /* a line that may not be there, or is twice */
    bool chunked;                /* Transfer-Encoding: chunked */
    bool other_coding;           /* Transfer-Encoding: another one as well */
    struct http_span target;     /* of the request line, as it was sent */
    struct http_span path;       /* of the target, without scheme, host and query */
    struct http_span query;      /* behind the `?` */
    struct http_span amz_target; /* the value of X-Amz-Target */
    uint32_t lines_at;           /* in the text: the first header line */
    struct buffer text;          /* owns; all of the above points into it */
};

struct http {
    llhttp_t parser;
    struct http_head head;
    struct buffer pieces; /* owns; a body that came in more than one piece */
    struct slice body;    /* borrows from pieces or from the bytes given last */
    size_t header_size; /* of the current request so far, chunk extensions and trailers included */
    uint64_t body_size; /* of the current request, so far */
    uint64_t chunk_lines;    /* bytes between chunks, so far */
    const uint8_t *lines_at; /* inside http_receive: from here on no byte has been looked at */
    bool lines_wrong;        /* something was wrong before a body */
    uint8_t line_last;       /* the byte before it, outside of bodies; a line feed at first */
    enum {
        HTTP_BEFORE_LINE,
        HTTP_IN_LINE,
        HTTP_AFTER_LINE
    } request_line;
    bool discarding;   /* the body is read and dropped */
    size_t plain_body; /* of a plain request whose head was told: all of it is there */
    bool fresh;        /* the next byte begins a request */
    bool in_request;   /* between its first byte and its last */
    bool head_told;    /* HTTP_EVENT_HEADERS was returned for it */
    bool due;          /* the next event may need no further bytes */
    enum http_refusal refusal;
    size_t header_max;
    size_t body_max;
    struct http_span name; /* of the header line being read */
    struct http_span value;
};

void http_init(struct http *h, const struct config *config);
void http_deinit(struct http *h);

/* Takes bytes up to the next event; `taken` gets how many. To be called with what is left until all
 * is taken, and while http_is_due: after the head of a request without a body nothing is left. */
enum http_event http_receive(struct http *h, struct slice bytes, size_t *taken);

static inline bool http_is_due(const struct http *h)
{
    return h->due;
}

/* After HTTP_EVENT_HEADERS: Content-Length, or 0 if chunked or without a body. */
uint64_t http_body_announced(const struct http *h);

/* After HTTP_EVENT_HEADERS: the body is not wanted, only its end. */
void http_discard_body(struct http *h);

/* After HTTP_EVENT_REFUSED: what was read of a head that is not whole, or not valid, is forgotten.
 */
void http_drop_head(struct http *h);

/* The current request's body is done with. */
void http_drop_body(struct http *h);

/* ---- looking things up in a head ---- */

static inline struct slice http_text(const struct http_head *head, struct http_span span)
{
    return slice_make(head->text.data + span.at, span.size);
}

/* Bytes held beyond what is kept for every connection. */
static inline size_t http_large_head(const struct http_head *head)
{
    return head->text.capacity > HTTP_TEXT_KEPT_MAX ? head->text.capacity : 0;
}

/* Steps through the header lines, in the order they came: `rest` begins as http_lines says. Names
 * are as they were sent, values without blanks at their ends. Both lend until the next request
 * begins. */
struct slice http_lines(const struct http_head *head);
bool http_next_line(struct slice *rest, struct slice *name, struct slice *value);

/* The value of the first line of that name, which is in lower case; data NULL: there is none. */
struct slice http_find(const struct http_head *head, const char *name);

/* The token of Authorization: Bearer; empty: there is none. */
struct slice http_bearer(const struct http_head *head);

/* Of an answer to what was throttled, or was in part. */
struct http_throttle {
    const char *by;     /* the reason's name; NULL: nothing was throttled */
    uint32_t partition; /* 0: refused for its table's limit, before there was one */
    int64_t wait_ms;    /* until the same might pass; 0: not known */
};

struct http_answer {
    int status;
    const char *type; /* Content-Type */
    struct slice body;
    const char *request_id;               /* HTTP_REQUEST_ID_SIZE characters */
    const char *date;                     /* HTTP_DATE_SIZE characters */
    const struct http_throttle *throttle; /* NULL: nothing was throttled */
    struct slice origin; /* allowed to read the answer; size 0: nobody asked, or is not allowed */
    enum content_coding coding; /* compress the body so, if that is worth it */
    bool preflight;             /* the answer to a browser that asks what it may send */
    bool keep_alive;
    bool http_1_0;  /* the client needs to be told that the connection stays */
    bool head_only; /* of a HEAD request: the body is only measured */
};

/* The coding that Accept-Encoding likes best. */
enum content_coding http_accepted_coding(const struct http_head *head);

/* HTTP_DATE_SIZE characters, as RFC 9110 5.6.7 wants them: Sun, 06 Nov 1994 08:49:37 GMT. */
void http_date(int64_t wall_s, char out[HTTP_DATE_SIZE]);

void http_write_answer(struct buffer *out, const struct http_answer *a);

#endif
