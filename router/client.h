/* client.h - client connections: what they send, what they get, when they close.
 *
 * Invariants:
 *   CLIENT-1  a client has at most one call; bytes that come meanwhile wait in its backlog. */
#ifndef WEIR_ROUTER_CLIENT_H
#define WEIR_ROUTER_CLIENT_H

#include "router/http/http.h"
#include "router/timer.h"

struct call;
struct router;
struct router_effect;

struct client {
    uint64_t id;
    struct router *router; /* borrows */
    struct http http;
    struct buffer out;     /* owns; to be sent */
    struct buffer backlog; /* owns; received while a call was running */
    size_t backlog_at;
    struct call *call;
    size_t unsent; /* bytes for the client that the host still holds */
    struct timer timer;
    struct timer unread; /* runs while the client takes none of them */
    struct client *next_output;
    struct client *next_resume;
    bool in_output;
    bool in_resume;
    bool feeding;     /* http is at work further up the stack */
    bool admin;       /* came by the admin listener */
    bool counted;     /* in client_count */
    bool closing;     /* closes once `out` is sent */
    bool close_told;  /* the host closes the connection once no bytes are unsent */
    bool aborting;    /* closes at once */
    bool ended;       /* the client sends nothing more: close once all its requests are answered */
    bool draining;    /* refused: further bytes are dropped, then the client is closed */
    bool over_budget; /* the request being read will be refused for lack of memory */
    uint64_t drain_left;
    size_t accounted;
};

void client_open(struct router *r, uint64_t id, bool admin);
void client_receive(struct router *r, uint64_t id, struct slice bytes);
/* The client will send nothing more. */
void client_end(struct router *r, uint64_t id);
/* The host says that the connection is gone. */
void client_close(struct router *r, uint64_t id);
void client_expire(struct router *r, struct client *c);
/* The number of unsent bytes has changed. True: some of the client's requests began. */
bool client_unsent(struct router *r, uint64_t id, size_t bytes);
/* The client has taken no bytes for too long. */
void client_unread(struct router *r, struct client *c);
/* Whether `more` bytes fit the budget. To make them fit, clients that do not read are closed. */
bool client_make_room(struct router *r, uint64_t more);
void client_destroy(struct client *c);
/* Next bytes or close to hand to the host. */
bool client_next_effect(struct router *r, struct router_effect *out);

/* Feeds the backlogs of clients whose calls were answered during the event. */
void client_resume_all(struct router *r);

/* Answers the request that http read last. The client goes on with what follows. `throttle`: NULL:
 * nothing was. */
void client_answer(struct client *c, int status, const char *type, struct slice body,
                   const char *request_id, const struct http_throttle *throttle);

#endif
