/* silent_nodes.h - finds nodes that do not answer.
 *
 *   a node's watch:  idle --a request is sent--> watched --no answer since the last look--> pinged
 *                    pinged --silent_heartbeats looks without an answer--> silent
 *                    silent --looks since the first ping make support_ms--> given up
 *                    any --an answer--> watched --nothing awaited at a look--> idle
 *                    any --the link is lost--> idle
 *
 * Once per heartbeat_ms a router looks at each node that owes an answer. If the node has answered
 * nothing since the last look, the router sends a ping. A working node answers a ping at once, even
 * while requests take long: slow requests cause no silence. Every answer ends a silence.
 *
 * silent_heartbeats looks take less than support_ms (base/config.c): no node is given up before it
 * is silent.
 *
 * Why looks are counted, not time: a router that itself stood still counts one look. It then reads
 * the answers that have come before it looks again.
 *
 * Invariants
 *   SILENCE-1  a node is looked at while an answer is awaited or a ping is unanswered.
 *   SILENCE-2  a router that awaits no answer sends no ping, unless an earlier ping is unanswered.
 * Not here: what happens to requests to a silent node (subrequest.c). */
#pragma once

#include "router/core/router_internal.h"

struct node_watch {
    uint32_t node;
    uint32_t awaited; /* requests that the node has to answer */
    int64_t missed;   /* looks in a row at which a ping was unanswered */
    bool received;    /* the node answered since the last poll */
    bool pinged;      /* a ping is unanswered */
    bool ping_due;    /* the host has not taken the ping yet */
    struct timer look;
};

void silence_init(struct router *r);
void silence_deinit(struct router *r);

/* NULL: the router does not know the node. The catalog may name such a node. */
static inline struct node_watch *silence_watch(const struct router *r, uint32_t node)
{
    return node >= 1 && node <= r->options.node_count ? &r->watches[node] : NULL;
}

/* The node does not answer pings: the router prefers other nodes. */
bool silence_is_silent(const struct router *r, uint32_t node);

static inline void silence_check(const struct node_watch *w)
{
    must_in_tests((w->awaited == 0 && !w->pinged) || w->look.queue != NULL); /* SILENCE-1 */
}

/* A request was sent to the node. */
static inline void silence_sent(struct router *r, uint32_t node)
{
    struct node_watch *w = silence_watch(r, node);
    if (w == NULL)
        return;
    w->awaited++;
    if (w->look.queue == NULL)
        timer_start(&w->look, &r->looks, r->now);
    silence_check(w);
}

/* The router waits no more for the answer to a request. */
static inline void silence_withdrawn(struct router *r, uint32_t node)
{
    struct node_watch *w = silence_watch(r, node);
    if (w == NULL)
        return;
    must(w->awaited > 0);
    silence_check(w);
    w->awaited--;
}

/* A reply came from the node. */
static inline void silence_received(struct router *r, uint32_t node)
{
    struct node_watch *w = silence_watch(r, node);
    if (w == NULL)
        return;
    w->received = true;
    w->pinged = false;
    w->missed = 0;
}

void silence_link_lost(struct router *r, uint32_t node);
/* It is time to look at the node. */
void silence_poll(struct router *r, struct node_watch *w);
/* The next ping for the host to send. False: none. */
bool silence_next_ping(struct router *r, struct router_effect *out);
