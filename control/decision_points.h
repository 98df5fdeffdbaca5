/* decision_points.h - the controller's decision points: policies by name.
 *
 * Which policies there are: include/weir/policy.h. Where they are asked: adaptive.c,
 * split_policy.c, on_demand.c, relocate.c.
 * Not here: the policies from files (base/policies.h). */
#pragma once

#include "base/policies.h"

struct config;

/* Whether a policy of weir has the name. False also for the points of others. */
bool control_policy_is_own(enum policy_point point, const char *name);
/* Whether the policies exist that the settings name: call it before controller_create.
 * STATUS_MALFORMED: `error` names the setting, the name, and the names there are. */
enum status control_policies_check(const struct config *config, struct buffer *error);
