/* core.h - the router's state, for its own files only.
 *
 *   client --(a whole request)--> call --(subrequests)--> nodes
 *        ^                             |  \--(tables)------> route cache --> catalog
 *        \---------(answer)------------/
 *
 * Invariants:
 *   C1  a client has at most one call; what the client sends meanwhile waits in its backlog.
 *   C2  a call that ended holds no timer, no reply slot, no table and no place in a queue; its
 * memory stays until an event that is not a reply: nodes may answer while they read a lent request.
 *   C3  held_bytes is the sum of what clients and calls account for. */
#ifndef WEIR_ROUTER_CORE_H
#define WEIR_ROUTER_CORE_H

#include "base/arena.h"
#include "base/prng.h"
#include "gac/client.h"
#include "router/fault.h"
#include "router/http.h"
#include "router/id_map.h"
#include "router/json.h"
#include "router/request_id.h"
#include "router/router.h"
#include "router/timer.h"

struct call;
struct client;
struct operation;
struct route;
struct route_entry;
struct limit_waiters;
struct subrequest;

enum {
    BACKOFFS = 6,
    ROUTE_BUCKETS = 1024, /* a power of two */
    SPARE_BUFFERS = 64,
    SPARE_CALLS = 256,
    /* Buffers that grew larger are given back to the allocator, not kept for the next use. */
    KEPT_BUFFER_MAX = 64 * 1024,
};

/* ---- requests to nodes ---- */

enum subrequest_state {
    SUBREQUEST_IDLE = 0,
    SUBREQUEST_QUEUED,  /* the host has not taken it yet */
    SUBREQUEST_SENT,    /* a reply is due */
    SUBREQUEST_WAITING, /* for a back-off, a table or tokens */
    SUBREQUEST_DONE,
};

/* Somebody who waits for a table: a call at its start, or a subrequest sent to the wrong place. */
struct route_waiter {
    struct route_waiter *previous;
    struct route_waiter *next;
    struct route_entry *entry; /* NULL: waits for nothing */
    struct call *call;
    struct subrequest *subrequest; /* NULL: the call itself */
    struct route **out;            /* of a call: gets the table */
    bool late;                     /* it came while a fetch was under way */
    bool due;                      /* it is told of the fetch that has just ended */
    struct route_waiter *next_of_call;
};

/* Each in one queue at a time. */
struct subrequest_queue {
    struct subrequest *first;
    struct subrequest *last;
};

struct subrequest {
    struct request request;
    struct call *call;         /* NULL: the route cache asks */
    struct route_entry *fetch; /* the route cache: for this table */
    struct route *route;       /* data operations: the table as it was routed by; borrows */
    enum subrequest_state state;
    uint32_t node;
    uint32_t slot;
    uint32_t attempts;
    uint32_t index;             /* the operation's own */
    uint32_t turn;              /* which member is next, where no leader is known */
    uint32_t redirects;         /* followed without a pause */
    uint32_t silent;            /* bit i: the partition's member i did not answer when asked last */
    bool hedged;                /* it was sent elsewhere because its node was silent */
    bool guessed;               /* its node is asked to lead because no leader is known */
    struct slice why;           /* the last refusal's text, in the call's arena */
    bool rested;                /* it has paused since it was refused last */
    int64_t taken_mcu;          /* tokens of the table's limit (limit.h) */
    struct duration limit_wait; /* while it waits to be refused: what it will be told */
    struct timer deadline;
    struct timer backoff;  /* or the wait for tokens */
    struct timer patience; /* while it is sent: then its node counts as silent */
    struct route_waiter waiter;
    struct subrequest *next_of_call;
    struct subrequest_queue *queue; /* NULL: in none */
    struct subrequest *previous;    /* in the queue */
    struct subrequest *next;
};

/* ---- calls ---- */

enum return_consumed {
    CONSUMED_NONE,
    CONSUMED_TOTAL,
    CONSUMED_INDEXES
};

/* A table a call holds. */
struct route_use {
    struct route *route;
    struct route_use *next;
};

