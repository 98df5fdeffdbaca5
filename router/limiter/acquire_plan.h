/* acquire_plan.h - which shards are charged for how much: what acquire, check and consume share.
 *
 * A request goes to one shard of its bucket. If that one is short of tokens, up to two others are
 * tried; then, or if it asks for more than a share, it gathers from several, all or none. A request
 * for a small part of a share gathers nothing: one shard has enough soon. A request with a token
 * goes to the shard that its token chooses, and gathers if that one is short: so it is found there
 * when it is sent again. */
#pragma once

#include "router/limiter/app_lease.h"

enum {
    ACQUIRE_OTHER_TRIES_MAX = 2, /* other shards that are tried */
    ACQUIRE_GATHERS_MAX = 3,     /* while other requests take what was found */
    ACQUIRE_READS_MAX = 16,      /* shards that are read for a request that one share could give */
};

struct acquire_plan {
    struct limiter_call limiter_call; /* must be first */
    struct amounts amounts;
    int64_t lease_ms; /* 0: no lease */
    bool proxy;       /* the answer is 204 or 403 */
    bool uses_lease;  /* consume: `lease` was given */
    struct app_lease lease;
    uint32_t other_tries;
    bool gathers;
    uint32_t gather_count;     /* times */
    uint32_t shards_were_read; /* of this plan: a bit for each bucket of the chain */
};

extern const struct limiter_call_handlers acquire_handlers;
/* operation.fail: while the store does not answer, requests are allowed if they or the limits say
 * so. */
int acquire_fail(struct call *c, const struct fault *f);
