/* saltings.h - spreads random partition keys over more shards, and over fewer, at random moments of a
 * run.
 *
 * Each time it asks the catalog to change the shards of one of the clients' keys. Many requests come to
 * nothing: the key's items are on their way still, the catalog has no leader, or the version has passed.
 * At the end all items must come to their owner shards. */
#pragma once

#include "sim/run.h"

struct saltings;

/* Borrows the run. */
struct saltings *saltings_create(struct run *run);
void saltings_destroy(struct saltings *s);
void saltings_begin(struct saltings *s);
void saltings_end(struct saltings *s);
/* Every key gets one shard. Then saltings_are_over says whether all have. */
void saltings_leave(struct saltings *s);
/* Whether no key has items that are not in their owner shards. */
bool saltings_are_over(const struct saltings *s);
