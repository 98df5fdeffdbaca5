/* operation.c - the list of the operations of each service. */
#include "router/operations/operation.h"

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
    NULL,
};

/* DynamoDB's other operations, from the service model. */
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
    NULL,
};

const struct service service_dynamodb = {
    .target = "DynamoDB_20120810.", .operations = OPERATIONS, .later = LATER};

const struct operation *service_find(const struct service *s, struct slice name)
{
    const struct operation *const *o = s->operations;
    while (*o != NULL && !slice_is(name, (*o)->name))
        o++;
    return *o;
}

bool service_has_later(const struct service *s, struct slice name)
{
    const char *const *later = s->later;
    while (*later != NULL && !slice_is(name, *later))
        later++;
    return *later != NULL;
}
