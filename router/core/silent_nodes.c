/* silent_nodes.c - looks at nodes, and sends pings. */
#include "router/core/silent_nodes.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/replication.h"

enum {
    /* A node that is silent for long is pinged only at every LOOKS_PER_PING-th look: few bytes wait
     * in its socket. TCP loses no ping, but a link that a test has cut loses pings. */
    LOOKS_PER_PING = 8
};

/* No reply slot has this index. */
static const struct request ping = {.id = UINT64_MAX, .op = REQUEST_PING};

void silence_init(struct router *r)
{
    const int64_t heartbeat_ms = config_replication(r->config)->heartbeat_ms;
    timer_queue_init(&r->looks, duration_ms(heartbeat_ms));
    r->looks_to_give_up =
        (config_replication(r->config)->support_ms + heartbeat_ms - 1) / heartbeat_ms;
    r->watches = must_calloc((size_t)r->options.node_count + 1, sizeof *r->watches);
    for (uint32_t node = 1; node <= r->options.node_count; node++)
        r->watches[node].node = node;
}

void silence_deinit(struct router *r)
{
    free(r->watches);
}

static void silence_ping_soon(struct router *r, struct node_watch *w)
{
    must(w->awaited > 0 || w->pinged); /* SILENCE-2 */
    w->pinged = true;
    r->pings_due += !w->ping_due;
    w->ping_due = true;
}

static void silence_drop_ping(struct router *r, struct node_watch *w)
{
    r->pings_due -= w->ping_due;
    w->ping_due = false;
}

void silence_link_lost(struct router *r, uint32_t node)
{
    struct node_watch *w = silence_watch(r, node);
    if (w == NULL)
        return;
    silence_drop_ping(r, w);
    w->pinged = w->received = false;
    w->missed = 0;
}

static void silence_count_missed(struct router *r, struct node_watch *w)
{
    w->missed++;
    if (w->missed < LOOKS_PER_PING || w->missed % LOOKS_PER_PING == 0)
        silence_ping_soon(r, w);
    if (w->missed == config_replication(r->config)->silent_heartbeats) {
        PROBE("a router finds a node silent");
        r->counters.heartbeat_timeouts++;
        subrequest_node_silent(r, w->node);
    }
    if (w->missed == r->looks_to_give_up) {
        PROBE("a router gives up what a silent node owes it");
        subrequest_node_given_up(r, w->node);
    }
}

void silence_poll(struct router *r, struct node_watch *w)
{
    if (!w->pinged && w->awaited == 0) {
        w->received = false;
        return;
    }
    timer_start(&w->look, &r->looks, r->now);
    if (w->pinged)
        silence_count_missed(r, w);
    else if (!w->received)
        silence_ping_soon(r, w);
    w->received = false;
    silence_check(w);
}

bool silence_next_ping(struct router *r, struct router_effect *out)
{
    if (r->pings_due == 0)
        return false;
    struct node_watch *w = &r->watches[1];
    while (!w->ping_due)
        w++;
    silence_drop_ping(r, w);
    *out = (struct router_effect){.kind = ROUTER_SEND_REQUEST, .node = w->node, .request = &ping};
    return true;
}

bool silence_is_silent(const struct router *r, uint32_t node)
{
    const struct node_watch *w = silence_watch(r, node);
    return w != NULL && w->missed >= config_replication(r->config)->silent_heartbeats;
}
