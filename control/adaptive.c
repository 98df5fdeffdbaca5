/* adaptive.c - adaptive capacity: allocations follow demand within a table.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 4.2. Boost a throttled partition while its table is
 * below its limit, best effort, with a proportional control. Take boosts back when the table goes
 * above. The amounts and times below are ours, and settings:
 *   raise  A partition refused by its allocation for adaptive_after_ms gets
 *          adaptive_step_percent of its lack, from the rest of the table's limit. Partitions
 *          share that rest in proportion to their lacks.
 *   cut    A table above its limit takes the surplus from the boosts in use, in proportion.
 *   decay  An unused boost loses adaptive_decay_percent every adaptive_decay_ms.
 * If a node lacks throughput, the replica moves to a node that has it, if such a node exists. Until
 * then the raise is limited to the capacity of the nodes.
 *
 * Why allocations do not oscillate: the table's use is computed, not measured. Measured use would
 * reflect older allocations. The use is the sum, over the partitions, of the lesser of allocation
 * and demand. Demand does not depend on these decisions. So a change counts in full at the next
 * look, and one step ends at the limit. Within adaptive_margin_percent of the limit nothing
 * changes. Saved burst is not counted: a table may exceed its limit by burst. */
#include "control/controller_internal.h"
#include "engine/admission/share.h"

enum {
    QUIET_MS = 5000,       /* between events of a partition */
    LEAST_RAISE_MCU = 1000 /* a smaller rest of a boost is removed at once */
};

/* One kind of throughput of a table at this look. */
struct demand {
    const struct table *table;
    enum admit_kind kind;
    int64_t limit_mcu;
    int64_t uses_mcu;  /* sum over the partitions of the lesser of allocation and demand */
    int64_t boost_mcu; /* the part of uses_mcu by boosts */
    struct decision *decision;
};

static int64_t base_of(const struct demand *d, uint32_t i)
{
    return share_equal_mcu(d->limit_mcu / MCU_PER_UNIT, d->table->partition_count, i);
}

static int64_t boost_of(const struct demand *d, uint32_t i)
{
    int64_t boost = d->table->partitions[i].rate_mcu[d->kind] - base_of(d, i);
    return boost > 0 ? boost : 0;
}

/* The part of its allocation that the partition uses; all of it while demand is unknown. */
static int64_t use_of(const struct controller *c, const struct demand *d, uint32_t i)
{
    const struct partition_info *p = &d->table->partitions[i];
    const struct watched *w = control_watched(c, p->id);
    struct rates r = control_rates(c, w, d->kind, c->config->adaptive_window_ms);
    int64_t rate = p->rate_mcu[d->kind], demand = r.consumed_mcu + r.refused_mcu;
    bool unknown = w != NULL && w->room == SAMPLES && !r.known; /* split recently */
    return demand < rate && !unknown ? demand : rate;
}

static int64_t used_boost_of(const struct controller *c, const struct demand *d, uint32_t i)
{
    int64_t used = use_of(c, d, i) - base_of(d, i);
    return used > 0 ? used : 0;
}

static int64_t margin_of(const struct controller *c, const struct demand *d)
{
    return d->limit_mcu / 100 * c->config->adaptive_margin_percent;
}

static void adaptive_measure(const struct controller *c, const struct table *t,
                             enum admit_kind kind, struct decision *decision, struct demand *out)
{
    *out = (struct demand){.table = t,
                           .kind = kind,
                           .limit_mcu = (kind == ADMIT_READ ? t->rcu : t->wcu) * MCU_PER_UNIT,
                           .decision = decision};
    for (uint32_t i = 0; i < t->partition_count; i++) {
        out->uses_mcu += use_of(c, out, i);
        out->boost_mcu += used_boost_of(c, out, i);
    }
}

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

