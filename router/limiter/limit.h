/* limit.h - global admission control on a request's way: a request takes tokens of every limit that
 * holds for it before it is sent to a node. They are settled once its last reply is there, or none
 * will come.
 *
 * A request takes the least it can cost; retries at other nodes or later use
 * the same tokens. A request that is short of tokens which have been asked for waits for at
 * most gac_wait_ms, behind those that wait for the same limit. A refusal is told at the end of the
 * event: never to an operation that is still sending its requests.
 *
 * Invariants
 *   LIMIT-1  tokens are given back unless a node has done the work, or may have.
 *   LIMIT-2  requests that wait for one limit get tokens in the order of their waiting.
 *   LIMIT-3  a request that waits or is refused holds no tokens of any limit.
 * Promises: where there are tokens nothing is allocated and no message is sent.
 * Not here: where tokens come from (gac/client.h), the texts of refusals (throttle.h). */
#ifndef WEIR_ROUTER_LIMITER_LIMIT_H
#define WEIR_ROUTER_LIMITER_LIMIT_H

#include "router/router_internal.h"

struct table;

/* The table's limit of that kind. False: it has none, and `out` is a limit of nothing. */
bool limit_find(const struct router *r, const struct table *t, enum admit_kind kind,
                struct gac_limit *out);

/* What a request needs of one limit. */
struct limit_need {
    struct gac_limit limit;
    int64_t mcu;
};

/* Takes all that is needed, or nothing: then taken->short_of is the limit that stands in the way,
 * and taken->wait, of a refusal, when it is worth trying again. */
enum gac_verdict limits_take(struct gac_client *gac, struct instant now, struct limit_need needs[],
                             uint32_t count, struct limits_taken *taken);

/* False: the request is told later, by subrequest_admitted or subrequest_refused. */
bool limit_take(struct router *r, struct subrequest *s);
/* After limit_take, once. `used_mcu` is what the request cost, 0 if it was not done.
 */
void limit_settle(struct router *r, struct subrequest *s, int64_t used_mcu);
/* The same for a request that may have been done: it cost what was taken. */
void limit_keep(struct router *r, struct subrequest *s);

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
