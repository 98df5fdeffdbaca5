/* scenario_check.h - what only the whole of a scenario shows.
 *
 * A setting that contradicts another one, a fault of a node that the cluster does not have, an
 * expectation beyond the end of the run. An error names the line of the value. */
#pragma once

#include "lab/scenario/scenario.h"

/* Call it once all is read. False: reading_fail was called. */
bool scenario_check(struct reading *r, const struct scenario *s);
