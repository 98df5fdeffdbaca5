/* lease.h - leases: what was taken, where, and until when it may be corrected, as a text.
 *
 * A client gives the text back as it was. Each use has a number; the answer has the lease for the next
 * use. The store knows which uses were done (tokens beside the shards), so a use that is sent again is
 * done once. The text is base64url; a checksum finds damage. It is no secret and no proof: who may call the
 * limiter may change buckets anyway. */
#pragma once

#include "router/limiter/session.h"

enum {
    LEASE_PARTS_MAX = CHARGE_PARTS_MAX,
    LEASE_TEXT_MAX = 16 * 1024
};

struct lease_part {
    struct slice entity;
    uint32_t shard;
    int64_t amounts[LIMITER_LIMITS_MAX]; /* mtok, in the order of lease.limits */
};

struct lease {
    uint8_t id[16];
    uint32_t use; /* the number of the next one */
    int64_t until_ms;
    struct slice space;
    struct slice resource;
    uint32_t limit_count;
    struct slice limits[LIMITER_LIMITS_MAX];
    uint32_t part_count;
    struct lease_part *parts;
};

/* Whether lease_read takes what lease_write makes of the lease. Ask before anything is charged for
 * it: what a lease does not hold can never be given back. */
bool lease_fits(struct arena *arena, const struct lease *l);
void lease_write(struct buffer *out, const struct lease *l);
/* Slices and parts are in the arena. False: the text is no lease. */
bool lease_read(struct arena *arena, struct slice text, struct lease *out);

/* Appends bytes as base64url without padding (RFC 4648 section 5). */
void lease_text_append(struct buffer *out, struct slice bytes);
/* The place of a limit in the lease, which gets it if it is new. LIMITER_LIMITS_MAX: there is no room. */
uint32_t lease_limit(struct lease *l, struct slice name);
/* The token of the lease's next use. */
void lease_token(const struct lease *l, uint8_t out[TRANSACTION_TOKEN_SIZE]);
