/* take.h - planning of what is taken, and the answers: what acquire, check and consume share.
 *
 * A request goes to one shard of its bucket. If that one is short of tokens, up to two others are
 * tried; then, or if it asks for more than a share, it gathers from several, all or none. A request
 * for a small part of a share gathers nothing: one shard has enough soon. A request with a token goes to
 * the shard that its token chooses, and gathers if that one is short: so it is found there when it is sent
 * again. */
#pragma once

#include "router/limiter/lease.h"

enum {
    TAKE_OTHERS_MAX = 2,  /* other shards that are tried */
    TAKE_GATHERS_MAX = 3, /* while other requests take what was found */
    TAKE_READS_MAX = 16,  /* shards that are read for a request that one share could give */
};

struct take {
    struct session session; /* must be first */
    struct amounts amounts;
    int64_t lease_ms; /* 0: no lease */
    bool proxy;       /* the answer is 204 or 403 */
    bool uses_lease;  /* consume: `lease` was given */
    struct lease lease;
    uint32_t others;
    bool gathers;
    uint32_t gathered; /* times */
    uint32_t reads;    /* of this plan: a bit for each bucket of the chain whose shards were read */
};

extern const struct session_work take_work;
/* operation.fail: while the store cannot be asked, requests are allowed if they or the limits say so. */
int take_fail(struct call *c, const struct fault *f);
