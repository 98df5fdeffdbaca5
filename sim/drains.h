/* drains.h - drains nodes at random moments, and lets them hold replicas again.
 *
 * The nodes that are not drained are always enough for the replicas. After drains_end every node
 * may hold replicas again. */
#pragma once

#include "sim/run.h"

struct drains;

/* Borrows the run. */
struct drains *drains_create(struct run *run);
void drains_destroy(struct drains *d);

void drains_begin(struct drains *d);
void drains_end(struct drains *d);
/* Since drains_end every node was told often enough that it may hold replicas. True also if no node
 * was ever drained. */
bool drains_are_over(const struct drains *d);
