/* http_client.h - one DynamoDB client in the simulated world: a connection, one call at a time.
 *
 * A call is answered, times out, or its connection goes down; either way exactly once. After a
 * time-out or a lost connection the next call goes to another router.
 *
 * Requests and answers take every form that HTTP allows (struct http_manners): a client may send
 * other requests before its own without waiting, and gives up some requests half-way. */
#ifndef WEIR_SIM_HTTP_CLIENT_H
#define WEIR_SIM_HTTP_CLIENT_H

#include "sim/network.h"

/* How often, in percent of the calls. */
struct http_manners {
    uint32_t pieces;       /* the request comes in many pieces */
    uint32_t chunked;      /* its body in chunks */
    uint32_t packed;       /* its body in gzip */
    uint32_t unpacks;      /* the answer may be in gzip */
    uint32_t pipelined;    /* other requests are sent before */
    uint32_t ends;         /* nothing is sent afterwards: the answer is the connection's last */
    uint32_t cut;          /* the connection is closed before the request is whole */
    bool cut_too_late;     /* a mistake: the request was whole */
    int64_t read_bytes_ms; /* some clients read no faster; 0: all do */
};

struct http_client_options {
    struct scheduler *scheduler; /* borrows */
    struct network *network;     /* borrows */
    uint32_t process;
    uint32_t router_first; /* routers are processes router_first .. + router_count - 1 */
    uint32_t router_count;
    uint32_t split_per_million; /* requests sent in two pieces */
    struct http_manners manners;
    uint64_t seed;
};

/* What became of a call: the HTTP status, or one of these. */
enum {
    HTTP_CLIENT_TIMEOUT = 0,
    HTTP_CLIENT_LOST = -1,     /* sent, and the connection went down */
    HTTP_CLIENT_NOT_SENT = -2, /* no router to be reached */
    HTTP_CLIENT_CUT = -3       /* given up before it was whole: it must not be done */
};

typedef void http_client_done(void *context, int status, struct slice body);

struct http_client {
    struct http_client_options options;
    struct prng prng;
    struct prng manners_prng;
    uint64_t link;
    uint32_t router; /* index of the one to use next */
    bool calling;
    bool ended;          /* nothing more is sent over the link */
    uint32_t to_ignore;  /* answers to other requests that come before the call's */
    int64_t deadline_ns; /* of the call */
    int64_t timer_at_ns; /* INT64_MAX: not running */
    http_client_done *done;
    void *context;
    struct buffer out;
    struct buffer in; /* what has come of an answer that is not whole */
};

void http_client_init(struct http_client *c, const struct http_client_options *options);
void http_client_deinit(struct http_client *c);

/* `done` may be called before this returns only with HTTP_CLIENT_NOT_SENT or HTTP_CLIENT_CUT. */
void http_client_call(struct http_client *c, const char *operation, struct slice body,
                      struct duration timeout, http_client_done *done, void *context);

#endif
