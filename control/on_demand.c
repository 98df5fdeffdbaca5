/* on_demand.c - prepares tables on demand for their peaks.
 *
 * Every on_demand_peak_ms a policy (setting demand_policy; weir's own: policy_peak.c) says what a
 * table's consumption has raised it to: its new peak. The catalog is told (CATALOG_PEAK). Then the
 * table's partitions are allocated the peak together, and the table's warm throughput is twice the
 * peak. control/split.c splits partitions until the table can serve that. If the nodes lack the
 * capacity, an event says so and nothing changes: the table may burst.
 *
 * Documented of DynamoDB: twice the previous peak is served at once, and peaks are kept. */
#include "base/policy_value.h"
#include "base/settings/tables.h"
#include "control/controller_internal.h"
#include "include/weir/policy_demand.h"

enum {
    WINDOW_MS_MAX = 15000,   /* as load_history.c keeps samples */
    REPORT_PERCENT = 10,     /* an event needs a warm throughput higher by this */
    REPORT_AGAIN_MS = 600000 /* between events about too few nodes */
};

static bool on_demand_exceeds(int64_t units, int64_t before, int64_t percent)
{
    return units * 100 > before * (100 + percent);
}

/* ---- what policies see ---- */

/* A table for the time of a call. */
struct weir_peak {
    struct controller *c;
    const struct table *table;
};

POLICY_VALUE(int64_t, weir_peak_now_ns, struct weir_peak *p, p->c->now.ns)

/* The table's consumption in units per second, rounded up: the warm throughput must be at least
 * twice that. */
static int64_t on_demand_units(const struct controller *c, const struct table *t,
                               enum admit_kind kind, int64_t ms)
{
    int64_t mcu = 0;
    for (uint32_t i = 0; i < t->partition_count; i++)
        mcu += control_rates(c, control_history(c, t->partitions[i].id), kind, ms).consumed_mcu;
    return (mcu + MCU_PER_UNIT - 1) / MCU_PER_UNIT;
}

int64_t weir_peak_consumed(const struct weir_peak *p, enum weir_policy_kind kind, int64_t window_ns)
{
    int64_t ms = window_ns / NS_PER_MS;
    ms = ms < 1 ? 1 : MIN(ms, WINDOW_MS_MAX);
    if (!control_is_kind(kind))
        return 0;
    return on_demand_units(p->c, p->table, (enum admit_kind)kind, ms) * MCU_PER_UNIT;
}

int64_t weir_peak_window_ns(const struct weir_peak *p)
{
    return config_tables(p->c->config)->on_demand_peak_ms * NS_PER_MS;
}

int64_t weir_peak_allocated(const struct weir_peak *p, enum weir_policy_kind kind)
{
    return control_is_kind(kind) ? p->table->reserved[kind] * MCU_PER_UNIT : 0;
}

int64_t weir_peak_warm(const struct weir_peak *p, enum weir_policy_kind kind)
{
    return control_is_kind(kind) ? p->table->warm[kind] * MCU_PER_UNIT : 0;
}

static int64_t units_max(const struct controller *c, enum admit_kind kind)
{
    return kind == ADMIT_READ ? config_tables(c->config)->table_max_rcu
                              : config_tables(c->config)->table_max_wcu;
}

int64_t weir_peak_maximum(const struct weir_peak *p, enum weir_policy_kind kind)
{
    return control_is_kind(kind) ? units_max(p->c, (enum admit_kind)kind) * MCU_PER_UNIT : 0;
}

/* ---- what comes of it ---- */

/* The warm throughput after such a peak. */
static int64_t ready_for(const struct controller *c, int64_t peak, enum admit_kind kind)
{
    int64_t max = units_max(c, kind);
    return 2 * peak < max ? 2 * peak : max;
}

/* What the policy gives for `consumed` units, in units. False: nothing changes. */
static bool on_demand_raise(struct controller *c, const struct table *t,
                            const int64_t consumed[ADMIT_KINDS], int64_t allocation[ADMIT_KINDS])
{
    const struct weir_demand_policy *policy = control_policy(c, POLICY_DEMAND);
    const struct weir_peak peak = {c, t};
    int64_t mcu[2] = {0, 0};
    const char *fault = NULL;
    int64_t begun_ns = control_call_begin(c, policy);
    bool changes = policy->raise(&peak, mcu);
    control_call_end(c, policy, begun_ns);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && changes; kind++) {
        int64_t max = units_max(c, kind);
        max = MAX(max, consumed[kind]) * MCU_PER_UNIT;
        if (mcu[kind] < 0)
            fault = "raises a table's allocation to less than zero";
        else if (mcu[kind] > max)
            fault = "raises a table's allocation above the maximum of tables";
        else
            allocation[kind] = (mcu[kind] + MCU_PER_UNIT - 1) / MCU_PER_UNIT;
    }
    if (fault != NULL)
        control_report_invalid(c, policy, fault);
    return changes && fault == NULL;
}

static void report_full(struct controller *c, const struct table *t)
{
    struct decision d = {0};
    if (instant_before(c->now, c->peaks_quiet_until))
        return;
    c->peaks_quiet_until = instant_add_ms(c->now, REPORT_AGAIN_MS);
    control_event(c, &d, EVENT_NO_CAPACITY, t, 0,
                  "the table has a new peak, but its nodes are reserved for other tables: add "
                  "nodes or capacity");
    control_decide(c, CATALOG_EVENT, &d);
}

static void on_demand_report(struct controller *c, const struct table *t, enum admit_kind kind,
                             int64_t consumed, struct decision *d)
{
    int64_t ready = ready_for(c, d->peak[kind], kind);
    if (d->has_event || !on_demand_exceeds(ready, t->warm[kind], REPORT_PERCENT))
        return;
    control_event(c, d, EVENT_PEAK, t, 0,
                  "the table consumed %lld %s units a second, a new peak: it is prepared for %lld",
                  (long long)consumed, control_kind_name(kind), (long long)ready);
    control_figures(d, kind == ADMIT_READ ? "read units/s at once" : "write units/s at once",
                    t->warm[kind], ready);
}

static void on_demand_follow(struct controller *c, const struct table *t)
{
    struct decision d = {.table_id = t->id};
    int64_t reserved[ADMIT_KINDS], consumed[ADMIT_KINDS];
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        consumed[kind] = on_demand_units(c, t, kind, config_tables(c->config)->on_demand_peak_ms);
    if (!on_demand_raise(c, t, consumed, d.peak))
        return;
    must_in_tests(t->billing == BILLING_ON_DEMAND && t->status == TABLE_ACTIVE);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        must_in_tests(d.peak[kind] >= 0);
        reserved[kind] = MAX(d.peak[kind], t->reserved[kind]);
        on_demand_report(c, t, kind, consumed[kind], &d);
    }
    if (control_reserve(c, t, reserved, NULL))
        control_decide(c, CATALOG_PEAK, &d);
    else
        report_full(c, t);
}

void control_on_demand(struct controller *c)
{
    if (instant_before(c->now, c->peaks_at))
        return;
    c->peaks_at = instant_add_ms(c->now, config_tables(c->config)->on_demand_peak_ms);
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        if (!control_has_room(c))
            return;
        if (t->status == TABLE_ACTIVE && t->billing == BILLING_ON_DEMAND && !table_is_changing(t))
            on_demand_follow(c, t);
    }
}
