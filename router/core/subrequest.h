/* subrequest.h - one request to a node or to the catalog, with its deadline, retries and tokens.
 *
 * Not here: the answer to the client (call.h). */
#pragma once

#include "engine/message/message.h"
#include "router/core/table_routes.h"
#include "router/core/taken_tokens.h"
#include "router/core/timer.h"

struct placement;
struct call;
struct router;
struct router_effect;

enum subrequest_state {
    SUBREQUEST_IDLE = 0,
    SUBREQUEST_QUEUED,  /* the host has not taken it yet */
    SUBREQUEST_SENT,    /* a reply is awaited */
    SUBREQUEST_WAITING, /* for the end of a pause, for a table or for tokens */
    SUBREQUEST_DONE,
};

/* What became of a data request. */
struct subrequest_end {
    bool replied;
    enum reply_code code;
    struct instant at;
    struct admit_verdict verdict;
    int64_t consumed_mcu;
    int64_t item_bytes; /* -1: not known */
    int64_t scanned;
};

/* A subrequest is in one queue at most. */
TAILQ_HEAD(subrequest_queue, subrequest);

struct subrequest {
    struct request request;
    struct call *call;            /* NULL: the route cache asks */
    struct route_entry *fetch;    /* the route cache asks for this table; else NULL */
    struct route *route;          /* of a data request: the map in use; borrows */
    struct placement *placement;  /* of an item of a sharded key; NULL: the key is not sharded */
    struct counter_read *counter; /* it reads a cell of a counter; or NULL */
    const char *invalid;          /* the item takes no such request: the text; NULL: it does */
    const char *busy;             /* the item takes no such request now: the text; NULL: it does */
    enum subrequest_state state;
    uint32_t node;
    uint32_t slot;
    uint32_t attempts;
    uint32_t index;        /* the operation's own */
    uint32_t turn;         /* the next member to ask, where no leader is known */
    uint32_t redirects;    /* resends since the last pause */
    uint32_t unresponsive; /* bit i: the partition's member i is unresponsive, or did not answer */
    bool hedged;           /* was sent elsewhere because its node was unresponsive */
    bool guessed;          /* the leader is unknown or unresponsive: `node` may not lead */
    struct slice why;      /* the text of a refusal, in the call's arena */
    bool surely;           /* an eventual read that the leader answers as a consistent one */
    bool rows;             /* it reads rows that follow from own writes (own_writes.h) */
    bool own_over;         /* it has waited for own writes long enough */
    bool rested;           /* has paused since a node refused its map */
    struct limits_taken limits; /* the tokens that it holds (limit.h) */
    struct instant started;
    struct instant admitted_at; /* by the limit of its table */
    struct instant sent_at;     /* for the last time */
    bool within_limit;          /* as far as the router knows (limit.c); or it has hardly waited */
    struct duration waited;     /* for the router's processor */
    const char *shed;       /* the router refuses it for overload: the text; NULL: it does not */
    bool answered;          /* the node has replied to what was sent last, or never will */
    uint32_t overload_hint; /* by this reply (shedding.h); 0: none */
    struct timer deadline;
    struct timer backoff;      /* the pause, or the wait for tokens */
    struct timer own;          /* the wait for own writes */
    struct timer node_timeout; /* runs while it is sent: at its end other nodes are asked */
    struct route_waiter waiter;
    struct subrequest_end end;
    struct subrequest *next_of_call;
    struct subrequest_queue *queue; /* NULL: in no queue */
    TAILQ_ENTRY(subrequest) entry;  /* in the queue */
};

void subrequest_start(struct router *r, struct subrequest *s);
/* Starts after a pause that grows with s->attempts. 0 attempts: no pause. Not for data requests. */
void subrequest_start_later(struct router *r, struct subrequest *s);
void subrequest_cancel(struct router *r, struct subrequest *s);
/* The router itself refuses the data request, at the end of this event: subrequest_refused,
 * subrequest_shed or subrequest_refuse_item. */
void subrequest_refuse_later(struct router *r, struct subrequest *s);
void subrequest_shed(struct router *r, struct subrequest *s);
void subrequest_refuse_item(struct router *r, struct subrequest *s);
void subrequest_reply(struct router *r, uint32_t node, const struct reply *reply);
void subrequest_node_lost(struct router *r, uint32_t node);
/* The node is unresponsive: requests that may be done twice are sent to other nodes. */
void subrequest_node_unresponsive(struct router *r, uint32_t node);
/* The node was unresponsive for support_ms: other nodes may lead. The outcome of writes is
 * unknown. */
void subrequest_node_given_up(struct router *r, uint32_t node);
void subrequest_not_sent(struct router *r, uint32_t node, uint64_t id);
void subrequest_deadline(struct router *r, struct subrequest *s);
void subrequest_node_timeout(struct router *r, struct subrequest *s);
void subrequest_backoff_over(struct router *r, struct subrequest *s);
/* The wait for own writes: the read goes on without them. */
void subrequest_own_over(struct router *r, struct subrequest *s);
/* After the wait for tokens. */
void subrequest_admitted(struct router *r, struct subrequest *s);
void subrequest_refused(struct router *r, struct subrequest *s,
                        const struct admit_verdict *verdict);
void subrequest_queue_add(struct subrequest_queue *q, struct subrequest *s);
void subrequest_queue_remove(struct subrequest *s);
/* The table that the subrequest waited for. NULL: `refusal` says why there is none. */
void subrequest_routed(struct router *r, struct subrequest *s, struct route *route,
                       const struct reply *refusal);
bool subrequest_next_effect(struct router *r, struct router_effect *out);
