/* adversaries.c - the list of adversaries. */
#include "lab/adversaries/adversaries.h"

#include "base/policies.h"
#include "include/weir/policy.h"

extern const struct weir_partition_policy weir_partition_refuse_all, weir_partition_every_other,
    weir_partition_admit_all, weir_partition_delayed_allocation, weir_partition_delayed_burst,
    weir_partition_delayed_always_burst;

static const struct weir_partition_policy *const partitions[] = {
    &weir_partition_refuse_all,    &weir_partition_every_other,
    &weir_partition_admit_all,     &weir_partition_delayed_allocation,
    &weir_partition_delayed_burst, &weir_partition_delayed_always_burst};

static const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                                 .size = sizeof plugin,
                                                 .partition_count = COUNT_OF(partitions),
                                                 .partition = partitions};

const char adversaries_source[] = "the adversaries";

void adversaries_add(struct policies *p)
{
    struct buffer error = {0};
    if (policies_find(p, POLICY_PARTITION, slice_of(weir_partition_refuse_all.name)) != NULL)
        return;
    must(policies_add(p, &plugin, adversaries_source, NULL, &error) == STATUS_OK);
    buffer_deinit(&error);
}
