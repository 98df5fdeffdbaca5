/* policy_limits.c - partitions at their limits are split as their leaders advise: weir's own
 * split_policy.
 *
 * Reasons for a split:
 *   - Consumption: the load is above split_percent of a partition maximum over split_window_ms. Or
 *     the leader reports demand above the maximum for split_hold_ms without a break, and about the
 *     maximum is served. The load must have lasted for split_delay_ms.
 *   - Size: the partition has reached partition_max_bytes.
 * A split for load gains nothing if the limit of the table or index is at most a partition's
 * maximum: one partition serves all that the table or index may use.
 * With split_by_load = 0 the leader is not asked, and a partition is split evenly for its load.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 3.2, "split for consumption". */
#include <stddef.h>

#include "include/weir/policy_split.h"

extern const struct weir_split_policy weir_split_limits;

/* Of a partition. */
struct limits {
    int64_t reason_since_ns; /* since when the load is a reason for a split */
    int64_t reason_at_ns;    /* when that reason was last seen */
};

static bool is_near(const struct weir_split *c, enum weir_policy_kind kind, int64_t rate_mcu)
{
    return rate_mcu > weir_split_maximum(c, kind) / 100 * weir_split_setting(c, WEIR_SPLIT_PERCENT);
}

/* Whether the leader reports demand above the maximum. A partition limited by its allocation gains
 * nothing by a split. */
static bool is_above(const struct weir_split *c, enum weir_policy_kind kind)
{
    const int64_t hold_ns = weir_split_setting(c, WEIR_SPLIT_HOLD_NS);
    if (weir_split_excess_ns(c, kind) < hold_ns)
        return false;
    return weir_split_refusals(c, kind, hold_ns) > 0 ||
           is_near(c, kind, weir_split_consumed(c, kind, hold_ns));
}

static bool consumes_much(const struct weir_split *c, enum weir_policy_kind kind)
{
    const int64_t window_ns = weir_split_setting(c, WEIR_SPLIT_WINDOW_NS);
    return weir_split_age_ns(c) >= window_ns &&
           is_near(c, kind, weir_split_consumed(c, kind, window_ns));
}

/* Whether the load of this kind is a reason. */
static bool limits_load(const struct weir_split *c, enum weir_policy_kind kind,
                        struct weir_split_trigger *trigger)
{
    bool above = is_above(c, kind);
    if ((!above && !consumes_much(c, kind)) ||
        weir_split_table_limit(c, kind) <= weir_split_maximum(c, kind))
        return false;
    int64_t window_ns = weir_split_setting(c, above ? WEIR_SPLIT_HOLD_NS : WEIR_SPLIT_WINDOW_NS);
    trigger->why = above ? WEIR_SPLIT_TRIGGER_REFUSED : WEIR_SPLIT_TRIGGER_CONSUMED;
    trigger->kind = kind;
    trigger->evenly = weir_split_setting(c, WEIR_SPLIT_BY_LOAD) == 0;
    trigger->rate_mcu = weir_split_consumed(c, kind, window_ns) +
                        (above ? weir_split_refused(c, kind, window_ns) : 0);
    return true;
}

/* Whether the load must last longer. A load that pauses for longer than split_window_ms begins
 * anew. */
static bool is_delayed(struct weir_split *c)
{
    const int64_t delay_ns = weir_split_setting(c, WEIR_SPLIT_DELAY_NS),
                  now_ns = weir_split_now_ns(c);
    struct limits *state = weir_split_state(c);
    if (delay_ns == 0 || state == NULL)
        return false;
    if (now_ns - state->reason_at_ns > weir_split_setting(c, WEIR_SPLIT_WINDOW_NS))
        state->reason_since_ns = now_ns;
    state->reason_at_ns = now_ns;
    return now_ns < state->reason_since_ns + delay_ns;
}

static void limits_trigger(struct weir_split *c, struct weir_split_trigger *trigger)
{
    bool loaded = weir_split_is_limited(c) && (limits_load(c, WEIR_POLICY_READ, trigger) ||
                                               limits_load(c, WEIR_POLICY_WRITE, trigger));
    if (loaded && is_delayed(c))
        *trigger = (struct weir_split_trigger){0};
    else if (!loaded && weir_split_bytes(c) >= weir_split_setting(c, WEIR_SPLIT_BYTES))
        trigger->why = WEIR_SPLIT_TRIGGER_SIZE;
}

/* As advised. If the heat is unknown and the table needs more partitions anyway: evenly. */
static void limits_decide(struct weir_split *c, struct weir_split_decision *decision)
{
    const uint32_t points = weir_split_points(c);
    if (points > 0)
        *decision =
            (struct weir_split_decision){WEIR_SPLIT_DECISION_POINTS, (UINT32_C(1) << points) - 1};
    else if (weir_split_advice(c) == WEIR_SPLIT_FEW_SAMPLES &&
             weir_split_partitions(c) < weir_split_needed(c))
        decision->how = WEIR_SPLIT_DECISION_EVENLY;
}

/* The pieces per partition if all partitions were split alike. */
static uint32_t limits_pieces(struct weir_split *c)
{
    const uint32_t have = weir_split_partitions(c), needed = weir_split_needed(c);
    if (needed <= have)
        return 2;
    uint32_t pieces = (needed + have - 1) / have;
    if (pieces > needed - have + 1)
        pieces = needed - have + 1;
    return pieces < WEIR_POLICY_PIECES_MAX ? pieces : WEIR_POLICY_PIECES_MAX;
}

const struct weir_split_policy weir_split_limits = {.size = sizeof weir_split_limits,
                                                    .state_bytes = sizeof(struct limits),
                                                    .name = "limits",
                                                    .trigger = limits_trigger,
                                                    .decide = limits_decide,
                                                    .pieces = limits_pieces};
