/* table_features.c - operations on features that weir does not have: backups, global tables,
 * insights, streams to Kinesis, policies of resources, auto scaling.
 *
 * For a table that exists, an operation answers as the service does while the feature is off.
 * Whatever would switch a feature on is refused by name. */
#include "engine/message/request_traits.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"

/* ---- backups ---- */

/* c->state is not NULL if the request switches the feature on. */
static void feature_note_on(struct call *c, const struct shape *shape,
                            const struct json_value *specification, int member)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(shape, specification, m);
    c->state = shape_boolean(&m[member], false) ? c : NULL;
}

/* Backups have an exception of their own for a table that is not there. */
static bool backups_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return fault_set(call_fault(c), FAULT_TABLE_NOT_FOUND, "Table not found: %.*s",
                         SHOWN(request_table_name(&s->request)));
    if (!table_take_reply(c, s, r, &t))
        return false;
    if (c->state != NULL)
        return fault_set_later(call_fault(c), "PointInTimeRecoverySpecification");
    json_write_open_with(&c->body, "ContinuousBackupsDescription", '{');
    json_member_text(&c->body, "ContinuousBackupsStatus", "DISABLED");
    json_member_open(&c->body, "PointInTimeRecoveryDescription", '{');
    json_member_text(&c->body, "PointInTimeRecoveryStatus", "DISABLED");
    for (int i = 0; i < 3; i++)
        json_write_close(&c->body, '}');
    return true;
}

static bool backups_update_begin(struct call *c, const struct json_value m[])
{
    feature_note_on(c, &shape_point_in_time_recovery_specification,
                    &m[UPDATE_CONTINUOUS_BACKUPS_POINT_IN_TIME_RECOVERY_SPECIFICATION],
                    POINT_IN_TIME_RECOVERY_SPECIFICATION_POINT_IN_TIME_RECOVERY_ENABLED);
    return call_begin_table(c, m);
}

OPERATION(describe_continuous_backups, "DescribeContinuousBackups", .begin = call_begin_table,
          .reply = backups_reply);
OPERATION(update_continuous_backups, "UpdateContinuousBackups", .begin = backups_update_begin,
          .reply = backups_reply);

/* ---- insights ---- */

/* The name of an index, in the call's arena. NULL: of the table. */
static bool insights_begin(struct call *c, const struct json_value m[])
{
    const struct json_value *index = &m[DESCRIBE_CONTRIBUTOR_INSIGHTS_INDEX_NAME];
    if (!call_begin_table(c, m))
        return false;
    c->state = NULL;
    if (index->type == JSON_STRING) {
        c->state = arena_alloc(&c->arena, sizeof(struct slice));
        *(struct slice *)c->state = arena_copy(&c->arena, json_string(index));
    }
    return true;
}

static bool insights_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    const struct slice *name = c->state;
    if (!table_take_reply(c, s, r, &t))
        return false;
    const struct index *x = name != NULL ? index_set_find(t.index_set, *name) : NULL;
    if (name != NULL && (x == NULL || x->number != 0))
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: Index: %.*s not found for table: %.*s",
                         SHOWN(*name), SHOWN(t.name));
    json_write_open(&c->body, '{');
    json_member_string(&c->body, "TableName", t.name);
    if (x != NULL)
        json_member_string(&c->body, "IndexName", x->name);
    json_member_text(&c->body, "ContributorInsightsStatus", "DISABLED");
    json_write_close(&c->body, '}');
    return true;
}

/* {"member":[]} */
static void feature_write_empty(struct call *c, const char *member)
{
    json_write_open(&c->body, '{');
    json_member_open(&c->body, member, '[');
    json_write_closes(&c->body, "]}");
}

static bool insights_list_begin(struct call *c, const struct json_value m[])
{
    if (m[LIST_CONTRIBUTOR_INSIGHTS_TABLE_NAME].type == JSON_STRING)
        return call_begin_table(c, m);
    feature_write_empty(c, "ContributorInsightsSummaries");
    return true;
}

