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

/* When work is done: it waits, then it takes its time. */
struct worked {
    int64_t wait_ns;
    int64_t work_ns; /* 0: there was no work, and it does not wait */
};

static inline int64_t worked_ns(struct worked w)
{
    return w.wait_ns + w.work_ns;
}

/* Work that takes `ns` on a machine that is not slow comes now. */
struct worked processor_work(struct processor *p, struct instant now, int64_t ns);

/* How long work that comes now would wait: for everything, and for the work of the process alone. */
int64_t processor_wait_ns(const struct processor *p, struct instant now);
int64_t processor_own_wait_ns(const struct processor *p, struct instant now);

/* Others have used all processors for `ns` of the time until now. What exceeds the time without work
 * stays in the queue. */
void processor_occupy(struct processor *p, struct instant now, int64_t ns);

/* The process ends, and its work with it. */
void processor_clear(struct processor *p);

/* The work of what a node has done between two looks, of one kind: when all of it is done. The work
 * of a follower waits for the work of the process alone: it delays the log, and with the log also
 * the writes that the node leads. */
struct worked processor_serve(struct processor *p, struct instant now,
                              const struct processor_costs *c, enum served_kind kind,
                              const struct served *before, const struct served *after);
