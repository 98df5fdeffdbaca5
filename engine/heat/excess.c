/* excess.c - see excess.h.
 *
 * The queue is kept as the instant at which it will be empty. */
#include "engine/heat/excess.h"

#include "base/must.h"

static bool is_over(const struct excess *e, struct instant now)
{
    return instant_before(now, e->until);
}

void excess_add(struct excess *e, struct instant now, int64_t cost_mcu, int64_t max_mcu,
                int64_t lull_ms)
{
    must(cost_mcu >= 0);
    must(max_mcu > 0);
    if (!is_over(e, now))
        e->since = e->until = now;
    int64_t takes_ns = (int64_t)((__int128)cost_mcu * NS_PER_S / max_mcu);
    int64_t latest_ns = now.ns + lull_ms * NS_PER_MS;
    e->until.ns += takes_ns < latest_ns - e->until.ns ? takes_ns : latest_ns - e->until.ns;
}

int64_t excess_ms(const struct excess *e, struct instant now)
{
    return is_over(e, now) ? instant_since(now, e->since).ns / NS_PER_MS : 0;
}
