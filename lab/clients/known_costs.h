/* known_costs.h - workloads whose requests cost in a cluster what their description says.
 *
 * Measures count a request by its description: a scan of 200 items of 900 bytes costs 44 units. A
 * cluster charges for the items that it has. At the fidelity admission these are the same. The
 * other fidelities store no more than `bytes` of a table and what was written, so a scan, or a read
 * of a large item, costs less there than is counted: the scenario is refused. */
#pragma once

#include "lab/scenario/reading.h"
#include "lab/scenario/scenario.h"

/* False: a workload has requests whose cost is not known; the error names it. `fidelity`: the name
 * of the fidelity that checks. */
bool known_costs_check(struct reading *r, const struct scenario *s, const char *fidelity);
