/* router.h - the DynamoDB endpoint as a state machine: bytes and replies in, bytes and requests
 * out.
 *
 * Promises: no I/O, no clock, no global. Time, randomness (a seed) and the wall clock arrive as
 * arguments. Every HTTP request gets exactly one HTTP response or a closed connection.
 * Bounds: connections, header and body bytes, bytes held at once (base/limits.h); beyond them a
 * clean refusal.
 * Not here: sockets (host), admission of requests (engine/admission, at the nodes). */
#ifndef WEIR_ROUTER_ROUTER_H
#define WEIR_ROUTER_ROUTER_H

#include "base/config.h"
#include "base/instant.h"
#include "engine/message/message.h"

struct router;
struct gac_client;

enum {
    ROUTER_UNSENT_MIN = 4096 /* fewer unsent bytes need not be told */
};

/* A request that was answered, for a log of requests. Its texts lend until the call returns. */
struct router_answer {
    uint64_t connection; /* 0: the client is gone */
    const char *request_id;
    const char *operation;
    struct slice table; /* the first one; empty: none */
    uint32_t partition; /* the first one that was asked; 0: none */
    struct slice key;   /* the first one, as text (engine/catalog/key_text.h); empty: none */
    int64_t consumed_mcu;
    int http_status;
    const char *error;        /* type; empty: it was done */
    struct slice text;        /* of the error */
    struct slice more;        /* of the error: members of the answer, as JSON */
    struct duration duration; /* from the whole request to the answer */
};

struct router_options {
    const struct config *config; /* borrows */
    uint32_t node_count;         /* nodes are numbered 1 .. node_count */
    const char *region;          /* in ARNs; borrows */
    const char *account;
    uint64_t seed;
    uint32_t gac_servers; /* of global admission control, numbered 1 .. gac_servers; 0: none */
    bool on_loopback;     /* the public listener's address is a loopback address */
    /* Told of every answer of an operation; NULL: nobody. It must not call into the router. */
    void (*answered)(void *context, const struct router_answer *answer);
    void *answered_context;
    const char *admin_token; /* the bearer token of admin requests; NULL: none is needed; borrows */
};

struct router *router_create(const struct router_options *options);
void router_destroy(struct router *r);

/* ---- events ---- */

/* `wall_ms`: milliseconds since 1970; called at the start and now and then. */
void router_set_wall_clock(struct router *r, struct instant now, int64_t wall_ms);

/* A client connection, named by the host's number, never reused while open. */
void router_open(struct router *r, struct instant now, uint64_t connection);
/* The same for a connection to the admin listener: POST /weir/.. and GET /weir/.. alone. */
void router_open_admin(struct router *r, struct instant now, uint64_t connection);
void router_receive(struct router *r, struct instant now, uint64_t connection, struct slice bytes);
/* The client will send nothing more, but still reads: it is closed once it has its answers. */
void router_end(struct router *r, struct instant now, uint64_t connection);
void router_close(struct router *r, struct instant now, uint64_t connection);
/* The host holds so many bytes that the client was sent and has not taken. To be called when more
 * than ROUTER_UNSENT_MIN bytes are held, before the next effect is taken, and from then on whenever
 * some have been sent, until none are left: else the client gets no further answers. False: there
 * are no new effects to take. */
bool router_unsent(struct router *r, struct instant now, uint64_t connection, size_t bytes);

/* The reply of a node; borrowed for the call. */
void router_reply(struct router *r, struct instant now, uint32_t node, const struct reply *reply);
/* The connection to a node went away: its replies will not come. */
void router_node_lost(struct router *r, struct instant now, uint32_t node);

/* A request could not be sent: its node does not have it, and will not get it. */
void router_not_sent(struct router *r, struct instant now, uint32_t node, uint64_t request_id);

/* The link to a server of global admission control is there, or is not any more: `gone`: the other
 * end closed it; otherwise it cannot be reached. */
void router_gac_up(struct router *r, struct instant now, uint32_t server);
void router_gac_down(struct router *r, struct instant now, uint32_t server, bool gone);
/* STATUS_MALFORMED: the link is to be closed. */
enum status router_gac_receive(struct router *r, struct instant now, uint32_t server,
                               struct slice frame);

/* Earliest time router_tick has work; router_tick may be called at any time. */
struct instant router_deadline(const struct router *r);
void router_tick(struct router *r, struct instant now);

/* Its side of global admission control (gac/client.h), to look at. */
const struct gac_client *router_gac(const struct router *r);

/* ---- effects: take them after every event, until there are none ---- */

enum router_effect_kind {
    ROUTER_SEND_REQUEST,
    ROUTER_SEND_GAC, /* a frame; what cannot be sent is dropped */
    ROUTER_SEND_BYTES,
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
};

bool router_next_effect(struct router *r, struct router_effect *out);

#endif
