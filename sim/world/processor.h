/* processor.h - the processors of a simulated machine: work waits in one queue, and takes time.
 *
 * Work begins when the work before it is done. Several processors share the queue: each piece of
 * work takes its whole time, and the queue becomes shorter as many times as fast.
 * Not here: what waits for the end of the work (sim/world/node_process.h). */
#pragma once

#include "base/instant.h"
#include "engine/node/core/served_totals.h"

enum {
    PROCESSOR_PPM = 1000000
};

/* How long the work of a node takes. All zero: no time. */
struct processor_costs {
    int64_t first_ns[SERVED_KINDS]; /* a request of one unit */
    int64_t unit_ns;                /* each further unit */
};

struct processor {
    int64_t cores;
    int64_t slow_ppm; /* work takes so much as long; PROCESSOR_PPM: as usual */
    int64_t busy_until_ns;
};

struct processor processor_make(int64_t cores);

/* Processor time of requests of one kind that cost `mcu` in all. */
int64_t processor_cost_ns(const struct processor_costs *c, enum served_kind kind, int64_t requests,
                          int64_t mcu);

/* How long work that takes `ns` on a machine that is not slow takes here, once it has begun. */
int64_t processor_takes_ns(const struct processor *p, int64_t ns);
/* How long work that comes now would wait. */
int64_t processor_wait_ns(const struct processor *p, struct instant now);

/* Work that takes `ns` on a machine that is not slow comes now. Returns the time until it is done:
 * it waits, then it takes its time. No work: 0. */
int64_t processor_work(struct processor *p, struct instant now, int64_t ns);

/* Others have used all processors for `ns` of the time until now. What exceeds the time without
 * work stays in the queue. */
void processor_occupy(struct processor *p, struct instant now, int64_t ns);

/* The work of what a node has done between two readings, of one kind. Returns the time until all of
 * it is done. */
int64_t processor_serve(struct processor *p, struct instant now, const struct processor_costs *c,
                        enum served_kind kind, const struct served_totals *before,
                        const struct served_totals *after);
