/* router.h - the DynamoDB endpoint as a state machine: bytes and replies in, bytes and requests
 * out.
 *
 * Promises: no I/O, no clock, no global. Time, wall clock and a seed for randomness arrive as
 * arguments. Every HTTP request gets exactly one HTTP response or a closed connection.
 * Bounds: connections, header and body bytes, bytes held at once. What exceeds a bound is refused
 * with an error that names the setting.
 * A request is admitted twice: here by the table's limit (limit.h), at the nodes by the partition's
 * buckets (engine/admission).
 * Not here: sockets (host). */
#pragma once

#include "engine/message/message.h"

struct router;
struct gac_client;
struct subrequest;
struct table;

enum {
    ROUTER_UNSENT_MIN = 4096 /* the host need not report fewer unsent bytes */
};

/* A request that was answered, for a log of requests. Its texts lend until `answered` returns. */
struct router_answer {
    uint64_t connection; /* 0: the client is gone */
    const char *request_id;
    const char *operation;
    struct slice table; /* one of the request's tables; empty: none */
    uint32_t partition; /* one of the table's partitions that were asked; 0: none */
    struct slice key;   /* the key that it was asked for, as text (engine/catalog/key_text.h);
                         * empty: none */
    int64_t consumed_mcu;
    int http_status;
    const char *error;              /* its type; empty: the request was done */
    struct slice text;              /* of the error */
    struct slice more;              /* of the error: further members of the answer, as JSON */
    struct duration duration;       /* from the end of the request to the answer */
    const struct subrequest *parts; /* for router_answer_next */
};

/* One item, or one partition's range of items, that an answered request asked for. Lends until
 * `answered` returns. */
struct router_part {
    enum request_op
        op; /* REQUEST_GET, REQUEST_PUT, REQUEST_DELETE, REQUEST_UPDATE, REQUEST_RANGE */
    const struct table *table;
    struct slice key; /* storage key; of a range its lower bound */
    bool consistent;  /* of a read */
    bool replied;     /* false: given up before there was a reply; `code` has no meaning */
    enum reply_code code;
    int64_t consumed_mcu;
    int64_t item_bytes; /* of the item, or of all items of the range; -1: not known */
    int64_t scanned;    /* RANGE: items */
};

/* The next part of the answer: the newest first. False: there are no more. */
bool router_answer_next(struct router_answer *a, struct router_part *out);

struct router_options {
    const struct config *config; /* borrows */
    uint32_t node_count;         /* nodes are numbered 1 .. node_count */
    const char *region;          /* in ARNs; NULL: that of each request; borrows */
    const char *account;         /* in ARNs; NULL: 000000000000; borrows */
    uint64_t seed;
    const char *version; /* of weir, and the commit; NULL: not known; both borrow */
    const char *revision;
    uint32_t number;      /* of the router in its cluster, at most 4095; it is in its request ids */
    uint32_t gac_servers; /* GAC servers are numbered 1 .. gac_servers; 0: none */
    bool on_loopback;     /* the public listener's address is a loopback address */
    /* Called for every answer of an operation; NULL: not wanted. Must not call into the router. */
    void (*answered)(void *context, const struct router_answer *answer);
    void *answered_context;
    const char *admin_token; /* bearer token of admin requests; NULL: none is needed; borrows */
};

struct router *router_create(const struct router_options *options);
void router_destroy(struct router *r);

/* ---- events ---- */

/* `wall_ms`: milliseconds since 1970. Call at the start and then from time to time. */
void router_set_wall_clock(struct router *r, struct instant now, int64_t wall_ms);

/* A client has connected. The host chooses `connection`: not the number of an open connection. */
void router_open(struct router *r, struct instant now, uint64_t connection);
/* A client has connected to the admin listener, which serves only paths below /weir. */
void router_open_admin(struct router *r, struct instant now, uint64_t connection);
/* `waited`: how long the bytes wait for the router's processor. */
void router_receive(struct router *r, struct instant now, struct waiting waited,
                    uint64_t connection, struct slice bytes);
/* The client will send nothing more, but still reads: it is closed once it has its answers. */
void router_end(struct router *r, struct instant now, uint64_t connection);
/* The connection is gone. */
void router_close(struct router *r, struct instant now, uint64_t connection);
/* `bytes`: the bytes for the client that the host holds unsent. Call when more than
 * ROUTER_UNSENT_MIN bytes are held, before the next effect is taken. From then on call whenever
 * some bytes were sent, until none are left; otherwise the client gets no further answers. False:
 * there are no new effects. */
bool router_unsent(struct router *r, struct instant now, uint64_t connection, size_t bytes);

/* A reply of a node. Borrows the reply until the function returns. */
void router_reply(struct router *r, struct instant now, uint32_t node, const struct reply *reply);
/* The connection to a node was lost: outstanding replies of the node will not come. */
void router_node_lost(struct router *r, struct instant now, uint32_t node);

/* ROUTER_PARSE is done. */
void router_parsed(struct router *r, struct instant now);

/* A request could not be sent: the node will never get it. */
void router_not_sent(struct router *r, struct instant now, uint32_t node, uint64_t request_id);

/* The link to a GAC server is there, or is not there any more. `gone`: the server closed the link;
 * otherwise the server cannot be reached. */
void router_gac_up(struct router *r, struct instant now, uint32_t server);
void router_gac_down(struct router *r, struct instant now, uint32_t server, bool gone);
/* STATUS_MALFORMED: close the link. */
enum status router_gac_receive(struct router *r, struct instant now, uint32_t server,
                               struct slice frame);

/* The earliest time at which router_tick has work. router_tick may be called at any time. */
struct instant router_deadline(const struct router *r);
void router_tick(struct router *r, struct instant now);

/* The router's side of GAC, to look at. */
/* Eventual reads that were answered without the router's own writes. */
uint64_t router_late_reads(const struct router *r);
const struct gac_client *router_gac(const struct router *r);

/* ---- effects: take all of them after every event ---- */

enum router_effect_kind {
    ROUTER_SEND_REQUEST,
    ROUTER_SEND_GAC, /* a frame; the host drops a frame that it cannot send */
    ROUTER_SEND_BYTES,
    ROUTER_PARSE, /* call `parse` with `text` where it may take long; then router_parsed */
    ROUTER_CLOSE,
    ROUTER_ABORT
};

struct router_effect {
    enum router_effect_kind kind;
    uint32_t node;                 /* SEND_REQUEST */
    const struct request *request; /* SEND_REQUEST; lends until the next call into the router */
    uint32_t gac_server;           /* SEND_GAC */
    uint64_t connection; /* SEND_BYTES, CLOSE (after all bytes sent so far), ABORT (at once) */
    struct slice bytes;  /* SEND_BYTES, SEND_GAC; lends until the next call into the router */
    /* PARSE: touches `text` alone, so any thread will do. There is one at a time. `text` lends
     * until router_parsed: the function must have returned before router_destroy. */
    void (*parse)(void *text);
    void *text;
};

/* False: there are no more effects. */
bool router_next_effect(struct router *r, struct router_effect *out);
