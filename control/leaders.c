/* leaders.c - spreads leadership over the nodes that are alive.
 *
 * The first of a partition's replicas should lead. It is handed leadership as soon as it can take
 * it (engine/node/replica/raft_driver.c). This file decides which replica is first. Nothing is
 * copied. The rules, in this order:
 *   - a first replica on a node that has been unresponsive for UNRESPONSIVE_MS is replaced;
 *   - a node that leads much more load than another gives that node some load;
 *   - a node that leads more partitions than another gives that node one.
 *
 * Why leadership does not oscillate: load moves only across a gap of GAP_PPM, and the larger side
 * must shrink by at least GAIN_PPM. Counts are evened only if no gap above GAIN_PPM results. */
#include "control/controller_internal.h"

enum {
    UNRESPONSIVE_MS = 3000, /* by then another replica leads */
    WINDOW_MS = 5000,
    AGAIN_MS = 10000, /* after a move for load: until the rates show it */
    MOVES_MAX = 4,    /* in one evaluation */
    GAP_PPM = 100000, /* of a node's capacity */
    GAIN_PPM = 40000
};

struct leading {
    int64_t load_ppm; /* consumption of the partitions it leads, of the node's capacity */
    uint32_t count;
};

struct shift {
    const struct table *table;
    const struct partition_info *partition;
    uint32_t to;
    int64_t cost_ppm;
    int64_t score; /* the lower the better */
};

static bool leaders_is_unresponsive(const struct controller *c, uint32_t node, int64_t ms)
{
    struct instant since = c->nodes[node].unresponsive_since;
    return instant_before(since, INSTANT_NEVER) &&
           !instant_before(c->now, instant_add_ms(since, ms));
}

static int64_t cost_ppm(const struct controller *c, const struct partition_info *p, uint32_t node)
{
    int64_t ppm = 0;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct rates r =
            control_rates(c, control_history(c, p->id), (enum admit_kind)kind, WINDOW_MS);
        int64_t units = control_capacity_mcu(c, node, (enum admit_kind)kind) / MCU_PER_UNIT;
        ppm += units > 0 ? r.consumed_mcu * 1000 / units : 0;
    }
    return ppm;
}

static bool leaders_is_settled(const struct table *t)
{
    return t->status == TABLE_ACTIVE && !table_is_changing(t);
}

/* Whether the node has capacity for the reserved reads, which follow leadership. */
static bool could_lead(const struct controller *c, const struct partition_info *p, uint32_t node)
{
    return c->view->reachable[node] && !catalog_is_drained(c->view->catalog, node) &&
           c->reservations.loads_mcu[node][ADMIT_READ] + p->rate_mcu[ADMIT_READ] <=
               control_capacity_mcu(c, node, ADMIT_READ);
}

enum rule {
    FOR_UNRESPONSIVE,
    FOR_LOAD,
    FOR_COUNT
};

/* Whether a move from `from` to `to` can gain anything, whatever the partition's cost. */
static bool leaders_differ(const struct leading *from, const struct leading *to, enum rule rule)
{
    if (rule == FOR_LOAD)
        return from->load_ppm - to->load_ppm > GAP_PPM;
    return rule == FOR_UNRESPONSIVE || from->count > to->count + 1;
}

/* The score of a move of leadership from `from` to `to`; INT64_MAX: no gain. */
static int64_t leaders_score(const struct leading *from, const struct leading *to, int64_t cost,
                             enum rule rule)
{
    int64_t after_from = from->load_ppm - cost, after_to = to->load_ppm + cost;
    int64_t larger = MAX(after_from, after_to);
    if (rule == FOR_UNRESPONSIVE)
        return to->load_ppm * NODES_MAX + to->count;
    if (rule == FOR_LOAD)
        return larger <= from->load_ppm - GAIN_PPM ? larger : INT64_MAX;
    return after_to - after_from <= GAIN_PPM ? (int64_t)to->count - (int64_t)from->count
                                             : INT64_MAX;
}

