/* drains.h - drains nodes at random moments, and lets them hold replicas again.
 *
 * The nodes that are not drained are always enough for the replicas. After drains_end every node
 * may hold replicas again. */
#pragma once

#include "sim/plan.h"
#include "sim/world.h"

struct drains_options {
    const struct plan *plan; /* borrows */
    struct world *world;     /* borrows */
    uint64_t seed;
};

struct drains;

struct drains *drains_create(const struct drains_options *options);
void drains_destroy(struct drains *d);

void drains_begin(struct drains *d);
void drains_end(struct drains *d);
/* Since drains_end every node was told often enough that it may hold replicas. True also if no node
 * was ever drained. */
bool drains_are_over(const struct drains *d);
