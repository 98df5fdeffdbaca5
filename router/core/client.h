/* client.h - client connections: what they send, what they get, when they close.
 *
 * Invariants:
 *   CLIENT-1  a client has at most one call. Bytes that come during a call wait in the backlog.
 * Not here: parsing (http/http.h), what requests mean (endpoints.h). */
#pragma once

#include "router/core/timer.h"
#include "router/http/http.h"

struct call;
struct router;
struct router_effect;

struct client {
    uint64_t id;
    struct router *router; /* borrows */
    struct http http;
    struct buffer out;     /* owns; to be sent */
    struct parts rest;     /* owns; large bodies, to be sent behind `out`, piece by piece */
    size_t rest_left;      /* bytes of them that the host has not been given */
    uint32_t rest_part;    /* the part that is being given, */
    size_t rest_at;        /* and how much of it was */
    struct buffer backlog; /* owns; received and not yet read by http */
    size_t backlog_at;
    struct call *call;
    size_t unsent;              /* bytes for the client that the host still holds */
    struct timer timer;         /* for an idle client, or for bytes that arrive */
    struct timer unread;        /* runs while the client takes no unsent bytes */
    TAILQ_ENTRY(client) output; /* in router.output */
    LIST_ENTRY(client) resume;  /* in router.resume */
    bool in_output;
    bool in_resume;
    bool feeding;         /* client_feed is running */
    bool admin;           /* a client of the admin listener */
    bool counted;         /* in client_count */
    bool closing;         /* closes once `out` is sent */
    bool close_requested; /* the host closes the connection once no bytes are unsent */
    bool aborting;        /* closes at once */
    bool ended;           /* sends nothing more: closes once all requests are answered */
    bool draining;        /* was refused: further bytes are dropped, then the client is closed */
    bool over_budget;     /* the request being read will be refused for lack of memory */
    uint64_t drain_left;  /* bytes still to be dropped */
    size_t accounted;
};

void client_open(struct router *r, uint64_t id, bool admin);
void client_receive(struct router *r, uint64_t id, struct slice bytes);
/* The client will send nothing more. */
void client_end(struct router *r, uint64_t id);
/* The host says that the connection is gone. */
void client_close(struct router *r, uint64_t id);
void client_expire(struct router *r, struct client *c);
/* The number of unsent bytes has changed. True: the backlog was read on; effects may follow. */
bool client_unsent(struct router *r, uint64_t id, size_t bytes);
/* The client has taken no bytes for too long. */
void client_unread(struct router *r, struct client *c);
/* Whether `more` bytes fit the budget. Before it refuses, it closes clients that do not read. */
bool client_make_room(struct router *r, uint64_t more);
void client_destroy(struct client *c);
/* The next bytes or the next close for the host. False: none. */
bool client_next_effect(struct router *r, struct router_effect *out);

/* Feeds the backlogs of clients whose calls were answered during the event. */
void client_resume_all(struct router *r);

/* Answers the request that http read last. The client then goes on with its backlog. `throttle`
 * NULL: nothing was throttled. `lines`: further header lines, each after CR LF. */
void client_answer(struct client *c, int status, const char *type, struct slice body,
                   const char *request_id, const struct http_throttle *throttle,
                   struct slice lines);
/* The same for a body that may be large: what is in `parts`, then what is in `body`. If it is
 * large, it is taken over: copying it would hold the loop. */
void client_answer_parts(struct client *c, int status, const char *type, struct parts *parts,
                         struct buffer *body, const char *request_id,
                         const struct http_throttle *throttle, struct slice lines);
