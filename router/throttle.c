#include "router/throttle.h"

#include "router/json_writer.h"
#include "router/operation.h"

/* The one place that says which exception a refusal is. The documentation contradicts itself about
 * key ranges of provisioned tables, so that is a setting. */
static enum fault_kind exception_of(const struct config *config, const struct table *t,
                                    enum admit_reason reason)
{
    bool as_throttling =
        reason == ADMIT_REFUSED_KEY_RANGE && config->key_range_as_throttling_exception != 0;
    return t->billing == BILLING_ON_DEMAND || as_throttling ? FAULT_THROTTLING : FAULT_THROUGHPUT;
}

const char *throttle_reason_name(enum admit_kind kind, enum admit_reason reason)
{
    if (reason == ADMIT_REFUSED_KEY_RANGE)
        return kind == ADMIT_READ ? "TableReadKeyRangeThroughputExceeded"
                                  : "TableWriteKeyRangeThroughputExceeded";
    return kind == ADMIT_READ ? "TableReadProvisionedThroughputExceeded"
                              : "TableWriteProvisionedThroughputExceeded";
}

/* A table on demand is refused for its maximum by its allocations, or by routers that share it. */
static bool is_maximum(const struct table *t, enum admit_kind kind, enum admit_reason reason)
{
    return t->billing == BILLING_ON_DEMAND && t->maximum[kind] > 0 &&
           (reason == ADMIT_REFUSED_ALLOCATION || reason == ADMIT_REFUSED_TABLE);
}

static const char *reason_of(const struct table *t, enum admit_kind kind, enum admit_reason reason)
{
    if (!is_maximum(t, kind, reason))
        return throttle_reason_name(kind, reason);
    return kind == ADMIT_READ ? "TableReadMaxOnDemandThroughputExceeded"
                              : "TableWriteMaxOnDemandThroughputExceeded";
}

static void write_reasons(struct call *c, const struct table *t, enum admit_kind kind,
                          enum admit_reason reason)
{
    struct fault *f = call_fault(c);
    struct buffer *out = &f->more;
    struct buffer arn = {0};
    table_arn_append(&arn, c->router, t->name);
    json_member_open(out, f->kind == FAULT_THROUGHPUT ? "ThrottlingReasons" : "throttlingReasons",
                     '[');
    json_write_open(out, '{');
    json_member_text(out, "reason", reason_of(t, kind, reason));
    json_member_string(out, "resource", buffer_slice(&arn));
    json_write_close(out, '}');
    json_write_close(out, ']');
    buffer_deinit(&arn);
}

bool throttle_refuse(struct call *c, const struct table *t, enum admit_kind kind,
                     const struct admit_verdict *verdict)
{
    static const char PROVISIONED[] =
        "The level of configured provisioned throughput for the table was exceeded. Consider "
        "increasing your provisioning level with the UpdateTable API.";
    static const char ON_DEMAND[] =
        "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
        "scaling your table or index so please try again shortly. If exceptions persist, check if "
        "you have a hot key: "
        "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
        "bp-partition-key-design.html";
    enum fault_kind kind_of_fault = exception_of(c->router->config, t, verdict->reason);
    fault_set(call_fault(c), kind_of_fault, "%s",
              t->billing == BILLING_ON_DEMAND ? ON_DEMAND : PROVISIONED);
    write_reasons(c, t, kind, verdict->reason);
    return false;
}