/* One API request. Owned by the router; lives from the request to its answer. */
struct call {
    struct router *router; /* borrows */
    struct client *client; /* borrows; NULL: the client is gone */
    const struct operation *operation;
    struct arena arena;  /* owns; everything of the call that needs no buffer */
    struct buffer bytes; /* owns; items and keys: complete before any subrequest is made */
    struct buffer body;  /* owns; the answer */
    void *state;         /* the operation's, from the arena */
    enum return_consumed consumed;
    int64_t consumed_mcu; /* by all subrequests so far */
    struct instant begun;
    const char *content_type;
    char request_id[REQUEST_ID_SIZE];
    struct http_throttle throttle; /* of what was throttled, even if the call goes well */
    struct subrequest *subrequests;
    struct route_use *routes;
    struct route_waiter *waiters;
    struct instant follow_until; /* operations/table_description.h */
    uint32_t outstanding;
    uint32_t routes_pending;
    bool ready; /* the operation's tables were there once */
    bool ended;
    size_t accounted;
    struct call *next; /* spare or finished */
};

/* ---- clients ---- */

struct client {
    uint64_t id;
    struct router *router; /* borrows */
    struct http http;
    struct buffer out;     /* owns; to be sent */
    struct buffer backlog; /* owns; received while a call was running */
    size_t backlog_at;
    struct call *call;
    size_t unsent; /* the host holds so many bytes of what it was sent */
    struct timer timer;
    struct timer unread; /* it has taken none of them since */
    struct client *next_output;
    struct client *next_resume;
    bool in_output;
    bool in_resume;
    bool feeding;     /* http is at work further up the stack */
    bool admin;       /* came by the admin listener */
    bool counted;     /* in client_count */
    bool closing;     /* closes once `out` is sent */
    bool close_told;  /* the host closes it once it has sent what is unsent */
    bool aborting;    /* closes at once */
    bool ended;       /* it sends nothing more: closes once all it asked is answered */
    bool draining;    /* refused: what still comes is dropped, then it closes */
    bool over_budget; /* the request being read will be refused for lack of memory */
    uint64_t drain_left;
    size_t accounted;
};

/* ---- the router ---- */

