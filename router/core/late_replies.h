/* late_replies.h - requests that nodes still have although the router waits for them no more.
 *
 * A client that gives up, or a retry at another node, withdraws a request that was sent. The node
 * does it all the same, and its reply comes late. Until then the request is in flight: otherwise
 * the policy of overload would send a node ever more work whose clients have gone. And the reply
 * has the node's hint: clients may all give up before the first reply of an overloaded node comes.
 *
 * Invariant:
 *   LATE-1  a request that the policy of overload let pass ends there exactly once: by its reply,
 *           late or not, by the loss of its node, or request_deadline_ms after it was withdrawn. */
#pragma once

#include "router/core/router_internal.h"

void late_replies_init(struct router *r);
void late_replies_deinit(struct router *r);

/* The data request was sent, and is withdrawn before its reply has come. */
void late_reply_expect(struct router *r, const struct subrequest *s);
/* A reply that no request waits for. */
void late_reply_take(struct router *r, uint32_t node, const struct reply *reply);
/* No reply will come. */
void late_replies_node_lost(struct router *r, uint32_t node);
void late_reply_expire(struct router *r, struct timer *t);