static bool insights_list_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    if (!table_take_reply(c, s, r, &t))
        return false;
    feature_write_empty(c, "ContributorInsightsSummaries");
    return true;
}

OPERATION(describe_contributor_insights, "DescribeContributorInsights", .begin = insights_begin,
          .reply = insights_reply);
OPERATION(list_contributor_insights, "ListContributorInsights", .begin = insights_list_begin,
          .reply = insights_list_reply);

/* ---- streams to Kinesis, auto scaling ---- */

static bool kinesis_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    if (!table_take_reply(c, s, r, &t))
        return false;
    json_write_open(&c->body, '{');
    json_member_string(&c->body, "TableName", t.name);
    json_member_open(&c->body, "KinesisDataStreamDestinations", '[');
    json_write_closes(&c->body, "]}");
    return true;
}

static bool scaling_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    struct buffer *out = &c->body;
    if (r->code == REPLY_TABLE_NOT_FOUND) /* the service's words, but not its exception for these */
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Global table with name: '%.*s' does not exist.",
                         SHOWN(request_table_name(&s->request)));
    if (!table_take_reply(c, s, r, &t))
        return false;
    json_write_open_with(out, "TableAutoScalingDescription", '{');
    json_member_string(out, "TableName", t.name);
    json_member_text(out, "TableStatus", table_status_name(t.status));
    json_member_open(out, "Replicas", '[');
    json_write_open(out, '{');
    json_member_string(out, "RegionName", call_region(c));
    static const char *const KINDS[] = {"ReplicaProvisionedReadCapacityAutoScalingSettings",
                                        "ReplicaProvisionedWriteCapacityAutoScalingSettings"};
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        json_member_open(out, KINDS[i], '{');
        json_member_bool(out, "AutoScalingDisabled", true);
        json_write_close(out, '}');
    }
    json_member_text(out, "ReplicaStatus", "ACTIVE");
    json_write_closes(out, "}]}}");
    return true;
}

OPERATION(describe_kinesis_streaming_destination, "DescribeKinesisStreamingDestination",
          .begin = call_begin_table, .reply = kinesis_reply);
OPERATION(describe_table_replica_auto_scaling, "DescribeTableReplicaAutoScaling",
          .begin = call_begin_table, .reply = scaling_reply);

/* ---- policies of resources ---- */

static bool policy_begin(struct call *c, const struct json_value m[])
{
    struct slice name;
    if (!call_table_of_arn(c, &m[GET_RESOURCE_POLICY_RESOURCE_ARN], &name))
        return false;
    call_get_table(c, name);
    return true;
}

static bool policy_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    return table_take_reply(c, s, r, &t) &&
           fault_set(call_fault(c), FAULT_POLICY_NOT_FOUND,
                     "Resource-based policy not found for the provided ResourceArn: %.*s",
                     SHOWN(*(const struct slice *)c->state));
}

OPERATION(get_resource_policy, "GetResourcePolicy", .begin = policy_begin, .reply = policy_reply);

/* ---- lists of what is not there ---- */

static bool empty_list_begin(struct call *c, UNUSED const struct json_value m[])
{
    feature_write_empty(c, c->operation->data);
    return true;
}

/* GlobalTableName is the first member. */
static bool global_describe(struct call *c, const struct json_value m[])
{
    return fault_set(call_fault(c), FAULT_GLOBAL_TABLE_NOT_FOUND,
                     "Global table with name: '%.*s' does not exist.",
                     SHOWN(call_table_named(c, &m[0])));
}

OPERATION(list_backups, "ListBackups", .begin = empty_list_begin, .data = "BackupSummaries");
OPERATION(list_exports, "ListExports", .begin = empty_list_begin, .data = "ExportSummaries");
OPERATION(list_imports, "ListImports", .begin = empty_list_begin, .data = "ImportSummaryList");
OPERATION(list_global_tables, "ListGlobalTables", .begin = empty_list_begin,
          .data = "GlobalTables");
OPERATION(describe_global_table, "DescribeGlobalTable", .begin = global_describe);
OPERATION(describe_global_table_settings, "DescribeGlobalTableSettings", .begin = global_describe);
