/* table_throughput.c - reads, checks and describes throughput. */
#include "router/operations/table_throughput.h"

#include "base/settings/admission.h"
#include "base/settings/tables.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"

/* An enum admit_kind is the index of its member in both structures. */
_Static_assert(ON_DEMAND_THROUGHPUT_MAX_READ_REQUEST_UNITS == (int)ADMIT_READ, "reads first");
_Static_assert(WARM_THROUGHPUT_READ_UNITS_PER_SECOND == (int)ADMIT_READ, "reads first");

static const char *on_demand_name(enum admit_kind kind)
{
    return shape_on_demand_throughput.members[kind].name;
}

static const char *warm_name(enum admit_kind kind)
{
    return shape_warm_throughput.members[kind].name;
}

/* ---- the request ---- */

static bool throughput_check_bounds(struct call *c, const char *name, int64_t units)
{
    return units <= TABLE_UNITS_MAX ||
           call_invalid(c, "Given value %lld for %s is out of bounds", (long long)units, name);
}

static bool throughput_read_provisioned(struct call *c, const struct json_value *member,
                                        struct throughput_spec *out)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    out->provisioned = member->type != JSON_ABSENT;
    if (!out->provisioned)
        return true;
    shape_bind(&shape_provisioned_throughput, member, m);
    out->rcu = shape_integer(&m[PROVISIONED_THROUGHPUT_READ_CAPACITY_UNITS], 0);
    out->wcu = shape_integer(&m[PROVISIONED_THROUGHPUT_WRITE_CAPACITY_UNITS], 0);
    return throughput_check_bounds(c, "ReadCapacityUnits", out->rcu) &&
           throughput_check_bounds(c, "WriteCapacityUnits", out->wcu);
}

/* Reads a structure of two numbers. One of them may be missing. */
static bool throughput_read_pair(struct call *c, const struct throughput_spec *requested,
                                 const struct shape *shape, const struct json_value *member,
                                 bool has[ADMIT_KINDS], int64_t units[ADMIT_KINDS])
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    if (member->type == JSON_ABSENT)
        return true;
    shape_bind(shape, member, m);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        has[kind] = m[kind].type != JSON_ABSENT;
        units[kind] = shape_integer(&m[kind], 0);
        if (!throughput_check_bounds(c, shape->members[kind].name, units[kind]))
            return false;
    }
    if (has[ADMIT_READ] || has[ADMIT_WRITE])
        return true;
    if (requested->index.size > 0)
        return call_invalid(c,
                            INVALID "%s must have at least one of %s or %s specified for index: "
                                    "%.*s",
                            shape->java, shape->members[ADMIT_READ].name,
                            shape->members[ADMIT_WRITE].name, SHOWN(requested->index));
    return call_invalid(c, INVALID "%s must have %s, %s or both", shape->java,
                        shape->members[ADMIT_READ].name, shape->members[ADMIT_WRITE].name);
}

bool table_read_throughput(struct call *c, const struct json_value *provisioned,
                           const struct json_value *on_demand, const struct json_value *warm,
                           struct throughput_spec *out)
{
    bool has[ADMIT_KINDS];
    return throughput_read_provisioned(c, provisioned, out) &&
           throughput_read_pair(c, out, &shape_on_demand_throughput, on_demand, out->has_maximum,
                                out->maximum) &&
           throughput_read_pair(c, out, &shape_warm_throughput, warm, has, out->warm);
}

/* ---- the request against the table ---- */

/* "table", or "index : NAME". The service's texts about indexes differ in the colon. */
static struct slice throughput_owner(struct call *c, const struct throughput_spec *requested,
                                     const char *before)
{
    struct buffer text = {0};
    if (requested->index.size == 0)
        return slice_of("table");
    buffer_append_format(&text, "%s%.*s", before, SHOWN(requested->index));
    return arena_take(&c->arena, &text);
}

/* -1 (MAXIMUM_NONE) removes the maximum of an existing table. */
static bool throughput_take_maximum(struct call *c, const struct throughput_spec *requested,
                                    const struct table *t, enum admit_kind kind,
                                    struct table_spec *spec)
{
    const char *name = on_demand_name(kind);
    if (!requested->has_maximum[kind])
        return true;
    if (spec->billing == BILLING_PROVISIONED)
        return call_invalid(c,
                            INVALID
                            "%s for OnDemandThroughput %s%.*s%scannot be specified when the "
                            "table BillingMode is PROVISIONED",
                            name, requested->index.size > 0 ? "for index : " : "",
                            SHOWN(requested->index), requested->index.size > 0 ? " " : "");
    spec->maximum[kind] = requested->maximum[kind];
    return spec->maximum[kind] >= 1 || (t != NULL && spec->maximum[kind] == MAXIMUM_NONE) ||
           call_invalid(
               c, INVALID "Requested %s for OnDemandThroughput for %.*s is outside of valid range",
               name, SHOWN(throughput_owner(c, requested, "index : ")));
}

