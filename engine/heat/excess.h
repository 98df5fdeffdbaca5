/* excess.h - for how long, without a break, more has been asked for than a partition may serve.
 *
 * A queue that nobody waits in: what is asked for goes in by cost, the maximum takes it out. While
 * the queue is not empty the load is above the maximum. The queue holds at most `lull_ms` of the
 * maximum, so a load that ends, ends the excess within that time, and no single request lasts
 * longer.
 *
 * A machine that halts for a moment makes a gap, and what was due meanwhile comes at once. A gap of
 * at most `gap_ms`, no longer than the excess before it, is none if what comes afterwards makes up
 * for it: if as much came in all as the maximum would have taken.
 *
 * Whoever leads the partition counts, refused requests included. A load that is only a little below
 * the maximum is above it for moments, never for long.
 *
 * `now` must not move back. O(1), no allocation. */
#ifndef WEIR_ENGINE_HEAT_EXCESS_H
#define WEIR_ENGINE_HEAT_EXCESS_H

#include "base/instant.h"

/* Zeroes: none. */
struct excess {
    struct instant since; /* it has lasted */
    struct instant until; /* the queue will be empty; or would have been, in a gap */
    struct instant gap;   /* began; zero: there is none */
};

struct excess_rule {
    int64_t max_mcu; /* per second, > 0 */
    int64_t lull_ms;
    int64_t gap_ms;
};

void excess_add(struct excess *e, struct instant now, int64_t cost_mcu,
                const struct excess_rule *rule);

/* 0: there is none. */
int64_t excess_ms(const struct excess *e, struct instant now);

#endif
