/* http.h - one HTTP/1.1 connection: turns bytes into requests, and answers into bytes.
 *
 * plain.c reads a plain request, as SDKs send it, if the whole request has come. llhttp parses all
 * other requests strictly. http.c adds the rules of RFC 9112 that llhttp leaves out.
 *
 * Promises: requests come out one by one, in order. The head is copied to a buffer. Every header
 * line and the target can be looked up until the next request begins. A body is read in place, and
 * copied only if it arrives in pieces. A request is refused if two readers could disagree about
 * where it ends. An accepted request keeps these rules:
 *   HTTP-1  a line ends in CR LF; neither byte stands alone outside a body
 *   HTTP-2  no line begins with a space or a tab
 *   HTTP-3  Host, Content-Length, X-Amz-Target, Authorization, Content-Type and Origin occur at
 *           most once
 *   HTTP-4  HTTP/1.1 has a Host
 *   HTTP-5  Transfer-Encoding is absent or `chunked`
 *   HTTP-6  nothing of a head is cut: a head or value that is too long is refused
 * Not here: time (router.c), what requests mean (endpoints.c). */
#pragma once

#include <llhttp.h>

#include "base/config.h"
#include "router/http/gzip.h"
#include "router/http/parts.h"

enum {
    HTTP_TARGET_MAX = 96,
    HTTP_HOST_MAX = 256,
    HTTP_PATH_MAX = 2048,
    HTTP_ORIGIN_MAX = 256,
    HTTP_BEARER_MAX = 128,     /* the admin token is shorter */
    HTTP_TEXT_KEPT_MAX = 4096, /* a head's buffer up to this size is kept for the next head */
    HTTP_REQUEST_ID_SIZE = 52,
    HTTP_DATE_SIZE = 29,
    HTTP_PACKED_SIZE_MIN = 4096, /* a smaller body is not packed: it fits a few packets anyway */
    HTTP_PACKED_SIZE_MAX = 1024 * 1024, /* packing a larger one would hold the loop */
};

enum http_event {
    HTTP_EVENT_MORE,    /* all bytes are taken; the request is not complete */
    HTTP_EVENT_HEADERS, /* the header lines are complete: look at them, then call again */
    HTTP_EVENT_REQUEST, /* a request is complete; its body is in `body` */
    HTTP_EVENT_REFUSED, /* `refusal` says why: answer, then close */
};

enum http_refusal {
    HTTP_REFUSAL_NONE,
    HTTP_REFUSAL_MALFORMED,
    HTTP_REFUSAL_HEADERS, /* too long */
    HTTP_REFUSAL_BODY,    /* too long */
    HTTP_REFUSAL_TARGET,  /* the path is too long */
    HTTP_REFUSAL_CODING,  /* another transfer coding than chunked */
};

enum http_content_type {
    HTTP_TYPE_NONE,
    HTTP_TYPE_AMZ_JSON,
    HTTP_TYPE_JSON,
    HTTP_TYPE_OTHER
};

/* Header lines that may stand at most once. */
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
    uint32_t attempt;                 /* N of amz-sdk-request: attempt=N; 0: absent */
    uint32_t once;                    /* bits of enum http_once: the lines that were present */
    uint16_t accepted[HTTP_ACCEPTED]; /* 1 + the weight in thousandths; 0: not named */
    bool unknown_coding;              /* Content-Encoding names another coding, or more than one */
    bool expects_continue;
    bool keep_alive;
    bool http_1_0;
    bool malformed;              /* a line is invalid or too long, or stands twice */
    bool chunked;                /* Transfer-Encoding names chunked */
    bool other_coding;           /* Transfer-Encoding names another coding */
    bool cross_site;             /* Sec-Fetch-Site: cross-site */
    struct http_span target;     /* of the request line, as it was sent */
    struct http_span authority;  /* of the target http://HOST/PATH; size 0: it has none */
    struct http_span path;       /* of the target, without scheme, host and query */
    struct http_span query;      /* of the target, after the `?` */
    struct http_span amz_target; /* the value of X-Amz-Target */
    struct http_span host;       /* the value of Host */
    struct http_span region;     /* of the credential scope (region.h); size 0: none */
    uint32_t lines_at;           /* position of the first header line in `text` */
    const char *why;             /* a static text: what is malformed; NULL: not told */
    struct buffer text;          /* owns; the spans point into it */
};

