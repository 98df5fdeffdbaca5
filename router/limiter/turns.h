/* turns.h - transactions of this router at the same shard, one after the other.
 *
 * A transaction locks the items of its shards. Another one that comes meanwhile is refused, and may
 * have locked a shard that the first one needs: at a busy parent both would be refused, again and
 * again.
 *
 * Invariants
 *   TURN-1  While a session has the turn at a shard, no other charge of this router is sent there.
 *   TURN-2  Who waits is served in the order of arrival, as far as shards are free.
 * Not here: transactions of other routers. A charge that meets them waits, and is sent again
 * (session_wait). */
#pragma once

#include "router/limiter/session.h"

/* Before the charge is sent. False: it waits, and comes back to work->known. */
bool turn_take(struct call *c);
/* The charge is answered, or given up. */
void turn_end(struct router *r, struct session *s);
/* The session ends. */
void turn_leave(struct router *r, struct session *s);
/* A turn has ended: those that wait for its shards go on. */
void turns_go_on(struct router *r);
