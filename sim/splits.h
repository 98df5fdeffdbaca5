/* splits.h - splits partitions at random keys, and merges neighbours, at random moments of a run.
 *
 * Each time it asks the catalog for a table, and checks that the partitions are the whole key
 * space. Then it asks for a split or a merge. Many requests come to nothing: another split is under
 * way, the catalog has no leader, or the epoch has passed. */
#pragma once

#include "sim/plan.h"
#include "sim/world.h"

struct splits_options {
    const struct plan *plan; /* borrows */
    struct world *world;     /* borrows */
    uint64_t seed;
    /* The partitions are not the whole key space. `why` lends for the call. */
    void (*failed)(void *context, struct slice why);
    void *context;
};

struct splits;

struct splits *splits_create(const struct splits_options *options);
void splits_destroy(struct splits *s);
void splits_begin(struct splits *s);
void splits_end(struct splits *s);
