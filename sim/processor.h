/* processor.h - the processors of a simulated machine: work waits in one queue, and takes time.
 *
 * Work begins when the work before it is done. Several processors share the queue: each piece of
 * work takes its whole time, and the queue becomes shorter as many times as fast.
 * Not here: what waits for the end of the work (sim/node_process.h). */
#pragma once

#include "base/instant.h"
#include "engine/node/served.h"

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
    int64_t slow_ppm;      /* work takes so much as long; PROCESSOR_PPM: as usual */
    int64_t busy_until_ns; /* with everything */
    int64_t own_until_ns;  /* without what others use */
};

struct processor processor_make(int64_t cores);

/* Work that takes `ns` comes now. Returns how long it takes until it is done: it waits, then it is
 * done. No work: 0. */
struct duration processor_work(struct processor *p, struct instant now, int64_t ns);

/* Others have used all processors for `ns` of the time until now. What exceeds the time without work
 * stays in the queue. */
void processor_occupy(struct processor *p, struct instant now, int64_t ns);

/* The process ends, and its work with it. */
void processor_clear(struct processor *p);

/* The work of what a node has done between two looks, of one kind. Returns how long it takes until
 * all of it is done. The work of a follower does not wait for what others use: it delays the log,
 * and with the log also the writes that the node leads. */
struct duration processor_serve(struct processor *p, struct instant now,
                                const struct processor_costs *c, enum served_kind kind,
                                const struct served *before, const struct served *after);
