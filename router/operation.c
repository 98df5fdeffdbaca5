#include "router/operation.h"

#include "router/operations/operations.h"

static const struct operation *const OPERATIONS[] = {
    &operation_get_item,
    &operation_put_item,
    &operation_delete_item,
    &operation_query,
    &operation_scan,
    &operation_batch_get_item,
    &operation_batch_write_item,
    &operation_create_table,
    &operation_describe_table,
    &operation_list_tables,
    &operation_update_table,
    &operation_delete_table,
    &operation_tag_resource,
    &operation_untag_resource,
    &operation_list_tags_of_resource,
    &operation_describe_limits,
    &operation_describe_endpoints,
};

/* DynamoDB's others, from the service model. */
static const char *const LATER[] = {
    "BatchExecuteStatement",
    "CreateBackup",
    "CreateGlobalTable",
    "DeleteBackup",
    "DeleteResourcePolicy",
    "DescribeBackup",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeExport",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExecuteStatement",
    "ExecuteTransaction",
    "ExportTableToPointInTime",
    "GetResourcePolicy",
    "ImportTable",
    "ListBackups",
    "ListContributorInsights",
    "ListExports",
    "ListGlobalTables",
    "ListImports",
    "PutResourcePolicy",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateItem",
    "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
    "UpdateTimeToLive",
};

const struct operation *operation_find(struct slice name)
{
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++) {
        if (slice_is(name, OPERATIONS[i]->name))
            return OPERATIONS[i];
    }
    return NULL;
}

bool operation_is_later(struct slice name)
{
    for (size_t i = 0; i < sizeof LATER / sizeof LATER[0]; i++) {
        if (slice_is(name, LATER[i]))
            return true;
    }
    return false;
}
