/* taken.h - the tokens that a subrequest holds, by limit. */
#ifndef WEIR_ROUTER_LIMITER_TAKEN_H
#define WEIR_ROUTER_LIMITER_TAKEN_H

#include "gac/client.h"

enum {
    LIMITS_MAX = 4 /* of one request: a table's; room for those of indexes */
};

struct limit_share {
    struct gac_key key;
    int64_t mcu;
};

/* All that a request needs, or nothing. */
struct limits_taken {
    struct limit_share list[LIMITS_MAX];
    uint32_t count;
    struct gac_key short_of; /* waits, or was refused, for tokens of this key */
    struct duration wait;    /* of a refusal: after which it is worth trying again */
};

#endif
