/* limiter.h - a client of weir's rate limiter, for applications.
 *
 * A client has one connection to a router, opened with the first request and kept. A call blocks,
 * for at most the time-out. One thread at a time may use a client; a lease may be used by any
 * client, by one at a time.
 *
 * A request counts once: if no answer comes, the same request is sent again over a new connection,
 * with the same Idempotency-Key. After WEIR_LIMITER_UNAVAILABLE it is not known whether the request
 * counted.
 *
 * Units: mtok = 1/1000 token, so that numbers with three decimals are exact.
 * Lifetimes: what an answer lends stays until the next call with the same client.
 * The service itself: docs/limiter-api.yaml. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_API __attribute__((visibility("default")))

#define WEIR_MTOK(tokens) ((int64_t)(tokens)*1000)

enum weir_limiter_status {
    WEIR_LIMITER_OK = 0,
    WEIR_LIMITER_REFUSED = 1,     /* nothing was taken: too few tokens. answer.retry_after_ms */
    WEIR_LIMITER_NO_LIMITS = 2,   /* no scope has limits for the entity and the resource */
    WEIR_LIMITER_LEASE = 3,       /* the lease has ended or expired, or was used otherwise */
    WEIR_LIMITER_INVALID = 4,     /* the request is invalid; weir_limiter_error names the field */
    WEIR_LIMITER_UNAVAILABLE = 5, /* no answer within the time-out */
};

/* What weir_limiter_acquire returns if the service cannot be reached. */
enum weir_limiter_outage {
    WEIR_LIMITER_BLOCK =
        0, /* WEIR_LIMITER_UNAVAILABLE. A router that is there, but cannot reach the
                               store, does what the limits say (on_unavailable) */
    WEIR_LIMITER_ALLOW = 1, /* WEIR_LIMITER_OK with answer.uncounted and without a lease */
};

struct weir_limiter;       /* a client */
struct weir_limiter_lease; /* what was taken, and may be corrected until the lease expires */

/* Members that are zero have the default. The texts are copied. */
struct weir_limiter_options {
    const char *url;        /* http://HOST:PORT. Default: http://127.0.0.1:8000 */
    const char *name_space; /* Default: "default" */
    uint32_t timeout_ms;    /* of a call, with all attempts. Default: 1000 */
    uint32_t attempts;      /* at most, of a call. Default: 3 */
    enum weir_limiter_outage outage;
};

struct weir_limiter_amount {
    const char *limit; /* the limit's name */
    int64_t mtok;
};

struct weir_limiter_request {
    const char *entity;
    const char *resource;
    const struct weir_limiter_amount *amounts;
    uint32_t amount_count;
    uint32_t lease_ms; /* 0: no lease */
};

/* The balance of a limit, after the request. */
struct weir_limiter_balance {
    const char *entity;
    const char *name;
    int64_t capacity_mtok;
    int64_t remaining_mtok; /* below 0: debt */
    int64_t reset_ms;       /* until the limit is full */
};

struct weir_limiter_answer {
    bool uncounted;         /* allowed because the service cannot be reached */
    int64_t retry_after_ms; /* of WEIR_LIMITER_REFUSED: another try may succeed then */
    const char
        *reason; /* of a refusal: "limit", or "writes" if the bucket is being divided. NULL: none */
    const char *limit; /* of a refusal: the limit that is short. NULL: none */
    const struct weir_limiter_balance *balances;
    uint32_t balance_count;
};

/* WEIR_LIMITER_INVALID: the URL is not valid; *out is NULL. Nothing is sent yet. */
WEIR_API enum weir_limiter_status weir_limiter_open(const struct weir_limiter_options *options,
                                                    struct weir_limiter **out);
WEIR_API void weir_limiter_close(struct weir_limiter *client);

/* Why the last call failed: one line. Lends until the next call. */
WEIR_API const char *weir_limiter_error(const struct weir_limiter *client);

/* Takes all amounts, or nothing. `lease`: NULL if lease_ms is 0; otherwise *lease gets a lease, or
 * NULL if there is none. Every lease ends with weir_limiter_lease_destroy. */
WEIR_API enum weir_limiter_status weir_limiter_acquire(struct weir_limiter *client,
                                                       const struct weir_limiter_request *request,
                                                       struct weir_limiter_lease **lease,
                                                       struct weir_limiter_answer *out);

/* ---- leases: NULL is a lease of nothing, for which each of these does nothing and returns OK ----
 *
 * WEIR_LIMITER_UNAVAILABLE leaves the lease as it is: the same call may be made again. A call of
 * another kind may then find the lease used (WEIR_LIMITER_LEASE). */

/* Takes more, or is refused. */
WEIR_API enum weir_limiter_status weir_limiter_consume(struct weir_limiter *client,
                                                       struct weir_limiter_lease *lease,
                                                       const struct weir_limiter_amount *amounts,
                                                       uint32_t count,
                                                       struct weir_limiter_answer *out);
/* Corrects what was taken: above 0 takes more, below 0 gives back. Never refused for want of
 * tokens. */
WEIR_API enum weir_limiter_status weir_limiter_adjust(struct weir_limiter *client,
                                                      struct weir_limiter_lease *lease,
                                                      const struct weir_limiter_amount *amounts,
                                                      uint32_t count,
                                                      struct weir_limiter_answer *out);
/* Gives back a part: at most what the lease holds. */
WEIR_API enum weir_limiter_status weir_limiter_release(struct weir_limiter *client,
                                                       struct weir_limiter_lease *lease,
                                                       const struct weir_limiter_amount *amounts,
                                                       uint32_t count,
                                                       struct weir_limiter_answer *out);
/* Ends the lease: keeps what was taken, or gives everything back. */
WEIR_API enum weir_limiter_status weir_limiter_commit(struct weir_limiter *client,
                                                      struct weir_limiter_lease *lease,
                                                      struct weir_limiter_answer *out);
WEIR_API enum weir_limiter_status weir_limiter_rollback(struct weir_limiter *client,
                                                        struct weir_limiter_lease *lease,
                                                        struct weir_limiter_answer *out);

/* When the lease expires: milliseconds since 1970; 0 for NULL. */
WEIR_API int64_t weir_limiter_lease_expires_ms(const struct weir_limiter_lease *lease);
/* Frees the memory. What was taken stays taken. */
WEIR_API void weir_limiter_lease_destroy(struct weir_limiter_lease *lease);

#ifdef __cplusplus
}
#endif
