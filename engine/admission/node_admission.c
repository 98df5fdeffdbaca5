/* node_admission.c - the buckets of a node, and the policy that shares its residual. */
#include "base/settings/admission.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/capacity.h"
#include "include/weir/policy_partition.h"

bool node_admission_is_shared(const struct node_admission *n, enum admit_kind kind,
                              struct instant now)
{
    return n->sharing->is_shared != NULL &&
           n->sharing->is_shared(n->state[kind], now.ns, n->depth_ns);
}

void node_admission_init(struct node_admission *n, const struct config *config, struct instant now)
{
    must(now.ns >= 0);
    *n = (struct node_admission){.depth_ns = config_admission(config)->node_depth_ms * NS_PER_MS,
                                 .sharing = node_policy_of(config),
                                 .policies = config->policies};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t rate = node_capacity_mcu(config, kind);
        int64_t depth = admission_depth(rate, config_admission(config)->node_depth_ms);
        token_bucket_init(&n->buckets[kind], depth, rate, admission_debt_max(config, rate), depth,
                          now);
    }
}
