/* counting.h - counts a partition's items and records of streams again after a split, a merge or a
 * snapshot, in slices.
 *
 * Each replica counts its keys from the first key on: its items, then its records. Meanwhile a
 * write changes the count only if its key comes before the position reached. So the final count is
 * exact and the same on every replica. No turn waits for a big partition.
 *
 * Records keep the keys that they got from the partition that wrote them. Once that one is
 * absorbed, a split may part them from the records of the one that absorbed it: which piece has how
 * many is not known without a count. */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"

/* A job of background.h. */
bool counting_is_needed(const struct partition *p);
struct slice counting_from(const struct partition *p);
void counting_slice(struct node_env *env, struct partition *p);
