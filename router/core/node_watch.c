/* node_watch.c - polls nodes, and sends pings. */
#include "router/core/node_watch.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/replication.h"

enum {
    /* A node that is unresponsive for long is pinged only at every POLLS_PER_PING-th poll: few
     * bytes wait in its socket. TCP loses no ping, but a link that a test has cut loses pings. */
    POLLS_PER_PING = 8
};

/* No reply slot has this index. */
static const struct request ping = {.id = UINT64_MAX, .op = REQUEST_PING};

void node_watch_init(struct router *r)
{
    const int64_t heartbeat_ms = config_replication(r->config)->heartbeat_ms;
    timer_queue_init(&r->node_polls, duration_ms(heartbeat_ms));
    r->polls_to_give_up =
        (config_replication(r->config)->support_ms + heartbeat_ms - 1) / heartbeat_ms;
    r->watches = must_calloc((size_t)r->options.node_count + 1, sizeof *r->watches);
    for (uint32_t node = 1; node <= r->options.node_count; node++)
        r->watches[node].node = node;
}

void node_watch_deinit(struct router *r)
{
    free(r->watches);
}

static void node_watch_ping_soon(struct router *r, struct node_watch *w)
{
    must(w->awaited > 0 || w->pinged); /* WATCH-2 */
    w->pinged = true;
    r->pings_due += !w->ping_due;
    w->ping_due = true;
}

static void node_watch_drop_ping(struct router *r, struct node_watch *w)
{
    r->pings_due -= w->ping_due;
    w->ping_due = false;
}

void node_watch_link_lost(struct router *r, uint32_t node)
{
    struct node_watch *w = node_watch_of(r, node);
    if (w == NULL)
        return;
    node_watch_drop_ping(r, w);
    w->pinged = w->received = false;
    w->missed = 0;
}

static void node_watch_count_missed(struct router *r, struct node_watch *w)
{
    w->missed++;
    if (w->missed < POLLS_PER_PING || w->missed % POLLS_PER_PING == 0)
        node_watch_ping_soon(r, w);
    if (w->missed == config_replication(r->config)->unresponsive_heartbeats) {
        PROBE("a router finds a node unresponsive");
        r->counters.heartbeat_timeouts++;
        subrequest_node_unresponsive(r, w->node);
    }
    if (w->missed == r->polls_to_give_up) {
        PROBE("a router gives up requests to an unresponsive node");
        subrequest_node_given_up(r, w->node);
    }
}

void node_watch_poll(struct router *r, struct node_watch *w)
{
    if (!w->pinged && w->awaited == 0) {
        w->received = false;
        return;
    }
    timer_start(&w->poll, &r->node_polls, r->now);
    if (w->pinged)
        node_watch_count_missed(r, w);
    else if (!w->received)
        node_watch_ping_soon(r, w);
    w->received = false;
    node_watch_check(w);
}

bool node_watch_next_ping(struct router *r, struct router_effect *out)
{
    if (r->pings_due == 0)
        return false;
    struct node_watch *w = &r->watches[1];
    while (!w->ping_due)
        w++;
    node_watch_drop_ping(r, w);
    *out = (struct router_effect){.kind = ROUTER_SEND_REQUEST, .node = w->node, .request = &ping};
    return true;
}

bool node_watch_is_unresponsive(const struct router *r, uint32_t node)
{
    const struct node_watch *w = node_watch_of(r, node);
    return w != NULL && w->missed >= config_replication(r->config)->unresponsive_heartbeats;
}
