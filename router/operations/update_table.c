/* update_table.c - UpdateTable: reads the table first, because what is not mentioned stays. */
#include "router/json/json_writer.h"
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"
#include "router/operations/table_throughput.h"

enum {
    TABLE_NAME,
    BILLING,
    THROUGHPUT,
    PROTECTION,
    STREAM,
    ENCRYPTION,
    CLASS,
    ON_DEMAND,
    WARM,
};

static const struct shape_member MEMBERS[] = {
    {"TableName", &shape_plain_table_name, MEMBER_OPTIONAL},
    {"BillingMode", &shape_billing, MEMBER_OPTIONAL},
    {"ProvisionedThroughput", &shape_throughput, MEMBER_OPTIONAL},
    {"DeletionProtectionEnabled", &shape_boolean_value, MEMBER_OPTIONAL},
    {"StreamSpecification", &shape_stream, MEMBER_OPTIONAL},
    {"SSESpecification", &shape_encryption, MEMBER_OPTIONAL},
    {"TableClass", &shape_table_class, MEMBER_OPTIONAL},
    {"OnDemandThroughput", &shape_on_demand_throughput, MEMBER_OPTIONAL},
    {"WarmThroughput", &shape_warm_throughput, MEMBER_OPTIONAL},
    {"AttributeDefinitions", &shape_anything, MEMBER_LATER},
    {"GlobalSecondaryIndexUpdates", &shape_anything, MEMBER_LATER},
    {"ReplicaUpdates", &shape_anything, MEMBER_LATER},
    {0},
};

static const struct shape INPUT = {
    .kind = SHAPE_STRUCTURE, .java = "UpdateTableInput", .members = MEMBERS};

struct update_table {
    struct table_spec spec; /* what is asked for, but for the throughput */
    bool throughput;        /* it is asked for, or a billing mode */
    struct throughput_asked asked;
    bool stream_off;
};

static bool read_change(struct call *c, struct update_table *u, const struct json_value m[])
{
    struct fault *f = call_fault(c);
    bool any = false;
    for (int i = BILLING; i <= WARM; i++)
        any |= m[i].type != JSON_ABSENT;
    if (!any)
        return fault_set(f, FAULT_VALIDATION,
                         "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
                         "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is "
                         "required");
    if (m[BILLING].type == JSON_STRING)
        u->spec.billing = slice_is(json_string(&m[BILLING]), "PROVISIONED") ? BILLING_PROVISIONED
                                                                            : BILLING_ON_DEMAND;
    u->throughput = m[BILLING].type != JSON_ABSENT || m[THROUGHPUT].type != JSON_ABSENT ||
                    m[ON_DEMAND].type != JSON_ABSENT || m[WARM].type != JSON_ABSENT;
    if (m[THROUGHPUT].type != JSON_ABSENT && u->spec.billing == BILLING_ON_DEMAND)
        return table_refuse_provisioned(c);
    if (m[THROUGHPUT].type == JSON_ABSENT && u->spec.billing == BILLING_PROVISIONED)
        return fault_set(f, FAULT_VALIDATION,
                         "One or more parameter values were invalid: ProvisionedThroughput must be "
                         "specified when BillingMode is PROVISIONED");
    return table_read_throughput(c, &m[THROUGHPUT], &m[ON_DEMAND], &m[WARM], &u->asked);
}

static bool begin(struct call *c, const struct json_value m[])
{
    struct update_table *u = arena_zalloc(&c->arena, sizeof *u);
    struct table_settings settings = {&m[PROTECTION], &m[STREAM], &m[ENCRYPTION], &m[CLASS]};
    c->state = u;
    u->spec.name = arena_copy(&c->arena, json_string(&m[TABLE_NAME]));
    u->stream_off = m[STREAM].type != JSON_ABSENT;
    if (!read_change(c, u, m) || !table_settings_read(c, &settings, &u->spec))
        return false;
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_GET);
    s->request.key = u->spec.name;
    call_send(c, s);
    return true;
}

static bool unchanged(struct call *c, const struct table *t, const struct throughput_asked *asked)
{
    return fault_set(
        call_fault(c), FAULT_VALIDATION,
        "The provisioned throughput for the table will not change. The requested value equals the "
        "current value. Current ReadCapacityUnits provisioned for the table: %lld. Requested "
        "ReadCapacityUnits: %lld. Current WriteCapacityUnits provisioned for the table: %lld. "
        "Requested WriteCapacityUnits: %lld. Refer to the Amazon DynamoDB Developer Guide for "
        "current limits and how to request higher limits.",
        (long long)t->rcu, (long long)asked->rcu, (long long)t->wcu, (long long)asked->wcu);
}

/* Whether the spec asks for anything the table is not. */
static bool changes_labels(const struct table *t, const struct table_spec *spec)
{
    bool class = spec->class != TABLE_CLASS_UNSAID && spec->class != t->class;
    return class || (spec->encryption != ENCRYPTION_UNSAID &&
                     (spec->encryption != t->encryption ||
                      !slice_equal(spec->encryption_key, t->encryption_key)));
}

static bool changes_throughput(const struct table *t, const struct table_spec *spec)
{
    if (spec->billing == BILLING_AS_IT_IS)
        return false;
    bool change = spec->billing != t->billing || spec->rcu != t->rcu || spec->wcu != t->wcu;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t maximum = t->maximum[kind] == 0 ? MAXIMUM_NONE : t->maximum[kind];
        change |= spec->warm[kind] > t->warm[kind];
        change |= spec->maximum[kind] != 0 && spec->maximum[kind] != maximum;
    }
    return change;
}

/* The table as it is. */
static bool found(struct call *c, struct subrequest *get, const struct reply *r)
{
    struct update_table *u = c->state;
    struct table t;
    struct table_spec spec = u->spec;
    if (!table_take_reply(c, get, r, &t))
        return false;
    if (u->stream_off)
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "Table does not have a stream to disable: TableName: %.*s",
                         SHOWN(spec.name));
    if (u->throughput && spec.billing == BILLING_AS_IT_IS)
        spec.billing = t.billing;
    if (u->throughput && !table_take_throughput(c, &u->asked, &t, &spec))
        return false;
    if (!changes_throughput(&t, &spec) && !changes_labels(&t, &spec))
        return u->asked.provisioned ? unchanged(c, &t, &u->asked)
                                    : table_description_answer(c, get, r, "TableDescription");
    table_spec_encode(&c->bytes, &spec);
    struct subrequest *s = call_catalog_request(c, REQUEST_TABLE_UPDATE);
    s->request.key = spec.name;
    s->request.body = buffer_slice(&c->bytes);
    call_send(c, s);
    return true;
}

static bool reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (table_change_took(c, s, r))
        return true;
    return s->request.op == REQUEST_TABLE_GET ? found(c, s, r) : table_description_reply(c, s, r);
}

const struct operation operation_update_table = {
    .name = "UpdateTable", .input = &INPUT, .name_first = true, .begin = begin, .reply = reply};
