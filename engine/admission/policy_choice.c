/* policy_choice.c - the policies of partitions, nodes, headroom and overload, by name. */
#include "engine/admission/policy_choice.h"

#include "base/settings/choices.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/member.h"
#include "engine/admission/overload.h"
#include "include/weir/policy_headroom.h"
#include "include/weir/policy_overload.h"
#include "include/weir/policy_partition.h"

static const struct weir_partition_policy *const partition_policies[] = {
    &weir_partition_allocation,
    &weir_partition_burst,
    &weir_partition_always_burst,
    &weir_partition_none,
};

static const struct weir_node_policy *const node_policies[] = {
    &weir_node_fair,
};

static const struct weir_headroom_policy *const headroom_policies[] = {
    &weir_headroom_off,
    &weir_headroom_gauge,
    &weir_headroom_lease,
    &weir_headroom_refilled,
};

static const struct weir_overload_policy *const overload_policies[] = {
    &weir_overload_delay,
    &weir_overload_credits,
    &weir_overload_off,
};

#define FIND(list, policy_name)                                     \
    for (size_t i = 0; i < sizeof(list) / sizeof((list)[0]); i++) { \
        if (slice_is(policy_name, (list)[i]->name))                 \
            return (list)[i];                                       \
    }                                                               \
    return NULL

const struct weir_partition_policy *admission_policy_find(struct slice name)
{
    FIND(partition_policies, name);
}

static const struct weir_node_policy *node_policy_find(struct slice name)
{
    FIND(node_policies, name);
}

static const struct weir_headroom_policy *headroom_policy_find(struct slice name)
{
    FIND(headroom_policies, name);
}

static const struct weir_overload_policy *overload_policy_find(struct slice name)
{
    FIND(overload_policies, name);
}

const struct weir_partition_policy *admission_policy_named(const struct config *config,
                                                           struct slice name)
{
    const struct weir_partition_policy *own = admission_policy_find(name);
    struct policy_entry *e = policies_find(config->policies, POLICY_PARTITION, name);
    return own != NULL ? own : policies_policy(e);
}

static const struct weir_node_policy *node_policy_named(const struct config *config,
                                                        struct slice name)
{
    const struct weir_node_policy *own = node_policy_find(name);
    struct policy_entry *e = policies_find(config->policies, POLICY_NODE, name);
    return own != NULL ? own : policies_policy(e);
}

const struct weir_partition_policy *admission_policy_of(const struct config *config, uint8_t gac,
                                                        bool on_demand)
{
    const struct weir_partition_policy *p =
        admission_policy_named(config, slice_of(config->partition_policy));
    must(p != NULL);
    bool limited =
        gac_policy_of(config, gac) != GAC_OFF && (p->flags & WEIR_PARTITION_SAVED_ONLY) != 0;
    bool unlimited = on_demand && !(p->flags & (WEIR_PARTITION_UNLIMITED | WEIR_PARTITION_SHARES));
    return limited || unlimited ? &weir_partition_always_burst : p;
}

const struct weir_node_policy *node_policy_of(const struct config *config)
{
    const struct weir_node_policy *p = node_policy_named(config, slice_of(config->node_policy));
    must(p != NULL);
    return p;
}

static const struct weir_headroom_policy *headroom_policy_named(const struct config *config,
                                                                struct slice name)
{
    const struct weir_headroom_policy *own = headroom_policy_find(name);
    struct policy_entry *e = policies_find(config->policies, POLICY_HEADROOM, name);
    return own != NULL ? own : policies_policy(e);
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
    const struct weir_headroom_policy *p =
        headroom_policy_named(config, slice_of(config->headroom_policy));
    must(p != NULL);
    return p;
}

static const struct weir_overload_policy *overload_policy_named(const struct config *config,
                                                                struct slice name)
{
    const struct weir_overload_policy *own = overload_policy_find(name);
    struct policy_entry *e = policies_find(config->policies, POLICY_OVERLOAD, name);
    return own != NULL ? own : policies_policy(e);
}

const struct weir_overload_policy *overload_policy_of(const struct config *config)
{
    const struct weir_overload_policy *p =
        overload_policy_named(config, slice_of(config->overload_policy));
    must(p != NULL);
    return p;
}

const char *admission_policy_names(void)
{
    return "allocation, burst, always-burst, none";
}

bool admission_policy_is_own(enum policy_point point, const char *name)
{
    switch (point) {
    case POLICY_PARTITION:
        return admission_policy_find(slice_of(name)) != NULL;
    case POLICY_NODE:
        return node_policy_find(slice_of(name)) != NULL;
    case POLICY_HEADROOM:
        return headroom_policy_find(slice_of(name)) != NULL;
    case POLICY_OVERLOAD:
        return overload_policy_find(slice_of(name)) != NULL;
    case POLICY_TABLE:
    case POLICY_ADAPTIVE:
    case POLICY_SPLIT:
    case POLICY_DEMAND:
    case POLICY_RELOCATE:
    case POLICY_RETRY:
    case POLICY_POINTS:
        break;
    }
    return false;
}

static enum status policy_unknown(const struct config *config, enum policy_point point,
                                  const char *setting, const char *name, const char *own,
                                  struct buffer *error)
{
    buffer_append_format(error, "%s '%s' is not known: it must be one of %s", setting, name, own);
    policies_append_names(config->policies, point, error);
    buffer_append_text(error, ". --policy FILE.so loads more");
    return STATUS_MALFORMED;
}

enum status admission_policies_check(const struct config *config, struct buffer *error)
{
    const char *name = config->partition_policy;
    if (admission_policy_named(config, slice_of(name)) == NULL)
        return policy_unknown(config, POLICY_PARTITION, "partition_policy", name,
                              admission_policy_names(), error);
    name = config->node_policy;
    if (node_policy_named(config, slice_of(name)) == NULL)
        return policy_unknown(config, POLICY_NODE, "node_policy", name, "fair", error);
    name = config->headroom_policy;
    if (headroom_policy_named(config, slice_of(name)) == NULL)
        return policy_unknown(config, POLICY_HEADROOM, "headroom_policy", name,
                              "off, gauge, lease, refilled", error);
    name = config->overload_policy;
    if (overload_policy_named(config, slice_of(name)) == NULL)
        return policy_unknown(config, POLICY_OVERLOAD, "overload_policy", name,
                              "delay, credits, off", error);
    return STATUS_OK;
}
