/* excess.h - for how long, without a break, more has been asked for than a partition may serve.
 *
 * A queue that nobody waits in: what is asked for goes in by cost, the maximum takes it out. While
 * the queue is not empty the load is above the maximum. The queue holds at most `lull_ms` of the
 * maximum, so a load that ends, ends the excess within that time, and no single request lasts
 * longer.
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
    struct instant until; /* the queue will be empty */
};

/* `max_mcu` per second > 0. */
void excess_add(struct excess *e, struct instant now, int64_t cost_mcu, int64_t max_mcu,
                int64_t lull_ms);

/* 0: there is none. */
int64_t excess_ms(const struct excess *e, struct instant now);

#endif
