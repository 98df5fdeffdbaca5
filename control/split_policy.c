/* split_policy.c - the decision point of splits: what a policy (setting split_policy) sees of a
 * partition, and what it says.
 *
 * Every answer is checked. An invalid answer is no trigger and no decision.
 * Not here: asking the leader, and sending the split (split.c). */
#include "base/gac_policy.h"
#include "base/policy_value.h"
#include "base/settings/control.h"
#include "base/settings/reports.h"
#include "base/settings/split.h"
#include "control/controller_internal.h"
#include "engine/admission/capacity.h"
#include "engine/admission/policy_choice.h"
#include "include/weir/policy_partition.h"
#include "include/weir/policy_split.h"

enum {
    WINDOW_MS_MAX = 15000 /* as load_history.c keeps samples */
};

_Static_assert(SPLIT_POINTS_MAX + 1 == WEIR_POLICY_PIECES_MAX, "policies know the most pieces");
_Static_assert((int)WEIR_SPLIT_ADVISED == (int)SPLIT_ADVISED &&
                   (int)WEIR_SPLIT_NO_BENEFIT == (int)SPLIT_REFUSED_NO_BENEFIT &&
                   SPLIT_VERDICTS == WEIR_SPLIT_NO_BENEFIT + 1,
               "policies see verdicts as they are");
_Static_assert((int)WEIR_POLICY_READ == (int)ADMIT_READ &&
                   (int)WEIR_POLICY_WRITE == (int)ADMIT_WRITE,
               "and kinds");

/* A partition for the time of a call. */
struct weir_split {
    struct controller *c;
    const struct table *table;
    struct partition_history *history; /* NULL: no load is known */
    uint32_t needed;
    const struct split_advice *advice; /* NULL: not in this call */
};

/* ---- what policies see ---- */

static bool split_knows(const struct weir_split *c, enum weir_policy_kind kind)
{
    return c->history != NULL && control_is_kind(kind);
}

static struct rates split_rates(const struct weir_split *c, enum weir_policy_kind kind,
                                int64_t window_ns)
{
    int64_t ms = window_ns / NS_PER_MS;
    ms = ms < 1 ? 1 : MIN(ms, WINDOW_MS_MAX);
    if (!split_knows(c, kind))
        return (struct rates){0};
    return control_rates(c->c, c->history, (enum admit_kind)kind, ms);
}

POLICY_VALUE(int64_t, weir_split_now_ns, struct weir_split *c, c->c->now.ns)

int64_t weir_split_age_ns(const struct weir_split *c)
{
    return c->history == NULL ? 0 : instant_since(c->c->now, c->history->created_at).ns;
}

POLICY_VALUE(bool, weir_split_is_limited, struct weir_split *c, control_split_is_limited(c->c))

int64_t weir_split_maximum(const struct weir_split *c, enum weir_policy_kind kind)
{
    return control_is_kind(kind) ? partition_max_mcu(c->c->config, (enum admit_kind)kind) : 0;
}

/* Routers keep the limit. Without them the allocations of the partitions keep it, unless the
 * partition policy lets a partition use more. */
static bool split_has_limit(const struct weir_split *c, enum admit_kind kind)
{
    const struct table *t = c->table;
    const uint8_t setting = table_gac_setting(t->gac, t->index_of != 0, (int)kind);
    const bool on_demand = t->billing == BILLING_ON_DEMAND;
    if (gac_policy_of(c->c->config, setting) != GAC_OFF)
        return true;
    return !on_demand && (admission_policy_of(c->c->config, setting, false)->flags &
                          (WEIR_PARTITION_SHARES | WEIR_PARTITION_UNLIMITED)) == 0;
}

int64_t weir_split_table_limit(const struct weir_split *c, enum weir_policy_kind kind)
{
    const struct table *t = c->table;
    if (kind != WEIR_POLICY_READ && kind != WEIR_POLICY_WRITE)
        return 0;
    const int64_t provisioned = kind == WEIR_POLICY_READ ? t->rcu : t->wcu;
    const int64_t units = t->billing == BILLING_ON_DEMAND ? t->maximum[kind] : provisioned;
    return units > 0 && split_has_limit(c, (enum admit_kind)kind) ? units * MCU_PER_UNIT
                                                                  : INT64_MAX;
}

int64_t weir_split_consumed(const struct weir_split *c, enum weir_policy_kind kind,
                            int64_t window_ns)
{
    return split_rates(c, kind, window_ns).consumed_mcu;
}

