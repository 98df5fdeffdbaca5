/* node_watch.h - finds nodes that do not answer.
 *
 *   a node's watch:  idle --a request is sent--> watched --no answer since the last poll--> pinged
 *                    pinged --unresponsive_heartbeats polls without an answer--> unresponsive
 *                    unresponsive --polls since the first ping make support_ms--> given up
 *                    any --an answer--> watched --nothing awaited at a poll--> idle
 *                    any --the link is lost--> idle
 *
 * Once per heartbeat_ms a router polls the state of each node from which it awaits an answer. If
 * the node has answered nothing since the last poll, the router sends a ping. A working node
 * answers a ping at once, even while requests take long: slow requests make no node unresponsive.
 * Every answer makes the node responsive.
 *
 * unresponsive_heartbeats polls take less than support_ms (base/config.c): no node is given up
 * before it is unresponsive.
 *
 * Why polls are counted, not time: a router that itself stood still counts one poll. It then reads
 * the answers that have come before it polls again.
 *
 * Invariants
 *   WATCH-1  a node is polled while an answer is awaited or a ping is unanswered.
 *   WATCH-2  a router that awaits no answer sends no ping, unless an earlier ping is unanswered.
 * Not here: what happens to requests to an unresponsive node (subrequest.c). */
#pragma once

#include "router/core/router_internal.h"

struct node_watch {
    uint32_t node;
    uint32_t awaited; /* requests that the node has to answer */
    int64_t missed;   /* polls in a row at which a ping was unanswered */
    bool received;    /* the node answered since the last poll */
    bool pinged;      /* a ping is unanswered */
    bool ping_due;    /* the host has not taken the ping yet */
    struct timer poll;
};

void node_watch_init(struct router *r);
void node_watch_deinit(struct router *r);

/* NULL: the router does not know the node. The catalog may name such a node. */
static inline struct node_watch *node_watch_of(const struct router *r, uint32_t node)
{
    return node >= 1 && node <= r->options.node_count ? &r->watches[node] : NULL;
}

/* The node does not answer pings: the router prefers other nodes. */
bool node_watch_is_unresponsive(const struct router *r, uint32_t node);

static inline void node_watch_check(const struct node_watch *w)
{
    must_in_tests((w->awaited == 0 && !w->pinged) || w->poll.queue != NULL); /* WATCH-1 */
}

/* A request was sent to the node. */
static inline void node_watch_sent(struct router *r, uint32_t node)
{
    struct node_watch *w = node_watch_of(r, node);
    if (w == NULL)
        return;
    w->awaited++;
    if (w->poll.queue == NULL)
        timer_start(&w->poll, &r->node_polls, r->now);
    node_watch_check(w);
}

/* The router waits no more for the answer to a request. */
static inline void node_watch_withdrawn(struct router *r, uint32_t node)
{
    struct node_watch *w = node_watch_of(r, node);
    if (w == NULL)
        return;
    must(w->awaited > 0);
    node_watch_check(w);
    w->awaited--;
}

/* A reply came from the node. */
static inline void node_watch_received(struct router *r, uint32_t node)
{
    struct node_watch *w = node_watch_of(r, node);
    if (w == NULL)
        return;
    w->received = true;
    w->pinged = false;
    w->missed = 0;
}

void node_watch_link_lost(struct router *r, uint32_t node);
/* It is time to poll the node. */
void node_watch_poll(struct router *r, struct node_watch *w);
/* The next ping for the host to send. False: none. */
bool node_watch_next_ping(struct router *r, struct router_effect *out);
