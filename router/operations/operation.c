/* operation.c - the list of the operations. */
#include "router/core/operation.h"

#include "router/operations/operations.h"

static const struct operation *const OPERATIONS[] = {
#define X(name) &operation_##name,
    OPERATION_LIST(X)
#undef X
};

/* DynamoDB's other operations, from the service model. */
static const char LATER[] =
    "CreateBackup, CreateGlobalTable, DeleteBackup, "
    "DeleteResourcePolicy, DescribeBackup, DescribeExport, DescribeImport, "
    "DisableKinesisStreamingDestination, EnableKinesisStreamingDestination, "
    "ExportTableToPointInTime, ImportTable, PutResourcePolicy, "
    "RestoreTableFromBackup, RestoreTableToPointInTime, "
    "UpdateContributorInsights, UpdateGlobalTable, UpdateGlobalTableSettings, "
    "UpdateKinesisStreamingDestination, UpdateTableReplicaAutoScaling";

const struct operation *operation_find(struct slice name, bool of_streams)
{
    for (size_t i = 0; i < COUNT_OF(OPERATIONS); i++) {
        if (OPERATIONS[i]->of_streams == of_streams && slice_is(name, OPERATIONS[i]->name))
            return OPERATIONS[i];
    }
    return NULL;
}

bool operation_comes_later(struct slice name)
{
    return shape_choice_matches(LATER, name);
}
