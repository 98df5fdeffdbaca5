/* faults.h - what goes wrong, and when: strikes at random times, each of which ends by itself.
 *
 * After faults_end everything is as it should be: all processes run, all ways are open, no disk is
 * slow, full or about to fail. */
#ifndef WEIR_SIM_FAULTS_H
#define WEIR_SIM_FAULTS_H

#include "sim/plan.h"
#include "sim/world.h"

enum faults_trace {
    FAULTS_TRACE_STRIKE = 48, /* enum sim_fault << 16 | process, how long in ns */
    FAULTS_TRACE_END,         /* of all */
};

struct faults_options {
    const struct plan *plan; /* borrows */
    struct world *world;     /* borrows */
    uint64_t seed;
    /* A node could not be started. `why` lends for the call. */
    void (*failed)(void *context, uint32_t node, struct slice why);
    void *context;
};

struct faults;

struct faults *faults_create(const struct faults_options *options);
void faults_destroy(struct faults *f);

void faults_begin(struct faults *f);
void faults_end(struct faults *f);
/* The process ends, or with `power` the machine, and comes back. False: not any more, or it is down
 * already. */
bool faults_kill(struct faults *f, uint32_t node, bool power);
uint64_t faults_strikes(const struct faults *f);

#endif
