/* decision_points.c - the controller's policies by name, and what all decision points share. */
#include "control/decision_points.h"

#include "base/policy_setting.h"
#include "control/controller_internal.h"
#include "include/weir/policy.h"

extern const struct weir_adaptive_policy weir_adaptive_proportional;
extern const struct weir_split_policy weir_split_limits;
extern const struct weir_demand_policy weir_demand_peak;
extern const struct weir_relocate_policy weir_relocate_least_reserved;

static const struct policy_setting settings[] = {
    {POLICY_ADAPTIVE,
     "adaptive_policy",
     offsetof(struct config, adaptive_policy),
     {POLICY_OWN(weir_adaptive_proportional)}},
    {POLICY_SPLIT,
     "split_policy",
     offsetof(struct config, split_policy),
     {POLICY_OWN(weir_split_limits)}},
    {POLICY_DEMAND,
     "demand_policy",
     offsetof(struct config, demand_policy),
     {POLICY_OWN(weir_demand_peak)}},
    {POLICY_RELOCATE,
     "relocate_policy",
     offsetof(struct config, relocate_policy),
     {POLICY_OWN(weir_relocate_least_reserved)}},
};

const void *control_policy(const struct controller *c, enum policy_point point)
{
    size_t i = 0;
    while (i < COUNT_OF(settings) && settings[i].point != point)
        i++;
    must(i < COUNT_OF(settings));
    return policy_configured(&settings[i], c->config);
}

bool control_policy_is_own(enum policy_point point, const char *name)
{
    return policy_settings_own(settings, COUNT_OF(settings), point, name);
}

enum status control_policies_check(const struct config *config, struct buffer *error)
{
    return policy_settings_check(settings, COUNT_OF(settings), config, error);
}

/* ---- around a call ---- */

int64_t control_call_begin(const struct controller *c, const void *policy)
{
    return policies_begin(c->config->policies, policy);
}

void control_call_end(const struct controller *c, const void *policy, int64_t begun_ns)
{
    policies_end(c->config->policies, policy, begun_ns);
}

void control_report_invalid(const struct controller *c, const void *policy, const char *what)
{
    policies_report_invalid(c->config->policies, policy, what);
}
