/* update_table.c - UpdateTable: reads the table first, because what is not mentioned stays. */
#include "router/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"

enum {
    TABLE_NAME,
    BILLING,
    THROUGHPUT,
    PROTECTION,
    STREAM,
    ENCRYPTION,
    CLASS,
};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_plain_table_name, MEMBER_OPTIONAL},
    {"BillingMode", &shape_billing, MEMBER_OPTIONAL},
    {"ProvisionedThroughput", &shape_throughput, MEMBER_OPTIONAL},
    {"DeletionProtectionEnabled", &shape_boolean_value, MEMBER_OPTIONAL},
    {"StreamSpecification", &shape_stream, MEMBER_OPTIONAL},
    {"SSESpecification", &shape_encryption, MEMBER_OPTIONAL},
    {"TableClass", &shape_table_class, MEMBER_OPTIONAL},
    {"AttributeDefinitions", &shape_anything, MEMBER_LATER},
    {"GlobalSecondaryIndexUpdates", &shape_anything, MEMBER_LATER},
    {"ReplicaUpdates", &shape_anything, MEMBER_LATER},
    {"OnDemandThroughput", &shape_anything, MEMBER_LATER},
    {"WarmThroughput", &shape_anything, MEMBER_LATER},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "UpdateTableInput", .members = MEMBERS};

struct update_table {
    struct slice name;
    enum table_billing billing; /* 0: as it is */
    bool throughput;
    int64_t rcu;
    int64_t wcu;
};

static bool read_change(struct call *c, struct update_table *u, const struct json_value m[])
{
    struct fault *f = call_fault(c);
    u->throughput = m[THROUGHPUT].type != JSON_ABSENT;
    if (m[BILLING].type == JSON_STRING)
        u->billing = slice_is(json_string(&m[BILLING]), "PROVISIONED") ? BILLING_PROVISIONED
                                                                       : BILLING_ON_DEMAND;
    if (!u->throughput && u->billing == 0 && m[PROTECTION].type == JSON_ABSENT &&
        m[STREAM].type == JSON_ABSENT && m[ENCRYPTION].type == JSON_ABSENT &&
        m[CLASS].type == JSON_ABSENT)
        return fault_set(f, FAULT_VALIDATION,
                         "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
                         "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is "
                         "required");
    if (u->throughput && u->billing == BILLING_ON_DEMAND)
        return table_refuse_throughput(c);
    if (!u->throughput && u->billing == BILLING_PROVISIONED)
        return fault_set(f, FAULT_VALIDATION,
                         "One or more parameter values were invalid: ProvisionedThroughput must be "
                         "specified when BillingMode is PROVISIONED");
    return !u->throughput || table_take_throughput(c, &m[THROUGHPUT], &u->rcu, &u->wcu);
}

static bool begin(struct call *c, const struct json_value m[])
{
    struct update_table *u = arena_zalloc(&c->arena, sizeof *u);
    struct table_settings settings = {&m[PROTECTION], &m[STREAM], &m[ENCRYPTION], &m[CLASS]};
    c->state = u;
    u->name = arena_copy(&c->arena, json_string(&m[TABLE_NAME]));
    if (!read_change(c, u, m) || !table_settings_check(c, &settings))
        return false;
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_GET);
    s->request.key = u->name;
    call_send(c, s);
    return true;
}

static bool unchanged(struct call *c, const struct table *t, const struct update_table *u)
{
    return fault_set(
        call_fault(c), FAULT_VALIDATION,
        "The provisioned throughput for the table will not change. The requested value equals the "
        "current value. Current ReadCapacityUnits provisioned for the table: %lld. Requested "
        "ReadCapacityUnits: %lld. Current WriteCapacityUnits provisioned for the table: %lld. "
        "Requested WriteCapacityUnits: %lld. Refer to the Amazon DynamoDB Developer Guide for "
        "current limits and how to request higher limits.",
        (long long)t->rcu, (long long)u->rcu, (long long)t->wcu, (long long)u->wcu);
}

static bool send_update(struct call *c, const struct update_table *u, enum table_billing billing)
{
    struct table_spec spec = {.name = u->name, .billing = billing, .rcu = u->rcu, .wcu = u->wcu};
    table_spec_encode(&c->bytes, &spec);
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_UPDATE);
    s->request.key = u->name;
    s->request.body = buffer_slice(&c->bytes);
    call_send(c, s);
    return true;
}

/* The table as it is. */
static bool found(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct update_table *u = c->state;
    struct table t;
    if (!table_take_reply(c, s, r, &t))
        return false;
    enum table_billing billing = u->billing != 0 ? u->billing : t.billing;
    if (u->throughput && billing == BILLING_ON_DEMAND)
        return table_refuse_throughput(c);
    bool same = billing == t.billing && (billing == BILLING_ON_DEMAND || !u->throughput ||
                                         (u->rcu == t.rcu && u->wcu == t.wcu));
    if (same && u->throughput)
        return unchanged(c, &t, u);
    if (same) /* only settings that weir has in one state */
        return table_description_answer(c, s, r, "TableDescription");
    return send_update(c, u, billing);
}

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return s->request.op == REQUEST_TABLE_GET ? found(c, s, r) : table_description_reply(c, s, r);
}

const struct operation operation_update_table = {
    .name = "UpdateTable", .input = &INPUT, .name_first = true, .begin = begin, .reply = reply};
