/* splits.h - partitions are cut at random moments, at random keys, and neighbours merged, while
 * everything else goes on.
 *
 * Each time the catalog is asked for the table, whose partitions must be the whole key space, and
 * then for a split of one of them. Many come to nothing: another one is under way, the catalog has
 * no leader, the epoch has passed. */
#ifndef WEIR_SIM_SPLITS_H
#define WEIR_SIM_SPLITS_H

#include "sim/plan.h"
#include "sim/world.h"

struct splits_options {
    const struct plan *plan; /* borrows */
    struct world *world;     /* borrows */
    uint64_t seed;
    /* The table is not whole. `why` lends for the call. */
    void (*failed)(void *context, struct slice why);
    void *context;
};

struct splits;

struct splits *splits_create(const struct splits_options *options);
void splits_destroy(struct splits *s);
void splits_begin(struct splits *s);
void splits_end(struct splits *s);
/* Partitions there were in the end, as far as it was told. */
uint32_t splits_partitions(const struct splits *s);

#endif
