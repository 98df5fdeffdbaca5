/* update_table.c - UpdateTable: reads the table first, because members that are not given keep
 * their values. */
#include "router/operations/operations.h"
#include "router/operations/shapes.h"
#include "router/operations/table_description.h"
#include "router/operations/table_throughput.h"

/* The typed request. The present table completes it. */
struct update_table {
    struct table_spec spec; /* the request, without the throughput */
    bool throughput;        /* throughput or a billing mode is given */
    struct throughput_asked asked;
    bool stream_off;
};

static bool update_read_change(struct call *c, struct update_table *u, const struct json_value m[])
{
    struct fault *f = call_fault(c);
    bool any = false; /* serve_run has refused members that weir does not support yet */
    for (int i = 0; i < SHAPE_MEMBERS_OF_update_table; i++)
        any |= i != UPDATE_TABLE_TABLE_NAME && m[i].type != JSON_ABSENT;
    if (!any)
        return fault_invalid(
            f, "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
               "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required");
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
        return table_refuse_provisioned(c);
    if (m[UPDATE_TABLE_PROVISIONED_THROUGHPUT].type == JSON_ABSENT &&
        u->spec.billing == BILLING_PROVISIONED)
        return fault_invalid(
            f, INVALID "ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
    return table_read_throughput(c, &m[UPDATE_TABLE_PROVISIONED_THROUGHPUT],
                                 &m[UPDATE_TABLE_ON_DEMAND_THROUGHPUT],
                                 &m[UPDATE_TABLE_WARM_THROUGHPUT], &u->asked);
}

static bool update_read(struct call *c, const struct json_value m[], struct update_table *u)
{
    struct table_settings settings = {
        &m[UPDATE_TABLE_DELETION_PROTECTION_ENABLED], &m[UPDATE_TABLE_STREAM_SPECIFICATION],
        &m[UPDATE_TABLE_SSE_SPECIFICATION], &m[UPDATE_TABLE_TABLE_CLASS]};
    u->spec.name = arena_copy(&c->arena, json_string(&m[UPDATE_TABLE_TABLE_NAME]));
    u->stream_off = m[UPDATE_TABLE_STREAM_SPECIFICATION].type != JSON_ABSENT;
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
                             const struct throughput_asked *asked)
{
    return call_invalid(
        c,
        "The provisioned throughput for the table will not change. The requested value equals the "
        "current value. Current ReadCapacityUnits provisioned for the table: %lld. Requested "
        "ReadCapacityUnits: %lld. Current WriteCapacityUnits provisioned for the table: %lld. "
        "Requested WriteCapacityUnits: %lld. Refer to the Amazon DynamoDB Developer Guide for "
        "current limits and how to request higher limits.",
        (long long)t->rcu, (long long)asked->rcu, (long long)t->wcu, (long long)asked->wcu);
}

/* Whether the spec changes the table's class or encryption. */
static bool update_changes_labels(const struct table *t, const struct table_spec *spec)
{
    bool class = spec->class != TABLE_CLASS_UNSAID && spec->class != t->class;
    return class || (spec->encryption != ENCRYPTION_UNSAID &&
                     (spec->encryption != t->encryption ||
                      !slice_equal(spec->encryption_key, t->encryption_key)));
}

static bool update_changes_throughput(const struct table *t, const struct table_spec *spec)
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

static bool update_found(struct call *c, struct subrequest *get, const struct reply *r)
{
    struct update_table *u = c->state;
    struct table t;
    struct table_spec spec = u->spec;
    if (!table_take_reply(c, get, r, &t))
        return false;
    if (u->stream_off)
        return call_invalid(c, "Table does not have a stream to disable: TableName: %.*s",
                            SHOWN(spec.name));
    if (u->throughput && spec.billing == BILLING_AS_IT_IS)
        spec.billing = t.billing;
    if (u->throughput && !table_take_throughput(c, &u->asked, &t, &spec))
        return false;
    if (!update_changes_throughput(&t, &spec) && !update_changes_labels(&t, &spec))
        return u->asked.provisioned ? update_unchanged(c, &t, &u->asked)
                                    : table_description_answer(c, get, r, "TableDescription");
    call_send_spec(c, REQUEST_TABLE_UPDATE, &spec);
    return true;
}

static bool update_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (table_change_took(c, s, r))
        return true;
    return s->request.op == REQUEST_TABLE_GET ? update_found(c, s, r)
                                              : table_description_reply(c, s, r);
}

OPERATION(update_table, "UpdateTable", .name_first = true, .begin = update_begin,
          .reply = update_reply);
