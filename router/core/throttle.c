/* throttle.c - texts, reasons and header lines of a throttled request. */
#include "router/core/throttle.h"

#include "base/settings/admission.h"
#include "base/settings/requests.h"
#include "engine/message/request_traits.h"
#include "router/core/operation.h"
#include "router/json/json_writer.h"

/* Chooses the exception of a refusal. The documentation contradicts itself about key ranges of
 * provisioned tables: a setting decides. */
static enum fault_kind throttle_exception_of(const struct config *config, const struct table *t,
                                             enum admit_reason reason)
{
    bool as_throttling = reason == ADMIT_REFUSED_KEY_RANGE &&
                         config_requests(config)->key_range_as_throttling_exception != 0;
    return t->billing == BILLING_ON_DEMAND || as_throttling ? FAULT_THROTTLING : FAULT_THROUGHPUT;
}

/* What refused the request: a table, or a global index. */
struct throttle_by {
    struct slice name;         /* in the catalog: TABLE, or TABLE/INDEX */
    const struct table *table; /* the table, or that of the index; NULL: not known */
    bool index;
    enum admit_reason reason;
};

/* The global index that refused the write. A node that does not know which one names none: then it
 * is the table's only one, or NULL. */
static const struct index *throttle_index_of(const struct table *t,
                                             const struct admit_verdict *verdict)
{
    const struct index *x = index_set_find_table(t->index_set, verdict->index);
    if (x == NULL && index_set_global(t->index_set) == 1)
        x = index_set_global_at(t->index_set, 0);
    return x;
}

static struct throttle_by throttle_by_of(struct call *c, const struct route *route,
                                         const struct admit_verdict *verdict)
{
    const struct table *t = &route->table;
    struct throttle_by by = {t->name, t, t->index_of != 0, verdict->reason};
    const struct index *x = throttle_index_of(t, verdict);
    if (verdict->reason != ADMIT_REFUSED_INDEX || x == NULL)
        return by;
    by = (struct throttle_by){call_index_table(c, t, x), NULL, true, verdict->cause};
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++) {
        if (index_set_global_at(t->index_set, i) == x)
            by.table = route->indexes[i];
    }
    return by;
}

/* An on-demand table's maximum is enforced by its allocations, or by the routers that share it. */
static bool throttle_is_maximum(const struct table *t, enum admit_kind kind,
                                enum admit_reason reason)
{
    return t->billing == BILLING_ON_DEMAND && t->maximum[kind] > 0 &&
           (reason == ADMIT_REFUSED_ALLOCATION || reason == ADMIT_REFUSED_TABLE);
}

/* "Table" or "Index", and what was exceeded. */
static void throttle_append_reason(struct buffer *out, const struct throttle_by *by,
                                   enum admit_kind kind)
{
    const char *exceeded = by->table != NULL && throttle_is_maximum(by->table, kind, by->reason)
                               ? "MaxOnDemand"
                           : by->reason == ADMIT_REFUSED_KEY_RANGE ? "KeyRange"
                                                                   : "Provisioned";
    buffer_append_format(out, "%s%s%sThroughputExceeded", by->index ? "Index" : "Table",
                         kind == ADMIT_READ ? "Read" : "Write", exceeded);
}

static void throttle_write_reasons(struct call *c, const struct throttle_by *by,
                                   enum admit_kind kind)
{
    struct fault *f = call_fault(c);
    struct buffer *out = &f->more;
    struct buffer reason = {0}, arn = {0};
    throttle_append_reason(&reason, by, kind);
    table_arn_append(&arn, c, by->name);
    json_member_open(out, f->kind == FAULT_THROUGHPUT ? "ThrottlingReasons" : "throttlingReasons",
                     '[');
    json_write_open(out, '{');
    json_member_string(out, "reason", buffer_slice(&reason));
    json_member_string(out, "resource", buffer_slice(&arn));
    json_write_closes(out, "}]");
    buffer_deinit(&reason);
    buffer_deinit(&arn);
}

/* ---- texts ---- */

/* 0: not known, or never. Then no time is told. */
static int64_t throttle_wait_ms(const struct admit_verdict *verdict)
{
    if (verdict->wait.ns > INT64_MAX / 4)
        return 0;
    return (verdict->wait.ns + NS_PER_MS - 1) / NS_PER_MS;
}

/* What ends the refusals of an index. */
static const char *throttle_index_remedy(const struct table *t, enum admit_reason cause)
{
    if (cause == ADMIT_REFUSED_KEY_RANGE)
        return "spread the items over more values of the index's partition key";
    if (cause != ADMIT_REFUSED_ALLOCATION && cause != ADMIT_REFUSED_TABLE)
        return "try again when the index has caught up";
    return t->billing == BILLING_ON_DEMAND
               ? "try again later, or raise the index's maximum, if it has one, with UpdateTable"
               : "raise the index's write units with UpdateTable";
}

