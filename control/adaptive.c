/* adaptive.c - adaptive capacity: allocations follow demand within a table.
 *
 * A policy (setting adaptive_policy; weir's own: policy_proportional.c) says which allocation each
 * partition should get. Here is what it sees, and what comes of its decisions: one request to the
 * catalog for each table, with an event. If a node lacks throughput for a raise, the replica moves
 * to a node that has it, if such a node exists. Until then the raise is limited to the capacity of
 * the nodes.
 *
 * ADAPTIVE-1  The changes of a call are kept until the policy returns. A call with an invalid
 *             result changes nothing. */
#include "base/settings/adaptive.h"
#include "base/policy_value.h"
#include "base/settings/control.h"
#include "control/controller_internal.h"
#include "engine/admission/capacity.h"
#include "engine/admission/share.h"
#include "include/weir/policy_adaptive.h"

enum {
    QUIET_MS = 5000 /* between events of a partition */
};

/* A partition, as it is at this evaluation. */
struct rates_row {
    struct partition_history *history; /* NULL: no load was reported */
    int64_t demand_mcu;
    int64_t use_mcu;
    bool changed;
};

/* What the policy wants of a partition. */
struct rates_change {
    uint32_t index;
    bool raises;
    enum weir_rates_why why;
    int64_t rate_mcu;
};

/* One kind of throughput of a table, for the time of a call. */
struct weir_rates {
    struct controller *c;
    const struct table *table;
    enum admit_kind kind;
    int64_t limit_mcu;
    int64_t uses_mcu; /* sum over the partitions */
    struct rates_row *rows;
    struct rates_change *changes;
    uint32_t change_count;
    struct decision *decision;
    const char *invalid; /* the first; NULL: none */
};

/* ---- what policies see ---- */

uint32_t weir_rates_kind(const struct weir_rates *r)
{
    return r->kind == ADMIT_READ ? WEIR_POLICY_READ : WEIR_POLICY_WRITE;
}

POLICY_VALUE(int64_t, weir_rates_now_ns, struct weir_rates *r, r->c->now.ns)
POLICY_VALUE(int64_t, weir_rates_limit, struct weir_rates *r, r->limit_mcu)

int64_t weir_rates_maximum(const struct weir_rates *r)
{
    return partition_max_mcu(r->c->config, r->kind);
}

POLICY_VALUE(uint32_t, weir_rates_count, struct weir_rates *r, r->table->partition_count)

int64_t weir_rates_allocation(const struct weir_rates *r, uint32_t index)
{
    return index < weir_rates_count(r) ? r->table->partitions[index].rate_mcu[r->kind] : 0;
}

int64_t weir_rates_base(const struct weir_rates *r, uint32_t index)
{
    const uint32_t count = weir_rates_count(r);
    return index < count ? share_equal_mcu(r->limit_mcu / MCU_PER_UNIT, count, index) : 0;
}

int64_t weir_rates_demand(const struct weir_rates *r, uint32_t index)
{
    return index < weir_rates_count(r) ? r->rows[index].demand_mcu : 0;
}

int64_t weir_rates_use(const struct weir_rates *r, uint32_t index)
{
    return index < weir_rates_count(r) ? r->rows[index].use_mcu : 0;
}

static struct partition_history *rates_history(const struct weir_rates *r, uint32_t index)
{
    return index < weir_rates_count(r) ? r->rows[index].history : NULL;
}

int64_t weir_rates_throttled_ns(const struct weir_rates *r, uint32_t index)
{
    const struct partition_history *w = rates_history(r, index);
    bool throttled = w != NULL && instant_before(w->throttled_since[r->kind], INSTANT_NEVER);
    return throttled ? instant_since(r->c->now, w->throttled_since[r->kind]).ns : -1;
}

void *weir_rates_state(const struct weir_rates *r, uint32_t index)
{
    struct partition_history *w = rates_history(r, index);
    return w == NULL ? NULL : w->adaptive_state[r->kind];
}

int64_t weir_rates_setting(const struct weir_rates *r, enum weir_rates_setting s)
{
    const struct config *config = r->c->config;
    switch (s) {
    case WEIR_RATES_AFTER_NS:
        return config_adaptive(config)->adaptive_after_ms * NS_PER_MS;
    case WEIR_RATES_STEP_PERCENT:
        return config_adaptive(config)->adaptive_step_percent;
    case WEIR_RATES_MARGIN_PERCENT:
        return config_adaptive(config)->adaptive_margin_percent;
    case WEIR_RATES_DECAY_NS:
        return config_adaptive(config)->adaptive_decay_ms * NS_PER_MS;
    case WEIR_RATES_DECAY_PERCENT:
        return config_adaptive(config)->adaptive_decay_percent;
    case WEIR_RATES_USED_PERCENT:
        return config_adaptive(config)->adaptive_used_percent;
    }
    return 0;
}

