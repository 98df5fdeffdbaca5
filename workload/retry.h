/* retry.h - whether and when a client tries a request again: a decision point, with models.
 *
 * A model is a struct weir_retry_policy (include/weir/policy.h), weir's own or one from a file. It
 * has a state of bounded size: one state per client (an SDK client object with its connections),
 * which all requests of that client share. Time and random numbers are arguments, nothing is
 * allocated, so that the same calls give the same answers. What makes no sense ends the request,
 * and is told.
 *
 *   retry_send   before each attempt: may it go, or not yet? (client-side rate limiters)
 *   retry_after  after each attempt: again at a time, or over.
 *
 * The models of AWS SDKs are those of DynamoDB clients. Sources and what is documented, read from a
 * client's source, or guessed: retry_aws.c, retry_sre.c.
 * Not here: sending, and a second attempt before the first one failed (hedge.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/prng.h"
#include "base/status.h"
#include "include/weir/policy_retry.h"

struct policies;

enum retry_result {
    RETRY_DONE,      /* the request is answered well */
    RETRY_FINAL,     /* an error that no try mends, such as a condition that is false */
    RETRY_THROTTLED, /* ProvisionedThroughputExceededException, ThrottlingException and so on */
    RETRY_ERROR,     /* an answer 5xx, or a connection that broke */
    RETRY_TIMEOUT,   /* no answer in time */
};

struct retry_outcome {
    enum retry_result result;
    int64_t retry_after_ns; /* header x-amz-retry-after; below 0: none */
};

/* Of one request, all its attempts. Starts zeroed. */
struct retry_request {
    int32_t attempts; /* that ended, counted by retry_after */
    int32_t note;     /* of the policy */
};

enum retry_stop {
    RETRY_STOP_NONE,
    RETRY_STOP_DONE,     /* RETRY_DONE, RETRY_FINAL */
    RETRY_STOP_ATTEMPTS, /* the most attempts were made */
    RETRY_STOP_QUOTA,    /* the client has no budget for retries left */
    RETRY_STOP_LOCAL,    /* retry_send: rejected by the client itself */
};

struct retry_verdict {
    bool again;
    int64_t at_ns; /* not before; if `again` */
    enum retry_stop stop;
};

/* How well a model's numbers are known. */
enum {
    RETRY_ATTEMPTS_MAX = WEIR_RETRY_ATTEMPTS_MAX
};

struct retry_options {
    const struct weir_retry_policy *policy; /* borrows */
    struct policies *policies;              /* borrows; those from files; may be NULL */
    int32_t attempts_max;                   /* 0: the policy's */
    double parameter;                       /* sre-throttle: K */
};

/* The policies of weir: none, legacy, standard, adaptive, standard-2026, adaptive-2026,
 * sre-throttle; ended by NULL. */
extern const struct weir_retry_policy *const retry_models[];

/* "NAME", "NAME:ATTEMPTS" or "sre-throttle:K". NAME may be a policy of o->policies, which the
 * caller has set. Returns NULL, or the fault as a static text. */
const char *retry_parse(void *options, const char *text); /* struct retry_options */
/* Whether no policy from a file has a name of weir's own. STATUS_MALFORMED: `error` names it. */
enum status retry_policies_check(const struct policies *policies, struct buffer *error);

struct retry {
    struct retry_options options;
    _Alignas(max_align_t) unsigned char state[WEIR_RETRY_STATE_MAX];
};

void retry_init(struct retry *r, const struct retry_options *o, int64_t now_ns);

/* Call before each attempt, the first one too. `again` with at_ns == now_ns: send now. `again`
 * with a later at_ns: call again at that time. Otherwise the client itself rejects the attempt,
 * and the request is over. */
struct retry_verdict retry_send(struct retry *r, struct retry_request *q, int64_t now_ns,
                                struct prng *random);
/* Call after each attempt that was sent, with a good outcome too: it refills budgets. */
struct retry_verdict retry_after(struct retry *r, struct retry_request *q,
                                 const struct retry_outcome *outcome, int64_t now_ns,
                                 struct prng *random);
