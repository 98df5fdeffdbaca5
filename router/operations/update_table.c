/* update_table.c - UpdateTable: reads the table first, because members that are not given keep
 * their values.
 *
 * Not here: changes of global indexes (update_indexes.h). */
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"
#include "router/operations/table_throughput.h"
#include "router/operations/update_indexes.h"

/* The typed request. The present table completes it. */
struct update_table {
    struct table_spec spec; /* the request, without the throughput */
    bool throughput;        /* throughput or a billing mode is given */
    struct throughput_spec requested;
    struct index_updates indexes;
    struct table_record former;
};

/* The service takes such changes only alone, and checks them in this order. */
static const struct {
    int member;
    const char *must; /* of the service's text */
} ALONE[] = {
    {UPDATE_TABLE_SSE_SPECIFICATION,
     "Server-Side Encryption modification must be the only operation in the request"},
    {UPDATE_TABLE_TABLE_CLASS, "TableClass modification must be the only operation in the request"},
    {UPDATE_TABLE_DELETION_PROTECTION_ENABLED,
     "DeletionProtection modification must be the only operation in the request"},
    {UPDATE_TABLE_WARM_THROUGHPUT, "WarmThroughput must be the only operation in the request"},
};

/* serve_run has refused members that weir does not support yet. AttributeDefinitions are for a new
 * index, and ignored without one. */
static bool update_check_members(struct call *c, const struct json_value m[])
{
    int count = 0;
    for (int i = 0; i < SHAPE_MEMBERS_OF_update_table; i++)
        count += i != UPDATE_TABLE_TABLE_NAME && i != UPDATE_TABLE_ATTRIBUTE_DEFINITIONS &&
                 m[i].type != JSON_ABSENT;
    if (count == 0)
        return call_invalid(
            c, "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
               "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, "
               "MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
               "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
               "required");
    for (size_t i = 0; i < COUNT_OF(ALONE) && count > 1; i++) {
        if (m[ALONE[i].member].type != JSON_ABSENT)
            return call_invalid(c, INVALID "%s", ALONE[i].must);
    }
    if (count > 1 && m[UPDATE_TABLE_ON_DEMAND_THROUGHPUT].type != JSON_ABSENT &&
        m[UPDATE_TABLE_BILLING_MODE].type == JSON_ABSENT)
        return call_invalid(c, INVALID "OnDemandThroughput can only be combined with BillingMode "
                                       "in an UpdateTable request");
    if (m[UPDATE_TABLE_STREAM_SPECIFICATION].type != JSON_ABSENT && count > 1)
        return call_invalid(c, INVALID "You cannot modify stream status while updating table IOPS");
    return true;
}

