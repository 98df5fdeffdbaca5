/* plan_extras.h - the part of a plan that plan_extras.c draws, from a stream of its own. */
#pragma once

#include "sim/plan/plan.h"

enum {
    SIM_SHORT_SKEW_MS = 100 /* most that a wall clock is off where times are short */
};

/* Draws between low and high. Small values are likelier: a random number of doublings limits them.
 * */
int64_t plan_spread(struct prng *p, int64_t low, int64_t high);
/* Chooses the extras, and sets what goes with them. Call it once clients and limits are chosen. */
void plan_extras(struct plan *plan, const struct sim_options *o);
/* Clients that fill stores, and stores so small that they can. `limits`: somebody limits
 * clients. */
void plan_quick_snapshots(struct config *config);
void plan_work_fill(struct plan *plan, const struct sim_options *o, bool limits);
