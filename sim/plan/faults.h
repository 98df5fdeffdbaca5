/* faults.h - injects faults into the cluster at random times. Most faults end by themselves; clocks
 * keep their rates, and a lying disk goes on lying.
 *
 * After faults_end all processes are started, all ways are open, the network loses, doubles and
 * reorders nothing, what is late arrives within 10 s, every read succeeds, no disk is slow, full or
 * about to fail, and wall clocks are as they were at first. A pause that has begun still ends by
 * itself. */
#pragma once

#include "sim/plan/run.h"

enum faults_trace {
    FAULTS_TRACE_INJECT = 48, /* enum sim_fault << 16 | process, length in ns (SIM_CLOCK: ppm) */
    FAULTS_TRACE_END,         /* 0, number of injected faults */
};

struct faults;

/* Borrows the run. A node that cannot be started is a violation. */
struct faults *faults_create(struct run *run);
void faults_destroy(struct faults *f);

void faults_begin(struct faults *f);
void faults_end(struct faults *f);
/* Ends the node's process, or with `power` its machine; the node comes back. False: the faults are
 * over, or the node is down. */
bool faults_kill(struct faults *f, uint32_t node, bool power);
uint64_t faults_injected(const struct faults *f);