static void leaders_consider(const struct controller *c, const struct table *t,
                             const struct partition_info *p, const struct leading *all,
                             enum rule rule, struct shift *best)
{
    uint32_t from = partition_node(p, 0);
    bool unresponsive = leaders_is_unresponsive(c, from, UNRESPONSIVE_MS);
    if (p->leaving != 0 || control_is_decided(c, p->id) ||
        unresponsive != (rule == FOR_UNRESPONSIVE))
        return;
    for (uint32_t i = 1; i < p->member_count; i++) {
        uint32_t to = partition_node(p, i);
        if (!leaders_differ(&all[from], &all[to], rule))
            continue;
        int64_t cost = cost_ppm(c, p, to);
        int64_t s = leaders_score(&all[from], &all[to], cost, rule);
        if (s < best->score && could_lead(c, p, to))
            *best = (struct shift){t, p, to, cost, s};
    }
}

static bool was_chosen(const struct shift *chosen, uint32_t count, uint32_t partition)
{
    while (count > 0 && chosen[count - 1].partition->id != partition)
        count--;
    return count > 0;
}

/* The best move besides those chosen in this evaluation; no table: no such move. */
static struct shift find_shift(const struct controller *c, const struct leading *all,
                               enum rule rule, const struct shift *chosen, uint32_t count)
{
    struct shift best = {.score = INT64_MAX};
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        const uint32_t count_here = leaders_is_settled(t) ? t->partition_count : 0;
        for (uint32_t i = 0; i < count_here; i++) {
            if (!was_chosen(chosen, count, t->partitions[i].id))
                leaders_consider(c, t, &t->partitions[i], all, rule, &best);
        }
    }
    return best;
}

static void count_leaders(const struct controller *c, struct leading *all)
{
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        for (uint32_t i = 0; i < t->partition_count; i++) {
            uint32_t node = partition_node(&t->partitions[i], 0);
            all[node].count++;
            all[node].load_ppm += cost_ppm(c, &t->partitions[i], node);
        }
    }
}

/* Adds an event only if the reason is an overloaded node. */
static void leaders_report(struct controller *c, struct decision *d, const struct shift *s,
                           uint32_t from, const struct leading *all, enum rule rule)
{
    if (rule != FOR_LOAD || !control_is_above(c, from))
        return;
    control_event(c, d, EVENT_LEADER_MOVED, s->table, s->partition->id,
                  "the partitions led by node %u use %lld %% of its capacity, this one %lld %%: "
                  "node %u, which has a replica, leads it now",
                  from, (long long)(all[from].load_ppm / 10000), (long long)(s->cost_ppm / 10000),
                  s->to);
    control_figures(d, "node", from, s->to);
}

static void leaders_shift(struct controller *c, const struct shift *s, struct leading *all,
                          enum rule rule)
{
    const struct partition_info *p = s->partition;
    uint32_t from = partition_node(p, 0);
    must_in_tests(p->leaving == 0 && s->to != from && partition_member_on(p, s->to) != 0);
    must_in_tests(all[from].count > 0);
    struct decision d = {
        .table_id = s->table->id, .partition = p->id, .epoch = p->epoch, .to_node = s->to};
    leaders_report(c, &d, s, from, all, rule);
    c->reservations.loads_mcu[from][ADMIT_READ] -= p->rate_mcu[ADMIT_READ];
    c->reservations.loads_mcu[s->to][ADMIT_READ] += p->rate_mcu[ADMIT_READ];
    control_note_moved(c, p->id);
    all[from].count--;
    all[from].load_ppm -= s->cost_ppm;
    all[s->to].count++;
    all[s->to].load_ppm += s->cost_ppm;
    control_decide(c, CATALOG_LEAD, &d);
}

void control_lead(struct controller *c)
{
    struct leading all[NODES_MAX + 1] = {0};
    struct shift chosen[MOVES_MAX];
    uint32_t count = 0;
    count_leaders(c, all);
    for (int rule = FOR_UNRESPONSIVE; rule <= FOR_COUNT; rule++) {
        if (rule != FOR_UNRESPONSIVE && instant_before(c->now, c->spread_at))
            return;
        while (count < MOVES_MAX && control_has_room(c)) {
            struct shift s = find_shift(c, all, (enum rule)rule, chosen, count);
            if (s.table == NULL)
                break;
            chosen[count++] = s;
            leaders_shift(c, &s, all, (enum rule)rule);
            if (rule != FOR_LOAD)
                continue;
            c->spread_at = instant_add_ms(c->now, AGAIN_MS);
            return;
        }
    }
}