struct http {
    llhttp_t parser;
    struct http_head head;
    struct buffer pieces;    /* owns; a body that came in more than one piece */
    struct slice body;       /* borrows from `pieces` or from the bytes given last */
    size_t header_size;      /* bytes of head and chunk extensions of the current request so far */
    uint64_t body_size;      /* of the current request so far */
    uint64_t chunk_lines;    /* bytes between and after the chunks so far */
    const uint8_t *lines_at; /* inside http_receive: the next byte that check_lines looks at */
    bool lines_wrong;        /* check_lines has found a fault before a body */
    uint8_t line_last;       /* the byte before lines_at, outside of bodies; at first a line feed */
    enum {
        HTTP_BEFORE_LINE,
        HTTP_IN_LINE,
        HTTP_AFTER_LINE
    } request_line;
    bool discarding;    /* the body is read and dropped; may be set after HTTP_EVENT_HEADERS */
    size_t plain_body;  /* size of the body of a plain request whose head was told; else 0 */
    bool fresh;         /* the next byte begins a request */
    bool in_request;    /* between the first and the last byte of a request */
    bool head_reported; /* HTTP_EVENT_HEADERS was returned for the request */
    bool due;           /* the next event may need no further bytes */
    enum http_refusal refusal;
    size_t header_max;
    size_t body_max;
    struct http_span name; /* of the header line that is being read */
    struct http_span value;
};

void http_init(struct http *h, const struct config *config);
void http_deinit(struct http *h);

/* Takes bytes up to the next event; `taken` gets how many. Call again with the rest until all are
 * taken, and while `due`: after the head of a request without a body no bytes are left. */
enum http_event http_receive(struct http *h, struct slice bytes, size_t *taken);

/* After HTTP_EVENT_HEADERS: Content-Length, or 0 if chunked or without a body. */
uint64_t http_body_announced(const struct http *h);

/* After HTTP_EVENT_REFUSED: forgets a head that is incomplete or invalid. */
void http_drop_head(struct http *h);

/* The body of the current request is not needed any more. */
void http_drop_body(struct http *h);

/* ---- lookup in a head ---- */

static inline struct slice http_text(const struct http_head *head, struct http_span span)
{
    return slice_make(head->text.data + span.at, span.size);
}

/* The size of a head's buffer that is too large to be kept; otherwise 0. */
static inline size_t http_large_head(const struct http_head *head)
{
    return head->text.capacity > HTTP_TEXT_KEPT_MAX ? head->text.capacity : 0;
}

/* The value of the first line with that name, without blanks at its ends; `name` is in
 * lower case. data NULL: no such line. Lends until the next request begins. */
struct slice http_find(const struct http_head *head, const char *name);

/* The token of Authorization: Bearer; empty: there is none. */
struct slice http_bearer(const struct http_head *head);

/* Why the request, or a part of it, was throttled. */
struct http_throttle {
    const char *by;     /* the reason's name; NULL: nothing was throttled */
    uint32_t partition; /* 0: refused by the limit of the table, before a partition was asked */
    int64_t wait_ms;    /* a second try after it succeeds if no other request comes; 0: not known */
};

struct http_answer {
    int status;
    const char *type; /* Content-Type */
    struct slice body;
    const char *request_id;               /* HTTP_REQUEST_ID_SIZE characters */
    const char *date;                     /* HTTP_DATE_SIZE characters */
    const struct http_throttle *throttle; /* NULL: nothing was throttled */
    struct slice lines;                   /* further header lines, each after CR LF; size 0: none */
    struct slice origin;        /* a page of this origin may read the answer; size 0: none may */
    enum content_coding coding; /* of a body that http_packs */
    bool preflight;             /* answers a browser that asks what a page may send */
    bool keep_alive;
    bool http_1_0;             /* the answer must say that the connection stays open */
    bool head_only;            /* answers a HEAD request: the body is only measured */
    const struct parts *parts; /* the body is in them, and the caller sends them; NULL: in `body` */
};

static inline bool http_packs(size_t body_size)
{
    return body_size >= HTTP_PACKED_SIZE_MIN && body_size <= HTTP_PACKED_SIZE_MAX;
}

/* The coding with the highest weight in Accept-Encoding. */
enum content_coding http_accepted_coding(const struct http_head *head);

/* HTTP_DATE_SIZE characters, as in RFC 9110 5.6.7: Sun, 06 Nov 1994 08:49:37 GMT. */
void http_date(int64_t wall_s, char out[HTTP_DATE_SIZE]);

void http_write_answer(struct buffer *out, const struct http_answer *a);
