/* limit.h - global admission control on a request's way: tokens of its table's limit are taken
 * before it goes to a node, and settled once it has its last reply, or none will be heard.
 *
 * Taken is the least it can cost; what a node then tries again, elsewhere or later, is done with
 * the same tokens. A request for which tokens have been asked for waits, behind those that wait for
 * the same, at most gac_wait_ms. What is refused is told at the end of the event: never to an
 * operation that is still sending its requests.
 *
 * Invariants
 *   L1  what was taken is given back unless a node has done the work, or may have.
 *   L2  of one key nobody overtakes.
 * Promises: where there are tokens nothing is allocated and no message is sent.
 * Not here: how tokens are had (gac/client.h), what a client is told (throttle.h). */
#ifndef WEIR_ROUTER_LIMITER_LIMIT_H
#define WEIR_ROUTER_LIMITER_LIMIT_H

#include "router/core.h"

struct table;

/* False: the table has none of that kind; `out` is one of nothing then. */
bool limit_find(const struct router *r, const struct table *t, enum admit_kind kind,
                struct gac_limit *out);

/* False: it is told later, by subrequest_admitted or subrequest_refused. */
bool limit_take(struct router *r, struct subrequest *s);
/* It has cost so much, or nothing: once for everything that was taken. */
void limit_settle(struct router *r, struct subrequest *s, int64_t used_mcu);

/* The table has just been changed or created here: all routers are to hear of it. */
void limit_tell(struct router *r, const struct table *t, bool created);

/* Whether it waits for tokens, or to be told that there are none. */
bool limit_is_waiting(const struct router *r, const struct subrequest *s);
void limit_wait_over(struct router *r, struct subrequest *s);

/* How many wait for tokens of the key. */
int64_t limit_waiting(const struct router *r, struct gac_key key);

/* At the end of an event. True: somebody was refused. */
bool limit_run(struct router *r);

void limit_deinit(struct router *r);

#endif
