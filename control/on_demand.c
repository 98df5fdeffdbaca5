/* on_demand.c - prepares tables on demand for their peaks.
 *
 * A table's average consumption over on_demand_peak_ms is a peak if it is higher than ever before.
 * The catalog is told (CATALOG_PEAK). Then the table's partitions are allocated the peak together,
 * and the table's warm throughput is twice the peak. control/split.c cuts partitions until the
 * table can serve that. If the nodes lack the capacity, an event says so and nothing changes: the
 * table may burst.
 *
 * Documented of DynamoDB: twice the previous peak is served at once, and peaks are kept. The
 * duration of a peak is ours. */
#include "control/controller_internal.h"

enum {
    STEP_PERCENT = 1,      /* a new peak is higher than the last by more than this */
    TELL_PERCENT = 10,     /* an event needs a warm throughput higher by this */
    TELL_AGAIN_MS = 600000 /* between events about too few nodes */
};

static bool on_demand_exceeds(int64_t units, int64_t before, int64_t percent)
{
    return units * 100 > before * (100 + percent);
}

/* The table's consumption in units per second, rounded up: the warm throughput must be at least
 * twice that. */
static void on_demand_measure(const struct controller *c, const struct table *t,
                              int64_t units[ADMIT_KINDS])
{
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t mcu = 0;
        for (uint32_t i = 0; i < t->partition_count; i++)
            mcu += control_rates(c, control_watched(c, t->partitions[i].id), (enum admit_kind)kind,
                                 c->config->on_demand_peak_ms)
                       .consumed_mcu;
        units[kind] = (mcu + MCU_PER_UNIT - 1) / MCU_PER_UNIT;
    }
}

/* The warm throughput after such a peak. */
static int64_t ready_for(const struct controller *c, int64_t peak, enum admit_kind kind)
{
    int64_t most = kind == ADMIT_READ ? c->config->table_max_rcu : c->config->table_max_wcu;
    return 2 * peak < most ? 2 * peak : most;
}

static void tell_full(struct controller *c, const struct table *t)
{
    struct decision d = {0};
    if (instant_before(c->now, c->peaks_quiet_until))
        return;
    c->peaks_quiet_until = instant_add_ms(c->now, TELL_AGAIN_MS);
    control_tell(c, &d, EVENT_STUCK, t, 0,
                 "the table is at a new peak, but its nodes are promised to others: add nodes, or "
                 "capacity");
    control_decide(c, CATALOG_EVENT, &d);
}

static void on_demand_follow(struct controller *c, const struct table *t)
{
    struct decision d = {.table_id = t->id};
    int64_t promised[ADMIT_KINDS];
    bool higher = false;
    on_demand_measure(c, t, d.peak);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t ready = ready_for(c, d.peak[kind], kind);
        higher |= on_demand_exceeds(ready, t->warm[kind], STEP_PERCENT) ||
                  on_demand_exceeds(d.peak[kind], t->promised[kind], STEP_PERCENT);
        promised[kind] = d.peak[kind] > t->promised[kind] ? d.peak[kind] : t->promised[kind];
        if (d.has_event || !on_demand_exceeds(ready, t->warm[kind], TELL_PERCENT))
            continue;
        control_tell(c, &d, EVENT_PEAK, t, 0,
                     "the table consumed %lld %s units a second, a new peak: it is made ready for "
                     "%lld",
                     (long long)d.peak[kind], control_kind_name(kind), (long long)ready);
        control_figures(&d, kind == ADMIT_READ ? "read units/s at once" : "write units/s at once",
                        t->warm[kind], ready);
    }
    if (!higher)
        return;
    if (control_promise(c, t, promised, NULL))
        control_decide(c, CATALOG_PEAK, &d);
    else
        tell_full(c, t);
}

void control_on_demand(struct controller *c)
{
    if (instant_before(c->now, c->peaks_at))
        return;
    c->peaks_at = instant_add_ms(c->now, c->config->on_demand_peak_ms);
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        if (!control_has_room(c))
            return;
        if (t->status == TABLE_ACTIVE && t->billing == BILLING_ON_DEMAND && !table_is_changing(t))
            on_demand_follow(c, t);
    }
}
