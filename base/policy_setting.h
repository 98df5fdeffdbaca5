/* policy_setting.h - settings that name the policy of a decision point: one of weir's own, or one
 * that a file has brought.
 *
 *   static const struct policy_setting sharing = {POLICY_NODE, "node_policy",
 *                                                 offsetof(struct config, node_policy),
 *                                                 {POLICY_OWN(weir_node_fair)}};
 *   const struct weir_node_policy *policy = policy_configured(&sharing, config);
 *
 * Not here: the policies of files (base/policies.h). */
#pragma once

#include "base/config.h"
#include "base/policies.h"

enum {
    POLICIES_OWN_MAX = 4 /* of a decision point */
};

/* One of weir's policies, a struct of include/weir/policy_POINT.h. */
struct policy_own {
    const char *const *name;
    const void *policy;
};
#define POLICY_OWN(own)     \
    {                       \
        &(own).name, &(own) \
    }

struct policy_setting {
    enum policy_point point;
    const char *name; /* of the setting */
    size_t at;        /* of its value, the policy's name, in struct config */
    struct policy_own own[POLICIES_OWN_MAX + 1]; /* in the order of error texts; then NULL */
};

/* weir's own policy with that name; NULL: none. */
const void *policy_own_find(const struct policy_setting *s, struct slice name);
/* The same, also of those loaded from files. */
const void *policy_named(const struct policy_setting *s, const struct config *c, struct slice name);
/* The one that the setting names. policy_settings_check must have passed. */
const void *policy_configured(const struct policy_setting *s, const struct config *c);

/* Of `count` settings: whether weir has a policy with that name for the point. */
bool policy_settings_own(const struct policy_setting *s, size_t count, enum policy_point point,
                         const char *name);
/* Whether all policies exist that these settings name. STATUS_MALFORMED: `error` has the first
 * such setting, its value, and the policies that there are. */
enum status policy_settings_check(const struct policy_setting *s, size_t count,
                                  const struct config *c, struct buffer *error);
