/* merge.c - merges two neighbours that have long been cold.
 *
 * Two adjoining partitions are cold while two conditions hold. Both together are asked for at most
 * merge_fill_percent of a partition's maximum, of reads and of writes, refused requests included.
 * The maximum refuses no request. After merge_cold_ms of cold the catalog is asked to merge them,
 * one pair at an evaluation. A pair that could not be merged, or whose merge was given up, rests
 * for merge_backoff_ms.
 *
 * Why no split undoes a merge:
 *   - a table keeps enough partitions to serve its warm throughput, and enough that each share of
 *     its allocation is within a partition's maximum;
 *   - merge_fill_percent is below split_fill_percent;
 *   - both together hold at most half of partition_max_bytes.
 * A merge gives way to a split: a table with a partition that is about to be split merges none.
 *
 * COLD-1  Measurements from before the birth of either partition do not count, nor those of another
 * leader's controller. The time begins when both partitions are seen side by side, each at its
 * epoch. A merged partition has another epoch, so it does not merge again for merge_cold_ms.
 *
 * Not here: the steps of a merge (engine/catalog/merge.c). */
#include "base/settings/merge.h"
#include "base/settings/control.h"
#include "base/settings/split.h"
#include "control/controller_internal.h"
#include "engine/admission/capacity.h"
#include "engine/admission/share.h"

/* The demand on a partition. */
struct merge_demand {
    bool known;
    bool refused; /* the maximum refused a request */
    int64_t mcu[ADMIT_KINDS];
};

/* Whether no report means no demand: a leader reports only changes, so it must be able to
 * report. */
static bool is_reported(const struct controller *c, const struct partition_info *p,
                        const struct partition_history *w)
{
    return w != NULL && w->epoch == p->epoch && w->load != NULL &&
           c->view->reachable[raft_member_node(w->load->member)] &&
           partition_member_on(p, raft_member_node(w->load->member)) == w->load->member;
}

static struct merge_demand merge_demand_of(const struct controller *c,
                                           const struct partition_info *p)
{
    const struct partition_history *w = control_history(c, p->id);
    struct merge_demand a = {.known = is_reported(c, p, w)};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && a.known; kind++) {
        struct rates r = control_rates(c, w, kind, config_split(c->config)->split_window_ms);
        a.known = r.known || w->room < SAMPLES; /* or the partition was idle until now */
        a.mcu[kind] = r.consumed_mcu + r.refused_mcu;
        a.refused |= r.refused_cap > 0;
    }
    return a;
}

static struct merge_demand merge_demand_together(const struct controller *c,
                                                 const struct partition_info *lower)
{
    struct merge_demand a = merge_demand_of(c, lower), b = merge_demand_of(c, lower + 1);
    a.known &= b.known;
    a.refused |= b.refused;
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        a.mcu[kind] += b.mcu[kind];
    return a;
}

/* ---- for how long ---- */

static bool are_cold(const struct controller *c, const struct partition_info *lower)
{
    struct merge_demand a = merge_demand_together(c, lower);
    bool cold = a.known && !a.refused;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        cold &= a.mcu[kind] <= partition_cap_mcu(c->config, kind, lower->maximum_mcu[kind]) / 100 *
                                   config_merge(c->config)->merge_fill_percent;
    return cold;
}

static void note_pair(struct controller *c, const struct partition_info *lower)
{
    const struct partition_info *upper = lower + 1;
    must_in_tests(slice_equal(lower->hi, upper->lo)); /* they adjoin */
    struct partition_history *w = control_history(c, lower->id);
    if (w == NULL)
        return;
    if (w->above_epoch != upper->epoch || !are_cold(c, lower))
        w->cold_since = c->now;
    w->above_epoch = upper->epoch;
    if (upper->merge == MERGE_FREEZE || upper->merge == MERGE_THAW) /* the merge may be given up */
        w->merge_at = instant_add_ms(c->now, config_merge(c->config)->merge_backoff_ms);
}

void control_note_cold(struct controller *c)
{
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        for (uint32_t i = 0; i + 1 < t->partition_count; i++)
            note_pair(c, &t->partitions[i]);
    }
}

/* ---- which ---- */

/* Whether the table needs one partition fewer than it has. */
static bool has_one_to_spare(const struct controller *c, const struct table *t)
{
    uint32_t left = t->partition_count - 1;
    bool spare = t->status == TABLE_ACTIVE && !table_is_changing(t) &&
                 table_streams_enabled(t->stream_set) == NULL && !control_split_has_job(c, t) &&
                 t->partition_count >= 2 && left >= control_partitions_required(c, t);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && spare; kind++)
        spare = share_equal_mcu(table_shared_units(t, (int)kind), left, 0) <=
                partition_max_mcu(c->config, kind);
    return spare;
}

