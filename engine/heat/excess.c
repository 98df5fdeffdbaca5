/* excess.c - see excess.h.
 *
 * The queue is kept as the instant at which it will be empty. */
#include "engine/heat/excess.h"

#include "base/must.h"

static bool is_over(const struct excess *e, struct instant now)
{
    return instant_before(now, e->until);
}

static inline void excess_check(const struct excess *e, struct instant now)
{
    must_in_tests(!instant_before(now, e->since));
    must_in_tests(!instant_before(e->until, e->since));
    must_in_tests(e->gap.ns == 0 || !instant_before(e->gap, e->since));
}

/* Whether the present gap is still short enough to be made up for. */
static bool may_be_bridged(const struct excess *e, struct instant now, int64_t gap_tolerance_ms)
{
    int64_t lasted_ns = e->gap.ns - e->since.ns, max_ns = gap_tolerance_ms * NS_PER_MS;
    return now.ns - e->gap.ns <= (lasted_ns < max_ns ? lasted_ns : max_ns);
}

void excess_add(struct excess *e, struct instant now, int64_t cost_mcu,
                const struct excess_rule *rule)
{
    must(cost_mcu >= 0);
    must(rule->max_mcu > 0);
    must(rule->reset_ms >= 0);
    excess_check(e, now);
    if (!is_over(e, now) && e->gap.ns == 0)
        e->gap = e->until;
    if (!is_over(e, now) && !may_be_bridged(e, now, rule->gap_tolerance_ms))
        *e = (struct excess){.since = now, .until = now};
    int64_t takes_ns = (int64_t)((__int128)cost_mcu * NS_PER_S / rule->max_mcu);
    int64_t latest_ns = now.ns + rule->reset_ms * NS_PER_MS;
    e->until.ns += takes_ns < latest_ns - e->until.ns ? takes_ns : latest_ns - e->until.ns;
    if (is_over(e, now))
        e->gap = (struct instant){0};
    excess_check(e, now);
}

int64_t excess_ms(const struct excess *e, struct instant now)
{
    return is_over(e, now) ? instant_since(now, e->since).ns / NS_PER_MS : 0;
}
