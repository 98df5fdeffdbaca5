/* taken_tokens.h - the tokens that a subrequest holds, by limit. */
#pragma once

#include "gac/client.h"

enum {
    LIMITS_MAX = 4 /* limits of one request: the table's, and room for those of indexes */
};

struct limit_share {
    struct gac_key key;
    int64_t mcu;
};

/* All tokens that a request needs, or none. */
struct limits_taken {
    struct limit_share list[LIMITS_MAX];
    uint32_t count;
    struct gac_key short_of; /* the key whose tokens are short */
    int64_t level_mcu;       /* before the last limit was tried */
    struct duration wait;    /* of a refusal: a second try may succeed after this time */
};