struct reply_slot {
    struct subrequest *subrequest; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

/* What is known of a node's answering (silence.h). */
struct node_watch {
    uint32_t node;
    uint32_t awaited; /* requests on their way to the node */
    int64_t missed;   /* looks in a row at which a ping was unanswered */
    bool heard;       /* since the last look */
    bool pinged;      /* a ping is unanswered */
    bool ping_due;    /* the host has not taken the ping yet */
    struct timer look;
};

struct router_counters {
    int64_t requests;         /* HTTP requests that named an operation */
    int64_t client_retries;   /* of them with amz-sdk-request: attempt > 1 */
    int64_t throttled;        /* answered with a throttling error */
    int64_t refused_memory;   /* answered 503 for lack of memory */
    int64_t unread_closed;    /* clients closed because they did not take their answers */
    int64_t internal_retries; /* subrequests sent again */
    int64_t deadlines;        /* subrequests that got no answer in time */
    int64_t silences;         /* times that a node fell silent */
    int64_t limit_waits;      /* subrequests that waited for tokens of their table's limit */
    int64_t limit_refused;    /* subrequests refused by it */
};

struct router {
    struct router_options options;
    const struct config *config; /* borrows */
    struct instant now;
    int64_t wall_ms; /* at wall_at */
    struct instant wall_at;
    char date[HTTP_DATE_SIZE]; /* of the second date_s */
    int64_t date_s;
    struct instant date_until;
    struct prng prng;
    uint32_t catalog_node;  /* a guess: who leads group 0 */
    struct gac_client *gac; /* owns */
    struct json_parser *json;
    struct buffer scratch; /* a request's body, padded for the parser */
    size_t scratch_accounted;
    struct fault fault; /* of the call at work */
    struct id_map clients;
    int64_t client_count; /* of the public listener, not turned away */
    struct timer_queue idle;
    struct timer_queue unread;
    struct timer_queue arriving;
    struct timer_queue deadlines;
    struct timer_queue backoffs[BACKOFFS];
    struct timer_queue patience;
    struct timer_queue looks;
    int64_t looks_to_give_up;   /* at a silent node */
    struct node_watch *watches; /* owns; by node */
    uint32_t pings_due;
    struct reply_slot *slots;
    uint32_t slot_count;
    uint32_t slot_free; /* index + 1; 0: none */
    struct subrequest_queue sending;
    struct id_map limit_waiters; /* by limit_id */
    struct limit_waiters *limit_first;
    struct subrequest_queue limit_refused; /* told at the end of the event */
    uint64_t limit_changes;                /* of the GAC client's, that those who wait have seen */
    struct timer_queue limit_waits;
    struct client *output_first;
    struct client *output_last;
    struct client *resume; /* answered, with a backlog to go on with */
    struct buffer lent;    /* the bytes of the last effect */
    struct buffer spare[SPARE_BUFFERS];
    uint32_t spare_count;
    struct call *spare_calls;
    uint32_t spare_call_count;
    struct call *finished;
    struct route_entry *routes[ROUTE_BUCKETS];
    uint32_t route_count;
    uint32_t route_evict;
    size_t held_bytes;
    struct router_counters counters;
};

/* Sets what an owner accounts for. */
static inline void router_account(struct router *r, size_t *accounted, size_t bytes)
{
    r->held_bytes = r->held_bytes - *accounted + bytes;
    *accounted = bytes;
}

static inline bool router_over_budget(const struct router *r, uint64_t more)
{
    return r->held_bytes + more > (uint64_t)r->config->http_memory_max_bytes;
}

static inline int64_t router_wall_ms(const struct router *r)
{
    return r->wall_ms + instant_since(r->now, r->wall_at).ns / NS_PER_MS;
}

/* HTTP_DATE_SIZE characters, made once a second. */
const char *router_date(struct router *r);

/* ---- client.c ---- */

void client_open(struct router *r, uint64_t id, bool admin);
void client_receive(struct router *r, uint64_t id, struct slice bytes);
/* It will send nothing more. */
void client_end(struct router *r, uint64_t id);
/* The host says it is gone. */
void client_close(struct router *r, uint64_t id);
void client_expire(struct router *r, struct client *c);
/* What the host still holds for it has changed. True: some of its requests began. */
bool client_unsent(struct router *r, uint64_t id, size_t bytes);
/* It has taken nothing for too long. */
void client_unread(struct router *r, struct client *c);
/* Whether the budget bears `more` bytes; clients that do not read are closed for it. */
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

/* ---- cors.c ---- */

/* The Origin of the client's request if a page from there may read the answer; else NULL. */
const char *cors_allowed(const struct router *r, const struct client *c);

/* ---- api.c ---- */

/* A whole request has come. */
void api_request(struct router *r, struct client *c);
/* The answer that says `r->fault`, with an id of its own. */
void api_answer_fault(struct router *r, struct client *c, const char *type);

/* ---- call.c ---- */

struct call *call_create(struct router *r, struct client *c, const struct operation *o);
/* Runs the operation on its parsed members. */
void call_begin(struct call *c, const struct json_value members[]);
/* Something the call waited for has come. */
void call_advance(struct call *c);
/* Answers with router->fault and ends. */
void call_fail(struct call *c);
/* Gives back everything but memory; nobody is answered. */
void call_end(struct call *c);
/* Keeps the table until the call ends; returns it. */
struct route *call_hold_route(struct call *c, struct route *route);
/* A table it wanted is not to be had. */
void call_route_refused(struct call *c, const struct reply *refusal);
/* Memory of ended calls; `all`: also of those whose requests may still be lent. */
void call_reap(struct router *r, bool all);
void call_destroy(struct call *c);
void call_account(struct call *c);

/* ---- subrequest.c ---- */

void subrequest_start(struct router *r, struct subrequest *s);
/* After a pause, which grows with s->attempts: at once if there were none. */
void subrequest_start_later(struct router *r, struct subrequest *s);
void subrequest_cancel(struct router *r, struct subrequest *s);
void subrequest_reply(struct router *r, uint32_t node, const struct reply *reply);
void subrequest_node_lost(struct router *r, uint32_t node);
/* It does not answer: what another node can serve as well is asked there. */
void subrequest_node_silent(struct router *r, uint32_t node);
/* It has not answered for so long that others lead by now. */
void subrequest_node_given_up(struct router *r, uint32_t node);
void subrequest_not_sent(struct router *r, uint32_t node, uint64_t id);
void subrequest_deadline(struct router *r, struct subrequest *s);
void subrequest_patience_over(struct router *r, struct subrequest *s);
void subrequest_backoff_over(struct router *r, struct subrequest *s);
/* It has its tokens now; or will get none. */
void subrequest_admitted(struct router *r, struct subrequest *s);
void subrequest_refused(struct router *r, struct subrequest *s,
                        const struct admit_verdict *verdict);
void subrequest_queue_add(struct subrequest_queue *q, struct subrequest *s);
void subrequest_queue_remove(struct subrequest *s);
/* The table it waited for, or the reply that says why not. */
void subrequest_routed(struct router *r, struct subrequest *s, struct route *route,
                       const struct reply *refusal);
bool subrequest_next_effect(struct router *r, struct router_effect *out);
const char *request_op_name(enum request_op op);

#endif
