/* app_lease.h - an application's lease: what its request took, at which shards, and until when that
 * may be corrected, as a text.
 *
 * A client gives the text back as it was. Each use has a number; the answer has the lease for the
 * next use. The store knows which uses were done (tokens beside the shards), so a use that is sent
 * again is done once. The text is base64url; a checksum finds damage. It is no secret and no proof:
 * who may call the limiter may change buckets anyway. */
#pragma once

#include "router/limiter/limiter_call.h"

enum {
    APP_LEASE_PARTS_MAX = CHARGE_PARTS_MAX,
    APP_LEASE_TEXT_MAX = 16 * 1024
};

struct app_lease_part {
    struct slice entity;
    uint32_t shard;
    int64_t amounts[LIMITER_LIMITS_MAX]; /* mtok, in the order of app_lease.limits */
};

struct app_lease {
    uint8_t id[16];
    uint32_t use_number; /* of the next use */
    int64_t expires_ms;
    struct slice name_space;
    struct slice resource;
    uint32_t limit_count;
    struct slice limits[LIMITER_LIMITS_MAX];
    uint32_t part_count;
    struct app_lease_part *parts;
};

/* Whether app_lease_read takes what app_lease_write makes of the lease. Ask before anything is
 * charged for it: what a lease does not hold can never be given back. */
bool app_lease_fits(struct arena *arena, const struct app_lease *l);
void app_lease_write(struct buffer *out, const struct app_lease *l);
/* Slices and parts are in the arena. False: the text is no lease. */
bool app_lease_read(struct arena *arena, struct slice text, struct app_lease *out);

/* Appends bytes as base64url without padding (RFC 4648 section 5). */
void app_lease_append_base64url(struct buffer *out, struct slice bytes);
/* The place of a limit in the lease, which gets it if it is new. LIMITER_LIMITS_MAX: there is no
 * room. */
uint32_t app_lease_limit(struct app_lease *l, struct slice name);
/* The token of the lease's next use. */
void app_lease_token(const struct app_lease *l, uint8_t out[TRANSACTION_TOKEN_SIZE]);
