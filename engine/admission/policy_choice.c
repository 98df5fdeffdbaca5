/* policy_choice.c - the policies of partitions, nodes, headroom and overload, by name. */
#include "engine/admission/policy_choice.h"

#include "base/policy_setting.h"
#include "base/settings/choices.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/member.h"
#include "engine/admission/overload.h"
#include "include/weir/policy_headroom.h"
#include "include/weir/policy_overload.h"
#include "include/weir/policy_partition.h"

enum {
    PARTITION,
    NODE,
    HEADROOM,
    OVERLOAD,
    SETTINGS
};

static const struct policy_setting settings[SETTINGS] = {
    [PARTITION] = {POLICY_PARTITION,
                   "partition_policy",
                   offsetof(struct config, partition_policy),
                   {POLICY_OWN(weir_partition_allocation), POLICY_OWN(weir_partition_burst),
                    POLICY_OWN(weir_partition_always_burst), POLICY_OWN(weir_partition_none)}},
    [NODE] = {POLICY_NODE,
              "node_policy",
              offsetof(struct config, node_policy),
              {POLICY_OWN(weir_node_fair)}},
    [HEADROOM] = {POLICY_HEADROOM,
                  "headroom_policy",
                  offsetof(struct config, headroom_policy),
                  {POLICY_OWN(weir_headroom_off), POLICY_OWN(weir_headroom_gauge),
                   POLICY_OWN(weir_headroom_lease), POLICY_OWN(weir_headroom_refilled)}},
    [OVERLOAD] = {POLICY_OVERLOAD,
                  "overload_policy",
                  offsetof(struct config, overload_policy),
                  {POLICY_OWN(weir_overload_delay), POLICY_OWN(weir_overload_credits),
                   POLICY_OWN(weir_overload_off)}},
};

const struct weir_partition_policy *admission_policy_find(struct slice name)
{
    return policy_own_find(&settings[PARTITION], name);
}

const struct weir_partition_policy *admission_policy_named(const struct config *config,
                                                           struct slice name)
{
    return policy_named(&settings[PARTITION], config, name);
}

const struct weir_partition_policy *admission_policy_of(const struct config *config, uint8_t gac,
                                                        bool on_demand)
{
    const struct weir_partition_policy *p = policy_configured(&settings[PARTITION], config);
    bool limited =
        gac_policy_of(config, gac) != GAC_OFF && (p->flags & WEIR_PARTITION_SAVED_ONLY) != 0;
    bool unlimited = on_demand && !(p->flags & (WEIR_PARTITION_UNLIMITED | WEIR_PARTITION_SHARES));
    return limited || unlimited ? &weir_partition_always_burst : p;
}

const struct weir_node_policy *node_policy_of(const struct config *config)
{
    return policy_configured(&settings[NODE], config);
}

const struct weir_headroom_policy *headroom_policy_of(const struct config *config)
{
    switch ((enum write_check)config_choices(config)->write_check) {
    case WRITE_CHECK_OFF:
        return &weir_headroom_off;
    case WRITE_CHECK_GAUGE:
        return &weir_headroom_gauge;
    case WRITE_CHECK_LEASE:
        return &weir_headroom_lease;
    case WRITE_CHECK_NAMED:
        break;
    }
    return policy_configured(&settings[HEADROOM], config);
}

const struct weir_overload_policy *overload_policy_of(const struct config *config)
{
    return policy_configured(&settings[OVERLOAD], config);
}

bool admission_policy_is_own(enum policy_point point, const char *name)
{
    return policy_settings_own(settings, SETTINGS, point, name);
}

enum status admission_policies_check(const struct config *config, struct buffer *error)
{
    return policy_settings_check(settings, SETTINGS, config, error);
}