static bool update_read_change(struct call *c, struct update_table *u, const struct json_value m[])
{
    struct fault *f = call_fault(c);
    if (!update_check_members(c, m))
        return false;
    if (m[UPDATE_TABLE_BILLING_MODE].type == JSON_STRING)
        u->spec.billing = slice_is(json_string(&m[UPDATE_TABLE_BILLING_MODE]), "PROVISIONED")
                              ? BILLING_PROVISIONED
                              : BILLING_ON_DEMAND;
    u->throughput = m[UPDATE_TABLE_BILLING_MODE].type != JSON_ABSENT ||
                    m[UPDATE_TABLE_PROVISIONED_THROUGHPUT].type != JSON_ABSENT ||
                    m[UPDATE_TABLE_ON_DEMAND_THROUGHPUT].type != JSON_ABSENT ||
                    m[UPDATE_TABLE_WARM_THROUGHPUT].type != JSON_ABSENT;
    if (m[UPDATE_TABLE_PROVISIONED_THROUGHPUT].type != JSON_ABSENT &&
        u->spec.billing == BILLING_ON_DEMAND)
        return table_refuse_provisioned(c, &u->requested);
    if (m[UPDATE_TABLE_PROVISIONED_THROUGHPUT].type == JSON_ABSENT &&
        u->spec.billing == BILLING_PROVISIONED)
        return fault_invalid(
            f, INVALID "ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
    return table_read_throughput(c, &m[UPDATE_TABLE_PROVISIONED_THROUGHPUT],
                                 &m[UPDATE_TABLE_ON_DEMAND_THROUGHPUT],
                                 &m[UPDATE_TABLE_WARM_THROUGHPUT], &u->requested) &&
           index_updates_read(c, &m[UPDATE_TABLE_GLOBAL_SECONDARY_INDEX_UPDATES],
                              &m[UPDATE_TABLE_ATTRIBUTE_DEFINITIONS], &u->indexes);
}

static bool update_read(struct call *c, const struct json_value m[], struct update_table *u)
{
    struct table_settings settings = {
        false, &m[UPDATE_TABLE_DELETION_PROTECTION_ENABLED], &m[UPDATE_TABLE_STREAM_SPECIFICATION],
        &m[UPDATE_TABLE_SSE_SPECIFICATION], &m[UPDATE_TABLE_TABLE_CLASS]};
    u->spec.name = arena_copy(&c->arena, call_table_named(c, &m[UPDATE_TABLE_TABLE_NAME]));
    return update_read_change(c, u, m) && table_settings_read(c, &settings, &u->spec);
}

static bool update_begin(struct call *c, const struct json_value m[])
{
    struct update_table *u = arena_zalloc(&c->arena, sizeof *u);
    c->state = u;
    if (!update_read(c, m, u))
        return false;
    call_get_table(c, u->spec.name);
    return true;
}

static bool update_unchanged(struct call *c, const struct table *t,
                             const struct throughput_spec *requested)
{
    return call_invalid(
        c,
        "The provisioned throughput for the table will not change. The requested value equals the "
        "current value. Current ReadCapacityUnits provisioned for the table: %lld. Requested "
        "ReadCapacityUnits: %lld. Current WriteCapacityUnits provisioned for the table: %lld. "
        "Requested WriteCapacityUnits: %lld. " THROUGHPUT_GUIDE,
        (long long)t->rcu, (long long)requested->rcu, (long long)t->wcu, (long long)requested->wcu);
}

/* Whether the spec changes the table's class, protection or encryption. */
static bool update_changes_labels(const struct table *t, const struct table_spec *spec)
{
    bool class = spec->class != TABLE_CLASS_UNSPECIFIED && spec->class != t->class;
    bool protection = spec->protection != PROTECTION_UNSPECIFIED &&
                      (spec->protection == PROTECTION_ON) != t->protected;
    return class || protection || spec->encryption != ENCRYPTION_UNSPECIFIED;
}

/* Refuses an encryption that the table has. */
static bool update_check_encryption(struct call *c, const struct table *t,
                                    const struct table_spec *spec)
{
    bool by_default = t->encryption != ENCRYPTION_WITH_KEY;
    if (spec->encryption == ENCRYPTION_BY_DEFAULT && by_default)
        return call_invalid(c, INVALID "Table is already encrypted by default");
    if (spec->encryption == ENCRYPTION_WITH_KEY && !by_default &&
        slice_equal(spec->encryption_key, t->encryption_key))
        return call_invalid(c, INVALID "Table is already encrypted with given KMSMasterKeyId. Use "
                                       "KMSMasterKeyId parameter if you want to change Master Key");
    return true;
}

static bool update_is_busy(struct call *c, const struct reply *r, const struct table_record *record)
{
    if (record->table.status != TABLE_ACTIVE)
        return !call_refuse_busy(c, r, record->table.name);
    return table_record_status(record) == TABLE_CREATING &&
           !fault_set(call_fault(c), FAULT_IN_USE,
                      "Attempt to change a resource which is still in use: Table is being created: "
                      "%.*s",
                      SHOWN(record->table.name));
}

/* Completes the spec. False: refused. */
static bool update_complete(struct call *c, const struct update_table *u,
                            const struct table_record *record, struct table_spec *spec)
{
    const struct table *t = &record->table;
    const bool streams = table_streams_enabled(t->stream_set) != NULL;
    if (spec->stream == 1 + STREAM_OFF && !streams)
        return call_invalid(c, "Table has no stream to disable: TableName: %.*s", SHOWN(t->name));
    if (spec->stream > 1 + STREAM_OFF && streams)
        return call_invalid(c, "Table already has an enabled stream: TableName: %.*s",
                            SHOWN(t->name));
    if (!update_check_encryption(c, t, spec))
        return false;
    if (u->throughput && spec->billing == BILLING_AS_IT_IS)
        spec->billing = t->billing;
    if (u->throughput && !table_take_throughput(c, &u->requested, t, spec))
        return false;
    if (u->requested.provisioned && !table_spec_changes_throughput(spec, t))
        return update_unchanged(c, t, &u->requested);
    return index_updates_take(c, &u->indexes, record, spec);
}

static bool update_found(struct call *c, struct subrequest *get, const struct reply *r)
{
    struct update_table *u = c->state;
    struct table_record *record = &u->former;
    struct table_spec spec = u->spec;
    if (!table_take_record(c, get, r, record) || update_is_busy(c, r, record) ||
        !update_complete(c, u, record, &spec))
        return false;
    const bool changes = table_spec_changes_throughput(&spec, &record->table);
    if (!changes && !update_changes_labels(&record->table, &spec) && spec.globals.size == 0 &&
        spec.stream == 0 && spec.add_index.size == 0 && spec.drop_index.size == 0)
        return table_description_answer(c, get, r, "TableDescription", NULL);
    if (!changes)
        spec.billing = BILLING_AS_IT_IS;
    call_send_spec(c, REQUEST_TABLE_UPDATE, &spec);
    return true;
}

static bool update_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct update_table *u = c->state;
    if (table_change_took(c, s, r))
        return true;
    return s->request.op == REQUEST_TABLE_GET
               ? update_found(c, s, r)
               : table_description_answer(c, s, r, "TableDescription", &u->former);
}

OPERATION(update_table, "UpdateTable", .name_first = true, .begin = update_begin,
          .reply = update_reply);
