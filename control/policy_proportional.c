/* policy_proportional.c - adaptive capacity with a proportional control: weir's own
 * adaptive_policy.
 *
 * Source: DynamoDB, USENIX ATC 2022, section 4.2. Boost a throttled partition while its table is
 * below its limit, best effort, with a proportional control. Take boosts back when the table goes
 * above. The amounts and times below are ours, and settings:
 *   raise  A partition refused by its allocation for adaptive_after_ms gets
 *          adaptive_step_percent of its lack, from the rest of the table's limit. Partitions
 *          share that rest in proportion to their lacks.
 *   lower  A table above its limit takes the surplus from the boosts in use, in proportion.
 *   decay  An unused boost loses adaptive_decay_percent every adaptive_decay_ms.
 *
 * Why allocations do not oscillate: the table's use is computed, not measured. Measured use would
 * reflect older allocations. The use is the sum, over the partitions, of the lesser of allocation
 * and demand. Demand does not depend on these decisions. So a change counts in full at the next
 * evaluation, and one step ends at the limit. Within adaptive_margin_percent of the limit nothing
 * changes. Saved burst is not counted: a table may exceed its limit by burst. */
#include <stddef.h>

#include "include/weir/policy_adaptive.h"

#define MIN_RAISE_MCU 1000 /* a smaller rest of a boost is removed at once */

extern const struct weir_adaptive_policy weir_adaptive_proportional;

/* Of a partition. */
struct proportional {
    int64_t decay_at_ns; /* an unused boost stays until then */
};

static int64_t boost_of(const struct weir_rates *r, uint32_t i)
{
    int64_t boost = weir_rates_allocation(r, i) - weir_rates_base(r, i);
    return boost > 0 ? boost : 0;
}

static int64_t used_boost_of(const struct weir_rates *r, uint32_t i)
{
    int64_t used = weir_rates_use(r, i) - weir_rates_base(r, i);
    return used > 0 ? used : 0;
}

static int64_t margin_of(const struct weir_rates *r)
{
    return weir_rates_limit(r) / 100 * weir_rates_setting(r, WEIR_RATES_MARGIN_PERCENT);
}

/* ---- lower and decay ---- */

/* Takes unused parts of boosts first. `boost_mcu`: the boosts in use. */
static void proportional_lower(struct weir_rates *r, int64_t uses_mcu, int64_t boost_mcu)
{
    int64_t excess = uses_mcu - weir_rates_limit(r);
    if (excess > boost_mcu)
        excess = boost_mcu;
    for (uint32_t i = 0; i < weir_rates_count(r); i++) {
        int64_t used = used_boost_of(r, i);
        int64_t less = (int64_t)((__int128)used * excess / boost_mcu);
        if (less > 0)
            weir_rates_lower(r, i, weir_rates_base(r, i) + used - less, WEIR_RATES_ABOVE_LIMIT);
    }
}

static void proportional_decay(struct weir_rates *r)
{
    const int64_t now_ns = weir_rates_now_ns(r);
    for (uint32_t i = 0; i < weir_rates_count(r); i++) {
        struct proportional *state = weir_rates_state(r, i);
        int64_t boost = boost_of(r, i), rate = weir_rates_allocation(r, i);
        if (boost == 0 || state == NULL || now_ns < state->decay_at_ns ||
            weir_rates_throttled_ns(r, i) >= 0 ||
            weir_rates_use(r, i) > rate / 100 * weir_rates_setting(r, WEIR_RATES_USED_PERCENT))
            continue;
        state->decay_at_ns = now_ns + weir_rates_setting(r, WEIR_RATES_DECAY_NS);
        int64_t less = boost * weir_rates_setting(r, WEIR_RATES_DECAY_PERCENT) / 100;
        if (boost - less < MIN_RAISE_MCU)
            less = boost;
        weir_rates_lower(r, i, rate - less, WEIR_RATES_UNUSED);
    }
}

/* ---- raise ---- */

/* The throughput that the partition lacks beyond its allocation. 0: it is not throttled, or not for
 * long enough. */
static int64_t lack_of(const struct weir_rates *r, uint32_t i)
{
    const int64_t throttled_ns = weir_rates_throttled_ns(r, i);
    if (throttled_ns < 0 || throttled_ns < weir_rates_setting(r, WEIR_RATES_AFTER_NS))
        return 0;
    int64_t rate = weir_rates_allocation(r, i), max = weir_rates_maximum(r) - rate;
    int64_t lack =
        (weir_rates_demand(r, i) - rate) * weir_rates_setting(r, WEIR_RATES_STEP_PERCENT) / 100;
    lack = lack < MIN_RAISE_MCU ? MIN_RAISE_MCU : lack;
    lack = lack < max ? lack : max;
    return lack > 0 ? lack : 0;
}

static void proportional_raise(struct weir_rates *r, int64_t uses_mcu)
{
    int64_t left = weir_rates_limit(r) - uses_mcu, lacking = 0;
    if (left < MIN_RAISE_MCU || left <= margin_of(r))
        return;
    for (uint32_t i = 0; i < weir_rates_count(r); i++)
        lacking += lack_of(r, i);
    for (uint32_t i = 0; i < weir_rates_count(r); i++) {
        int64_t more = lack_of(r, i);
        if (lacking > left)
            more = (int64_t)((__int128)more * left / lacking);
        if (more > 0)
            weir_rates_raise(r, i, weir_rates_allocation(r, i) + more);
    }
}

static void proportional_adapt(struct weir_rates *r)
{
    int64_t uses_mcu = 0, boost_mcu = 0;
    for (uint32_t i = 0; i < weir_rates_count(r); i++) {
        uses_mcu += weir_rates_use(r, i);
        boost_mcu += used_boost_of(r, i);
    }
    if (uses_mcu > weir_rates_limit(r) + margin_of(r) && boost_mcu > 0) {
        proportional_lower(r, uses_mcu, boost_mcu);
    } else {
        proportional_decay(r);
        proportional_raise(r, uses_mcu);
    }
}

const struct weir_adaptive_policy weir_adaptive_proportional = {
    .size = sizeof weir_adaptive_proportional,
    .partition_bytes = sizeof(struct proportional),
    .name = "proportional",
    .adapt = proportional_adapt};