int64_t weir_split_refused(const struct weir_split *c, enum weir_policy_kind kind,
                           int64_t window_ns)
{
    return split_rates(c, kind, window_ns).refused_mcu;
}

int64_t weir_split_refusals(const struct weir_split *c, enum weir_policy_kind kind,
                            int64_t window_ns)
{
    return split_rates(c, kind, window_ns).refused_cap;
}

int64_t weir_split_excess_ns(const struct weir_split *c, enum weir_policy_kind kind)
{
    if (!split_knows(c, kind))
        return -1;
    const struct partition_load *l = c->history->load;
    struct instant late =
        instant_add_ms(l->reported_at, 2 * config_reports(c->c->config)->load_report_ms);
    return instant_before(late, c->c->now) ? -1 : l->excess_ms[kind] * NS_PER_MS;
}

int64_t weir_split_bytes(const struct weir_split *c)
{
    return c->history == NULL ? 0 : c->history->load->bytes;
}

POLICY_VALUE(uint32_t, weir_split_partitions, struct weir_split *c, c->table->partition_count)
POLICY_VALUE(uint32_t, weir_split_needed, struct weir_split *c, c->needed)

void *weir_split_state(const struct weir_split *c)
{
    return c->history == NULL ? NULL : c->history->split_state;
}

int64_t weir_split_setting(const struct weir_split *c, enum weir_split_setting s)
{
    const struct config *config = c->c->config;
    switch (s) {
    case WEIR_SPLIT_PERCENT:
        return config_split(config)->split_percent;
    case WEIR_SPLIT_WINDOW_NS:
        return config_split(config)->split_window_ms * NS_PER_MS;
    case WEIR_SPLIT_HOLD_NS:
        return control_split_hold_ms(c->c, c->table->id) * NS_PER_MS;
    case WEIR_SPLIT_DELAY_NS:
        return config_split(config)->split_delay_ms * NS_PER_MS;
    case WEIR_SPLIT_BYTES:
        return config_control(config)->partition_max_bytes;
    case WEIR_SPLIT_BY_LOAD:
        return config_split(config)->split_by_load;
    }
    return 0;
}

/* ---- what the leader advises ---- */

uint32_t weir_split_advice(const struct weir_split *c)
{
    return c->advice == NULL ? WEIR_SPLIT_FEW_SAMPLES : (uint32_t)c->advice->verdict;
}

uint32_t weir_split_points(const struct weir_split *c)
{
    return c->advice != NULL && c->advice->verdict == SPLIT_ADVISED ? c->advice->point_count : 0;
}

static const struct split_advice *split_offer(const struct weir_split *c,
                                              enum weir_policy_kind kind)
{
    return control_is_kind(kind) && weir_split_points(c) > 0 ? c->advice : NULL;
}

uint32_t weir_split_share_ppm(const struct weir_split *c, enum weir_policy_kind kind,
                              uint32_t index)
{
    const struct split_advice *a = split_offer(c, kind);
    return a != NULL && index <= a->point_count ? a->share_ppm[kind][index] : 0;
}

int64_t weir_split_served_now(const struct weir_split *c, enum weir_policy_kind kind)
{
    const struct split_advice *a = split_offer(c, kind);
    return a == NULL ? 0 : a->served_before_mcu[kind];
}

int64_t weir_split_served_then(const struct weir_split *c, enum weir_policy_kind kind)
{
    const struct split_advice *a = split_offer(c, kind);
    return a == NULL ? 0 : a->served_after_mcu[kind];
}

uint32_t weir_split_key_ppm(const struct weir_split *c)
{
    return c->advice != NULL && c->advice->key.size > 0 ? c->advice->key_share_ppm : 0;
}

/* ---- the trigger ---- */

static const char *trigger_fault(const struct weir_split_trigger *w)
{
    if (w->why > WEIR_SPLIT_TRIGGER_SIZE)
        return "triggers a split for a reason that does not exist";
    if (w->kind > WEIR_POLICY_WRITE)
        return "triggers a split for a kind that is neither read nor write";
    if (w->evenly > 1)
        return "triggers a split with evenly above 1";
    return w->rate_mcu < 0 ? "triggers a split for a rate below zero" : NULL;
}

