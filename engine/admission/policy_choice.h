/* policy_choice.h - policies by their names in the settings: weir's own, and those of files. */
#pragma once

#include "base/policies.h"

struct config;
struct weir_partition_policy;

/* weir's own policy with that name; NULL: none. */
const struct weir_partition_policy *admission_policy_find(struct slice name);
/* The same, also of those loaded from files. */
const struct weir_partition_policy *admission_policy_named(const struct config *config,
                                                           struct slice name);
/* The policy of a table's partitions, for reads or for writes. `gac`: the table's own choice for
 * that kind (base/config.h). It is the configured policy, except:
 *   - always-burst instead of a policy that only bursts what was saved, if routers keep the table's
 *     limit: then partitions need not save tokens before they burst.
 *   - always-burst instead of a policy that limits and does not share, for an on-demand table. */
const struct weir_partition_policy *admission_policy_of(const struct config *config, uint8_t gac,
                                                        bool on_demand);
/* Whether weir has a policy with that name for partitions, nodes, headroom or overload. */
bool admission_policy_is_own(enum policy_point point, const char *name);

/* Whether the configured policies of partitions, nodes and headroom exist. STATUS_MALFORMED:
 * `error` names the setting, and the policies that exist. */
enum status admission_policies_check(const struct config *config, struct buffer *error);
