/* limit.h - global admission control for requests: before a request is sent to a node, it takes
 * tokens of every limit that applies to it. The tokens are settled when the final reply has come,
 * or when no reply will come.
 *
 * A request takes the least amount that it can cost. Its retries use the same tokens. If tokens are
 * short and have been asked for, the request waits for at most gac_wait_ms, behind the requests
 * that wait for the same limit. The operation is told of a refusal at the end of the event, when it
 * has sent all its requests.
 *
 * Invariants
 *   LIMIT-1  tokens are given back, unless a node has done the work or may have done it.
 *   LIMIT-2  requests that wait for one limit get tokens in the order in which they came.
 *   LIMIT-3  a request that waits or is refused holds no tokens of any limit.
 * Promise: a request that finds enough tokens waits for no message.
 * Not here: where tokens come from (gac/client.h), the texts of refusals (throttle.h). */
#pragma once

#include "router/core/router_internal.h"

struct table;

/* The table's limit of that kind. False: the table has no such limit. `out` is filled all the same,
 * for limit_notify; do not take tokens with it. */
struct gac_key limit_key_of(const struct subrequest *s);
bool limit_find(const struct router *r, const struct table *t, enum admit_kind kind,
                struct gac_limit *out);

/* The tokens that a request needs of one limit. */
struct limit_need {
    struct gac_limit limit;
    int64_t mcu;
};

/* Takes all tokens that are needed, or none. If none, taken->short_of is the limit that is short.
 * If refused, a second try may succeed after taken->wait. */
enum gac_verdict limits_take(struct gac_client *gac, struct instant now, struct limit_need needs[],
                             uint32_t count, struct limits_taken *taken);

/* Takes the tokens of a request. False: subrequest_admitted or subrequest_refused follows later. */
bool limit_take(struct router *r, struct subrequest *s);
/* Settles the tokens. A second call does nothing. `used_mcu` is what the request cost, 0 if it was
 * not done. */
void limit_settle(struct router *r, struct subrequest *s, int64_t used_mcu);
/* The same for a request that may have been done: its cost is what was taken. */
void limit_keep(struct router *r, struct subrequest *s);

/* What was settled has cost so much more; below 0: less. */
void limit_correct(struct router *r, const struct table *t, enum admit_kind kind, int64_t more_mcu);

/* This router has just changed or created the table: all routers will hear of the new limits. */
void limit_notify(struct router *r, const struct table *t, bool created);

/* Whether the request waits for tokens, or is refused and not told yet. */
bool limit_is_waiting(const struct router *r, const struct subrequest *s);
void limit_wait_over(struct router *r, struct subrequest *s);

/* The amount that admission at the node charges before the work; 0: nothing. */
int64_t limit_cost_before(const struct request *q);

/* How many requests wait for tokens of the key. */
int64_t limit_waiting(const struct router *r, struct gac_key key);

/* At the end of an event. True: a request was refused. */
bool limit_run(struct router *r);

void limit_deinit(struct router *r);
