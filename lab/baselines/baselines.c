/* baselines.c - the list of baselines. */
#include "lab/baselines/baselines.h"

#include "base/policies.h"
#include "include/weir/policy.h"

extern const struct weir_node_policy weir_node_drr, weir_node_wfq, weir_node_sfq;
extern const struct weir_overload_policy weir_overload_dagor, weir_overload_breakwater,
    weir_overload_aequitas, weir_overload_topfull;
extern const struct weir_table_policy weir_table_one_bucket, weir_table_doorman,
    weir_table_tenant_bucket, weir_table_pd_group, weir_table_gossip, weir_table_published;
extern const struct weir_partition_policy weir_partition_count_requests;

static const struct weir_node_policy *const nodes[] = {&weir_node_drr, &weir_node_wfq,
                                                       &weir_node_sfq};

static const struct weir_overload_policy *const overloads[] = {
    &weir_overload_dagor, &weir_overload_breakwater, &weir_overload_aequitas,
    &weir_overload_topfull};

static const struct weir_table_policy *const tables[] = {
    &weir_table_one_bucket, &weir_table_doorman, &weir_table_tenant_bucket,
    &weir_table_pd_group,   &weir_table_gossip,  &weir_table_published};

static const struct weir_partition_policy *const partitions[] = {&weir_partition_count_requests};

static const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                                 .size = sizeof plugin,
                                                 .partition_count = COUNT_OF(partitions),
                                                 .partition = partitions,
                                                 .node_count = COUNT_OF(nodes),
                                                 .node = nodes,
                                                 .overload_count = COUNT_OF(overloads),
                                                 .overload = overloads,
                                                 .table_count = COUNT_OF(tables),
                                                 .table = tables};

const char baselines_source[] = "the baselines";

void baselines_add(struct policies *p)
{
    struct buffer error = {0};
    if (policies_find(p, POLICY_NODE, slice_of(weir_node_drr.name)) != NULL)
        return;
    must(policies_add(p, &plugin, baselines_source, NULL, &error) == STATUS_OK);
    buffer_deinit(&error);
}