bool control_split_trigger(struct controller *c, const struct table *t,
                           const struct partition_info *p, struct split_job *j)
{
    const struct weir_split_policy *policy = control_policy(c, POLICY_SPLIT);
    struct weir_split view = {.c = c,
                              .table = t,
                              .history = control_history(c, p->id),
                              .needed = control_partitions_required(c, t)};
    struct weir_split_trigger trigger = {0};
    must(view.history != NULL);
    int64_t begun_ns = control_call_begin(c, policy);
    policy->trigger(&view, &trigger);
    control_call_end(c, policy, begun_ns);
    const char *fault = trigger_fault(&trigger);
    if (fault != NULL)
        control_report_invalid(c, policy, fault);
    if (fault != NULL || trigger.why == WEIR_SPLIT_TRIGGER_NONE)
        return false;
    j->kind = (enum admit_kind)trigger.kind;
    j->refused = trigger.why == WEIR_SPLIT_TRIGGER_REFUSED;
    j->for_size = trigger.why == WEIR_SPLIT_TRIGGER_SIZE;
    j->evenly = trigger.evenly == 1;
    j->rate_mcu = trigger.rate_mcu;
    j->bytes = view.history->load->bytes;
    return true;
}

/* ---- the decision ---- */

/* Keeps the split points whose bits are set. The pieces between them become one piece with their
 * shares. */
static void split_keep_points(struct split_advice *a, uint32_t points)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i <= a->point_count; i++) {
        for (int kind = 0; kind < SPLIT_KINDS; kind++) {
            uint32_t share = a->share_ppm[kind][i];
            a->share_ppm[kind][i] = 0;
            a->share_ppm[kind][kept] += share;
        }
        if (i < a->point_count && (points >> i & 1) != 0)
            a->points[kept++] = a->points[i];
    }
    if (kept < a->point_count) { /* the gain is known for all points only */
        memcpy(a->served_after_mcu, a->served_before_mcu, sizeof a->served_after_mcu);
        a->key = slice_make(NULL, 0);
    }
    must_in_tests(kept >= 1 && kept <= a->point_count);
    a->point_count = kept;
}

static const char *decision_fault(const struct weir_split_decision *decision, uint32_t points)
{
    if (decision->how > WEIR_SPLIT_DECISION_EVENLY)
        return "chooses a split that does not exist";
    if (decision->how != WEIR_SPLIT_DECISION_POINTS)
        return NULL;
    return decision->points == 0 || decision->points >= UINT32_C(1) << points
               ? "chooses split points that are not offered"
               : NULL;
}

static void decide_all(const struct weir_split *view, struct weir_split_decision *decision)
{
    const uint32_t points = weir_split_points(view);
    if (points > 0)
        *decision =
            (struct weir_split_decision){WEIR_SPLIT_DECISION_POINTS, (UINT32_C(1) << points) - 1};
}

enum split_decision control_split_decide(struct controller *c, const struct table *t,
                                         const struct split_job *j, struct split_advice *advice)
{
    const struct weir_split_policy *policy = control_policy(c, POLICY_SPLIT);
    struct weir_split view = {.c = c,
                              .table = t,
                              .history = control_history(c, j->partition),
                              .needed = control_partitions_required(c, t),
                              .advice = advice};
    struct weir_split_decision decision = {0};
    int64_t begun_ns = control_call_begin(c, policy);
    if (policy->decide != NULL)
        policy->decide(&view, &decision);
    else
        decide_all(&view, &decision);
    control_call_end(c, policy, begun_ns);
    const char *fault = decision_fault(&decision, weir_split_points(&view));
    if (fault != NULL) {
        control_report_invalid(c, policy, fault);
        return SPLIT_DECISION_INVALID;
    }
    if (decision.how == WEIR_SPLIT_DECISION_POINTS)
        split_keep_points(advice, decision.points);
    static const enum split_decision decisions[] = {
        [WEIR_SPLIT_DECISION_WHOLE] = SPLIT_DECISION_NONE,
        [WEIR_SPLIT_DECISION_POINTS] = SPLIT_DECISION_POINTS,
        [WEIR_SPLIT_DECISION_EVENLY] = SPLIT_DECISION_EVENLY};
    return decisions[decision.how];
}

uint32_t control_split_pieces(struct controller *c, const struct table *t,
                              const struct split_job *j)
{
    const struct weir_split_policy *policy = control_policy(c, POLICY_SPLIT);
    struct weir_split view = {
        .c = c, .table = t, .history = control_history(c, j->partition), .needed = j->required};
    if (policy->pieces == NULL)
        return 2;
    int64_t begun_ns = control_call_begin(c, policy);
    const uint32_t pieces = policy->pieces(&view);
    control_call_end(c, policy, begun_ns);
    if (pieces >= 2 && pieces <= WEIR_POLICY_PIECES_MAX)
        return pieces;
    control_report_invalid(c, policy,
                           "splits a partition into fewer than 2 pieces, or more than 16");
    return 0;
}
