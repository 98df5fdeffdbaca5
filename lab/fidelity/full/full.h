/* full.h - the fidelity `full`: a scenario in the simulated world (sim/world/world.h).
 *
 * Nodes, routers and GAC servers run the drivers of server/ in virtual time, over a simulated
 * network and simulated disks. Clients send HTTP requests (lab/clients/). Tables are made by
 * CreateTable before the run's time begins.
 *
 * Costs that the world has: network and jitter are the delays of the network, sync is the time of a
 * log write. Work of nodes and routers waits for their processors (sim/world/processor.h) and
 * takes its time. docs/fidelity.md has what is left out.
 *
 * The same scenario and seed give the same run. No clock, no I/O. */
#pragma once

#include "lab/fidelity/runner.h"

extern const struct lab_runner full_runner;
