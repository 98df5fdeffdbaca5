/* model.h - a cluster at the fidelity `admission`: everything that decides is the product's own
 * code, and storage and replication are reduced to what they cost.
 *
 * The product's code: buckets and verdicts (engine/admission), headroom of members, heat and split
 * points (engine/heat), the catalog, the controller, the routers' tokens and the servers of global
 * admission control (gac/). Reduced: a request takes processor time of nodes and routers, time on
 * the network, and a write the time of disks (struct scenario_costs). It moves no bytes.
 *
 * What this fidelity leaves out, and what that does to results, is in docs/fidelity.md:
 *   - a decision is made at the time at which the request came to its router;
 *   - maps of routers are never old, and elections take a fixed time;
 *   - followers know the leader's buckets without delay, except for what they report of their own
 *     node (report_ms).
 *
 * The same scenario and seed give the same run. No clock, no I/O. */
#pragma once

#include "lab/fidelity/runner.h"

extern const struct lab_runner admission_runner;
