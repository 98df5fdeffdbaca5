/* transaction_queue.h - transactions of this router at the same shard run one after the other.
 *
 * A transaction locks the items of its shards. Another one that comes meanwhile is refused, and may
 * have locked a shard that the first one needs: at a busy parent both would be refused, again and
 * again.
 *
 * Invariants
 *   TXQUEUE-1  While a call holds a shard, no other charge of this router is sent there.
 *   TXQUEUE-2  Waiting calls are served in the order of arrival, as far as shards are free.
 * Not here: transactions of other routers. A charge that meets them waits, and is sent again
 * (limiter_call_back_off). */
#pragma once

#include "router/limiter/limiter_call.h"

/* Before the charge is sent. False: the call waits, and comes back to handlers->plan. */
bool transaction_queue_enter(struct call *c);
/* The charge is answered, or given up. */
void transaction_queue_release(struct router *r, struct limiter_call *s);
/* The call ends. */
void transaction_queue_leave(struct router *r, struct limiter_call *s);
/* A shard was released: calls that wait for it go on. */
void transaction_queue_run(struct router *r);
