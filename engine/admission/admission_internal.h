/* admission_internal.h - what a partition policy is; for engine/admission only.
 *
 * A policy decides on buckets that are up to date and debits them; it keeps no state of its own. */
#ifndef WEIR_ENGINE_ADMISSION_ADMISSION_INTERNAL_H
#define WEIR_ENGINE_ADMISSION_ADMISSION_INTERNAL_H

#include "engine/admission/admission.h"

/* One decision: the buckets it is about. They are refilled up to `now`. */
struct admission_case {
    const struct admission_policy *policy;
    struct admission_meter *meter;
    struct token_bucket *promise; /* the table's, on this node; NULL: it counts on none */
    struct node_admission *node;
    enum admit_kind kind;
    struct instant now;
    const struct admit_group *group; /* NULL: nobody else is asked */
};

struct admission_policy {
    const char *name;
    bool saves;  /* unused allocation goes into the burst bucket */
    bool shares; /* what other partitions of the table leave unused, this one may use */
    /* Sets reason, burst, member and wait of a verdict that is all zeros but for its levels, and
     * debits `cost_mcu` if the reason is ADMIT_OK. */
    void (*decide)(const struct admission_case *c, int64_t cost_mcu, struct admit_verdict *verdict);
    /* Debits `extra_mcu` where `verdict` was charged. */
    void (*settle)(const struct admission_case *c, const struct admit_verdict *verdict,
                   int64_t extra_mcu);
};

extern const struct admission_policy admission_policy_allocation;
extern const struct admission_policy admission_policy_burst;
extern const struct admission_policy admission_policy_always_burst;
extern const struct admission_policy admission_policy_none;

/* What a bucket of this rate may owe. */
int64_t admission_debt_max(const struct config *config, int64_t rate_mcu);
/* What a bucket of this rate holds that is so deep. */
int64_t admission_depth(int64_t rate_mcu, int64_t depth_ms);

/* ---- admission.c ---- */

/* The partition's buckets up to now; what the allocation cannot hold is saved. */
void meter_refill(struct admission_meter *m, struct instant now);

/* Whether every other member of the group has headroom; if not, `verdict` gets the member and how
 * long until it may have. */
bool group_has(const struct admission_case *c, int64_t cost_mcu, struct admit_verdict *verdict);
void group_spend(const struct admission_case *c, int64_t cost_mcu);

/* ---- node_admission.c ---- */

/* Whether a burst is within what the node has promised to the table. */
bool promise_has(const struct admission_case *c, int64_t cost_mcu);
/* The partition is about to burst beyond that: it counts among those that share the residual. */
void node_burst_enter(const struct admission_case *c);
/* Whether the node lets it; how long until it does, 0 if now. After node_burst_enter, but where
 * the burst was `promised`. */
int64_t burst_taken_mcu(const struct admission_case *c, struct instant at); /* lately */
bool node_burst_has(const struct admission_case *c, int64_t cost_mcu, bool promised);
struct duration node_burst_wait(const struct admission_case *c, int64_t cost_mcu);
/* Of an admitted request, or one that a leader admitted. */
void node_debit(const struct admission_case *c, int64_t cost_mcu, bool burst, bool promised);

static inline struct duration duration_longer(struct duration a, struct duration b)
{
    return a.ns > b.ns ? a : b;
}

static inline struct duration duration_shorter(struct duration a, struct duration b)
{
    return a.ns < b.ns ? a : b;
}

#endif