/* ---- what policies do ---- */

static void rates_report_invalid(struct weir_rates *r, const char *what)
{
    if (r->invalid == NULL)
        r->invalid = what;
}

static void rates_change(struct weir_rates *r, const struct rates_change *change)
{
    if (r->rows[change->index].changed) {
        rates_report_invalid(r, "changes the allocation of a partition twice");
        return;
    }
    must(r->change_count < weir_rates_count(r)); /* one a partition */
    r->rows[change->index].changed = true;
    r->changes[r->change_count++] = *change;
}

void weir_rates_raise(struct weir_rates *r, uint32_t index, int64_t rate_mcu)
{
    if (index >= weir_rates_count(r))
        rates_report_invalid(r, "raises the allocation of a partition that does not exist");
    else if (rate_mcu <= weir_rates_allocation(r, index))
        rates_report_invalid(r, "raises an allocation below its present value");
    else if (rate_mcu > weir_rates_maximum(r))
        rates_report_invalid(r, "raises an allocation above the maximum of a partition");
    else
        rates_change(r, &(struct rates_change){index, true, 0, rate_mcu});
}

void weir_rates_lower(struct weir_rates *r, uint32_t index, int64_t rate_mcu,
                      enum weir_rates_why why)
{
    if (index >= weir_rates_count(r))
        rates_report_invalid(r, "lowers the allocation of a partition that does not exist");
    else if (rate_mcu < 0)
        rates_report_invalid(r, "lowers an allocation below zero");
    else if (rate_mcu > weir_rates_allocation(r, index))
        rates_report_invalid(r, "lowers an allocation above its present value");
    else if (why != WEIR_RATES_ABOVE_LIMIT && why != WEIR_RATES_UNUSED)
        rates_report_invalid(r, "lowers an allocation for a reason that does not exist");
    else
        rates_change(r, &(struct rates_change){index, false, why, rate_mcu});
}

/* ---- what comes of it ---- */

/* The partition's rate in the decision, added if missing; NULL: no room. */
static struct decision_rate *rate_in(struct decision *d, const struct partition_info *p)
{
    for (uint32_t i = 0; i < d->rate_count; i++) {
        if (d->rates[i].partition == p->id)
            return &d->rates[i];
    }
    if (d->rate_count == DECISION_RATES_MAX)
        return NULL;
    struct decision_rate *r = &d->rates[d->rate_count++];
    *r = (struct decision_rate){.partition = p->id, .epoch = p->epoch};
    memcpy(r->rate_mcu, p->rate_mcu, sizeof r->rate_mcu);
    return r;
}

static void adaptive_change(struct weir_rates *r, const struct partition_info *p, int64_t rate_mcu,
                            enum event_kind event, const char *why)
{
    struct controller *c = r->c;
    struct partition_history *w = control_history(c, p->id);
    if (table_partition_is_changing(r->table, p))
        return; /* the load is known after the split */
    struct decision_rate *rate = rate_in(r->decision, p);
    if (rate == NULL)
        return;
    must_in_tests(rate_mcu >= 0);
    rate->rate_mcu[r->kind] = rate_mcu;
    if (w != NULL)
        w->rated_in = c->evaluations;
    for (uint32_t m = 0; m < control_carriers(p, r->kind); m++)
        c->reservations.loads_mcu[partition_node(p, m)][r->kind] += rate_mcu - p->rate_mcu[r->kind];
    if (w == NULL || instant_before(c->now, w->quiet_until) || r->decision->has_event)
        return;
    w->quiet_until = instant_add_ms(c->now, QUIET_MS);
    control_event(c, r->decision, event, r->table, p->id,
                  "%s; the table uses %lld of its %lld %s units a second", why,
                  (long long)(r->uses_mcu / MCU_PER_UNIT), (long long)(r->limit_mcu / MCU_PER_UNIT),
                  control_kind_name(r->kind));
    control_figures(r->decision, r->kind == ADMIT_READ ? "read units/s" : "write units/s",
                    p->rate_mcu[r->kind] / MCU_PER_UNIT, rate_mcu / MCU_PER_UNIT);
}

/* The further throughput that the nodes can carry. `*lacks` gets the node with the least. */
static int64_t spare_of(const struct controller *c, const struct partition_info *p,
                        enum admit_kind kind, uint32_t *lacks)
{
    int64_t min = INT64_MAX;
    for (uint32_t m = 0; m < control_carriers(p, kind); m++) {
        uint32_t node = partition_node(p, m);
        int64_t spare = control_capacity_mcu(c, node, kind) - c->reservations.loads_mcu[node][kind];
        if (spare >= min)
            continue;
        min = spare;
        *lacks = node;
    }
    return MAX(min, 0);
}

