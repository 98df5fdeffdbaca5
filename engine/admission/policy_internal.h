/* policy_internal.h - what a partition policy is; for engine/admission only.
 *
 * A policy decides on buckets that are up to date and debits them; it keeps no state of its own. */
#ifndef WEIR_ENGINE_ADMISSION_POLICY_INTERNAL_H
#define WEIR_ENGINE_ADMISSION_POLICY_INTERNAL_H

#include "engine/admission/admission.h"

/* One decision: the buckets it is about. The meter and the node are refilled up to `now`. */
struct admission_case {
    const struct admission_policy *policy;
    struct admission_meter *meter;
    struct node_admission *node;
    enum admit_kind kind;
    struct instant now;
    const struct admit_group *group; /* NULL: nobody else is asked */
};

struct admission_policy {
    const char *name;
    bool saves; /* unused allocation goes into the burst bucket */
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

/* ---- admission.c ---- */

/* Whether every other member of the group has headroom; if not, `verdict` gets the member and how
 * long until it may have. */
bool group_has(const struct admission_case *c, int64_t cost_mcu, struct admit_verdict *verdict);
void group_spend(const struct admission_case *c, int64_t cost_mcu);

/* ---- node_admission.c ---- */

/* The partition is about to burst: it counts among those that share the residual. */
void node_burst_enter(const struct admission_case *c);
/* Whether the node lets it; how long until it does, 0 if now. After node_burst_enter. */
bool node_burst_has(const struct admission_case *c, int64_t cost_mcu);
struct duration node_burst_wait(const struct admission_case *c, int64_t cost_mcu);
void node_debit(const struct admission_case *c, int64_t cost_mcu, bool burst);

static inline struct duration duration_longer(struct duration a, struct duration b)
{
    return a.ns > b.ns ? a : b;
}

static inline struct duration duration_shorter(struct duration a, struct duration b)
{
    return a.ns < b.ns ? a : b;
}

#endif
