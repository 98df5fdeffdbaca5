/* admission_internal.h - the interface of a partition policy; for engine/admission only.
 *
 * A policy decides on buckets that are refilled up to now, and debits them. It has no state. */
#pragma once

#include "engine/admission/admission.h"

/* The buckets of one decision, refilled up to `now`. */
struct admission_case {
    const struct admission_policy *policy;
    struct admission_meter *meter;
    struct token_bucket *promise; /* to the table on this node; NULL: counts on none */
    struct node_admission *node;
    enum admit_kind kind;
    struct instant now;
    const struct admit_group *group; /* NULL: no other node is asked */
};

struct admission_policy {
    const char *name;
    bool saves;  /* unused allocation goes into the burst bucket */
    bool shares; /* a partition may use what other partitions of its table leave unused */
    /* Sets reason, burst, promised, member and wait of a verdict that is zero except for its
     * levels. Debits `cost_mcu` if the reason is ADMIT_OK. */
    void (*decide)(const struct admission_case *c, int64_t cost_mcu, struct admit_verdict *verdict);
    /* Debits `extra_mcu` from the buckets that `verdict` was charged to. */
    void (*settle)(const struct admission_case *c, const struct admit_verdict *verdict,
                   int64_t extra_mcu);
};

extern const struct admission_policy admission_policy_allocation;
extern const struct admission_policy admission_policy_burst;
extern const struct admission_policy admission_policy_always_burst;
extern const struct admission_policy admission_policy_none;

/* The debt limit of a bucket with this rate. */
int64_t admission_debt_max(const struct config *config, int64_t rate_mcu);
/* The capacity of a bucket with this rate and depth; at most INT64_MAX / 4. */
int64_t admission_depth(int64_t rate_mcu, int64_t depth_ms);

/* ---- admission.c ---- */

/* Refills the partition's buckets up to now. What does not fit the allocation goes to burst. */
void meter_refill(struct admission_meter *m, struct instant now);

/* Whether every other member of the group has headroom. If not, `verdict` gets the member and the
 * time until it may have headroom. */
bool group_has(const struct admission_case *c, int64_t cost_mcu, struct admit_verdict *verdict);
void group_spend(const struct admission_case *c, int64_t cost_mcu);

/* ---- node_admission.c ---- */

/* Whether a burst is within the node's promise to the table. */
bool promise_has(const struct admission_case *c, int64_t cost_mcu);
/* The partition is about to burst beyond the promise: it counts among those that share the
 * residual. */
void node_burst_enter(const struct admission_case *c);
/* What the partition's bursts took lately, at `at`. */
int64_t burst_taken_mcu(const struct admission_case *c, struct instant at);
/* Whether the node admits the burst now; the time until it does, 0: now. Call node_burst_enter
 * first, unless the burst is `promised`. */
bool node_burst_has(const struct admission_case *c, int64_t cost_mcu, bool promised);
struct duration node_burst_wait(const struct admission_case *c, int64_t cost_mcu);
/* Debits the node for a request that was admitted here or by a leader. */
void node_debit(const struct admission_case *c, int64_t cost_mcu, bool burst, bool promised);

static inline struct duration duration_longer(struct duration a, struct duration b)
{
    return a.ns > b.ns ? a : b;
}

static inline struct duration duration_shorter(struct duration a, struct duration b)
{
    return a.ns < b.ns ? a : b;
}