static void adaptive_relocate(const struct weir_rates *r, const struct partition_info *p,
                              uint32_t from, int64_t rate_mcu)
{
    struct controller *c = r->c;
    int64_t rates[ADMIT_KINDS];
    if (p->leaving != 0 || control_is_decided(c, p->id) || !control_has_room(c) ||
        control_moving(c) >= (uint32_t)config_control(c->config)->moves_max)
        return;
    memcpy(rates, p->rate_mcu, sizeof rates);
    rates[r->kind] = rate_mcu;
    const struct control_replica replica = {p, from, WEIR_MOVE_ALLOCATION, rates};
    uint32_t to = control_find_node(c, &replica);
    if (to == 0)
        return;
    struct decision move = {0};
    control_event(c, &move, EVENT_REPLICA_MOVED, r->table, p->id,
                  "the partition needs an allocation of %lld units, which node %u does not have",
                  (long long)(rate_mcu / MCU_PER_UNIT), from);
    control_figures(&move, "node", from, to);
    control_move(c, r->table, p, from, to, &move);
}

static void adaptive_raise(struct weir_rates *r, const struct partition_info *p, int64_t rate_mcu)
{
    uint32_t node = 0;
    int64_t rate = p->rate_mcu[r->kind], more = rate_mcu - rate;
    must_in_tests(more > 0); /* weir_rates_raise */
    int64_t spare = spare_of(r->c, p, r->kind, &node);
    if (spare < more)
        adaptive_relocate(r, p, node, rate_mcu);
    more = MIN(more, spare);
    if (more > 0)
        adaptive_change(r, p, rate + more, EVENT_ALLOCATION_RAISED,
                        "the partition is throttled by its allocation");
}

static void adaptive_apply(struct weir_rates *r)
{
    static const char *const why[] = {[WEIR_RATES_ABOVE_LIMIT] = "the table is above its limit",
                                      [WEIR_RATES_UNUSED] = "the partition does not need it"};
    for (uint32_t i = 0; i < r->change_count; i++) {
        const struct rates_change *change = &r->changes[i];
        const struct partition_info *p = &r->table->partitions[change->index];
        if (change->raises)
            adaptive_raise(r, p, change->rate_mcu);
        else
            adaptive_change(r, p, change->rate_mcu, EVENT_ALLOCATION_LOWERED, why[change->why]);
    }
}

/* ---- all tables ---- */

static void adaptive_measure(struct weir_rates *r)
{
    for (uint32_t i = 0; i < r->table->partition_count; i++) {
        const struct partition_info *p = &r->table->partitions[i];
        struct rates_row *row = &r->rows[i];
        row->history = control_history(r->c, p->id);
        struct rates rates = control_rates(r->c, row->history, r->kind,
                                           config_adaptive(r->c->config)->adaptive_window_ms);
        int64_t rate = p->rate_mcu[r->kind];
        bool unknown = row->history != NULL && row->history->room == SAMPLES && !rates.known;
        row->demand_mcu = rates.consumed_mcu + rates.refused_mcu;
        row->use_mcu = row->demand_mcu < rate && !unknown ? row->demand_mcu : rate;
        r->uses_mcu += row->use_mcu;
    }
}

static void adaptive_decide(struct controller *c, const struct weir_adaptive_policy *policy,
                            struct weir_rates *r)
{
    const size_t count = r->table->partition_count;
    r->rows = arena_zalloc(&c->arena, count * sizeof *r->rows);
    r->changes = arena_zalloc(&c->arena, count * sizeof *r->changes);
    adaptive_measure(r);
    int64_t begun_ns = control_call_begin(c, policy);
    policy->adapt(r);
    control_call_end(c, policy, begun_ns);
    if (r->invalid != NULL)
        control_report_invalid(c, policy, r->invalid);
    else
        adaptive_apply(r);
}

static void adapt_table(struct controller *c, const struct weir_adaptive_policy *policy,
                        const struct table *t)
{
    struct decision decision = {.table_id = t->id};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct weir_rates r = {.c = c,
                               .table = t,
                               .kind = kind,
                               .limit_mcu = (kind == ADMIT_READ ? t->rcu : t->wcu) * MCU_PER_UNIT,
                               .decision = &decision};
        adaptive_decide(c, policy, &r);
    }
    if (decision.rate_count > 0 && control_has_room(c))
        control_decide(c, CATALOG_RATES, &decision);
}

void control_adapt(struct controller *c)
{
    if (instant_before(c->now, c->adapted_at))
        return;
    c->adapted_at = instant_add_ms(c->now, config_adaptive(c->config)->adaptive_every_ms);
    const struct weir_adaptive_policy *policy = control_policy(c, POLICY_ADAPTIVE);
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        if (!control_has_room(c))
            return;
        if (t->status == TABLE_ACTIVE && t->billing == BILLING_PROVISIONED)
            adapt_table(c, policy, t);
    }
}
