/* fault_drains.h - drains nodes at random moments, and lets them hold replicas again.
 *
 * The nodes that are not drained are always enough for the replicas. After fault_drains_end every
 * node may hold replicas again. */
#pragma once

#include "sim/plan/run.h"

struct fault_drains;

/* Borrows the run. */
struct fault_drains *fault_drains_create(struct run *run);
void fault_drains_destroy(struct fault_drains *d);

void fault_drains_begin(struct fault_drains *d);
void fault_drains_end(struct fault_drains *d);
/* Since fault_drains_end every node was told often enough that it may hold replicas. True also if
 * no node was ever drained. */
bool fault_drains_are_over(const struct fault_drains *d);
