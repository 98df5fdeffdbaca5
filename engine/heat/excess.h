/* excess.h - how long, without a break, more has been asked for than a partition may serve.
 *
 * The measure is a queue in which no request waits: the cost of each request goes in, the maximum
 * takes cost out. While the queue is not empty, the load is above the maximum. The queue holds at
 * most `reset_ms` of the maximum. So the excess ends within that time after its load, and no single
 * request makes it last longer.
 *
 * A machine that halts for a moment makes a gap. What was due in the gap comes at once afterwards.
 * A gap does not end the excess if it lasts at most `gap_tolerance_ms`, and no longer than the
 * excess before it, and if the load then makes up for it: if, in all, as much came as the maximum
 * would have taken.
 *
 * The leader of the partition counts, also refused requests. A load that is a little below the
 * maximum is above it for moments, never for long.
 *
 * `now` must not move back. O(1), no allocation. */
#pragma once

#include "base/instant.h"

/* All zeroes: there is no excess. */
struct excess {
    struct instant since; /* when the excess began */
    struct instant until; /* when the queue will be empty; in a gap this time has passed */
    struct instant gap;   /* when the gap began; zero: there is no gap */
};

struct excess_rule {
    int64_t max_mcu; /* per second, > 0 */
    int64_t reset_ms;
    int64_t gap_tolerance_ms;
};

void excess_add(struct excess *e, struct instant now, int64_t cost_mcu,
                const struct excess_rule *rule);

/* How long the excess has lasted. 0: there is none. */
int64_t excess_ms(const struct excess *e, struct instant now);
