/* real.h - the fidelity `real`: a scenario against processes on this machine, in real time.
 *
 * The cluster is cluster.h's. The clients are lab/clients/'s, on one loop. Nodes, routers and
 * GAC servers share the machine with each other and with the clients, so a run shows what fits on
 * it.
 * Two runs of the same seed have the same demand, not the same result. */
#pragma once

#include "lab/fidelity/runner.h"

extern const struct lab_runner lab_real_runner;