/* All replicas must stop before the merge, so all must be alive. */
static bool replicas_are_there(const struct controller *c, const struct partition_info *p)
{
    bool there = true;
    for (uint32_t i = 0; i < p->member_count; i++)
        there &= c->view->reachable[partition_node(p, i)] &&
                 !catalog_is_drained(c->view->catalog, partition_node(p, i));
    return there;
}

static int64_t bytes_together(const struct controller *c, const struct partition_info *lower)
{
    return control_history(c, lower->id)->load->bytes +
           control_history(c, lower[1].id)->load->bytes;
}

/* Whether the pair has been cold for merge_cold_ms. Such a pair is cold at this evaluation too, so
 * both are heard. */
static bool are_due(const struct controller *c, const struct partition_info *lower)
{
    const struct partition_history *w = control_history(c, lower->id);
    return w != NULL &&
           !instant_before(c->now,
                           instant_add_ms(w->cold_since, config_merge(c->config)->merge_cold_ms)) &&
           !instant_before(c->now, w->merge_at) &&
           bytes_together(c, lower) <= config_control(c->config)->partition_max_bytes / 2 &&
           catalog_stand_together(c->view->catalog, lower, lower + 1) &&
           replicas_are_there(c, lower);
}

/* Whether the shares of one partition fewer suffice for the demand on the two (unless bursts are
 * always allowed), and fit the nodes. */
static bool shares_suffice(struct controller *c, const struct table *t,
                           const struct partition_info *lower, const struct merge_demand *a)
{
    const struct reservations before = c->reservations;
    const int64_t units[ADMIT_KINDS] = {[ADMIT_READ] = table_shared_units(t, ADMIT_READ),
                                        [ADMIT_WRITE] = table_shared_units(t, ADMIT_WRITE)};
    bool enough = true;
    for (int kind = 0; kind < ADMIT_KINDS && t->billing == BILLING_PROVISIONED; kind++)
        enough &= a->mcu[kind] <= share_equal_mcu(units[kind], t->partition_count - 1,
                                                  (uint32_t)(lower - t->partitions));
    enough = enough && control_reserve(c, t, units, lower + 1);
    c->reservations = before; /* nothing changes before the upper partition is frozen */
    return enough;
}

/* ---- the decision ---- */

/* The higher fill of both kinds, rounded up. */
static int64_t fill_percent(const struct controller *c, const struct partition_info *lower,
                            const struct merge_demand *a)
{
    int64_t max = 0;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t maximum = partition_cap_mcu(c->config, kind, lower->maximum_mcu[kind]);
        must_in_tests(maximum > 0);
        int64_t percent = (a->mcu[kind] * 100 + maximum - 1) / maximum;
        max = MAX(percent, max);
    }
    return max;
}

static void control_merge_pair(struct controller *c, const struct table *t,
                               const struct partition_info *lower, const struct merge_demand *a)
{
    const struct partition_info *upper = lower + 1;
    struct duration cold = instant_since(c->now, control_history(c, lower->id)->cold_since);
    must_in_tests(cold.ns >= config_merge(c->config)->merge_cold_ms * NS_PER_MS); /* COLD-1 */
    must_in_tests(lower->id != upper->id && t->partition_count >= 2 && !a->refused);
    struct decision d = {.table_id = t->id,
                         .partition = upper->id,
                         .epoch = upper->epoch,
                         .merge = MERGE_BEGIN,
                         .merge_with = lower->id,
                         .merge_with_epoch = lower->epoch};
    control_event(c, &d, EVENT_MERGE, t, upper->id,
                  "partition %u is to absorb its keys: both have been cold for %lld s; together "
                  "their demand is %lld %% of a partition's maximum, their size %lld bytes",
                  lower->id, (long long)(cold.ns / NS_PER_S), (long long)fill_percent(c, lower, a),
                  (long long)bytes_together(c, lower));
    control_figures(&d, "partitions", t->partition_count, t->partition_count - 1);
    control_decide(c, CATALOG_MERGE, &d);
}

/* Whether the merge of a pair was decided. */
static bool merge_one(struct controller *c, const struct table *t)
{
    for (uint32_t i = 0; i + 1 < t->partition_count; i++) {
        const struct partition_info *lower = &t->partitions[i];
        if (!are_due(c, lower))
            continue;
        const struct merge_demand a = merge_demand_together(c, lower);
        bool suffices = shares_suffice(c, t, lower, &a);
        control_history(c, lower->id)->merge_at =
            instant_add_ms(c->now, config_merge(c->config)->merge_backoff_ms);
        if (suffices)
            control_merge_pair(c, t, lower, &a);
        return suffices; /* the next pair at the next evaluation */
    }
    return false;
}

void control_merge(struct controller *c)
{
    bool merged = false;
    for (const struct table *t = NULL;
         !merged && control_has_room(c) && (t = catalog_next(c->view->catalog, t)) != NULL;)
        merged = has_one_to_spare(c, t) && merge_one(c, t);
}