/* Warm throughput can only grow. A new table has at least its initial throughput. */
static bool throughput_take_warm(struct call *c, const struct throughput_spec *requested,
                                 const struct table *t, enum admit_kind kind,
                                 struct table_spec *spec)
{
    const struct config *config = c->router->config;
    bool reads = kind == ADMIT_READ, on_demand = spec->billing == BILLING_ON_DEMAND;
    const char *why =
        "lower than current WarmThroughput, decreasing WarmThroughput is not supported";
    int64_t least;
    spec->warm[kind] = requested->warm[kind];
    if (t != NULL) {
        least = t->warm[kind];
    } else if (on_demand) {
        least = reads ? config_tables(config)->on_demand_rcu : config_tables(config)->on_demand_wcu;
        why = "lower than initial throughput for OnDemand";
    } else {
        least = reads ? spec->rcu : spec->wcu;
        why = reads ? "lower than ReadCapacityUnits of ProvisionedThroughput"
                    : "lower than WriteCapacityUnits of ProvisionedThroughput";
    }
    return requested->warm[kind] == 0 || requested->warm[kind] >= least ||
           call_invalid(c, INVALID "Requested %s for WarmThroughput for %.*s is %s",
                        warm_name(kind), SHOWN(throughput_owner(c, requested, "index ")), why);
}

bool table_refuse_provisioned(struct call *c, const struct throughput_spec *requested)
{
    if (requested->index.size > 0)
        return call_invalid(c,
                            INVALID "Neither ReadCapacityUnits nor WriteCapacityUnits can be "
                                    "specified for index: %.*s when BillingMode is PAY_PER_REQUEST",
                            SHOWN(requested->index));
    return call_invalid(c, INVALID "Neither ReadCapacityUnits nor WriteCapacityUnits can be "
                                   "specified when BillingMode is PAY_PER_REQUEST");
}

bool table_take_throughput(struct call *c, const struct throughput_spec *requested,
                           const struct table *t, struct table_spec *spec)
{
    if (requested->provisioned && spec->billing == BILLING_ON_DEMAND)
        return table_refuse_provisioned(c, requested);
    bool keeps = !requested->provisioned && t != NULL && spec->billing == t->billing;
    spec->rcu = keeps ? t->rcu : requested->rcu;
    spec->wcu = keeps ? t->wcu : requested->wcu;
    return throughput_take_maximum(c, requested, t, ADMIT_READ, spec) &&
           throughput_take_maximum(c, requested, t, ADMIT_WRITE, spec) &&
           throughput_take_warm(c, requested, t, ADMIT_READ, spec) &&
           throughput_take_warm(c, requested, t, ADMIT_WRITE, spec);
}

bool table_spec_changes_throughput(const struct table_spec *spec, const struct table *t)
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

/* ---- the description ---- */

void table_date_write(struct buffer *out, const char *key, int64_t wall_ms)
{
    if (wall_ms == 0)
        return;
    json_member_thousandths(out, key, wall_ms);
}

/* The count of a day that is over is not shown. */
static uint32_t throughput_decreases_today(const struct router *r, const struct table *t)
{
    enum {
        MS_PER_DAY = 86400000
    };
    bool today = t->decreased_ms / MS_PER_DAY == router_wall_ms(r) / MS_PER_DAY;
    return today ? t->decreases_today : 0;
}

void table_provisioned_write(struct buffer *out, const struct router *r, const struct table *t)
{
    json_member_open(out, "ProvisionedThroughput", '{');
    table_date_write(out, "LastIncreaseDateTime", t->increased_ms);
    table_date_write(out, "LastDecreaseDateTime", t->decreased_ms);
    json_member_integer(out, "NumberOfDecreasesToday", throughput_decreases_today(r, t));
    json_member_integer(out, "ReadCapacityUnits", t->rcu);
    json_member_integer(out, "WriteCapacityUnits", t->wcu);
    json_write_close(out, '}');
}

static void throughput_write_maximum(struct buffer *out, const struct table *t)
{
    if (t->maximum[ADMIT_READ] == 0 && t->maximum[ADMIT_WRITE] == 0)
        return;
    json_member_open(out, "OnDemandThroughput", '{');
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        json_member_integer(out, on_demand_name(kind),
                            t->maximum[kind] == 0 ? MAXIMUM_NONE : t->maximum[kind]);
    json_write_close(out, '}');
}

/* The warm throughput that the present partitions can serve, without those not yet split off. */
static int64_t throughput_served(const struct config *config, const struct table *t,
                                 enum admit_kind kind)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        if (t->partitions[i].parent == 0)
            most += kind == ADMIT_READ ? config_admission(config)->partition_max_rcu
                                       : config_admission(config)->partition_max_wcu;
    }
    return MIN(t->warm[kind], most);
}

/* Whether a new table was given WarmThroughput. */
static bool throughput_is_warmed(const struct config *config, const struct table *t)
{
    bool on_demand = t->billing == BILLING_ON_DEMAND;
    return t->warm[ADMIT_READ] > (on_demand ? config_tables(config)->on_demand_rcu : t->rcu) ||
           t->warm[ADMIT_WRITE] > (on_demand ? config_tables(config)->on_demand_wcu : t->wcu);
}

void table_throughput_write(struct buffer *out, const struct config *config, const struct table *t,
                            bool is_new)
{
    bool ready = true;
    throughput_write_maximum(out, t);
    if (is_new && !throughput_is_warmed(config, t))
        return;
    json_member_open(out, "WarmThroughput", '{');
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        json_member_integer(out, warm_name(kind), throughput_served(config, t, kind));
        ready &= throughput_served(config, t, kind) == t->warm[kind];
    }
    json_member_text(out, "Status", ready ? "ACTIVE" : "UPDATING");
    json_write_close(out, '}');
}
