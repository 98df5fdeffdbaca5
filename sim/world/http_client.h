/* http_client.h - one client in the simulated world: a connection, one call at a time.
 *
 * A call ends exactly once: it is answered, times out, or its connection goes down. After a
 * time-out or a lost connection the next call goes to a router chosen at random.
 *
 * Requests and answers take every form that HTTP allows (struct http_manners). A client may send
 * other requests before its own, without waiting, and it gives up some requests half-way. */
#pragma once

#include "sim/world/network.h"

/* Each in percent of the calls. */
struct http_manners {
    uint32_t pieces;       /* the request comes in many pieces */
    uint32_t chunked;      /* the request's body comes in chunks */
    uint32_t large;        /* the request's body is one that a thread parses */
    uint32_t packed;       /* the request's body is in gzip */
    uint32_t unpacks;      /* the answer may be in gzip */
    uint32_t pipelined;    /* other requests are sent first */
    uint32_t ends;         /* the client sends nothing more: the answer is the connection's last */
    uint32_t cut;          /* the connection is closed before the request is whole */
    bool cut_too_late;     /* a planted mutation: the request was whole */
    int64_t read_bytes_ms; /* half of the clients read only so fast; 0: all read at full speed */
};

struct http_client_options {
    struct scheduler *scheduler; /* borrows */
    struct network *network;     /* borrows */
    uint32_t process;
    uint32_t router_first; /* the routers are router_first .. router_first + router_count - 1 */
    uint32_t router_count;
    uint32_t split_per_million; /* requests sent in two pieces */
    struct http_manners manners;
    uint64_t seed;
};

/* The result of a call: the HTTP status, or one of these. */
enum {
    HTTP_CLIENT_TIMEOUT = 0,
    HTTP_CLIENT_LOST = -1,     /* the request was sent, and the connection went down */
    HTTP_CLIENT_NOT_SENT = -2, /* no router can be reached */
    HTTP_CLIENT_CUT = -3 /* given up before the request was whole; the request must not be done */
};

/* Whether the request may have been done, or not. */
static inline bool http_client_is_unknown(int status)
{
    return status == 500 || status == HTTP_CLIENT_TIMEOUT || status == HTTP_CLIENT_LOST;
}

typedef void http_client_done(void *context, int status, struct slice body);

struct http_client {
    struct http_client_options options;
    struct prng prng;
    struct prng manners_prng;
    uint64_t link;
    uint32_t router; /* index of the router to use next */
    bool calling;
    bool ended;          /* the client sends nothing more over the link */
    uint32_t to_ignore;  /* answers to other requests that come before the call's */
    int64_t deadline_ns; /* of the call */
    int64_t timer_at_ns; /* INT64_MAX: not running */
    http_client_done *done;
    void *context;
    char lines[128]; /* further lines of the next requests' heads, each with its end */
    struct buffer out;
    struct buffer in;         /* the bytes of an answer that is not complete */
    int last_status;          /* of the last call */
    struct buffer last_error; /* the body of its answer, if that was not 200 */
};

void http_client_init(struct http_client *c, const struct http_client_options *options);
void http_client_deinit(struct http_client *c);

/* Tells people what the last answer was. */
void http_client_describe(const struct http_client *c, struct buffer *out);

/* The next call goes to a router chosen at random, over a new connection. */
void http_client_move(struct http_client *c);

/* `operation` is one of DynamoDB's, or a method and a path, such as "PUT /limiter/v1/limits".
 * `done` may be called before this returns only with HTTP_CLIENT_NOT_SENT or HTTP_CLIENT_CUT. */
void http_client_call(struct http_client *c, const char *operation, struct slice body,
                      struct duration timeout, http_client_done *done, void *context);
