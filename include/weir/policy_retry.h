/* weir/policy_retry.h - clients that try again. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A client and one of its requests. A client is what an SDK calls a client object: its requests
 * share one state. `weir load` and `weir lab` have such clients. */
struct weir_retry;

enum weir_retry_result {
    WEIR_RETRY_DONE = 0,      /* the request is answered well */
    WEIR_RETRY_FINAL = 1,     /* an error that no try mends, such as a condition that is false */
    WEIR_RETRY_THROTTLED = 2, /* ProvisionedThroughputExceededException and the like */
    WEIR_RETRY_ERROR = 3,     /* an answer 5xx, or a connection that broke */
    WEIR_RETRY_TIMEOUT = 4    /* no answer in time */
};

/* Why a request is over without an answer: reports count it. */
enum weir_retry_stop {
    WEIR_RETRY_STOP_ATTEMPTS = 2, /* the most attempts were made */
    WEIR_RETRY_STOP_QUOTA = 3,    /* the client has no budget for retries left */
    WEIR_RETRY_STOP_LOCAL = 4     /* the client itself rejects the attempt */
};

/* The most attempts of a request, and the longest wait before one. */
#define WEIR_RETRY_ATTEMPTS_MAX 1000
#define WEIR_RETRY_WAIT_NS_MAX  (INT64_C(1000000) * 1000000000)

WEIR_POLICY_API int64_t weir_retry_now_ns(const struct weir_retry *r);
/* The state of the client. Zero at first. */
WEIR_POLICY_API void *weir_retry_state(const struct weir_retry *r);
/* A number between 0 and 1 (excluded). The same seed gives the same numbers. */
WEIR_POLICY_API double weir_retry_random(struct weir_retry *r);
/* What stands behind the policy's name, or its defaults: the most attempts, or the number
 * (WEIR_RETRY_TAKES_NUMBER). */
WEIR_POLICY_API int32_t weir_retry_attempts_max(const struct weir_retry *r);
WEIR_POLICY_API double weir_retry_number(const struct weir_retry *r);
/* Of the request: attempts that ended, and a number that the policy keeps. 0 at first. */
WEIR_POLICY_API int32_t weir_retry_attempts(const struct weir_retry *r);
WEIR_POLICY_API int32_t weir_retry_note(const struct weir_retry *r);
WEIR_POLICY_API void weir_retry_keep_note(struct weir_retry *r, int32_t note);
/* In `after`: enum weir_retry_result, and the header x-amz-retry-after; below 0: none. */
WEIR_POLICY_API uint32_t weir_retry_result(const struct weir_retry *r);
WEIR_POLICY_API int64_t weir_retry_hint_ns(const struct weir_retry *r);

/* Zero when a function is called: the request is over. */
struct weir_retry_decision {
    uint32_t again;
    uint32_t stop; /* enum weir_retry_stop, if not `again`. 0: WEIR_RETRY_STOP_ATTEMPTS */
    int64_t at_ns; /* if `again`: not before this time, which is not before now */
};

enum weir_retry_flag {
    WEIR_RETRY_TAKES_NUMBER = 1 /* NAME:NUMBER is for weir_retry_number (1 to 100), not attempts */
};

/* Chosen by --retry of `weir load`, and by the field retry of workloads in scenarios: NAME, or
 * NAME:ATTEMPTS. */
struct weir_retry_policy {
    uint32_t size;
    uint32_t state_bytes;
    const char *name;
    uint64_t flags;       /* bits of enum weir_retry_flag */
    const char *about;    /* a sentence; may be NULL */
    int32_t attempts_max; /* the first one included; 1 to WEIR_RETRY_ATTEMPTS_MAX */
    uint32_t unused;      /* 0 */
    double number;        /* the default of weir_retry_number */
    /* A new client. There is no request yet, and there are no random numbers. NULL: zero. */
    void (*begin)(struct weir_retry *r);
    /* Before each attempt, the first one too. Again, now: it is sent. Again, later: `send` is
     * called again at that time. NULL: now, always. */
    void (*send)(struct weir_retry *r, struct weir_retry_decision *decision);
    /* After each attempt that was sent, with a good result too. Again only if the result is neither
     * WEIR_RETRY_DONE nor WEIR_RETRY_FINAL. Required. */
    void (*after)(struct weir_retry *r, struct weir_retry_decision *decision);
};

#ifdef __cplusplus
}
#endif
