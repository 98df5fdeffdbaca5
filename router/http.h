/* http.h - one HTTP/1.1 connection: bytes into requests, answers into bytes. A plain request that
 * came whole, as SDKs send them, is read directly; the parsing of all others is http-parser's. This
 * keeps limits, bodies and what the router wants to know of the headers.
 *
 * Promises: requests come out one by one, in order. Bytes are read in place; only a body that
 * arrives in pieces is copied.
 * Not here: time (router.c), what requests mean (api.c). */
#ifndef WEIR_ROUTER_HTTP_H
#define WEIR_ROUTER_HTTP_H

#include <http_parser.h>

#include "base/buffer.h"
#include "base/config.h"

enum {
    HTTP_TARGET_MAX = 96,
    HTTP_HOST_MAX = 256,
    HTTP_PATH_MAX = 512,
    HTTP_FIELD_MAX = 24,
    HTTP_VALUE_MAX = 128,
    HTTP_REQUEST_ID_SIZE = 52,
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
};

enum http_content_type {
    HTTP_TYPE_NONE,
    HTTP_TYPE_AMZ_JSON,
    HTTP_TYPE_JSON,
    HTTP_TYPE_OTHER
};

/* What is kept of a request's head; strings are cut at their bounds and end in NUL. */
struct http_head {
    enum http_method method;
    enum http_content_type type;
    uint32_t attempt; /* amz-sdk-request: attempt=N; 0 if not there */
    bool gzip_body;
    bool unknown_coding; /* another Content-Encoding */
    bool accepts_gzip;
    bool expects_continue;
    bool keep_alive;
    bool http_1_0;
    /* texts last: the next request clears what stands before them */
    char target[HTTP_TARGET_MAX];
    char host[HTTP_HOST_MAX];
    char path[HTTP_PATH_MAX];
};

struct http {
    http_parser parser;
    struct http_head head;
    struct buffer pieces; /* owns; a body that came in more than one piece */
    struct slice body;    /* borrows from pieces or from the bytes given last */
    size_t header_size;   /* of the current request, so far */
    uint64_t body_size;   /* of the current request, so far */
    bool discarding;      /* the body is read and dropped */
    size_t plain_body;    /* of a plain request whose head was told: all of it is there */
    bool fresh;           /* the next byte begins a request */
    bool in_request;      /* between its first byte and its last */
    bool head_told;       /* HTTP_EVENT_HEADERS was returned for it */
    enum http_refusal refusal;
    size_t header_max;
    size_t body_max;
    /* the header line being read */
    uint32_t field_size;
    uint32_t value_size;
    bool value_seen;
    char field[HTTP_FIELD_MAX];
    char value[HTTP_VALUE_MAX];
};

void http_init(struct http *h, const struct config *config);
void http_deinit(struct http *h);

/* Takes bytes up to the next event; `taken` gets how many. */
enum http_event http_receive(struct http *h, struct slice bytes, size_t *taken);

/* After HTTP_EVENT_HEADERS: Content-Length, or 0 if chunked or without a body. */
uint64_t http_body_announced(const struct http *h);

/* After HTTP_EVENT_HEADERS: the body is not wanted, only its end. */
void http_discard_body(struct http *h);

/* The current request's body is done with. */
void http_drop_body(struct http *h);

struct http_answer {
    int status;
    const char *type; /* Content-Type */
    struct slice body;
    const char *request_id; /* HTTP_REQUEST_ID_SIZE characters */
    bool gzip;              /* compress the body if that is worth it */
    bool keep_alive;
    bool http_1_0;  /* the client needs to be told that the connection stays */
    bool head_only; /* of a HEAD request: the body is only measured */
};

void http_write_answer(struct buffer *out, const struct http_answer *a);

#endif