static void adaptive_change(struct controller *c, struct demand *d, const struct partition_info *p,
                            int64_t rate_mcu, enum event_kind event, const char *why)
{
    struct watched *w = control_watched(c, p->id);
    if (table_partition_is_changing(d->table, p))
        return; /* the load is known after the split */
    struct decision_rate *r = rate_in(d->decision, p);
    if (r == NULL)
        return;
    r->rate_mcu[d->kind] = rate_mcu;
    for (uint32_t m = 0; m < control_carriers(p, d->kind); m++)
        c->promises.loads_mcu[partition_node(p, m)][d->kind] += rate_mcu - p->rate_mcu[d->kind];
    if (w == NULL || instant_before(c->now, w->quiet_until) || d->decision->has_event)
        return;
    w->quiet_until = instant_add_ms(c->now, QUIET_MS);
    control_tell(c, d->decision, event, d->table, p->id,
                 "%s; the table uses %lld of its %lld %s units a second", why,
                 (long long)(d->uses_mcu / MCU_PER_UNIT), (long long)(d->limit_mcu / MCU_PER_UNIT),
                 control_kind_name(d->kind));
    control_figures(d->decision, d->kind == ADMIT_READ ? "read units/s" : "write units/s",
                    p->rate_mcu[d->kind] / MCU_PER_UNIT, rate_mcu / MCU_PER_UNIT);
}

/* ---- cut and decay ---- */

/* Takes unused parts of boosts first. */
static void adaptive_cut(struct controller *c, struct demand *d)
{
    int64_t excess = d->uses_mcu - d->limit_mcu;
    if (excess > d->boost_mcu)
        excess = d->boost_mcu;
    for (uint32_t i = 0; i < d->table->partition_count; i++) {
        const struct partition_info *p = &d->table->partitions[i];
        int64_t used = used_boost_of(c, d, i);
        int64_t less = (int64_t)((__int128)used * excess / d->boost_mcu);
        if (less > 0)
            adaptive_change(c, d, p, base_of(d, i) + used - less, EVENT_ALLOCATION_LOWERED,
                            "the table is above its limit");
    }
}

static void adaptive_decay(struct controller *c, struct demand *d)
{
    for (uint32_t i = 0; i < d->table->partition_count; i++) {
        const struct partition_info *p = &d->table->partitions[i];
        struct watched *w = control_watched(c, p->id);
        int64_t boost = boost_of(d, i), rate = p->rate_mcu[d->kind];
        if (boost == 0 || w == NULL || instant_before(c->now, w->decay_at[d->kind]) ||
            instant_before(w->throttled_since[d->kind], INSTANT_NEVER) ||
            use_of(c, d, i) > rate / 100 * c->config->adaptive_used_percent)
            continue;
        w->decay_at[d->kind] = instant_add_ms(c->now, c->config->adaptive_decay_ms);
        int64_t less = boost * c->config->adaptive_decay_percent / 100;
        if (boost - less < LEAST_RAISE_MCU)
            less = boost;
        adaptive_change(c, d, p, rate - less, EVENT_ALLOCATION_LOWERED,
                        "the partition does not need it");
    }
}

/* ---- raise ---- */

/* The further throughput that the nodes can carry. `*lacks` gets the node with the least. */
static int64_t spare_of(const struct controller *c, const struct partition_info *p,
                        enum admit_kind kind, uint32_t *lacks)
{
    int64_t least = INT64_MAX;
    for (uint32_t m = 0; m < control_carriers(p, kind); m++) {
        uint32_t node = partition_node(p, m);
        int64_t spare = control_capacity_mcu(c, node, kind) - c->promises.loads_mcu[node][kind];
        if (spare >= least)
            continue;
        least = spare;
        *lacks = node;
    }
    return least > 0 ? least : 0;
}

