/* fault_schedule.h - when a scenario's faults begin and end, and which processes and tables they
 * hit.
 *
 * For the runners of all fidelities: each does at a port what a fault does there. Time comes from
 * the scheduler; its events hold pointers to `struct fault_schedule`. */
#pragma once

#include "lab/scenario/scaling.h"

struct fault_port {
    void *context; /* borrows */
    /* The fault begins (`on`) or ends at a node, router or server; `which` counts from 1. */
    void (*process)(void *context, const struct scenario_fault *f, uint32_t which, bool on);
    /* A split or an update of a table. `u` has the table and the units of an update. */
    void (*table)(void *context, const struct scenario_fault *f, const struct scaling_update *u);
};

struct fault_schedule {
    const struct scenario *scenario; /* borrows */
    struct scheduler *scheduler;     /* borrows */
    struct measure *measure;         /* borrows */
    struct fault_port port;
    int64_t begin_ns;
};

/* The scheduler's time is the start of the run. */
void fault_schedule_begin(struct fault_schedule *s, const struct scenario *scenario,
                          struct scheduler *scheduler, struct measure *measure,
                          const struct fault_port *port);
