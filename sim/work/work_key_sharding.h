/* work_key_sharding.h - spreads random partition keys over more shards, and over fewer, at random
 * moments of a run.
 *
 * Each time it asks the catalog to change the shards of one of the clients' keys. Many requests
 * come to nothing: the key's items are on their way still, the catalog has no leader, or the
 * version has passed. At the end all items must come to their owner shards. */
#pragma once

#include "sim/plan/run.h"

struct work_key_sharding;

/* Borrows the run. */
struct work_key_sharding *work_key_sharding_create(struct run *run);
void work_key_sharding_destroy(struct work_key_sharding *s);
void work_key_sharding_begin(struct work_key_sharding *s);
void work_key_sharding_end(struct work_key_sharding *s);
/* Every key gets one shard. Then work_key_sharding_are_over says whether all have. */
void work_key_sharding_leave(struct work_key_sharding *s);
/* Whether no key has items that are not in their owner shards. */
bool work_key_sharding_are_over(const struct work_key_sharding *s);