/* "index by-colour cannot take more writes (key-range at its partition 7): spread the items ..". */
static void throttle_append_index(struct buffer *out, const struct table *t,
                                  const struct admit_verdict *verdict)
{
    const struct index *x = throttle_index_of(t, verdict);
    if (x != NULL)
        buffer_append_format(out, "index %.*s ", SHOWN(x->name));
    else
        buffer_append_text(out, "a global index of the table ");
    if (verdict->cause == ADMIT_OK)
        buffer_append_text(out, "lags too far behind the table's writes");
    else
        buffer_append_format(out, "cannot take more writes (%s at its partition %u)",
                             admit_reason_name(verdict->cause), verdict->member);
    buffer_append_format(out, ": %s", throttle_index_remedy(t, verdict->cause));
}

/* "partition 5 is at its maximum of 1000 write units per second". */
static void throttle_append_where(struct buffer *out, const struct call *c,
                                  const struct subrequest *s, enum admit_kind kind,
                                  const struct admit_verdict *verdict)
{
    const struct config *config = c->router->config;
    const char *what = kind == ADMIT_READ ? "read" : "write";
    const unsigned partition = s->request.partition;
    switch (verdict->reason) {
    case ADMIT_REFUSED_KEY_RANGE:
        buffer_append_format(
            out, "partition %u is at its maximum of %lld %s units per second", partition,
            (long long)(kind == ADMIT_READ ? config_admission(config)->partition_max_rcu
                                           : config_admission(config)->partition_max_wcu),
            what);
        break;
    case ADMIT_REFUSED_NODE:
        buffer_append_format(out, "node %u, which serves partition %u, has no %s units left",
                             s->node, partition, what);
        break;
    case ADMIT_REFUSED_MEMBER:
        buffer_append_format(out,
                             "node %u, which holds a replica of partition %u, has no %s units "
                             "left",
                             verdict->member, partition, what);
        break;
    case ADMIT_REFUSED_TABLE:
        buffer_append_format(out, "the %s's limit of %s units is used up",
                             s->route->table.index_of != 0 ? "index" : "table", what);
        break;
    case ADMIT_REFUSED_ALLOCATION:
        buffer_append_format(out,
                             "partition %u has used up its allocation and its burst of %s "
                             "units",
                             partition, what);
        break;
    case ADMIT_REFUSED_INDEX:
        throttle_append_index(out, &s->route->table, verdict);
        break;
    case ADMIT_OK:
    case ADMIT_REFUSED_OVERLOAD: /* no throttling: REPLY_OVERLOADED */
    case ADMIT_REASONS:
        break;
    }
}

static void throttle_append_details(struct buffer *out, const struct call *c,
                                    const struct subrequest *s, enum admit_kind kind,
                                    const struct admit_verdict *verdict)
{
    buffer_append_format(out, " (%s: ", admit_reason_name(verdict->reason));
    throttle_append_where(out, c, s, kind, verdict);
    if (throttle_wait_ms(verdict) > 0)
        buffer_append_format(out, "; try again in %lld ms", (long long)throttle_wait_ms(verdict));
    buffer_append_u8(out, ')');
}

static const char *throttle_text_of(const struct table *t, const struct throttle_by *by)
{
    if (by->reason == ADMIT_REFUSED_KEY_RANGE)
        return "The throughput of a key range is at the maximum of its partition, which no "
               "setting of the table raises. Spread the requests over more partition key values.";
    if (t->billing == BILLING_ON_DEMAND)
        return "Throughput exceeds the current capacity of your table or index. DynamoDB is "
               "automatically scaling your table or index so please try again shortly. If "
               "exceptions persist, check if you have a hot key: "
               "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
               "bp-partition-key-design.html";
    if (by->index)
        return "The level of configured provisioned throughput for one or more global secondary "
               "indexes of the table was exceeded. Consider increasing your provisioning level for "
               "the under-provisioned global secondary indexes with the UpdateTable API";
    return "The level of configured provisioned throughput for the table was exceeded. Consider "
           "increasing your provisioning level with the UpdateTable API.";
}

/* ---- refusals ---- */

void throttle_note(struct call *c, const struct subrequest *s, const struct admit_verdict *verdict)
{
    struct http_throttle *t = &c->throttle;
    const int64_t wait_ms = throttle_wait_ms(verdict);
    if (t->by != NULL && (t->wait_ms == 0 || (wait_ms > 0 && t->wait_ms >= wait_ms)))
        return;
    *t = (struct http_throttle){
        .by = admit_reason_name(verdict->reason),
        .partition = verdict->reason == ADMIT_REFUSED_TABLE ? 0 : s->request.partition,
        .wait_ms = wait_ms};
}

bool throttle_refuse(struct call *c, const struct subrequest *s,
                     const struct admit_verdict *verdict)
{
    const struct table *t = &s->route->table;
    enum admit_kind kind = request_admit_kind(&s->request);
    const struct throttle_by by = throttle_by_of(c, s->route, verdict);
    struct fault *f = call_fault(c);
    throttle_note(c, s, verdict);
    fault_set(f, throttle_exception_of(c->router->config, t, by.reason), "%s",
              throttle_text_of(t, &by));
    throttle_append_details(&f->text, c, s, kind, verdict);
    throttle_write_reasons(c, &by, kind);
    return false;
}