static void adaptive_relocate(struct controller *c, const struct demand *d,
                              const struct partition_info *p, uint32_t from, int64_t rate_mcu)
{
    int64_t rates[ADMIT_KINDS];
    if (p->leaving != 0 || !control_has_room(c) ||
        control_moving(c) >= (uint32_t)c->config->moves_max)
        return;
    memcpy(rates, p->rate_mcu, sizeof rates);
    rates[d->kind] = rate_mcu;
    uint32_t to = control_find_node(c, p, rates, partition_node(p, 0) == from);
    if (to == 0)
        return;
    struct decision move = {0};
    control_tell(c, &move, EVENT_REPLICA_MOVED, d->table, p->id,
                 "the partition needs an allocation of %lld units, which node %u does not have",
                 (long long)(rate_mcu / MCU_PER_UNIT), from);
    control_figures(&move, "node", from, to);
    control_move(c, d->table, p, from, to, &move);
}

/* The throughput that the partition lacks beyond its allocation. 0: it is not throttled, or not for
 * long enough. */
static int64_t lack_of(const struct controller *c, const struct demand *d, uint32_t i)
{
    const struct partition_info *p = &d->table->partitions[i];
    const struct watched *w = control_watched(c, p->id);
    if (w == NULL || instant_before(c->now, instant_add_ms(w->throttled_since[d->kind],
                                                           c->config->adaptive_after_ms)))
        return 0;
    struct rates r = control_rates(c, w, d->kind, c->config->adaptive_window_ms);
    int64_t rate = p->rate_mcu[d->kind], most = partition_max_mcu(c->config, d->kind) - rate;
    int64_t lack = (r.consumed_mcu + r.refused_mcu - rate) * c->config->adaptive_step_percent / 100;
    lack = lack < LEAST_RAISE_MCU ? LEAST_RAISE_MCU : lack;
    lack = lack < most ? lack : most;
    return lack > 0 ? lack : 0;
}

static void raise_one(struct controller *c, struct demand *d, const struct partition_info *p,
                      int64_t more)
{
    uint32_t node = 0;
    int64_t rate = p->rate_mcu[d->kind], spare = spare_of(c, p, d->kind, &node);
    if (spare < more)
        adaptive_relocate(c, d, p, node, rate + more);
    more = more > spare ? spare : more;
    if (more > 0)
        adaptive_change(c, d, p, rate + more, EVENT_ALLOCATION_RAISED,
                        "the partition is throttled by its allocation");
}

static void adaptive_raise(struct controller *c, struct demand *d)
{
    int64_t left = d->limit_mcu - d->uses_mcu, lacking = 0;
    if (left < LEAST_RAISE_MCU || left <= margin_of(c, d))
        return;
    for (uint32_t i = 0; i < d->table->partition_count; i++)
        lacking += lack_of(c, d, i);
    for (uint32_t i = 0; i < d->table->partition_count; i++) {
        int64_t more = lack_of(c, d, i);
        if (lacking > left)
            more = (int64_t)((__int128)more * left / lacking);
        if (more > 0)
            raise_one(c, d, &d->table->partitions[i], more);
    }
}

/* ---- all tables ---- */

static void adapt_table(struct controller *c, const struct table *t)
{
    struct decision decision = {.table_id = t->id};
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct demand d;
        adaptive_measure(c, t, (enum admit_kind)kind, &decision, &d);
        if (d.uses_mcu > d.limit_mcu + margin_of(c, &d) && d.boost_mcu > 0) {
            adaptive_cut(c, &d);
        } else {
            adaptive_decay(c, &d);
            adaptive_raise(c, &d);
        }
    }
    if (decision.rate_count > 0 && control_has_room(c))
        control_decide(c, CATALOG_RATES, &decision);
}

void control_adapt(struct controller *c)
{
    if (instant_before(c->now, c->adapted_at))
        return;
    c->adapted_at = instant_add_ms(c->now, c->config->adaptive_every_ms);
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        if (!control_has_room(c))
            return;
        if (t->status == TABLE_ACTIVE && t->billing == BILLING_PROVISIONED)
            adapt_table(c, t);
    }
}
