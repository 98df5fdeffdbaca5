/* subrequest.h - one request to a node or the catalog, with its deadline, its retries, its
 * tokens. */
#ifndef WEIR_ROUTER_SUBREQUEST_H
#define WEIR_ROUTER_SUBREQUEST_H

#include <sys/queue.h>

#include "engine/message/message.h"
#include "router/limiter/taken.h"
#include "router/route.h"
#include "router/timer.h"

struct call;
struct router;
struct router_effect;

enum subrequest_state {
    SUBREQUEST_IDLE = 0,
    SUBREQUEST_QUEUED,  /* the host has not taken it yet */
    SUBREQUEST_SENT,    /* a reply is due */
    SUBREQUEST_WAITING, /* for a back-off, a table or tokens */
    SUBREQUEST_DONE,
};

/* Each in one queue at a time. */
TAILQ_HEAD(subrequest_queue, subrequest);

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
    struct limits_taken limits; /* tokens it holds (limiter/limit.h) */
    struct timer deadline;
    struct timer backoff;  /* or the wait for tokens */
    struct timer patience; /* while it is sent: then its node counts as silent */
    struct route_waiter waiter;
    struct subrequest *next_of_call;
    struct subrequest_queue *queue; /* NULL: in none */
    TAILQ_ENTRY(subrequest) entry;  /* in the queue */
};

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

#endif
